//! The server as a service of requests and responses, for clients in the same process and for
//! [`Serving`](crate::Serving).

use std::{
    convert::Infallible,
    error::Error,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};

use crate::{Server, Status, body::Body, respond::refusal};

/// The largest body that the real server reads.
const BODY_MAX: usize = 3 * 1024 * 1024;

/// The server as a `tower` service, such as `kube::Client::new` takes. Clones are cheap.
#[derive(Clone, Debug)]
pub struct Service {
    server: Server,
    /// Replaces what requests say about who sends them.
    caller: Option<HeaderValue>,
}

impl Service {
    /// A service whose requests count as from a caller of this name, regardless of their headers.
    pub fn new(server: Server, caller: &str) -> Self {
        Self { server, caller: HeaderValue::from_str(caller).ok() }
    }

    /// A service whose requests say themselves who sends them.
    pub(crate) fn of_many(server: Server) -> Self {
        Self { server, caller: None }
    }

    async fn answer<B>(self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes>,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let (mut head, body) = request.into_parts();
        if let Some(caller) = self.caller {
            head.headers.insert(header::USER_AGENT, caller);
        }
        match collect(body).await {
            Ok(body) => self.server.answer(&Request::from_parts(head, body)),
            Err(status) => refusal(&status),
        }
    }
}

/// Reads a whole body.
async fn collect<B>(body: B) -> Result<Bytes, Status>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let read = Limited::new(body, BODY_MAX).collect().await;
    read.map(http_body_util::Collected::to_bytes).map_err(|error| {
        if error.is::<LengthLimitError>() {
            let message = format!("Request entity too large: limit is {BODY_MAX}");
            return Status::plain(413, "RequestEntityTooLarge", message);
        }
        Status::bad_request(format!("the body of the request ended early: {error}"))
    })
}

impl<B> tower_service::Service<Request<B>> for Service
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.answer(request).await) })
    }
}
