//! Requests on their way: how many at once, for how long, and who counts them.

use std::{
    fmt::{self, Debug, Formatter},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::{
    Request, Response,
    header::{HeaderValue, USER_AGENT},
};
use joiner_clock::Clock;
use tokio::sync::Semaphore;

use crate::{Departure, Observer, Transport, TransportError, Unobserved};

/// What all requests of a client have in common.
#[derive(Clone)]
pub struct LineSettings {
    /// How the client introduces itself, `joiner/1.0 (cluster)`; administrators see it in logs.
    pub user_agent: String,
    /// How many requests may be under way at once; one at least.
    pub requests_in_flight: usize,
    /// What counts requests.
    pub observer: Arc<dyn Observer>,
}

impl Default for LineSettings {
    /// The program's name and version, and 20 requests at once: a vCenter has some hundreds for
    /// all its clients. A cloud that bears less says so.
    fn default() -> Self {
        Self {
            user_agent: concat!("joiner/", env!("CARGO_PKG_VERSION")).to_owned(),
            requests_in_flight: 20,
            observer: Arc::new(Unobserved),
        }
    }
}

impl Debug for LineSettings {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineSettings")
            .field("user_agent", &self.user_agent)
            .field("requests_in_flight", &self.requests_in_flight)
            .finish_non_exhaustive()
    }
}

/// A client's line to its server: requests wait for their turn, and answers have a deadline.
///
/// It sends each request once. What may be sent again, and when, is the client's decision
/// ([`TransportError::allows`], [`crate::retry::asked`]).
pub struct Line {
    settings: LineSettings,
    transport: Arc<dyn Transport>,
    clock: Clock,
    permits: Semaphore,
}

impl Line {
    /// A line over a transport.
    pub fn new(settings: LineSettings, transport: Arc<dyn Transport>, clock: Clock) -> Self {
        let permits = Semaphore::new(settings.requests_in_flight.max(1));
        Self { settings, transport, clock, permits }
    }

    /// The clock by which deadlines pass.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// What counts requests.
    pub fn observer(&self) -> &dyn Observer {
        &*self.settings.observer
    }

    /// Sends a request when its turn has come, and waits for the answer until the deadline. The
    /// time starts with the turn.
    pub async fn send(
        &self,
        mut request: Request<Bytes>,
        deadline: Duration,
    ) -> Result<Response<Bytes>, TransportError> {
        if let Ok(agent) = HeaderValue::from_str(&self.settings.user_agent) {
            request.headers_mut().insert(USER_AGENT, agent);
        }
        let departure = Departure::default();
        request.extensions_mut().insert(departure.clone());
        let closed = |_| TransportError::NotSent("the client is closing".to_owned());
        let _turn = self.permits.acquire().await.map_err(closed)?;
        let answer = tokio::select! {
            biased;
            answer = self.transport.send(request) => Some(answer),
            () = self.clock.sleep(deadline) => None,
        };
        answer.unwrap_or_else(|| {
            let late = format!("no answer within {} s", deadline.as_secs());
            let unsent = departure.is_held();
            Err(if unsent { TransportError::NotSent(late) } else { TransportError::NoAnswer(late) })
        })
    }

    /// Tells the observer that a request is over: its name, when it began on the clock's running
    /// time, and in one word how it ended.
    pub fn observe(&self, request: &str, began: Duration, code: &str) {
        let took = self.clock.running().saturating_sub(began);
        self.settings.observer.request(request, code, took);
    }
}

impl Debug for Line {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").field("settings", &self.settings).finish_non_exhaustive()
    }
}
