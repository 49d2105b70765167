//! A way to a vCenter on which things go wrong.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use joiner_cloud::testing::mishaps::Mishaps;
use joiner_vim::{Transport, transport::TransportError};

/// A way to a vCenter on which things go wrong.
pub(crate) struct Line {
    pub(crate) way: Arc<dyn Transport>,
    pub(crate) mishaps: Arc<Mishaps>,
}

#[async_trait]
impl Transport for Line {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let body = String::from_utf8_lossy(request.body()).into_owned();
        let rest = format!("{} {}", request.method(), request.uri());
        // A method of SOAP, or the method and path of a request in REST.
        let is_call = |call: &str| {
            body.contains(&format!("<{call} "))
                || body.contains(&format!("<{call}>"))
                || rest == call
        };
        let lost = || Err(TransportError::NoAnswer("the connection broke".to_owned()));
        let failed = || {
            let mut response = Response::new(Bytes::new());
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            Ok(response)
        };
        self.mishaps.carry(is_call, self.way.send(request), lost, failed).await
    }
}
