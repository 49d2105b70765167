//! Probes and metrics over HTTP.
//!
//! Each port has its own thread and runtime. So a probe is answered at once, whatever the rest of
//! the process computes.

mod callers;
mod liveness;
mod readiness;
#[cfg(test)]
mod tests;

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener},
    sync::Arc,
    thread::JoinHandle,
    time::Duration,
};

use http::{Response, StatusCode, header};
use http_body_util::Full;
use joiner_settings::Setting;
use tokio::sync::oneshot;

use self::callers::{Answer, Limits, answer_all};
pub use self::{
    liveness::Liveness,
    readiness::{NotReady, Readiness},
};
use crate::metrics::{self, Registry};

/// How many callers are served at once: kubelets and a Prometheus or two, with room.
const AT_ONCE: usize = 32;
/// A kubelet waits for one second, unless the probe says otherwise. This is twice as long.
const PROBES: Limits = Limits { at_once: AT_ONCE, patience: Duration::from_secs(2) };
/// Prometheus waits for ten seconds, unless it is configured otherwise.
const METRICS: Limits = Limits { at_once: AT_ONCE, patience: Duration::from_secs(10) };

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
            // During a drop, a panic of the thread cannot be returned.
            let _ = thread.join();
        }
    }
}

/// Answers `/healthz` and `/readyz`.
pub fn serve_probes(
    listener: TcpListener,
    liveness: Liveness,
    readiness: Arc<Readiness>,
) -> io::Result<Serving> {
    serve("probes", listener, PROBES, move |path| match path {
        "/healthz" => Some(verdict(liveness.why_not(), "")),
        "/readyz" => Some(verdict(readiness.why_not(), &readiness.notes())),
        _ => None,
    })
}

/// Whether everything is well, and what should be known in any case.
fn verdict(why_not: String, notes: &str) -> Answer {
    if why_not.is_empty() {
        return text(StatusCode::OK, format!("ok\n{notes}"));
    }
    text(StatusCode::SERVICE_UNAVAILABLE, why_not + notes)
}

/// Answers `/metrics`.
pub fn serve_metrics(listener: TcpListener, registry: Registry) -> io::Result<Serving> {
    serve("metrics", listener, METRICS, move |path| {
        (path == "/metrics").then(|| answer(StatusCode::OK, metrics::CONTENT_TYPE, registry.text()))
    })
}

fn serve(
    name: &str,
    listener: TcpListener,
    limits: Limits,
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
                () = accept(listener, limits, answer) => {}
            }
        });
    })?;
    Ok(Serving { address, stop: Some(stop), thread: Some(thread) })
}

async fn accept(
    listener: TcpListener,
    limits: Limits,
    answer: Arc<impl Fn(&str) -> Option<Answer> + Send + Sync + 'static>,
) {
    match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => answer_all(listener, limits, answer).await,
        Err(error) => {
            tracing::error!(%error, "nothing can be served: the kubelet will restart the process");
        }
    }
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
