//! A vCenter on the network: what vSphere's settings allow.

use bytes::Bytes;
use http::Request;
use joiner_vim::{Endpoint, Https, TlsSettings, Transport as _, transport::TransportError};
use tokio::net::TcpListener;

#[tokio::test]
async fn nothing_is_sent_in_the_clear_unless_asked_to() {
    let endpoint: Endpoint = "http://vc.example.com/sdk".parse().unwrap();
    let error = Https::new(endpoint.clone(), &TlsSettings::default()).unwrap_err();
    assert!(error.to_string().starts_with("http://vc.example.com:80 is not encrypted"), "{error}");
    let insecure = TlsSettings { insecure: true, ..TlsSettings::default() };
    Https::new(endpoint, &insecure).unwrap();
}

#[tokio::test]
async fn a_server_that_is_not_there_has_no_answer() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let endpoint: Endpoint = format!("https://{free}").parse().unwrap();
    let transport = Https::new(endpoint.clone(), &TlsSettings::default()).unwrap();
    let request = Request::get("/sdk").body(Bytes::new()).unwrap();
    let error = transport.send(request).await.unwrap_err();
    let TransportError::NotSent(told) = error else { panic!("{error}") };
    assert!(told.starts_with(&endpoint.to_string()), "{told}");
}
