//! The server over HTTP and HTTPS, for `kubectl` and other clients outside the process.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use futures_util::StreamExt;
use http::{Request, Response, header};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinHandle, JoinSet},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{self, ServerConfig, crypto::ring, pki_types::PrivatePkcs8KeyDer},
};
use tower_service::Service as _;

use crate::{Server, Status, body::Body, respond::refusal, service::Service};

/// How connections are protected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protection {
    /// Whether connections are encrypted, by a certificate that is made for the occasion.
    pub tls: bool,
    /// The required bearer token; without one, every caller is accepted.
    pub token: Option<String>,
}

/// Why the server cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be had.
    #[error(
        "cannot listen on {address}: {source}; choose another address or end what listens there"
    )]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// No certificate could be made.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The certificate is not accepted by the TLS library.
    #[error("cannot use the certificate that was made: {0}")]
    Tls(#[from] rustls::Error),
}

/// A server that is being served. Dropping it ends the service at once; [`Serving::stop`] lets
/// answers that are under way be finished.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    ca_pem: Option<String>,
    token: Option<String>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Serving {
    /// Serves `server` on an address; port 0 is any that is free.
    pub async fn bind(
        server: Server,
        address: SocketAddr,
        protection: Protection,
    ) -> Result<Self, ServeError> {
        let listen = |source| ServeError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let (acceptor, ca_pem) = if protection.tls {
            let (config, ca_pem) = certificates(address)?;
            (Some(TlsAcceptor::from(Arc::new(config))), Some(ca_pem))
        } else {
            (None, None)
        };
        let (stop, stopped) = watch::channel(false);
        let token = protection.token;
        let front = Front {
            service: Service::of_many(server),
            token: token.as_deref().map(Into::into),
            stopped,
        };
        let task = tokio::spawn(accept(listener, acceptor, front));
        Ok(Self { address, ca_pem, token, stop, task })
    }

    /// Where the server is.
    pub fn url(&self) -> String {
        let scheme = if self.ca_pem.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The certificate that vouches for the server's own; none without TLS.
    pub fn ca_pem(&self) -> Option<&str> {
        self.ca_pem.as_deref()
    }

    /// The required token; none where every caller is accepted.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Takes no more connections, ends watches, and waits until all answers are given.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        // A task that panicked has nothing left to wait for.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A kubeconfig for a server that is being served.
pub fn kubeconfig(serving: &Serving) -> String {
    let ca = serving
        .ca_pem()
        .map(|pem| format!("    certificate-authority-data: {}\n", STANDARD.encode(pem)));
    let user = match serving.token() {
        Some(token) => format!("\n    token: {token}"),
        None => " {}".to_owned(),
    };
    format!(
        "apiVersion: v1
kind: Config
clusters:
- name: joiner-lab
  cluster:
    server: {url}
{ca}contexts:
- name: joiner-lab
  context:
    cluster: joiner-lab
    user: joiner-lab
current-context: joiner-lab
users:
- name: joiner-lab
  user:{user}
",
        url = serving.url(),
        ca = ca.unwrap_or_default(),
    )
}

/// What stands between connections and the server.
#[derive(Clone)]
struct Front {
    service: Service,
    token: Option<Arc<str>>,
    stopped: watch::Receiver<bool>,
}

impl Front {
    async fn answer(mut self, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
        if !self.lets_in(&request) {
            return Ok(refusal(&Status::plain(401, "Unauthorized", "Unauthorized")));
        }
        let response = self.service.call(request).await?;
        if !response.body().is_watch() {
            return Ok(response);
        }
        let end = Box::pin(until(self.stopped));
        Ok(response.map(|watch| Body::stream(watch.into_stream().take_until(end).boxed())))
    }

    fn lets_in(&self, request: &Request<Incoming>) -> bool {
        let Some(token) = &self.token else { return true };
        let given = request.headers().get(header::AUTHORIZATION);
        let given = given.and_then(|value| value.to_str().ok());
        let given = given.and_then(|value| value.strip_prefix("Bearer "));
        given.is_some_and(|given| given.trim() == &**token)
            || matches!(request.uri().path(), "/healthz" | "/livez" | "/readyz" | "/version")
    }
}

/// Waits until the service is to end.
async fn until(mut stopped: watch::Receiver<bool>) {
    // An error means that the service is gone altogether, which ends it just as well.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

async fn accept(listener: TcpListener, acceptor: Option<TlsAcceptor>, front: Front) {
    let mut connections = JoinSet::new();
    let stopped = front.stopped.clone();
    loop {
        let stream = tokio::select! {
            () = until(stopped.clone()) => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                // The caller hung up before it was let in, or there are too many connections.
                Err(_) => continue,
            },
        };
        connections.spawn(connection(stream, acceptor.clone(), front.clone()));
        // Connections that ended are forgotten.
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn connection(stream: TcpStream, acceptor: Option<TlsAcceptor>, front: Front) {
    // Answers are small and callers wait for them. Where it cannot be set, nothing else changes.
    let _ = stream.set_nodelay(true);
    match acceptor {
        None => serve(stream, front).await,
        // A handshake that fails is the caller's business: it has the error.
        Some(acceptor) => {
            if let Ok(stream) = acceptor.accept(stream).await {
                serve(stream, front).await;
            }
        }
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, front: Front) {
    let stopped = front.stopped.clone();
    let service = service_fn(move |request| front.clone().answer(request));
    let builder = auto::Builder::new(TokioExecutor::new());
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    // The caller notices a broken connection, so the error is ignored here.
    tokio::select! {
        _ = connection.as_mut() => {}
        () = until(stopped) => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

/// A certificate authority and a certificate of the server that it signed.
fn certificates(address: SocketAddr) -> Result<(ServerConfig, String), ServeError> {
    let ca_key = KeyPair::generate()?;
    let mut ca = CertificateParams::new(Vec::new())?;
    ca.distinguished_name.push(DnType::CommonName, "joiner-lab-ca");
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let ca_pem = ca.self_signed(&ca_key)?.pem();

    let key = KeyPair::generate()?;
    let names = [address.ip().to_string(), "127.0.0.1".into(), "::1".into(), "localhost".into()];
    let mut names = names.to_vec();
    names.push("kubernetes.default.svc".into());
    names.dedup();
    let mut own = CertificateParams::new(names)?;
    own.distinguished_name.push(DnType::CommonName, "joiner-lab");
    own.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let certificate = own.signed_by(&key, &Issuer::new(ca, ca_key))?;

    let private = PrivatePkcs8KeyDer::from(key.serialize_der());
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private.into())?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok((config, ca_pem))
}
