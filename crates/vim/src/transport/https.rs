//! Requests over the network.

use std::{error::Error, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response, Uri, header::HOST};
use http_body_util::{BodyExt, Full};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use joiner_proxy::{Connector, Proxies, Way};

use super::{TlsProblem, TlsSettings, Transport, TransportError};
use crate::Endpoint;

/// How long it may take until a server takes the call.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A vCenter on the network, by HTTP/1.1 over TLS.
#[derive(Debug, Clone)]
pub struct Https {
    endpoint: Endpoint,
    way: Way,
    client: Client<HttpsConnector<Connector>, Full<Bytes>>,
}

impl Https {
    /// A vCenter at an address that is reached directly.
    pub fn new(endpoint: Endpoint, tls: &TlsSettings) -> Result<Self, TlsProblem> {
        Self::behind(&Proxies::default(), endpoint, tls)
    }

    /// A vCenter at an address that may be behind a proxy. Without encryption only where any
    /// certificate would do too.
    pub fn behind(
        proxies: &Proxies,
        endpoint: Endpoint,
        tls: &TlsSettings,
    ) -> Result<Self, TlsProblem> {
        if !endpoint.encrypted && !tls.insecure {
            return Err(TlsProblem(format!(
                "{endpoint} is not encrypted, so anybody on the way could read the password; \
                 write https, or ask for an insecure connection"
            )));
        }
        let url = endpoint.to_string().parse();
        let way = url.map_or_else(|_| Way::Direct, |url| proxies.way_to(&url));
        let connector =
            Connector::new(&way, CONNECT_TIMEOUT).map_err(|error| TlsProblem(error.to_string()))?;
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls.client_config()?)
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Self { endpoint, way, client })
    }

    /// How the vCenter is reached.
    pub fn way(&self) -> &Way {
        &self.way
    }

    /// The request with the place that it goes to.
    fn addressed(&self, request: Request<Bytes>) -> Result<Request<Full<Bytes>>, TransportError> {
        let (mut parts, body) = request.into_parts();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let uri: Uri = format!("{}{path}", self.endpoint)
            .parse()
            .map_err(|error| TransportError::NoAnswer(format!("{path}: {error}")))?;
        parts.headers.remove(HOST);
        parts.uri = uri;
        Ok(Request::from_parts(parts, Full::new(body)))
    }
}

#[async_trait]
impl Transport for Https {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let request = self.addressed(request)?;
        let failed = |error: &(dyn Error + 'static)| self.explained(error);
        let response = self.client.request(request).await.map_err(|error| failed(&error))?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.map_err(|error| failed(&error))?.to_bytes();
        Ok(Response::from_parts(parts, body))
    }
}

impl Https {
    /// Says what went wrong. The library's own words are spread over a chain of causes.
    fn explained(&self, error: &(dyn Error + 'static)) -> TransportError {
        let mut told = String::new();
        let mut cause = Some(error);
        while let Some(error) = cause {
            if let Some(tls) = tls_error(error) {
                let reason = match tls {
                    rustls::Error::General(reason) => reason.clone(),
                    other => other.to_string(),
                };
                return TransportError::NotTrusted(format!("{}: {reason}", self.endpoint));
            }
            let words = error.to_string();
            if !told.contains(&words) {
                if !told.is_empty() {
                    told.push_str(": ");
                }
                told.push_str(&words);
            }
            cause = error.source();
        }
        TransportError::NoAnswer(format!("{}: {told}", self.endpoint))
    }
}

/// The TLS library's error, which comes packed in an IO error, and that one in another.
fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    error.downcast_ref::<rustls::Error>().or_else(|| {
        let packed = error.downcast_ref::<std::io::Error>()?.get_ref()?;
        tls_error(packed)
    })
}
