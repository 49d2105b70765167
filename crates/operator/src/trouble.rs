//! What stands in the way of doing something.

use std::time::Duration;

use joiner_cloud::CloudError;

use crate::answers;

/// Why something could not be done now. It is tried again.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The API server refused or could not be reached.
    #[error("{what}: {}", answers::problem(.error))]
    Api {
        /// What was tried: verb, kind and name.
        what: String,
        /// What came back.
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
    /// What the API server answered with, if it did.
    pub fn status(&self) -> Option<&kube::core::Status> {
        match self {
            Self::Api { error, .. } => match &**error {
                kube::Error::Api(status) => Some(status),
                _ => None,
            },
            _ => None,
        }
    }

    /// The same for people: what was tried, and what the API server said, without the rest of its
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

    /// Somebody else has changed the object since it was read.
    pub fn is_conflict(&self) -> bool {
        self.code() == Some(409)
    }

    /// There is no such object.
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(404)
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
