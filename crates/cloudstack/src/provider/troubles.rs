//! What the operator is told about errors.

use joiner_cloud::{CloudError, attempts::Refused};

use crate::client::{ClientError, ErrorClass, JobFailed};

/// What is said of an error while something was only looked at: nothing is known.
pub(super) fn unanswered(doing: &'static str) -> impl Fn(ClientError) -> CloudError {
    move |error| CloudError::Unknown(format!("{doing}: {error}"))
}

/// What the failure of a deployment means for the claim. `text` is what the server said.
pub(super) fn of_launch(class: &ErrorClass, text: String) -> Refused {
    let create = |reason| Refused::Final(CloudError::Create { reason, message: text.clone() });
    match class {
        // A limit on the number of instances or volumes is reached whatever their size is.
        ErrorClass::Quota { resource } if is_of_number(resource.as_deref()) => {
            Refused::Final(CloudError::InsufficientCapacity(text))
        }
        ErrorClass::Configuration => Refused::Stale(text),
        ErrorClass::DuplicateName => create("DuplicateName"),
        ErrorClass::Permission => create("PermissionDenied"),
        ErrorClass::Authentication => create("AuthenticationFailed"),
        ErrorClass::Unknown => create("LaunchFailed"),
        ErrorClass::Transient => Refused::Final(CloudError::Unknown(text)),
        _ => Refused::NoRoom(text),
    }
}

/// Whether a limit is on numbers, so that a smaller instance does not fit either.
fn is_of_number(resource: Option<&str>) -> bool {
    !matches!(resource, Some("cpu" | "memory" | "gpu" | "primary_storage"))
}

/// Whether nobody knows what became of a job.
pub(super) fn is_open(failed: &JobFailed) -> bool {
    !matches!(failed, JobFailed::Refused(_))
}
