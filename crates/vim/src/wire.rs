//! Requests: their limit, their timeout and their metrics.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{
    Method, Request, Response, StatusCode,
    header::{CONTENT_TYPE, COOKIE, HeaderName, HeaderValue},
};
use joiner_clock::Clock;
use joiner_line::{Line, LineSettings, TransportError};
use tokio::sync::OnceCell;

use crate::{
    Transport, VimError, VimSettings,
    soap::{Answer, Call, Service},
    version,
};

/// The version of the interface for storage policies, since vSphere 6.
const POLICIES_VERSION: &str = "2.0";

/// What all requests have in common.
pub(crate) struct Wire {
    pub(crate) settings: VimSettings,
    pub(crate) clock: Clock,
    line: Line,
    /// Which version of the interface is spoken; asked once.
    version: OnceCell<String>,
}

impl Wire {
    pub(crate) fn new(settings: VimSettings, transport: Arc<dyn Transport>, clock: Clock) -> Self {
        let line = LineSettings {
            user_agent: settings.user_agent.clone(),
            requests_in_flight: settings.requests_in_flight,
            observer: Arc::clone(&settings.observer),
        };
        let line = Line::new(line, transport, clock.clone());
        Self { settings, clock, line, version: OnceCell::new() }
    }

    /// Sends a call, with the session's cookie where there is one.
    pub(crate) async fn call(
        &self,
        cookie: Option<&HeaderValue>,
        call: &Call,
    ) -> Result<Answer, VimError> {
        self.call_within(cookie, call, self.settings.request_timeout).await
    }

    /// The same for a call that is answered when there is something to tell.
    pub(crate) async fn call_within(
        &self,
        cookie: Option<&HeaderValue>,
        call: &Call,
        patience: Duration,
    ) -> Result<Answer, VimError> {
        let began = self.clock.running();
        let answer = async {
            let response = self.exchange(cookie, call, patience).await?;
            Answer::of(response)
        };
        let answer = answer.await;
        self.observe(call.method, began, answer.as_ref().err());
        answer
    }

    /// The same, with the whole response: a login's has the cookie among its headers.
    pub(crate) async fn exchange(
        &self,
        cookie: Option<&HeaderValue>,
        call: &Call,
        patience: Duration,
    ) -> Result<Response<Bytes>, VimError> {
        let version = self.version.get_or_try_init(|| self.ask_version()).await?;
        let mut request = Request::new(Bytes::from(call.envelope(cookie)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = http::Uri::from_static(call.service.path());
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/xml; charset=utf-8"));
        let version = match call.service {
            Service::Vim => version.as_str(),
            Service::Policies => POLICIES_VERSION,
        };
        let action = format!("{}/{version}", call.service.namespace());
        if let Ok(action) = HeaderValue::from_str(&action) {
            headers.insert(HeaderName::from_static("soapaction"), action);
        }
        if let Some(cookie) = cookie {
            headers.insert(COOKIE, cookie.clone());
        }
        self.send(request, patience).await
    }

    /// Sends a request when its turn has come, and waits for the answer as long as patience lasts.
    pub(crate) async fn send(
        &self,
        request: Request<Bytes>,
        patience: Duration,
    ) -> Result<Response<Bytes>, VimError> {
        let answer = self.line.send(request, patience).await;
        answer.map_err(|error| match error {
            TransportError::NoAnswer(why) | TransportError::NotSent(why) => {
                VimError::Unreachable(why)
            }
            TransportError::NotTrusted(reason) => VimError::Tls { reason },
            TransportError::TooLarge(why) => VimError::Malformed(why),
        })
    }

    /// Tells the observer that a request is over.
    pub(crate) fn observe(&self, method: &str, began: Duration, error: Option<&VimError>) {
        match error {
            None => self.line.observe(method, began, "200"),
            Some(VimError::Http(status)) => self.line.observe(method, began, &status.to_string()),
            Some(error) => self.line.observe(method, began, error.code()),
        }
        if let Some(fault) = error.and_then(VimError::fault) {
            self.line.observer().fault(&fault.kind, "call");
        }
    }

    /// Which version of the interface the server and we both know. Without an answer, it is the
    /// oldest version with all needed features.
    async fn ask_version(&self) -> Result<String, VimError> {
        let mut request = Request::new(Bytes::new());
        *request.uri_mut() = http::Uri::from_static("/sdk/vimServiceVersions.xml");
        let began = self.clock.running();
        let response = self.send(request, self.settings.request_timeout).await;
        let version = match response {
            Ok(response) if response.status() == StatusCode::OK => {
                Ok(version::best(response.body()))
            }
            Ok(response) if response.status() == StatusCode::NOT_FOUND => {
                Ok(version::OLDEST.to_owned())
            }
            Ok(response) => Err(VimError::Http(response.status().as_u16())),
            Err(error) => Err(error),
        };
        self.observe("vimServiceVersions", began, version.as_ref().err());
        version
    }
}
