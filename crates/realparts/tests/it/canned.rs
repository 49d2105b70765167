//! A server that has its answers ready.

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

/// Status and body for a method and a path.
pub(crate) type Answers = fn(&str, &str) -> (u16, &'static str);

/// Serves answers on loopback for as long as the test runs, and returns where.
pub(crate) async fn serve(answers: Answers) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            tokio::spawn(answer(connection, answers));
        }
    });
    format!("http://{address}")
}

async fn answer(connection: TcpStream, answers: Answers) {
    let mut connection = BufReader::new(connection);
    let mut first = String::new();
    connection.read_line(&mut first).await.expect("the client waits");
    let mut length = 0;
    loop {
        let mut header = String::new();
        connection.read_line(&mut header).await.expect("the client waits");
        let header = header.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length is a number");
        }
    }
    connection.read_exact(&mut vec![0; length]).await.expect("the client waits");
    let mut words = first.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (status, body) = answers(method, path);
    let text = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    );
    connection.write_all(text.as_bytes()).await.expect("the client waits");
}
