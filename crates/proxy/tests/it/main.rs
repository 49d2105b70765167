//! What a proxy is asked for, and what is said when it does not help.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{net::SocketAddr, time::Duration};

use bytes::Bytes;
use expect_test::expect;
use http::Request;
use http_body_util::{BodyExt as _, Empty};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use joiner_proxy::{Connector, Proxies, testing::TestProxy};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

/// Longer than any of these tests takes.
const PATIENCE: Duration = Duration::from_hours(1);

/// A server that answers everything with the first line of what it was asked.
async fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 4096];
            let read = stream.read(&mut request).await.unwrap();
            let request = String::from_utf8_lossy(&request[..read]).into_owned();
            let line = request.lines().next().unwrap();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", line.len());
            stream.write_all((head + line).as_bytes()).await.unwrap();
        }
    });
    address
}

/// Asks for a URL on the way that a variable leads to.
async fn ask(variable: &str, proxy: &str, url: &str) -> Result<String, String> {
    let held = |name: &str| (name == variable).then(|| proxy.to_owned());
    let proxies = Proxies::read(held).unwrap();
    let connector = Connector::new(&proxies.way_to(&url.parse().unwrap()), PATIENCE).unwrap();
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let request = Request::get(url).body(Empty::<Bytes>::new()).unwrap();
    let answer = client.request(request).await.map_err(|error| {
        let mut last: &dyn std::error::Error = &error;
        while let Some(cause) = last.source() {
            last = cause;
        }
        last.to_string()
    })?;
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    Ok(String::from_utf8(body.to_vec()).unwrap())
}

fn with_password(proxy: &TestProxy) -> String {
    proxy.url().replace("://", "://joiner:hunter2@")
}

#[tokio::test]
async fn a_proxy_is_asked_for_a_tunnel_and_the_server_for_the_rest() {
    let proxy = TestProxy::leading_to(server().await).await.unwrap();
    let url = "http://api.only.proxies.know/version";
    let answer = ask("HTTP_PROXY", &with_password(&proxy), url).await;
    assert_eq!(answer.as_deref(), Ok("GET /version HTTP/1.1"));
    expect![[r"
        CONNECT api.only.proxies.know:80 HTTP/1.1
        Host: api.only.proxies.know:80
        Proxy-Authorization: Basic am9pbmVyOmh1bnRlcjI="]]
    .assert_eq(&proxy.asked().join("\n"));
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named_without_its_password() {
    for (answer, why) in [
        ("HTTP/1.1 407 No\r\n\r\n", "required: write USER:PASSWORD@ before its host in http_proxy"),
        ("HTTP/1.1 403 No\r\n\r\n", "unsuccessful"),
    ] {
        let proxy = TestProxy::answering(answer).await.unwrap();
        let url = "http://api.example.org:8001/";
        let told = ask("http_proxy", &with_password(&proxy), url).await.unwrap_err();
        let (proxy, server) = (proxy.url(), "api.example.org:8001");
        let start = format!("the proxy {proxy} (http_proxy) does not lead to {server}: ");
        assert!(told.starts_with(&start) && told.contains(why), "{told}");
        assert!(!told.contains("hunter2"), "{told}");
    }
}

#[tokio::test]
async fn a_proxy_that_is_not_there_is_named() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let url = "http://api.example.org/";
    let told = ask("HTTP_PROXY", &free.to_string(), url).await.unwrap_err();
    let start = format!("the proxy http://{free} (HTTP_PROXY) does not lead to api.example.org: ");
    assert!(told.starts_with(&start) && told.contains("refused"), "{told}");
}

#[tokio::test]
async fn without_a_proxy_the_server_itself_is_asked() {
    let url = format!("http://{}/version", server().await);
    let answer = ask("HTTP_PROXY", "http://127.0.0.1:1", &url).await;
    assert_eq!(answer.as_deref(), Ok("GET /version HTTP/1.1"));
}
