//! Requests to an API server, without any idea of Kubernetes.

use std::{sync::Arc, time::Duration};

use http_body_util::{BodyExt, Full};
use hyper::{
    Method, Uri,
    body::Bytes,
    header::{AUTHORIZATION, HeaderMap, USER_AGENT},
};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use rustls::{
    ClientConfig, DigitallySignedStruct, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, ServerName, UnixTime},
};

/// Longer than any answer takes that is worth comparing; a server that says nothing is an error.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server did not answer.
#[derive(Debug, thiserror::Error)]
#[error("{method} {url}: {problem}")]
pub struct HttpError {
    method: String,
    url: String,
    problem: String,
}

/// One request, ready to be sent.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The method, in capitals.
    pub method: String,
    /// Path and query, beginning with a slash.
    pub path: String,
    /// Headers beside those that [`Server`] adds; an `authorization` here replaces the token.
    pub headers: Vec<(String, String)>,
    /// The body, if there is one.
    pub body: Option<String>,
}

/// What a server answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// All headers.
    pub headers: HeaderMap,
    /// The whole body; what is not UTF-8 is replaced.
    pub body: String,
}

impl Answer {
    /// All values of a header, in the order they came.
    pub fn header(&self, name: &str) -> Vec<String> {
        let values = self.headers.get_all(name).iter();
        values.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
    }
}

/// A server that can be asked: where it is and who is asking.
#[derive(Debug, Clone)]
pub struct Server {
    base: String,
    token: String,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl Server {
    /// A server at `base` (`https://127.0.0.1:6443`), asked with a bearer token.
    ///
    /// Its certificate is not looked at: the servers compared are on loopback and make their own.
    pub fn new(base: &str, token: &str) -> Self {
        let provider = Arc::new(ring::default_provider());
        let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("ring has ciphers for the default versions")
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(provider)))
            .with_no_client_auth();
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(config)
            .https_or_http()
            .enable_http1()
            .build();
        Self {
            base: base.trim_end_matches('/').to_owned(),
            token: token.to_owned(),
            client: Client::builder(TokioExecutor::new()).build(connector),
        }
    }

    /// Where the server is.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Sends a request and reads the whole answer.
    pub async fn send(&self, request: &Request) -> Result<Answer, HttpError> {
        let url = format!("{}{}", self.base, request.path);
        let failed = |problem: String| HttpError {
            method: request.method.clone(),
            url: url.clone(),
            problem,
        };
        let answer = tokio::time::timeout(PATIENCE, self.exchange(request, &url));
        match answer.await {
            Ok(answer) => answer.map_err(failed),
            Err(_) => Err(failed(format!("no answer within {} s", PATIENCE.as_secs()))),
        }
    }

    async fn exchange(&self, request: &Request, url: &str) -> Result<Answer, String> {
        let uri: Uri = url.parse().map_err(|error| format!("not an address: {error}"))?;
        let method = Method::from_bytes(request.method.as_bytes())
            .map_err(|error| format!("not a method: {error}"))?;
        let mut built = hyper::Request::builder()
            .method(method)
            .uri(uri)
            // The server takes the default field manager from this.
            .header(USER_AGENT, "compare-apiservers/1");
        let authorized = request.headers.iter().any(|(name, _)| name == "authorization");
        if !authorized {
            built = built.header(AUTHORIZATION, format!("Bearer {}", self.token));
        }
        for (name, value) in request.headers.iter().filter(|(_, value)| !value.is_empty()) {
            built = built.header(name, value);
        }
        let body = Full::new(Bytes::from(request.body.clone().unwrap_or_default()));
        let built = built.body(body).map_err(|error| format!("not a request: {error}"))?;
        let answer = self.client.request(built).await.map_err(|error| causes(&error))?;
        let (head, body) = answer.into_parts();
        let body = body.collect().await.map_err(|error| causes(&error))?.to_bytes();
        Ok(Answer {
            status: head.status.as_u16(),
            headers: head.headers,
            body: String::from_utf8_lossy(&body).into_owned(),
        })
    }
}

/// An error with everything that led to it, because the last cause is the one that helps.
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// Accepts every certificate, but still checks that the server holds its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
