//! Requests over the network.

use std::{error::Error, future::poll_fn, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderValue, Request, Response, Uri, header::HOST};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use joiner_proxy::{Connector, Proxies, Way};
use tokio::time::timeout;
use tower_service::Service;

use super::{
    Departure, TlsProblem, TlsSettings, Transport, TransportError,
    kept::{Connection, Kept},
};
use crate::{Endpoint, SettingNames};

/// How a server on the network is reached.
#[derive(Debug, Clone)]
pub struct HttpsSettings {
    /// What the cloud calls its settings, for messages.
    pub names: SettingNames,
    /// How the server shows that it is the right one.
    pub tls: TlsSettings,
    /// The proxies that variables name.
    pub proxies: Proxies,
    /// Whether an endpoint without encryption is accepted. Anyone on the way then reads the
    /// credentials.
    pub plain_allowed: bool,
    /// How long a connection may take, with TLS.
    pub connect_timeout: Duration,
    /// How long a connection without a request is kept; zero keeps none. It has to be shorter than
    /// the server keeps it: a request on a connection that is just being closed is lost.
    pub idle_time: Duration,
    /// How many bytes the body of an answer may have.
    pub answer_bytes_max: usize,
}

impl HttpsSettings {
    /// The usual settings: trusted authorities, no proxy, encrypted.
    ///
    /// A connection has 10 s: three attempts of TCP, which come after 1, 3 and 7 s. It is kept for
    /// 90 s, as common clients do. An answer has 64 MiB at most: the largest page that a cloud
    /// sends, of 500 instances, has some megabytes.
    pub fn new(names: SettingNames) -> Self {
        Self {
            names,
            tls: TlsSettings::default(),
            proxies: Proxies::default(),
            plain_allowed: false,
            connect_timeout: Duration::from_secs(10),
            idle_time: Duration::from_secs(90),
            answer_bytes_max: 64 << 20,
        }
    }
}

/// A server on the network, by HTTP/1.1 over TLS. Redirects are answers like others.
#[derive(Debug)]
pub struct Https {
    endpoint: Endpoint,
    uri: Uri,
    host: HeaderValue,
    way: Way,
    connector: HttpsConnector<Connector>,
    connect_timeout: Duration,
    kept: Kept,
    answer_bytes_max: usize,
}

impl Https {
    /// A server at an address. Nothing is connected before the first request.
    pub fn new(endpoint: Endpoint, settings: HttpsSettings) -> Result<Self, TlsProblem> {
        if !endpoint.encrypted && !settings.plain_allowed {
            return Err(TlsProblem(format!(
                "{endpoint} is not encrypted, so anybody on the way could read the password; \
                 write https, or ask for an insecure connection"
            )));
        }
        let problem = |error: &dyn Error| TlsProblem(format!("{endpoint}: {error}"));
        let uri: Uri = endpoint.to_string().parse().map_err(|error| problem(&error))?;
        let host = endpoint.authority().parse().map_err(|error| problem(&error))?;
        let way = settings.proxies.way_to(&uri);
        let connector = Connector::new(&way, settings.connect_timeout)
            .map_err(|error| TlsProblem(error.to_string()))?;
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(settings.tls.client_config(settings.names)?)
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        Ok(Self {
            endpoint,
            uri,
            host,
            way,
            connector,
            connect_timeout: settings.connect_timeout,
            kept: Kept::new(settings.idle_time),
            answer_bytes_max: settings.answer_bytes_max,
        })
    }

    /// How the server is reached.
    pub fn way(&self) -> &Way {
        &self.way
    }

