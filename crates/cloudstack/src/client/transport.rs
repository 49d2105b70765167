//! How a request becomes an answer.

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};

/// Brings one request to a management server and one whole answer back.
///
/// Requests have a path and headers but no host: the transport knows where the server is. It knows
/// nothing of keys, timeouts and repetitions; a caller gives up by dropping the future.
#[async_trait]
pub trait Transport: Send + Sync {
    /// Sends a request and reads the whole answer.
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError>;
}

/// Why there is no answer. Texts name the server and never the request, which carries keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// No byte of the request has left.
    #[error("{0}")]
    NotSent(String),
    /// There is no answer, or it broke off.
    #[error("{0}")]
    NoAnswer(String),
    /// The server could not show that it is the one that was meant.
    #[error("{0}")]
    NotTrusted(String),
}
