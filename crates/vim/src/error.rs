//! The errors of calls.

use std::time::Duration;

use joiner_line::Refused;

use crate::Fault;

/// Why a call has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VimError {
    /// The server refused, and said why.
    #[error("{0}")]
    Fault(Fault),
    /// No answer came in time. Whether the call had an effect is unknown.
    #[error("vCenter did not answer: {0}")]
    Unreachable(String),
    /// Something between us and the vCenter answered, or the vCenter itself in trouble.
    #[error("vCenter answered with HTTP status {0}")]
    Http(u16),
    /// The vCenter does not know the user name or the password. It is not asked again before the
    /// wait is over, unless with other credentials: accounts are locked after a few failures.
    #[error(
        "vCenter refuses the user name or the password of {user:?}; the next attempt is in \
         {} s, or at once with other credentials",
        retry_in.as_secs()
    )]
    InvalidLogin {
        /// The refused user.
        user: String,
        /// When it is worth asking again.
        retry_in: Duration,
    },
    /// The identity of the server could not be verified.
    #[error("no connection to vCenter can be trusted: {reason}")]
    Tls {
        /// What is wrong, and what helps.
        reason: String,
    },
    /// The answer is not what the interface promises. Whether the call had an effect is unknown.
    #[error("vCenter's answer cannot be read: {0}")]
    Malformed(String),
}

impl From<Refused> for VimError {
    fn from(Refused { user, retry_in }: Refused) -> Self {
        Self::InvalidLogin { user, retry_in }
    }
}

impl VimError {
    /// The typed refusal, where it is one.
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Fault(fault) => Some(fault),
            _ => None,
        }
    }

    /// Whether this is a refusal of a type, or of one that descends from it.
    pub fn is_fault(&self, kind: &str) -> bool {
        self.fault().is_some_and(|fault| fault.is(kind))
    }

    /// Whether the session is over; the call had no effect.
    pub(crate) fn session_ended(&self) -> bool {
        self.is_fault("NotAuthenticated") || *self == Self::Http(401)
    }

    /// Whether a question that changes nothing is worth asking again soon.
    pub(crate) fn passes(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Http(429 | 502 | 503 | 504))
    }

    /// In one word, for metrics.
    pub fn code(&self) -> &str {
        match self {
            Self::Fault(fault) => &fault.kind,
            Self::Unreachable(_) => "Unreachable",
            Self::Http(_) => "Http",
            Self::InvalidLogin { .. } => "InvalidLogin",
            Self::Tls { .. } => "Tls",
            Self::Malformed(_) => "Malformed",
        }
    }
}
