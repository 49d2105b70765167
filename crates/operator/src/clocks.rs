//! Whether the wall clock agrees with running time and with the API server's clock. While it does
//! not, nothing is given up because of the time of day.
//!
//! COMPAT: upstream believes the wall clock, whatever it says.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{self, Poll},
    time::Duration,
};

use http::{HeaderMap, Request, Response, header::DATE};
use jiff::{Timestamp, fmt::rfc2822::DateTimeParser};
use joiner_clock::{Agreement, Clock, Difference};
use kube::{Client, client::Body};
use tower_service::Service;

use crate::probes::{NotReady, Readiness};

/// The part of readiness that is about clocks.
pub const CLOCK: &str = "clock";
/// How often clocks are compared, and how soon something is looked at again that waits for them.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(15);

/// The wall clock of this process, compared with the API server's. Clones share the comparison.
#[derive(Debug, Clone)]
pub struct Clocks {
    clock: Clock,
    agreement: Arc<Mutex<Agreement>>,
}

impl Clocks {
    /// A clock that is believed until something contradicts it.
    pub fn new(clock: Clock) -> Self {
        let agreement = Agreement::new(clock.reading());
        Self { clock, agreement: Arc::new(Mutex::new(agreement)) }
    }

    /// How clocks differ now, if they do. Decisions that depend on the wall clock then wait.
    pub fn difference(&self) -> Option<Difference> {
        self.agreement().difference(self.clock.reading())
    }

    /// A client that reads the API server's time from every answer.
    pub fn heard_by(&self, client: Client) -> Client {
        let namespace = client.default_namespace().to_owned();
        Client::new(Heard { clocks: self.clone(), client }, namespace)
    }

    fn hear(&self, headers: &HeaderMap) {
        if let Some(server) = headers.get(DATE).and_then(|date| time_of(date.as_bytes())) {
            self.agreement().saw(server, self.clock.reading());
        }
    }

    /// Compares clocks from time to time, and says in `readiness` how they differ.
    pub(crate) async fn watch(&self, readiness: &Readiness) {
        let mut told = None;
        loop {
            let difference = self.difference();
            let missing: Vec<NotReady> = difference.map(not_ready).into_iter().collect();
            let problem = missing.first().map(ToString::to_string);
            if difference.is_some() != told.is_some() {
                match &problem {
                    Some(problem) => tracing::error!("{problem}"),
                    None => tracing::info!("clocks agree again"),
                }
                told = difference;
            }
            readiness.set(CLOCK, missing);
            self.clock.sleep(LOOK_EVERY).await;
        }
    }

    fn agreement(&self) -> MutexGuard<'_, Agreement> {
        self.agreement.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a difference means, and what to do about it.
fn not_ready(difference: Difference) -> NotReady {
    NotReady::Other {
        problem: format!(
            "{difference}, so nothing expires, is repaired, times out or is drained by force"
        ),
        remedy: match difference {
            Difference::Server(_) => "have the computers of this process and of the API server \
                                      follow the same time servers"
                .to_owned(),
            Difference::Running(_) => "set the clock right; if it is right now, wait for an hour, \
                                       or start this process anew"
                .to_owned(),
        },
    }
}

/// The time that a `Date` header says.
fn time_of(date: &[u8]) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(date).ok()
}

/// The layer that reads the time from answers.
#[derive(Clone)]
struct Heard {
    clocks: Clocks,
    client: Client,
}

impl Service<Request<Body>> for Heard {
    type Response = Response<Body>;
    type Error = kube::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, kube::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut task::Context<'_>) -> Poll<Result<(), kube::Error>> {
        // The client waits for its own turn when it is called.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let Self { clocks, client } = self.clone();
        Box::pin(async move {
            let response = client.send(request).await?;
            clocks.hear(response.headers());
            Ok(response)
        })
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    fn noon() -> Timestamp {
        "2026-01-01T12:00:00Z".parse().unwrap()
    }

    fn date(time: &str) -> HeaderMap {
        [(DATE, time.parse().unwrap())].into_iter().collect()
    }

    #[tokio::test(start_paused = true)]
    async fn the_date_of_an_answer_is_compared_with_the_wall_clock() {
        let clocks = Clocks::new(Clock::following_runtime(noon()));
        clocks.hear(&date("Thu, 01 Jan 2026 12:00:59 GMT"));
        assert_eq!(clocks.difference(), None);
        clocks.hear(&date("Thu, 01 Jan 2026 13:00:00 GMT"));
        let difference = SignedDuration::from_hours(-1);
        assert_eq!(clocks.difference(), Some(Difference::Server(difference)));
        for odd in ["yesterday", "", "Thu, 41 Jan 2026 12:00:00 GMT"] {
            clocks.hear(&date(odd));
            assert!(clocks.difference().is_some(), "{odd:?} says nothing");
        }
        clocks.hear(&date("Thu, 01 Jan 2026 12:00:00 GMT"));
        assert_eq!(clocks.difference(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn readiness_says_how_clocks_differ_until_they_agree() {
        let clock = Clock::following_runtime(noon());
        let (clocks, readiness) = (Clocks::new(clock.clone()), Readiness::new([CLOCK]));
        let watching = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert!(readiness.is_ready());
            clock.jump(SignedDuration::from_hours(24));
            tokio::time::sleep(LOOK_EVERY).await;
            let why_not = readiness.why_not();
            let start = "clock: the wall clock was set forward by 24h while this process";
            assert!(why_not.starts_with(start), "{why_not}");
            clock.jump(SignedDuration::from_hours(-24));
            tokio::time::sleep(LOOK_EVERY).await;
            assert_eq!(readiness.why_not(), "");
        };
        tokio::select! {
            () = clocks.watch(&readiness) => unreachable!("it never ends"),
            () = watching => {}
        }
    }
}
