//! A simulated cloud on a socket.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Request, Response};
use joiner_sim::{KeepAlive, NoAnswer, Server, serve::serve};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, RootCertStore, crypto::ring::default_provider, pki_types::ServerName},
};

use crate::counter::Counter;

async fn ask(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> String {
    let request = "POST /add HTTP/1.1\r\nhost: counter\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn it_answers_in_plain_text_and_loses_answers_by_hanging_up() {
    let counter = Counter::new();
    let serving = serve(counter.clone(), None).await.unwrap();
    assert!(serving.url().starts_with("http://127.0.0.1:"));
    assert_eq!((serving.thumbprint(), serving.certificate_pem()), (None, None));
    let answer = ask(TcpStream::connect(serving.address()).await.unwrap()).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("count 1"), "{answer}");
    counter.trouble("lost after");
    assert_eq!(ask(TcpStream::connect(serving.address()).await.unwrap()).await, "");
    assert_eq!(counter.count(), 2);
}

#[tokio::test]
async fn it_answers_over_tls_with_its_own_certificate() {
    let serving = serve(Counter::new(), Some("counter.example")).await.unwrap();
    assert!(serving.url().starts_with("https://127.0.0.1:"));
    let mut roots = RootCertStore::empty();
    roots.add(serving.certificate_der().unwrap().to_vec().into()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(serving.address()).await.unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    assert!(ask(stream).await.ends_with("count 1"));
}

/// A counter whose connections end as its keep-alive says.
#[derive(Clone)]
struct Brief(Counter, KeepAlive);

impl Server for Brief {
    fn keep_alive(&self) -> KeepAlive {
        self.1
    }

    async fn answer(&self, request: Request<Bytes>) -> Result<Response<Bytes>, NoAnswer> {
        Server::answer(&self.0, request).await
    }
}

/// How many answers come before a connection ends on which two requests are sent.
async fn answers(counter: Counter, keep_alive: KeepAlive) -> usize {
    let serving = serve(Brief(counter, keep_alive), None).await.unwrap();
    let mut stream = TcpStream::connect(serving.address()).await.unwrap();
    let request = "POST /add HTTP/1.1\r\nhost: counter\r\n\r\n".repeat(2);
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).matches("HTTP/1.1 ").count()
}

#[tokio::test]
async fn connections_end_when_idle_after_errors_and_after_so_many_requests() {
    let brief = KeepAlive { idle: Some(Duration::from_millis(50)), ..KeepAlive::default() };
    assert_eq!(answers(Counter::new(), brief).await, 2);
    let single = KeepAlive { requests: Some(1), ..KeepAlive::default() };
    assert_eq!(answers(Counter::new(), single).await, 1);
    let counter = Counter::new();
    counter.trouble("http 503 always");
    let careful = KeepAlive { ends_after_errors: true, ..KeepAlive::default() };
    assert_eq!(answers(counter, careful).await, 1);
}
