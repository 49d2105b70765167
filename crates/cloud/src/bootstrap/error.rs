//! Why no text could be made.

use std::fmt::{self, Display, Formatter};

/// The kind of error. Each kind needs a change by a person, so callers try again when an input
/// changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The user's text is invalid, or cannot be merged into the instance's format.
    InvalidUserData,
    /// The rendered text is larger than the cloud accepts.
    UserDataTooLarge,
    /// A name, label, taint or setting that a kubelet would refuse.
    InvalidInput,
    /// The cluster's distribution is neither set nor detected.
    DistroUnknown,
    /// The cluster's endpoint is neither set nor detected.
    EndpointUnknown,
    /// Nodes of this distribution cannot join by this endpoint.
    EndpointInvalid,
    /// The version is unknown, or none that the distribution has ever released.
    VersionUnknown,
    /// There is no token, and none may be made.
    JoinTokenMissing,
    /// The distribution does not accept this form of token.
    JoinTokenInvalid,
    /// The cluster's certificate authority is unknown, so nodes could not verify the cluster.
    CaUnknown,
    /// The cluster shows another certificate authority than the one that is pinned.
    CaMismatch,
    /// The Talos configuration lacks secrets that Kubernetes does not store.
    TalosSecretsMissing,
    /// The writer of nodes' provider ids cannot be detected.
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
