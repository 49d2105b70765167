//! The cluster on a socket.

use joiner_clock::Clock;
use joiner_sim_proxmox::{Inventory, Proxmox, inventory::Durations};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

#[tokio::test]
async fn the_reason_phrase_is_written_and_an_error_ends_the_connection() {
    let unauthorized = std::time::Duration::ZERO;
    let mut inventory = Inventory::small();
    inventory.behaviour.durations = Durations { unauthorized, ..Durations::default() };
    let cluster = Proxmox::new(inventory, Clock::wall()).unwrap();
    let serving = cluster.serve(false).await.unwrap();
    let ask = async |path: &str| {
        let mut stream = TcpStream::connect(serving.address()).await.unwrap();
        let request = format!(
            "GET /api2/json{path} HTTP/1.1\r\nhost: pve\r\n\
             authorization: PVEAPIToken=kubernetes@pve!karpenter=karpenter-secret\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    };
    let answer = ask("/nodes/pve-1/qemu/7000/config").await;
    let line = "HTTP/1.1 500 Configuration file 'nodes/pve-1/qemu-server/7000.conf' does not exist";
    assert!(answer.starts_with(line), "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
    // The connection is kept after a success, and ends when nothing comes for five seconds.
    let answer = ask("/version").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK") && !answer.contains("connection:"), "{answer}");
    assert!(cluster.serve(true).await.unwrap().url().starts_with("https://127.0.0.1:"));
}
