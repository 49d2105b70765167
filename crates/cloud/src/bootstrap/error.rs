//! Why no text could be made.

use std::fmt::{self, Display, Formatter};

/// What kind of thing is wrong. Waiting helps in none of these cases: somebody has to change
/// something, so callers try again when an input changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The user's text cannot be read, or does not go together with the instance's format.
    InvalidUserData,
    /// What was rendered is larger than the cloud takes.
    UserDataTooLarge,
    /// A name, label, taint or setting that no kubelet could be given.
    InvalidInput,
    /// Nobody says which distribution the cluster is.
    DistroUnknown,
    /// Nobody says where the cluster is reached.
    EndpointUnknown,
    /// The endpoint is not one that nodes of this distribution join by.
    EndpointInvalid,
    /// The version is unknown, or none that the distribution has ever released.
    VersionUnknown,
    /// There is no token, and none may be made.
    JoinTokenMissing,
    /// The token is none that the distribution takes.
    JoinTokenInvalid,
    /// The cluster's certificate authority is unknown, so that nodes could not tell it from another.
    CaUnknown,
    /// The cluster shows another certificate authority than the one that is pinned.
    CaMismatch,
    /// The Talos configuration lacks secrets that are nowhere in Kubernetes.
    TalosSecretsMissing,
    /// It cannot be told who gives nodes their provider id.
    ProviderIdUnknown,
}

impl ErrorKind {
    /// Every one.
    pub const ALL: [Self; 13] = [
        Self::InvalidUserData,
        Self::UserDataTooLarge,
        Self::InvalidInput,
        Self::DistroUnknown,
        Self::EndpointUnknown,
        Self::EndpointInvalid,
        Self::VersionUnknown,
        Self::JoinTokenMissing,
        Self::JoinTokenInvalid,
        Self::CaUnknown,
        Self::CaMismatch,
        Self::TalosSecretsMissing,
        Self::ProviderIdUnknown,
    ];

    /// The stable word for conditions, events and metrics.
    pub fn reason(self) -> &'static str {
        match self {
            Self::InvalidUserData => "InvalidUserData",
            Self::UserDataTooLarge => "UserDataTooLarge",
            Self::InvalidInput => "InvalidBootstrapInput",
            Self::DistroUnknown => "DistroUnknown",
            Self::EndpointUnknown => "EndpointUnknown",
            Self::EndpointInvalid => "EndpointInvalid",
            Self::VersionUnknown => "VersionUnknown",
            Self::JoinTokenMissing => "JoinTokenMissing",
            Self::JoinTokenInvalid => "JoinTokenInvalid",
            Self::CaUnknown => "CAUnknown",
            Self::CaMismatch => "CAMismatch",
            Self::TalosSecretsMissing => "TalosSecretsMissing",
            Self::ProviderIdUnknown => "ProviderIDUnknown",
        }
    }

    /// The condition of the `NodeClass` that this makes false.
    pub fn condition(self) -> &'static str {
        match self {
            Self::InvalidUserData | Self::UserDataTooLarge => "ValidationSucceeded",
            _ => "BootstrapReady",
        }
    }
}

impl Display for ErrorKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason())
    }
}

/// Why no text could be made, and what to do about it. Never contains a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{object}: {field}: {problem}; {remedy}")]
pub struct Error {
    /// The kind of thing that is wrong.
    pub kind: ErrorKind,
    /// Kind and name of the object to look at.
    pub object: String,
    /// Path of the field, or the setting.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
    /// What to write instead, or what to check.
    pub remedy: String,
}

impl Error {
    /// The object is filled in by [`Error::of`] where it is known.
    pub(crate) fn new(
        kind: ErrorKind,
        field: impl Into<String>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            object: String::new(),
            field: field.into(),
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }

    pub(crate) fn of(mut self, object: &str) -> Self {
        object.clone_into(&mut self.object);
        self
    }
}
