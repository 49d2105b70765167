//! Errors of operations on the cluster or on a cloud.

use std::time::Duration;

use joiner_cloud::CloudError;

use crate::answers;

/// Why something could not be done now. It is tried again.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The API server refused or could not be reached.
    #[error("{what}: {}", answers::problem(.error))]
    Api {
        /// The operation: verb, kind and name.
        what: String,
        /// The error.
        error: Box<kube::Error>,
    },
    /// The API server did not answer in time: it is not known whether the call had an effect.
    #[error("{0}: the API server did not answer in time")]
    Deadline(String),
    /// The cloud refused or could not be reached.
    #[error("{0}")]
    Cloud(#[from] CloudError),
    /// An object says something that makes no sense.
    #[error("{0}")]
    Object(String),
}

impl Trouble {
    /// The API server's status, if it answered.
    pub fn status(&self) -> Option<&kube::core::Status> {
        match self {
            Self::Api { error, .. } => match &**error {
                kube::Error::Api(status) => Some(status),
                _ => None,
            },
            _ => None,
        }
    }

    /// The error for users: the operation and the API server's message, without the rest of its
    /// answer.
    pub fn told(&self) -> String {
        match (self, self.status()) {
            (Self::Api { what, .. }, Some(status)) => format!("{what}: {}", status.message),
            _ => self.to_string(),
        }
    }

    /// The HTTP code that the API server answered with.
    pub fn code(&self) -> Option<u16> {
        self.status().map(|status| status.code)
    }

    /// Whether another writer has changed the object since it was read.
    pub fn is_conflict(&self) -> bool {
        self.code() == Some(409)
    }

    /// There is no such object.
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(404)
    }

    /// The object that was to be changed has gone meanwhile.
    pub fn is_about_what_is_gone(&self) -> bool {
        let names_an_object = || {
            let details = self.status().and_then(|status| status.details.as_ref());
            details.is_some_and(|details| !details.name.is_empty())
        };
        // A failed create may lack its namespace, which a retry does not fix.
        let creates = matches!(self, Self::Api { what, .. } if what.starts_with("create "));
        self.is_not_found() && !creates && names_an_object()
    }

    /// Whether a call that failed may have had its effect all the same.
    pub fn may_have_worked(&self) -> bool {
        match self {
            Self::Api { error, .. } => match &**error {
                kube::Error::Api(status) => status.code >= 500,
                _ => true,
            },
            Self::Deadline(_) => true,
            Self::Cloud(error) => matches!(error, CloudError::Unknown(_)),
            Self::Object(_) => false,
        }
    }

    /// How long the API server wants to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        let seconds = self.status()?.details.as_ref()?.retry_after_seconds;
        (seconds > 0).then(|| Duration::from_secs(u64::from(seconds)))
    }
}

#[cfg(test)]
mod tests {
    use kube::core::{Status, response::StatusDetails};

    use super::*;

    fn not_found(what: &str, name: &str) -> Trouble {
        let details = serde_json::json!({"name": name, "kind": "nodeclaims"});
        let details: StatusDetails = serde_json::from_value(details).unwrap();
        let status = Status::failure("not found", "NotFound").with_code(404).with_details(details);
        Trouble::Api { what: what.to_owned(), error: Box::new(kube::Error::Api(Box::new(status))) }
    }

    #[test]
    fn a_patch_of_what_has_gone_is_no_failure() {
        assert!(not_found("patch NodeClaim web-1", "web-1").is_about_what_is_gone());
        assert!(not_found("patch status of NodeClaim web-1", "web-1").is_about_what_is_gone());
    }

    #[test]
    fn a_kind_that_is_not_served_and_a_namespace_that_is_missing_are_failures() {
        assert!(!not_found("patch NodeClaim web-1", "").is_about_what_is_gone());
        assert!(
            !not_found("create Secret kube-system/token", "kube-system").is_about_what_is_gone()
        );
        assert!(!Trouble::Deadline("patch NodeClaim web-1".to_owned()).is_about_what_is_gone());
    }
}
