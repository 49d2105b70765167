//! What clients talk to, in the process or over HTTP.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use tower_service::Service;

/// The connection broke before an answer came. The caller does not learn whether the call took
/// effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the connection broke before an answer came")]
pub struct NoAnswer;

/// An answer, and what the log says of it.
#[derive(Clone, Debug)]
pub struct Answered {
    /// What the client gets.
    pub response: Response<Bytes>,
    /// The result: `ok`, the name of a fault, a code.
    pub outcome: String,
}

/// When a server ends connections that clients would like to use again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeepAlive {
    /// How long a connection may be idle; as long as it likes if none.
    pub idle: Option<Duration>,
    /// How many requests a connection carries; as many as there are if none.
    pub requests: Option<u32>,
    /// Whether a connection ends after an answer with a status of 400 or more.
    pub ends_after_errors: bool,
}

/// A simulated cloud that answers requests. Clones are the same one.
pub trait Server: Clone + Send + Sync + 'static {
    /// How long connections live where it is served.
    fn keep_alive(&self) -> KeepAlive {
        KeepAlive::default()
    }

    /// Answers a request.
    fn answer(
        &self,
        request: Request<Bytes>,
    ) -> impl Future<Output = Result<Response<Bytes>, NoAnswer>> + Send;
}

/// The way to a server in the process, for clients that are built on a `tower` service.
#[derive(Clone, Debug)]
pub struct InProcess<S>(pub S);

impl<S: Server> Service<Request<Bytes>> for InProcess<S> {
    type Response = Response<Bytes>;
    type Error = NoAnswer;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Bytes>, NoAnswer>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), NoAnswer>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let server = self.0.clone();
        Box::pin(async move { server.answer(request).await })
    }
}
