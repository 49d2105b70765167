//! HTTPS on a loopback socket: which servers are trusted, and what is said of the others.

use std::{fs, io::Write as _, sync::Arc};

use ::ring::digest as ring_digest;
use bytes::Bytes;
use http::Request;
use joiner_line::{
    Endpoint, Https, HttpsSettings, Thumbprint, TlsSettings, Transport as _, TransportError,
};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    task::JoinHandle,
};
use tokio_rustls::TlsAcceptor;

use crate::names;

/// A server with a certificate of its own, which answers everything with where it was asked.
struct Server {
    endpoint: Endpoint,
    certificate: CertificateDer<'static>,
    task: JoinHandle<()>,
}

impl Server {
    async fn start() -> Self {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let certificate = cert.der().clone();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A client that does not like the certificate goes away here.
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                let mut request = vec![0; 4096];
                let read = stream.read(&mut request).await.unwrap_or(0);
                let request = String::from_utf8_lossy(&request[..read]).into_owned();
                let line = request.lines().next().unwrap_or_default();
                let answer = format!(
                    "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{line}",
                    line.len()
                );
                stream.write_all(answer.as_bytes()).await.unwrap();
                stream.shutdown().await.ok();
            }
        });
        let endpoint = Endpoint { encrypted: true, host: "localhost".to_owned(), port };
        Self { endpoint, certificate, task }
    }

    async fn ask(&self, tls: &TlsSettings) -> Result<String, TransportError> {
        let transport = Https::new(self.endpoint.clone(), with_tls(tls)).unwrap();
        let request = Request::get("/sdk/vimServiceVersions.xml").body(Bytes::new()).unwrap();
        let response = transport.send(request).await?;
        Ok(String::from_utf8_lossy(response.body()).into_owned())
    }

    fn thumbprint(&self, algorithm: &'static ring_digest::Algorithm) -> Thumbprint {
        let digest = ring_digest::digest(algorithm, &self.certificate);
        let pairs: Vec<String> = digest.as_ref().iter().map(|b| format!("{b:02x}")).collect();
        pairs.join(":").parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

const ANSWER: &str = "GET /sdk/vimServiceVersions.xml HTTP/1.1";

#[tokio::test]
async fn a_certificate_of_nobody_known_is_refused_with_what_would_help() {
    let server = Server::start().await;
    // Whatever this computer trusts, it is not this.
    let error = server.ask(&TlsSettings::default()).await.unwrap_err();
    let TransportError::NotTrusted(told) = error else { panic!("{error}") };
    let thumbprint = server.thumbprint(&ring_digest::SHA256).to_string();
    assert!(told.starts_with(&server.endpoint.to_string()), "{told}");
    assert!(told.contains(&thumbprint) && told.contains("GOVC_TLS_CA_CERTS"), "{told}");
}

#[tokio::test]
async fn an_authority_from_a_file_is_trusted() {
    let server = Server::start().await;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let pem = pem(&server.certificate);
    file.write_all(pem.as_bytes()).unwrap();
    let tls = TlsSettings { ca_files: vec![file.path().to_owned()], ..TlsSettings::default() };
    assert_eq!(server.ask(&tls).await, Ok(ANSWER.to_owned()));
}

#[tokio::test]
async fn a_file_of_authorities_is_read_again_when_it_changes() {
    let (server, other) = (Server::start().await, Server::start().await);
    let file = tempfile::NamedTempFile::new().unwrap();
    let write = |text: &str| fs::write(file.path(), text).unwrap();
    let (right, wrong) = (pem(&server.certificate), pem(&other.certificate));
    write(&wrong);
    let tls = TlsSettings { ca_files: vec![file.path().to_owned()], ..TlsSettings::default() };
    let transport = Https::new(server.endpoint.clone(), with_tls(&tls)).unwrap();
    let ask = async || {
        let request = Request::get("/sdk/vimServiceVersions.xml").body(Bytes::new()).unwrap();
        transport.send(request).await.map(|_| ())
    };
    let refused = |asked: Result<(), TransportError>| {
        assert!(matches!(asked, Err(TransportError::NotTrusted(_))), "{asked:?}");
    };
    refused(ask().await);
    write(&right);
    assert_eq!(ask().await, Ok(()));
    // While it is being written, and while it is away, what was in it counts.
    for half in [
        "",
        "-----BEGIN CERTIFICATE-----\nMIIB",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
    ] {
        write(half);
        assert_eq!(ask().await, Ok(()), "{half:?}");
    }
    fs::remove_file(file.path()).unwrap();
    assert_eq!(ask().await, Ok(()));
    write(&wrong);
    refused(ask().await);
}

#[tokio::test]
async fn a_pinned_certificate_is_trusted_and_no_other() {
    let (server, other) = (Server::start().await, Server::start().await);
    for algorithm in [&ring_digest::SHA256, &ring_digest::SHA1_FOR_LEGACY_USE_ONLY] {
        let pinned = |to: &Server| TlsSettings {
            thumbprints: vec![to.thumbprint(algorithm)],
            // A pin is a pin, whatever else is asked for.
            insecure: true,
            ..TlsSettings::default()
        };
        assert_eq!(server.ask(&pinned(&server)).await, Ok(ANSWER.to_owned()));
        let error = server.ask(&pinned(&other)).await.unwrap_err();
        assert!(matches!(&error, TransportError::NotTrusted(told) if told.contains("renewed")));
    }
}

#[tokio::test]
async fn any_certificate_is_trusted_only_when_asked_to() {
    let server = Server::start().await;
    let insecure = TlsSettings { insecure: true, ..TlsSettings::default() };
    assert_eq!(server.ask(&insecure).await, Ok(ANSWER.to_owned()));
}

#[tokio::test]
async fn an_authority_from_a_setting_is_trusted() {
    let server = Server::start().await;
    let ca_inline = Some(pem(&server.certificate));
    let tls = TlsSettings { ca_inline, ..TlsSettings::default() };
    assert_eq!(server.ask(&tls).await, Ok(ANSWER.to_owned()));
}

#[tokio::test]
async fn servers_of_one_cloud_may_have_a_pinned_certificate_each() {
    let (first, second) = (Server::start().await, Server::start().await);
    let third = Server::start().await;
    let thumbprints = [&first, &second].map(|server| server.thumbprint(&ring_digest::SHA256));
    let tls = TlsSettings { thumbprints: thumbprints.to_vec(), ..TlsSettings::default() };
    assert_eq!(first.ask(&tls).await, Ok(ANSWER.to_owned()));
    assert_eq!(second.ask(&tls).await, Ok(ANSWER.to_owned()));
    let told = third.ask(&tls).await.unwrap_err().to_string();
    let pinned = thumbprints.map(|own| own.to_string()).join(", ");
    assert!(told.contains(&format!("{pinned} are those to accept")), "{told}");
}

#[tokio::test]
async fn nothing_is_sent_in_the_clear_unless_asked_to() {
    let endpoint: Endpoint = "http://vc.example.com/sdk".parse().unwrap();
    let settings = HttpsSettings::new(names());
    let error = Https::new(endpoint.clone(), settings.clone()).unwrap_err();
    assert!(error.to_string().starts_with("http://vc.example.com:80 is not encrypted"), "{error}");
    Https::new(endpoint, HttpsSettings { plain_allowed: true, ..settings }).unwrap();
}

#[tokio::test]
async fn a_request_to_a_server_that_is_not_there_is_not_sent() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let endpoint: Endpoint = format!("https://{free}").parse().unwrap();
    let transport = Https::new(endpoint.clone(), HttpsSettings::new(names())).unwrap();
    let request = Request::get("/sdk").body(Bytes::new()).unwrap();
    let error = transport.send(request).await.unwrap_err();
    let TransportError::NotSent(told) = error else { panic!("{error}") };
    assert!(told.starts_with(&endpoint.to_string()), "{told}");
}

fn with_tls(tls: &TlsSettings) -> HttpsSettings {
    HttpsSettings { tls: tls.clone(), ..HttpsSettings::new(names()) }
}

fn pem(certificate: &CertificateDer<'_>) -> String {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let text = STANDARD.encode(certificate);
    format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
}
