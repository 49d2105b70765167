//! A proxy on a loopback socket, for tests of clients.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, copy_bidirectional},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// A proxy that leads everybody to the same server, whatever name they ask for, and remembers what
/// it was asked.
#[derive(Debug)]
pub struct TestProxy {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl TestProxy {
    /// A proxy that gives everybody a tunnel to `server`.
    pub async fn leading_to(server: SocketAddr) -> io::Result<Self> {
        Self::start("HTTP/1.1 200 OK\r\n\r\n", Some(server)).await
    }

    /// A proxy that gives everybody this answer.
    pub async fn answering(answer: &'static str) -> io::Result<Self> {
        Self::start(answer, None).await
    }

    async fn start(answer: &'static str, server: Option<SocketAddr>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&asked);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A connection that breaks is over; whoever made it knows.
                tokio::spawn(serve(stream, answer, server, Arc::clone(&seen)));
            }
        });
        Ok(Self { address, asked, task })
    }

    /// Where it is, as a variable names it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every line that it was asked so far.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for TestProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    stream: TcpStream,
    answer: &str,
    server: Option<SocketAddr>,
    asked: Arc<Mutex<Vec<String>>>,
) -> io::Result<()> {
    let mut caller = BufReader::new(stream);
    loop {
        let mut line = String::new();
        caller.read_line(&mut line).await?;
        if line.trim().is_empty() {
            break;
        }
        asked.lock().unwrap_or_else(PoisonError::into_inner).push(line.trim().to_owned());
    }
    caller.write_all(answer.as_bytes()).await?;
    if let Some(server) = server {
        copy_bidirectional(&mut caller, &mut TcpStream::connect(server).await?).await?;
    }
    Ok(())
}
