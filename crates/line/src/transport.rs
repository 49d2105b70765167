//! How a request becomes an answer.

mod authorities;
mod departure;
mod failover;
mod https;
mod kept;
mod process;
mod tls;

use async_trait::async_trait;
use bytes::Bytes;
pub use departure::{Departure, Repeat};
pub use failover::Failover;
use http::{Request, Response};
pub use https::{Https, HttpsSettings};
pub use process::in_process;
pub use tls::{InvalidThumbprint, Thumbprint, TlsProblem, TlsSettings};

/// Brings one request to a server and one whole answer back.
///
/// Requests have a path and headers but no host: the transport knows where the server is. It knows
/// nothing of sessions, deadlines and repetitions. A client gives up by dropping the future;
/// [`crate::Line`] does so at the deadline.
#[async_trait]
pub trait Transport: Send + Sync {
    /// Sends a request and reads the whole answer.
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError>;
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// The connection broke or the answer did not come. The server may have done what was asked.
    #[error("{0}")]
    NoAnswer(String),
    /// No byte of the request left: there was no connection, or it was closed already.
    #[error("{0}")]
    NotSent(String),
    /// The server could not show that it is the right one. No byte of the request left.
    #[error("{0}")]
    NotTrusted(String),
    /// The answer is larger than this client reads. The server has done what was asked.
    #[error("{0}")]
    TooLarge(String),
}

impl TransportError {
    /// Whether no byte of the request left, so that the server cannot have done what was asked.
    pub fn is_unsent(&self) -> bool {
        matches!(self, Self::NotSent(_) | Self::NotTrusted(_))
    }

    /// Whether the trouble may pass by itself.
    pub fn passes(&self) -> bool {
        matches!(self, Self::NotSent(_) | Self::NoAnswer(_))
    }

    /// Whether the same request may be sent again soon.
    pub fn allows(&self, repeat: Repeat) -> bool {
        self.passes() && (repeat == Repeat::Always || self.is_unsent())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_been_done_is_repeated_only_where_that_changes_nothing() {
        let text = || "why".to_owned();
        for (error, unsent, changing, harmless) in [
            (TransportError::NoAnswer(text()), false, false, true),
            (TransportError::NotSent(text()), true, true, true),
            (TransportError::NotTrusted(text()), true, false, false),
            (TransportError::TooLarge(text()), false, false, false),
        ] {
            assert_eq!(error.is_unsent(), unsent, "{error:?}");
            assert_eq!(error.allows(Repeat::WhereUnsent), changing, "{error:?}");
            assert_eq!(error.allows(Repeat::Always), harmless, "{error:?}");
        }
    }
}