    /// A new connection.
    async fn connect(&self) -> Result<Connection, TransportError> {
        let mut connector = self.connector.clone();
        let connecting = async {
            poll_fn(|context| connector.poll_ready(context)).await?;
            connector.call(self.uri.clone()).await
        };
        let stream = match timeout(self.connect_timeout, connecting).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(self.not_connected(&*error)),
            Err(_) => {
                let seconds = self.connect_timeout.as_secs();
                let late = format!("{}: no connection within {seconds} s", self.endpoint);
                return Err(TransportError::NotSent(late));
            }
        };
        let begun = Connection::begin(stream).await;
        begun.map_err(|error| TransportError::NotSent(self.told(&error)))
    }

    /// Sends a request on a connection, and reads the answer to its end.
    async fn exchange(
        &self,
        mut connection: Connection,
        request: Request<Bytes>,
    ) -> Result<Response<Bytes>, TransportError> {
        connection.begin_request();
        let response = match connection.sender.send_request(request.map(Full::new)).await {
            Ok(response) => response,
            Err(error) if connection.has_written() => {
                return Err(TransportError::NoAnswer(self.told(&error)));
            }
            Err(error) => return Err(TransportError::NotSent(self.told(&error))),
        };
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, self.answer_bytes_max).collect().await;
        let body = body.map_err(|error| self.broken(&*error))?.to_bytes();
        self.kept.keep(connection);
        Ok(Response::from_parts(parts, body))
    }

    /// The request as it is written: a path, and the host among the headers.
    fn addressed(&self, mut request: Request<Bytes>) -> Result<Request<Bytes>, TransportError> {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let invalid = |error| TransportError::NotSent(format!("{path}: {error}"));
        let path: Uri = path.parse().map_err(invalid)?;
        *request.uri_mut() = path;
        request.headers_mut().insert(HOST, self.host.clone());
        Ok(request)
    }
}

#[async_trait]
impl Transport for Https {
    async fn send(&self, mut request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let departure = request.extensions_mut().remove::<Departure>().unwrap_or_default();
        departure.holds();
        let request = self.addressed(request)?;
        // A kept connection that turns out to be closed costs nothing: the next one is tried.
        while let Some(connection) = self.kept.take(self.connect_timeout).await {
            departure.leaves();
            match self.exchange(connection, request.clone()).await {
                Err(TransportError::NotSent(_)) => departure.holds(),
                answer => return answer,
            }
        }
        let connection = self.connect().await?;
        departure.leaves();
        self.exchange(connection, request).await
    }
}

impl Https {
    /// Why there is no connection.
    fn not_connected(&self, error: &(dyn Error + 'static)) -> TransportError {
        let mut cause = Some(error);
        while let Some(error) = cause {
            if let Some(tls) = tls_error(error) {
                let reason = match tls {
                    rustls::Error::General(reason) => reason.clone(),
                    other => other.to_string(),
                };
                return TransportError::NotTrusted(format!("{}: {reason}", self.endpoint));
            }
            cause = error.source();
        }
        TransportError::NotSent(self.told(error))
    }

    /// Why an answer has no end.
    fn broken(&self, error: &(dyn Error + Send + Sync + 'static)) -> TransportError {
        if error.is::<LengthLimitError>() {
            let (endpoint, most) = (&self.endpoint, self.answer_bytes_max);
            let text = format!("{endpoint}: the answer is larger than {most} bytes");
            return TransportError::TooLarge(text);
        }
        TransportError::NoAnswer(self.told(error))
    }

    /// What went wrong, in one line. The library's own words are spread over a chain of causes.
    fn told(&self, error: &(dyn Error + 'static)) -> String {
        let mut told = String::new();
        let mut cause = Some(error);
        while let Some(error) = cause {
            let words = error.to_string();
            if !told.contains(&words) {
                if !told.is_empty() {
                    told.push_str(": ");
                }
                told.push_str(&words);
            }
            cause = error.source();
        }
        format!("{}: {told}", self.endpoint)
    }
}

/// The TLS library's error, which comes packed in an IO error, and that one in another.
fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    error.downcast_ref::<rustls::Error>().or_else(|| {
        let packed = error.downcast_ref::<std::io::Error>()?.get_ref()?;
        tls_error(packed)
    })
}
