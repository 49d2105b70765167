//! The way of one client to the API server, with everything that can go wrong on it.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{Request, Response, Uri};
use joiner_apiserver::{Body, Server, Service, Status, refusal};
use joiner_clock::Clock;
use tokio::sync::Notify;
use tower_service::Service as _;

use crate::{
    faults::{Fault, Faults, Sighted},
    history::History,
};

/// Somebody who connects to the laboratory from outside; clones are the same client.
#[derive(Clone, Debug)]
pub struct Client {
    name: Arc<str>,
    server: Server,
    faults: Faults,
    history: History,
}

impl Client {
    pub(crate) fn new(server: &Server, name: &str, faults: Faults, history: History) -> Self {
        Self { name: name.into(), server: server.clone(), faults, history }
    }

    /// A new connection, with everything that can go wrong on it.
    pub fn connect(&self) -> Connection {
        Connection {
            client: Arc::clone(&self.name),
            service: Service::new(self.server.clone(), &self.name),
            clock: self.server.clock().clone(),
            server: self.server.clone(),
            faults: self.faults.clone(),
            history: self.history.clone(),
            calls: Arc::default(),
            killed: Arc::default(),
        }
    }

    /// The laboratory's clock.
    pub fn clock(&self) -> &Clock {
        self.server.clock()
    }

    /// Takes note of something that happens to the client.
    pub fn note(&self, what: &str) {
        self.history.note(self.clock().now(), &self.name, what);
    }
}

/// A client's connection: a `tower` service that `kube::Client::new` takes. Clones are the same
/// connection.
#[derive(Clone, Debug)]
pub struct Connection {
    client: Arc<str>,
    server: Server,
    service: Service,
    clock: Clock,
    faults: Faults,
    history: History,
    calls: Arc<AtomicU64>,
    /// Tells whoever runs the client that it was killed.
    killed: Arc<Notify>,
}

impl Connection {
    /// How many calls were made.
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Waits until a fault kills the client.
    pub(crate) async fn killed(&self) {
        self.killed.notified().await;
    }

    async fn call_through<B>(mut self, request: Request<B>) -> io::Result<Response<Body>>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let now = self.clock.now();
        if self.faults.partitioned(&self.client, now).is_some() {
            return Err(cut("no route to the API server"));
        }
        let (verb, plural) = sight(request.method(), request.uri());
        let call = Sighted { client: &self.client, verb, plural: &plural, at: now };
        let fault = self.faults.strike(&call);
        if let Some(fault) = &fault {
            self.history.note(now, &self.client, format!("fault on {verb} {plural}: {fault}"));
        }
        let mut request = request;
        match fault {
            None => {}
            Some(Fault::Conflict) => return Ok(refusal(&Status::modified("", &plural, "fault"))),
            Some(Fault::TooManyRequests { retry_after_seconds }) => {
                let message = "too many requests, please try again later";
                return Ok(refusal(&Status::too_many_requests(message, retry_after_seconds)));
            }
            Some(Fault::Internal) => return Ok(refusal(&Status::internal("injected fault"))),
            Some(Fault::Unavailable) => {
                let message = "the server is currently unable to handle the request";
                return Ok(refusal(&Status::plain(503, "ServiceUnavailable", message)));
            }
            Some(Fault::CutBefore) => return Err(cut("connection reset before the request")),
            Some(Fault::Kill { after: false }) => return self.die().await,
            Some(Fault::Slow(delay)) => self.clock.sleep(delay).await,
            Some(Fault::Stale { versions }) => make_stale(&self.server, versions, &mut request),
            Some(Fault::CutAfter) => {
                self.answer(request).await;
                return Err(cut("connection reset before the answer"));
            }
            Some(Fault::Kill { after: true }) => {
                self.answer(request).await;
                return self.die().await;
            }
            Some(Fault::CutWatch { after }) => {
                let response = self.answer(request).await;
                return Ok(response.map(|body| cut_after(body, after)));
            }
        }
        let response = self.answer(request).await;
        Ok(response.map(|body| self.cut_by_partition(body)))
    }

    async fn answer<B>(&mut self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        match self.service.call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }

    /// The process is gone: the call never returns.
    async fn die(&self) -> io::Result<Response<Body>> {
        self.killed.notify_one();
        std::future::pending().await
    }

    /// A watch that is open when a partition begins breaks with the next event.
    fn cut_by_partition(&self, body: Body) -> Body {
        if !body.is_watch() {
            return body;
        }
        let (faults, clock) = (self.faults.clone(), self.clock.clone());
        let client = Arc::clone(&self.client);
        let pieces =
            body.into_stream().map(move |piece| match faults.partitioned(&client, clock.now()) {
                Some(_) => Err(cut("no route to the API server")),
                None => piece,
            });
        // Nothing comes after an error.
        let pieces = pieces.scan(false, |over, piece| {
            let before = std::mem::replace(over, piece.is_err());
            std::future::ready((!before).then_some(piece))
        });
        Body::stream(pieces.boxed())
    }
}

impl<B> tower_service::Service<Request<B>> for Connection
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Response<Body>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        Box::pin(self.clone().call_through(request))
    }
}

fn cut(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, what.to_owned())
}

fn cut_after(body: Body, pieces: usize) -> Body {
    let first = body.into_stream().take(pieces);
    let end = stream::once(async { Err(cut("watch reset")) });
    Body::stream(first.chain(end).boxed())
}

/// The verb and the resource of a request, as fault scripts name them.
fn sight(method: &http::Method, uri: &Uri) -> (&'static str, String) {
    let mut parts = uri.path().trim_matches('/').split('/');
    let skip = if parts.next() == Some("api") { 1 } else { 2 };
    let mut rest: Vec<&str> = parts.skip(skip).collect();
    if rest.first() == Some(&"namespaces") && rest.len() > 2 {
        rest.drain(..2);
    }
    let plural = rest.first().copied().unwrap_or_default().to_owned();
    let named = rest.len() > 1;
    let watches = uri
        .query()
        .is_some_and(|query| query.split('&').any(|p| p == "watch=true" || p == "watch=1"));
    let verb = match *method {
        http::Method::GET if watches => "watch",
        http::Method::GET if named => "get",
        http::Method::GET => "list",
        http::Method::POST => "create",
        http::Method::PUT => "update",
        http::Method::PATCH => "patch",
        http::Method::DELETE if named => "delete",
        _ => "deletecollection",
    };
    (verb, plural)
}

/// Has a list answered from an earlier state, as a server that is behind would.
fn make_stale<B>(server: &Server, versions: u64, request: &mut Request<B>) {
    let version = server.version().saturating_sub(versions).max(1);
    let uri = request.uri();
    let keep = |part: &&str| !part.is_empty() && !part.starts_with("resourceVersion");
    let mut query: Vec<&str> = uri.query().unwrap_or_default().split('&').filter(keep).collect();
    let stale = format!("resourceVersion={version}&resourceVersionMatch=Exact");
    query.push(&stale);
    let path = format!("{}?{}", uri.path(), query.join("&"));
    if let Ok(uri) = path.parse() {
        *request.uri_mut() = uri;
    }
}
