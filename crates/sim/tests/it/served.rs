//! A simulated cloud on a socket.

use std::sync::Arc;

use joiner_sim::serve::serve;
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
