//! The server on a socket.

use joiner_clock::Clock;
use joiner_sim_cloudstack::{CloudStack, Inventory};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

#[tokio::test]
async fn it_answers_over_http_with_its_own_codes() {
    let cloud = CloudStack::new(Inventory::small(), Clock::wall()).unwrap();
    let serving = cloud.serve(false).await.unwrap();
    let mut stream = TcpStream::connect(serving.address()).await.unwrap();
    let request = "GET /client/api?command=listZones&response=json HTTP/1.1\r\nhost: cloud\r\n\
                   connection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    assert!(answer.contains("x-description: unable to verify user credentials"), "{answer}");
    assert!(cloud.serve(true).await.unwrap().url().starts_with("https://127.0.0.1:"));
}
