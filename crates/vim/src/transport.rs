//! How a request becomes an answer.

mod authorities;
mod https;
mod tls;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
pub use https::Https;
pub use tls::{InvalidThumbprint, Thumbprint, TlsProblem, TlsSettings};

/// Brings one request to a vCenter and one whole answer back.
///
/// Requests have a path and headers but no host: the transport knows where the vCenter is. It
/// knows nothing of sessions, timeouts and repetitions; whoever waits gives up by dropping the
/// future.
#[async_trait]
pub trait Transport: Send + Sync {
    /// Sends a request and reads the whole answer.
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError>;
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// Nobody answered, or the answer broke off.
    #[error("{0}")]
    NoAnswer(String),
    /// The server could not show that it is the one that was meant.
    #[error("{0}")]
    NotTrusted(String),
}
