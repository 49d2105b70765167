//! A simulated cloud on a port of the loopback interface, for clients that want a socket.

use std::{
    fmt::Write as _,
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rcgen::{CertificateParams, DnType, KeyPair};
use ring::digest::{Algorithm, SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{self, ServerConfig, crypto::ring::default_provider, pki_types::PrivatePkcs8KeyDer},
};

use crate::server::{NoAnswer, Server};

/// Why a simulated cloud cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// No port is free.
    #[error("cannot listen on a port of the loopback interface")]
    Listen(#[source] io::Error),
    /// No certificate could be made.
    #[error("cannot make a certificate")]
    Certificate(#[from] rcgen::Error),
    /// The certificate is not accepted by the TLS library.
    #[error("cannot use the certificate that was made")]
    Tls(#[from] rustls::Error),
}

/// A simulated cloud that is served. Dropping it ends the service.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    certificate: Option<Certificate>,
    task: JoinHandle<()>,
}

/// What clients may want to know of a certificate before they trust it.
#[derive(Debug)]
struct Certificate {
    pem: String,
    der: Vec<u8>,
}

/// Serves a simulated cloud on a free port of the loopback interface: over TLS with a self-signed
/// certificate of this name, and in plain text without a name.
pub async fn serve(server: impl Server, certificate: Option<&str>) -> Result<Serving, ServeError> {
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = TcpListener::bind(loopback).await.map_err(ServeError::Listen)?;
    let address = listener.local_addr().map_err(ServeError::Listen)?;
    let (acceptor, certificate) = match certificate {
        Some(name) => {
            let (config, certificate) = self_signed(name)?;
            (Some(TlsAcceptor::from(Arc::new(config))), Some(certificate))
        }
        None => (None, None),
    };
    let task = tokio::spawn(accept(listener, acceptor, server));
    Ok(Serving { address, certificate, task })
}

impl Serving {
    /// Where it is, as clients are told: without a path.
    pub fn url(&self) -> String {
        let scheme = if self.certificate.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The certificate, for those who trust it by name; none without TLS.
    pub fn certificate_pem(&self) -> Option<&str> {
        self.certificate.as_ref().map(|certificate| certificate.pem.as_str())
    }

    /// The same, as its bytes.
    pub fn certificate_der(&self) -> Option<&[u8]> {
        self.certificate.as_ref().map(|certificate| certificate.der.as_slice())
    }

    /// The certificate's SHA-256 thumbprint, as `AB:CD:…`; none without TLS.
    pub fn thumbprint(&self) -> Option<String> {
        self.certificate.as_ref().map(|certificate| thumbprint(&SHA256, &certificate.der))
    }

    /// The certificate's SHA-1 thumbprint, which older documents ask for.
    pub fn thumbprint_sha1(&self) -> Option<String> {
        let of =
            |certificate: &Certificate| thumbprint(&SHA1_FOR_LEGACY_USE_ONLY, &certificate.der);
        self.certificate.as_ref().map(of)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn thumbprint(algorithm: &'static Algorithm, der: &[u8]) -> String {
    let mut text = String::new();
    for byte in digest(algorithm, der).as_ref() {
        let colon = if text.is_empty() { "" } else { ":" };
        let _ = write!(text, "{colon}{byte:02X}");
    }
    text
}

async fn accept(listener: TcpListener, acceptor: Option<TlsAcceptor>, server: impl Server) {
    let mut connections = JoinSet::new();
    loop {
        // A caller that hung up before it was let in is of no concern.
        let Ok((stream, _)) = listener.accept().await else { continue };
        connections.spawn(connection(stream, acceptor.clone(), server.clone()));
        while connections.try_join_next().is_some() {}
    }
}

async fn connection(stream: TcpStream, acceptor: Option<TlsAcceptor>, server: impl Server) {
    match acceptor {
        None => speak(stream, server).await,
        Some(acceptor) => {
            // A handshake that fails is the caller's business: it has the error.
            if let Ok(stream) = acceptor.accept(stream).await {
                speak(stream, server).await;
            }
        }
    }
}

async fn speak(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, server: impl Server) {
    let keep_alive = server.keep_alive();
    let served = Arc::new(AtomicU32::new(0));
    let service = service_fn(move |request| {
        let (server, count) = (server.clone(), served.fetch_add(1, Ordering::Relaxed) + 1);
        async move {
            let mut response = answer(server, request).await?;
            let failed = response.status().as_u16() >= 400 && keep_alive.ends_after_errors;
            if failed || keep_alive.requests.is_some_and(|most| count >= most) {
                let close = HeaderValue::from_static("close");
                response.headers_mut().insert(header::CONNECTION, close);
            }
            Ok::<_, NoAnswer>(response)
        }
    });
    let mut builder = http1::Builder::new();
    if let Some(idle) = keep_alive.idle {
        // The time for the next head begins when the answer before it is written.
        builder.timer(TokioTimer::new()).header_read_timeout(idle);
    }
    // An answer that is lost breaks the connection, which is all that the caller ever learns.
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(
    server: impl Server,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, NoAnswer> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| NoAnswer)?.to_bytes();
    let response = server.answer(Request::from_parts(head, body)).await?;
    Ok(response.map(Full::new))
}

fn self_signed(name: &str) -> Result<(ServerConfig, Certificate), ServeError> {
    let key = KeyPair::generate()?;
    let mut own = CertificateParams::new(vec!["127.0.0.1".to_owned(), "localhost".to_owned()])?;
    own.distinguished_name.push(DnType::CommonName, name);
    let certificate = own.self_signed(&key)?;
    let private = PrivatePkcs8KeyDer::from(key.serialize_der());
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private.into())?;
    let der = certificate.der().to_vec();
    Ok((config, Certificate { pem: certificate.pem(), der }))
}
