//! The way of one client to the API server and to the cloud, with everything that can go wrong on it.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{HeaderValue, Request, Response, StatusCode, Uri, header::DATE};
use http_body_util::Empty;
use jiff::fmt::rfc2822::DateTimePrinter;
use joiner_apiserver::{Body, Server, Service, Status, refusal};
use joiner_clock::Clock;
use tokio::sync::Notify;
use tower_service::Service as _;

use crate::{
    faults::{Fault, Faults, INSTANCES, Sighted},
    history::History,
};

/// A client that connects to the laboratory from outside; clones are the same client.
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
            life: Arc::default(),
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
    life: Arc<Life>,
}

/// What became of the process behind a connection.
#[derive(Debug, Default)]
struct Life {
    calls: AtomicU64,
    /// Nothing that the process still has under way may have an effect.
    dead: AtomicBool,
    /// Signals the kill to the runner of the process.
    killed: Notify,
}

impl Life {
    fn is_over(&self) -> bool {
        self.dead.load(Ordering::Relaxed)
    }
}

impl Connection {
    /// How many calls were made.
    pub fn calls(&self) -> u64 {
        self.life.calls.load(Ordering::Relaxed)
    }

    /// The laboratory's clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Waits until a fault kills the client.
    pub async fn killed(&self) {
        self.life.killed.notified().await;
    }

    async fn call_through<B>(mut self, request: Request<B>) -> io::Result<Response<Body>>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.stay_alive().await;
        self.life.calls.fetch_add(1, Ordering::Relaxed);
        let now = self.clock.now();
        if self.faults.partitioned(&self.client, now).is_some() {
            return Err(cut("no route to the API server"));
        }
        let (verb, plural) = sight(request.method(), request.uri());
        let may_be_stale = verb == "list" && takes_any_version(request.uri());
        match self.strike(verb, &plural, may_be_stale) {
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
            Some(Fault::Slow(delay)) => {
                self.clock.sleep(delay).await;
                self.stay_alive().await;
            }
            Some(Fault::Stale { versions }) => {
                return Ok(self.answer_late(request, versions).await);
            }
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
                return Ok(response.map(|body| cut_after(self.wire(body), after)));
            }
        }
        let response = self.answer(request).await;
        Ok(response.map(|body| self.wire(body)))
    }

    /// Makes a call to the laboratory's cloud, which is one of the client's calls as any other.
    /// Records the outcome, and returns why the caller does not know it.
    pub(crate) async fn call_cloud<T>(
        &self,
        verb: &'static str,
        take_effect: impl FnOnce() -> (T, String),
    ) -> Result<T, String> {
        self.stay_alive().await;
        self.life.calls.fetch_add(1, Ordering::Relaxed);
        let take_effect = || {
            let (answer, told) = take_effect();
            self.history.note(self.clock.now(), &self.client, format!("cloud: {told}"));
            answer
        };
        match self.strike(verb, INSTANCES, false) {
            None => Ok(take_effect()),
            Some(Fault::Kill { after: false }) => self.die().await,
            Some(Fault::Kill { after: true }) => {
                take_effect();
                self.die().await
            }
            Some(Fault::Slow(delay)) => {
                self.clock.sleep(delay).await;
                self.stay_alive().await;
                Ok(take_effect())
            }
            Some(fault @ Fault::CutAfter) => {
                take_effect();
                Err(fault.to_string())
            }
            Some(fault) => Err(fault.to_string()),
        }
    }

    /// The fault of a call that is made now.
    fn strike(&self, verb: &str, plural: &str, may_be_stale: bool) -> Option<Fault> {
        let at = self.clock.now();
        let call = Sighted { client: &self.client, verb, plural, at, may_be_stale };
        let fault = self.faults.strike(&call)?;
        self.history.note(at, &self.client, format!("fault on {verb} {plural}: {fault}"));
        Some(fault)
    }

    async fn answer<B>(&mut self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let mut response = match self.service.call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        // As every server does over HTTP.
        let date = DateTimePrinter::new().timestamp_to_rfc9110_string(&self.clock.now());
        let date = date.ok().and_then(|date| HeaderValue::from_str(&date).ok());
        response.headers_mut().extend(date.map(|date| (DATE, date)));
        response
    }

    /// Answers a list from an earlier state, as a server that is behind would. Where that state is
    /// no longer kept, the server cannot be that far behind, and the answer is the current one.
    async fn answer_late<B>(&mut self, request: Request<B>, versions: u64) -> Response<Body> {
        let (head, _) = request.into_parts();
        let with_head = |head| Request::from_parts(head, Empty::<Bytes>::new());
        let version = self.server.version().saturating_sub(versions).max(1);
        if let Some(uri) = as_of(&head.uri, version) {
            let mut late = head.clone();
            late.uri = uri;
            let response = self.answer(with_head(late)).await;
            if response.status() != StatusCode::GONE {
                return response;
            }
        }
        self.answer(with_head(head)).await
    }

    /// The process is gone: the call never returns.
    async fn die<T>(&self) -> T {
        self.life.dead.store(true, Ordering::Relaxed);
        self.life.killed.notify_one();
        std::future::pending().await
    }

    /// Returns only while the process lives. Tasks that it started elsewhere may outlast it.
    async fn stay_alive(&self) {
        if self.life.is_over() {
            std::future::pending::<()>().await;
        }
    }

    /// The way that the pieces of a watch take: one that is open when a partition begins breaks
    /// with the next event, and one of a killed process is never heard of again.
    fn wire(&self, body: Body) -> Body {
        if !body.is_watch() {
            return body;
        }
        let (faults, clock) = (self.faults.clone(), self.clock.clone());
        let (client, life) = (Arc::clone(&self.client), Arc::clone(&self.life));
        let pieces = body.into_stream().then(move |piece| {
            let arrives = match faults.partitioned(&client, clock.now()) {
                Some(_) => Err(cut("no route to the API server")),
                None => piece,
            };
            let life = Arc::clone(&life);
            async move { if life.is_over() { std::future::pending().await } else { arrives } }
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

/// Whether a list says that it is content with any version, however old. A list that does not say
/// so gets the newest state from every real server.
fn takes_any_version(uri: &Uri) -> bool {
    uri.query().is_some_and(|query| query.split('&').any(|part| part == "resourceVersion=0"))
}

/// The same list as of a version; none for a further page, which has a version of its own.
fn as_of(uri: &Uri, version: u64) -> Option<Uri> {
    let given = uri.query().unwrap_or_default().split('&').filter(|part| !part.is_empty());
    let mut query: Vec<&str> = given.filter(|part| !part.starts_with("resourceVersion")).collect();
    if query.iter().any(|part| part.starts_with("continue=")) {
        return None;
    }
    let at = format!("resourceVersion={version}&resourceVersionMatch=Exact");
    query.push(&at);
    format!("{}?{}", uri.path(), query.join("&")).parse().ok()
}
