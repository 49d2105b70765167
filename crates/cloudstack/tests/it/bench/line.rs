//! A way to a CloudStack on which things go wrong, and on which requests are counted.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use joiner_cloud::testing::mishaps::Mishaps;
use joiner_line::{Transport, TransportError};
use joiner_sim_cloudstack::CloudStack;

/// A way to a CloudStack on which things go wrong.
pub(crate) struct Line {
    server: CloudStack,
    pub(crate) mishaps: Arc<Mishaps>,
    under_way: AtomicUsize,
    most: AtomicUsize,
}

impl Line {
    /// Nothing goes wrong yet.
    pub(crate) fn new(server: CloudStack) -> Self {
        let mishaps = Arc::default();
        Self { server, mishaps, under_way: AtomicUsize::new(0), most: AtomicUsize::new(0) }
    }

    /// How many requests were under way at once at most.
    pub(crate) fn most_under_way(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }

    async fn answer(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let answer = self.server.answer(request).await;
        answer.map_err(|lost| TransportError::NoAnswer(lost.to_string()))
    }
}

/// A request that is under way until this is dropped.
struct UnderWay<'l>(&'l AtomicUsize);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[async_trait]
impl Transport for Line {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let now = self.under_way.fetch_add(1, Ordering::Relaxed) + 1;
        let _under_way = UnderWay(&self.under_way);
        self.most.fetch_max(now, Ordering::Relaxed);
        let body = String::from_utf8_lossy(request.body()).into_owned();
        let said = format!("{}&{body}&", request.uri().query().unwrap_or_default());
        let is_call = |call: &str| said.contains(&format!("command={call}&"));
        let lost = || Err(TransportError::NoAnswer("the connection broke".to_owned()));
        let failed = || {
            let mut response = Response::new(Bytes::new());
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            Ok(response)
        };
        self.mishaps.carry(is_call, self.answer(request), lost, failed).await
    }
}
