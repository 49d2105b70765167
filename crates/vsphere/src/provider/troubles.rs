//! Converts errors of a vCenter to errors for the operator.

use joiner_cloud::CloudError;
use joiner_vim::{TaskFailed, VimError, tags::TagError};

/// The error for an unanswered query: the state is unknown.
pub(super) fn unanswered(what: &str) -> impl Fn(VimError) -> CloudError {
    move |error| CloudError::Unknown(format!("{what}: {error}"))
}

/// A question about tags that has no answer.
pub(super) fn tags_unanswered(what: &str) -> impl Fn(TagError) -> CloudError {
    move |error| CloudError::Unknown(format!("{what}: {error}"))
}

/// Whether the object that was asked about is not there.
pub(super) fn is_gone(error: &VimError) -> bool {
    error.is_fault("ManagedObjectNotFound")
}

/// Whether the task ended because its object is not there.
pub(super) fn task_is_gone(error: &TaskFailed) -> bool {
    matches!(error, TaskFailed::Fault(fault) if fault.is("ManagedObjectNotFound"))
}
