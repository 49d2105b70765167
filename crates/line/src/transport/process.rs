//! A server in the process.

use std::{fmt::Display, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};

use super::{Transport, TransportError};

struct InProcess<A>(A);

/// A server in the process, as a function from requests to answers. An answer that is lost is an
/// error; its text says what became of it.
pub fn in_process<A, F, E>(answer: A) -> Arc<dyn Transport>
where
    A: Fn(Request<Bytes>) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Response<Bytes>, E>> + Send,
    E: Display,
{
    Arc::new(InProcess(answer))
}

#[async_trait]
impl<A, F, E> Transport for InProcess<A>
where
    A: Fn(Request<Bytes>) -> F + Send + Sync,
    F: Future<Output = Result<Response<Bytes>, E>> + Send,
    E: Display,
{
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let answer = (self.0)(request).await;
        answer.map_err(|lost| TransportError::NoAnswer(lost.to_string()))
    }
}
