//! Connections to servers, straight or through a proxy's tunnel.

use std::{
    error::Error,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::{
    client::legacy::connect::{HttpConnector, proxy::Tunnel},
    rt::TokioIo,
};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use tokio::{net::TcpStream, time::timeout};
use tower_service::Service;

use crate::{Proxy, Way};

/// A connection, on which TLS is yet to be spoken with the server.
pub type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;

type BoxError = Box<dyn Error + Send + Sync>;

/// Connects to servers on their way. What speaks HTTP or TLS is laid around it.
#[derive(Debug, Clone)]
pub struct Connector {
    line: Line,
    patience: Duration,
}

#[derive(Debug, Clone)]
enum Line {
    Direct(HttpConnector),
    /// A tunnel through a proxy that is asked for it in the clear.
    Plain(Tunnel<HttpConnector>, Proxy),
    /// A tunnel through a proxy that speaks TLS itself.
    Encrypted(Tunnel<HttpsConnector<HttpConnector>>, Proxy),
}

/// Why a proxy with TLS cannot be trusted.
#[derive(Debug, thiserror::Error)]
#[error(
    "the proxy {proxy} cannot be trusted, since this computer trusts no authority: install its \
     authorities, or name a file of them in SSL_CERT_FILE"
)]
pub struct NoAuthority {
    proxy: Proxy,
}

impl Connector {
    /// Connects on a way, within `patience`.
    pub fn new(way: &Way, patience: Duration) -> Result<Self, NoAuthority> {
        let mut http = HttpConnector::new();
        http.set_connect_timeout(Some(patience));
        http.set_nodelay(true);
        http.enforce_http(false);
        let line = match way {
            Way::Direct | Way::Local | Way::Excepted(_) => Line::Direct(http),
            Way::Through(proxy) if proxy.url().scheme_str() == Some("https") => {
                let https = HttpsConnectorBuilder::new()
                    .with_tls_config(trusting_this_computer(proxy)?)
                    .https_only()
                    .enable_http1()
                    .wrap_connector(http);
                Line::Encrypted(tunnel(proxy, https), proxy.clone())
            }
            Way::Through(proxy) => Line::Plain(tunnel(proxy, http), proxy.clone()),
        };
        Ok(Self { line, patience })
    }
}

fn tunnel<C>(proxy: &Proxy, connector: C) -> Tunnel<C> {
    let tunnel = Tunnel::new(proxy.url().clone(), connector);
    match proxy.credentials() {
        Some(credentials) => tunnel.with_auth(credentials.clone()),
        None => tunnel,
    }
}

/// A proxy's certificate has to be of an authority that this computer trusts, whatever the server
/// behind it is held to.
fn trusting_this_computer(proxy: &Proxy) -> Result<ClientConfig, NoAuthority> {
    let no_authority = || NoAuthority { proxy: proxy.clone() };
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(no_authority());
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|_| no_authority())?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        match &mut self.line {
            Line::Direct(line) => line.poll_ready(context).map_err(Into::into),
            Line::Plain(line, _) => line.poll_ready(context).map_err(Into::into),
            Line::Encrypted(line, _) => line.poll_ready(context).map_err(Into::into),
        }
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        let (patience, place) = (self.patience, place(&server));
        match &mut self.line {
            Line::Direct(line) => {
                let connecting = line.call(server);
                Box::pin(async move { Ok(MaybeHttpsStream::Http(connecting.await?)) })
            }
            Line::Plain(line, proxy) => {
                let (connecting, proxy) = (line.call(with_port(server)), proxy.clone());
                Box::pin(async move {
                    let stream = within(patience, connecting, &proxy, &place).await?;
                    Ok(MaybeHttpsStream::Http(stream))
                })
            }
            Line::Encrypted(line, proxy) => {
                let (connecting, proxy) = (line.call(with_port(server)), proxy.clone());
                Box::pin(async move { within(patience, connecting, &proxy, &place).await })
            }
        }
    }
}

/// A tunnel that stands in time, or why there is none. The proxy is named in the error itself:
/// what is wrong with it must not be taken for something that is wrong with the server.
async fn within<T, E: Error + 'static>(
    patience: Duration,
    connecting: impl Future<Output = Result<T, E>>,
    proxy: &Proxy,
    place: &str,
) -> Result<T, BoxError> {
    let problem = match timeout(patience, connecting).await {
        Ok(Ok(stream)) => return Ok(stream),
        Ok(Err(error)) => chain(&error),
        Err(_) => format!("no answer within {} s", patience.as_secs()),
    };
    let remedy = if problem.contains("authorization required") {
        format!(": write USER:PASSWORD@ before its host in {}", proxy.found_in())
    } else {
        String::new()
    };
    Err(format!("the proxy {proxy} does not lead to {place}: {problem}{remedy}").into())
}

/// An error and its causes in one line.
fn chain(error: &(dyn Error + 'static)) -> String {
    let (mut words, mut cause) = (Vec::new(), Some(error));
    while let Some(error) = cause {
        words.push(error.to_string());
        cause = error.source();
    }
    words.join(": ")
}

/// The server's host and port.
fn place(server: &Uri) -> String {
    server.authority().map(ToString::to_string).unwrap_or_default()
}

/// The same place with its port, which a proxy has to be told.
fn with_port(server: Uri) -> Uri {
    if server.port().is_some() || server.scheme_str() != Some("http") {
        return server;
    }
    let with_port = format!("http://{}:80", server.host().unwrap_or_default());
    with_port.parse().unwrap_or(server)
}
