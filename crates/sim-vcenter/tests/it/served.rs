//! The vCenter on a socket.

use std::sync::Arc;

use joiner_clock::Clock;
use joiner_sim_vcenter::{Inventory, VCenter};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, RootCertStore, crypto::ring::default_provider, pki_types::ServerName},
};

const REQUEST: &str =
    "GET /sdk/vimServiceVersions.xml HTTP/1.1\r\nhost: vcenter\r\nconnection: close\r\n\r\n";

fn vcenter() -> VCenter {
    VCenter::new(Inventory::small(), Clock::wall()).unwrap()
}

async fn ask(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> String {
    stream.write_all(REQUEST.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn it_answers_in_plain_text_and_loses_answers_by_hanging_up() {
    let vcenter = vcenter();
    let serving = vcenter.serve(false).await.unwrap();
    assert!(serving.url().starts_with("http://127.0.0.1:"));
    assert_eq!(serving.thumbprint(), None);
    let answer = ask(TcpStream::connect(serving.address()).await.unwrap()).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("urn:vim25"), "{answer}");
    vcenter.trouble("lost after").unwrap();
    assert_eq!(ask(TcpStream::connect(serving.address()).await.unwrap()).await, "");
}

#[tokio::test]
async fn it_answers_over_tls_and_tells_its_thumbprint() {
    let vcenter = vcenter();
    let serving = vcenter.serve(true).await.unwrap();
    assert!(serving.url().starts_with("https://127.0.0.1:"));
    assert_eq!(serving.thumbprint().unwrap().split(':').count(), 32);
    assert_eq!(serving.thumbprint_sha1().unwrap().split(':').count(), 20);
    let provider = Arc::new(default_provider());
    let trusting = |roots| {
        let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        TlsConnector::from(Arc::new(config))
    };
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let stream = TcpStream::connect(serving.address()).await.unwrap();
    assert!(trusting(RootCertStore::empty()).connect(name.clone(), stream).await.is_err());
    let mut roots = RootCertStore::empty();
    roots.add(serving.certificate_der().unwrap().to_vec().into()).unwrap();
    let stream = TcpStream::connect(serving.address()).await.unwrap();
    let stream = trusting(roots).connect(name, stream).await.unwrap();
    assert!(ask(stream).await.contains("urn:vim25"));
}
