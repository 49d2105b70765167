//! Several servers of one cloud, of which any can be asked.

use std::{
    fmt::{self, Debug, Formatter},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response};

use super::{Departure, Repeat, Transport, TransportError};

/// Several servers of one cloud. The server that answered last is asked first.
///
/// A server that does not answer hands a request on to the next one, where the request may be sent
/// again ([`Repeat`]). A server that is silent until the deadline is not asked first the next time.
pub struct Failover {
    servers: Vec<Arc<dyn Transport>>,
    /// Which server is asked first.
    first: AtomicUsize,
}

impl Failover {
    /// A server, and others in the order in which they are asked.
    pub fn new(
        server: Arc<dyn Transport>,
        others: impl IntoIterator<Item = Arc<dyn Transport>>,
    ) -> Self {
        let servers = [server].into_iter().chain(others).collect();
        Self { servers, first: AtomicUsize::new(0) }
    }
}

impl Debug for Failover {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failover")
            .field("servers", &self.servers.len())
            .field("first", &self.first)
            .finish()
    }
}

#[async_trait]
impl Transport for Failover {
    async fn send(&self, mut request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let (count, repeat) = (self.servers.len(), Repeat::of(&request));
        let start = self.first.load(Ordering::Relaxed);
        let mut failed: Option<TransportError> = None;
        for index in (start..start + count).map(|index| index % count) {
            let turn = Turn { failover: self, index, answered: false };
            let error = match self.servers[index].send(request.clone()).await {
                Ok(response) => {
                    turn.answered();
                    return Ok(response);
                }
                Err(error @ TransportError::TooLarge(_)) => {
                    turn.answered();
                    return Err(error);
                }
                Err(error) => error,
            };
            drop(turn);
            let may_go_on = error.is_unsent() || repeat == Repeat::Always;
            if !error.is_unsent() {
                // Whatever the next server says: bytes have left.
                request.extensions_mut().remove::<Departure>();
            }
            let error = match failed.take() {
                None => error,
                Some(before) => both(before, error),
            };
            if !may_go_on {
                return Err(error);
            }
            failed = Some(error);
        }
        Err(failed.unwrap_or_else(|| TransportError::NotSent("there is no server".to_owned())))
    }
}

/// What two servers said, as one error. Bytes have left if they left to one of them.
fn both(before: TransportError, after: TransportError) -> TransportError {
    let text = format!("{before}; {after}");
    match (before, after) {
        (TransportError::NotTrusted(_), TransportError::NotTrusted(_)) => {
            TransportError::NotTrusted(text)
        }
        (before, after) if before.is_unsent() && after.is_unsent() => TransportError::NotSent(text),
        _ => TransportError::NoAnswer(text),
    }
}

/// A server's turn to answer. If it ends without an answer, the next server is asked first from
/// then on; it also ends so when the sender gives up.
struct Turn<'a> {
    failover: &'a Failover,
    index: usize,
    answered: bool,
}

impl Turn<'_> {
    fn answered(mut self) {
        self.answered = true;
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if !self.answered {
            let next = (self.index + 1) % self.failover.servers.len();
            // Another request may have moved on already.
            let first = &self.failover.first;
            let _ = first.compare_exchange(self.index, next, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}
