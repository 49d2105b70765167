//! Probes and metrics over HTTP.
//!
//! Each port has a thread of its own with a runtime of its own, so that a probe is answered at once
//! whatever the rest of the process computes, and a large page of metrics delays no probe.

mod readiness;
#[cfg(test)]
mod tests;

use std::{
    convert::Infallible,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener},
    sync::Arc,
    thread::JoinHandle,
    time::Duration,
};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::{Semaphore, oneshot};

pub use self::readiness::{NotReady, Readiness};
use crate::{
    metrics::{self, Registry},
    settings::Setting,
};

/// How many callers are served at once: kubelets and a Prometheus or two, with room.
const CALLERS_MAX: usize = 32;
/// How long a caller may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait after the system could not take a caller, as when it has no more files.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

/// Why a port cannot be had.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot listen on port {port} (--{}, {}): choose another port or end what listens there",
    setting.name,
    setting.variable
)]
pub struct ListenError {
    port: u16,
    setting: Setting,
    source: io::Error,
}

/// Takes a port that a setting names, on one address or on all.
pub fn listen(
    ip: Option<IpAddr>,
    port: u16,
    setting: &Setting,
) -> Result<TcpListener, ListenError> {
    let bound = match ip {
        Some(ip) => TcpListener::bind((ip, port)),
        // Where there is IPv6, its wildcard takes IPv4 too.
        None => TcpListener::bind((Ipv6Addr::UNSPECIFIED, port))
            .or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))),
    };
    let listener = bound.and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
    listener.map_err(|source| ListenError { port, setting: *setting, source })
}

/// Something that answers on a port until it is dropped.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Serving {
    /// The address it answers on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // A thread that is gone needs not be told.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            // There is nobody left to tell that it panicked.
            let _ = thread.join();
        }
    }
}

/// Answers `/healthz` and `/readyz`.
pub fn serve_probes(listener: TcpListener, readiness: Arc<Readiness>) -> io::Result<Serving> {
    serve("probes", listener, move |path| match path {
        "/healthz" => Some(text(StatusCode::OK, "ok\n".to_owned())),
        "/readyz" => Some(match readiness.why_not() {
            reasons if reasons.is_empty() => {
                text(StatusCode::OK, format!("ok\n{}", readiness.notes()))
            }
            reasons => text(StatusCode::SERVICE_UNAVAILABLE, reasons + &readiness.notes()),
        }),
        _ => None,
    })
}

/// Answers `/metrics`.
pub fn serve_metrics(listener: TcpListener, registry: Registry) -> io::Result<Serving> {
    serve("metrics", listener, move |path| {
        (path == "/metrics").then(|| answer(StatusCode::OK, metrics::CONTENT_TYPE, registry.text()))
    })
}

type Answer = Response<Full<Bytes>>;

fn serve(
    name: &str,
    listener: TcpListener,
    answer: impl Fn(&str) -> Option<Answer> + Send + Sync + 'static,
) -> io::Result<Serving> {
    let address = listener.local_addr()?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    let (stop, stopped) = oneshot::channel();
    let answer = Arc::new(answer);
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                biased;
                _ = stopped => {}
                () = accept(listener, answer) => {}
            }
        });
    })?;
    Ok(Serving { address, stop: Some(stop), thread: Some(thread) })
}

async fn accept(
    listener: TcpListener,
    answer: Arc<impl Fn(&str) -> Option<Answer> + Send + Sync + 'static>,
) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => {
            tracing::error!(%error, "nothing can be served: the kubelet will restart the process");
            return;
        }
    };
    let callers = Arc::new(Semaphore::new(CALLERS_MAX));
    loop {
        let Ok(place) = Arc::clone(&callers).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(AFTER_FAILURE).await;
            continue;
        };
        let answer = Arc::clone(&answer);
        tokio::spawn(async move {
            let service = service_fn(|request: Request<Incoming>| {
                std::future::ready(Ok::<_, Infallible>(respond(&request, &*answer)))
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .serve_connection(TokioIo::new(stream), service);
            // A caller that goes away in the middle is nobody's problem.
            let _ = connection.await;
            drop(place);
        });
    }
}

fn respond<B>(request: &Request<B>, answer: &impl Fn(&str) -> Option<Answer>) -> Answer {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are answered\n".to_owned());
    }
    let not_found = || text(StatusCode::NOT_FOUND, "there is nothing here\n".to_owned());
    answer(request.uri().path()).unwrap_or_else(not_found)
}

fn text(status: StatusCode, body: String) -> Answer {
    answer(status, "text/plain; charset=utf-8", body)
}

fn answer(status: StatusCode, content_type: &'static str, body: String) -> Answer {
    let mut answer = Response::new(Full::from(body));
    *answer.status_mut() = status;
    let value = header::HeaderValue::from_static(content_type);
    answer.headers_mut().insert(header::CONTENT_TYPE, value);
    answer
}
