//! A vCenter that lives in this process, as vSphere's client reaches it.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};
use joiner_clock::Clock;
use joiner_sim_vcenter::VCenter;
use joiner_vim::{Transport, Vim, VimSettings, transport::TransportError};

/// The way to a vCenter in the process.
struct Line(VCenter);

#[async_trait]
impl Transport for Line {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let answer = self.0.answer(request).await;
        answer.map_err(|lost| TransportError::NoAnswer(lost.to_string()))
    }
}

/// A client of a vCenter in the process.
pub(crate) fn client(vcenter: &VCenter, settings: VimSettings, clock: &Clock) -> Vim {
    Vim::new(settings, Arc::new(Line(vcenter.clone())), clock.clone())
}
