//! Callers of a port that everything in the cluster's network can reach.
//!
//! No caller keeps others from being answered. Each has one question, a short time and little
//! memory. When there are too many, the oldest goes.

use std::{convert::Infallible, net::IpAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    task::{AbortHandle, Id, JoinSet, yield_now},
    time::{sleep, timeout},
};

use super::text;

/// What is asked for is small: a path and some headers. The least that hyper takes.
const HEAD_MAX: usize = 8 << 10;
/// How long to wait after the system could not take a caller, as when it has no more files.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

pub(super) type Answer = Response<Full<Bytes>>;

/// What callers get at most.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// How many are served at once.
    pub(super) at_once: usize,
    /// How long everything may take, from the connection to the last byte of the answer.
    pub(super) patience: Duration,
}

/// A connection that is being served.
struct Caller {
    id: Id,
    from: IpAddr,
    end: AbortHandle,
}

/// Answers requests; never returns.
pub(super) async fn answer_all(
    listener: TcpListener,
    limits: Limits,
    answer: Arc<impl Fn(&str) -> Option<Answer> + Send + Sync + 'static>,
) {
    let mut serving = JoinSet::new();
    // In the order in which they came.
    let mut callers: Vec<Caller> = Vec::new();
    loop {
        tokio::select! {
            biased;
            Some(ended) = serving.join_next_with_id() => {
                let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
                callers.retain(|caller| caller.id != id);
            }
            accepted = listener.accept() => {
                let Ok((stream, from)) = accepted else {
                    sleep(AFTER_FAILURE).await;
                    continue;
                };
                while callers.len() >= limits.at_once {
                    let from: Vec<IpAddr> = callers.iter().map(|caller| caller.from).collect();
                    callers.remove(who_goes(&from)).end.abort();
                }
                let exchange = exchange(stream, limits.patience, Arc::clone(&answer));
                let end = serving.spawn(exchange);
                let from = from.ip().to_canonical();
                callers.push(Caller { id: end.id(), from, end });
                // A question that is there already is answered before the next caller comes.
                yield_now().await;
            }
        }
    }
}

/// Which of these goes when there is no room: the oldest of the address that has most of them, so
/// that a flood from one place pushes out itself and not the kubelet.
fn who_goes(callers: &[IpAddr]) -> usize {
    let count = |from: &IpAddr| callers.iter().filter(|other| *other == from).count();
    let most = callers.iter().map(count).max();
    callers.iter().position(|from| Some(count(from)) == most).unwrap_or_default()
}

/// One question and its answer.
async fn exchange(
    stream: TcpStream,
    patience: Duration,
    answer: Arc<impl Fn(&str) -> Option<Answer>>,
) {
    let service = service_fn(|request: Request<Incoming>| {
        std::future::ready(Ok::<_, Infallible>(respond(&request, &*answer)))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience)
        .keep_alive(false)
        .max_buf_size(HEAD_MAX)
        .serve_connection(TokioIo::new(stream), service);
    // A client that disconnects or times out gets no answer.
    let _ = timeout(patience, connection).await;
}

fn respond<B>(request: &Request<B>, answer: &impl Fn(&str) -> Option<Answer>) -> Answer {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are answered\n".to_owned());
    }
    let not_found = || text(StatusCode::NOT_FOUND, "there is nothing here\n".to_owned());
    answer(request.uri().path()).unwrap_or_else(not_found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_address_with_most_connections_the_oldest_goes() {
        let goes = |callers: &[u8]| {
            let from = |last: &u8| IpAddr::from([10, 0, 0, *last]);
            who_goes(&callers.iter().map(from).collect::<Vec<_>>())
        };
        assert_eq!(goes(&[1, 2, 3]), 0);
        assert_eq!(goes(&[1, 2, 2, 3]), 1);
        assert_eq!(goes(&[1, 2, 3, 3, 2]), 1);
        assert_eq!(goes(&[1]), 0);
    }
}
