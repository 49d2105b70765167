//! Connections that are kept for the next request.
//!
//! Each carries one request at a time, and knows whether a byte of that request was written: what
//! hangs on that is whether a request may be sent again. Client libraries with pools of their own
//! do not tell.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    client::conn::http1::{self, SendRequest},
    rt::{Read, ReadBufCursor, Write},
};
use tokio::time::{Instant, timeout};

/// A connection and the request that is on it.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) sender: SendRequest<Full<Bytes>>,
    written: Written,
}

impl Connection {
    /// Speaks HTTP on a stream. The task that does so ends with the stream.
    pub(super) async fn begin<S>(stream: S) -> hyper::Result<Self>
    where
        S: Read + Write + Unpin + Send + 'static,
    {
        let written = Written::default();
        let metered = Metered { stream, written: written.clone() };
        let (sender, connection) = http1::handshake(metered).await?;
        tokio::spawn(async move {
            // The request on it gets the error too.
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to a cloud ended");
            }
        });
        Ok(Self { sender, written })
    }

    /// Begins a request: nothing of it is written yet.
    pub(super) fn begin_request(&self) {
        self.written.0.store(false, Ordering::SeqCst);
    }

    /// Whether a byte of the request was written.
    pub(super) fn has_written(&self) -> bool {
        self.written.0.load(Ordering::SeqCst)
    }
}

/// Connections without a request.
#[derive(Debug)]
pub(super) struct Kept {
    /// How long a connection may be without a request.
    idle_time: Duration,
    /// Those that were used last are at the end.
    connections: Mutex<Vec<(Instant, Connection)>>,
}

impl Kept {
    pub(super) fn new(idle_time: Duration) -> Self {
        Self { idle_time, connections: Mutex::default() }
    }

    /// The connection that was used last and can carry a request, if there is one.
    pub(super) async fn take(&self, patience: Duration) -> Option<Connection> {
        loop {
            let (_, mut connection) = {
                let mut connections = self.connections();
                connections.retain(|(since, connection)| {
                    since.elapsed() < self.idle_time && !connection.sender.is_closed()
                });
                connections.pop()?
            };
            // The end of the last answer may not have come through yet.
            if let Ok(Ok(())) = timeout(patience, connection.sender.ready()).await {
                return Some(connection);
            }
        }
    }

    /// Keeps a connection whose answer was read to its end.
    pub(super) fn keep(&self, connection: Connection) {
        if !connection.sender.is_closed() && !self.idle_time.is_zero() {
            self.connections().push((Instant::now(), connection));
        }
    }

    fn connections(&self) -> MutexGuard<'_, Vec<(Instant, Connection)>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether something was written since the last request began.
#[derive(Debug, Clone, Default)]
struct Written(Arc<AtomicBool>);

/// A stream that takes note of what is written.
struct Metered<S> {
    stream: S,
    written: Written,
}

impl<S> Metered<S> {
    fn note(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if matches!(written, Poll::Ready(Ok(bytes)) if bytes > 0) {
            self.written.0.store(true, Ordering::SeqCst);
        }
        written
    }
}

impl<S: Read + Unpin> Read for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: Write + Unpin> Write for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
