//! One waiter for all jobs.
//!
//! Thousands may wait at once, and each job has to be asked about by itself. Nothing works in the
//! background: one of those who wait asks for all, about several jobs at a time, and when it has got
//! what it wanted, or is dropped, the next one asks. The more jobs there are, the less often each is
//! asked about, so that polling never takes more than a part of the requests that may be sent.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::stream::{FuturesUnordered, StreamExt};
use serde_json::Value;
use tokio::sync::{Mutex as Turn, Notify, watch};

use super::{Client, ClientError, ErrorClass, JobFailed, Submitted};

/// How long after it was submitted a job is asked about first, and how long after each look it is
/// asked about again; the last one stays.
const LOOKS: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(2),
    Duration::from_secs(5),
];
/// About how many jobs is asked at a time.
const AT_ONCE: usize = 4;
/// The share of all requests that asking about jobs may take: one in so many.
const ONE_IN: u32 = 2;
/// How long answers that are on their way are waited for by a caller that has what it wants.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

type Outcome = Result<Value, JobFailed>;

/// Waits for all jobs of a server.
#[derive(Debug, Default)]
pub(crate) struct Waiter {
    jobs: Mutex<BTreeMap<String, WaitedFor>>,
    /// Told when there is another job to wait for.
    more: Notify,
    /// The holder asks for all.
    asking: Turn<()>,
}

#[derive(Debug)]
struct WaitedFor {
    command: &'static str,
    known: watch::Sender<Option<Outcome>>,
    /// How many wait for it.
    by: usize,
    /// When it was last asked about, or came, on the clock's running time.
    since: Duration,
    looks: usize,
    /// Whether it is asked about right now.
    is_asked: bool,
}

impl WaitedFor {
    fn is_over(&self) -> bool {
        self.known.borrow().is_some()
    }

    fn is_to_be_asked(&self) -> bool {
        !self.is_asked && !self.is_over()
    }

    /// When it is to be asked about, where looks have to be so far apart at least.
    fn due(&self, shortest: Duration) -> Duration {
        let step = LOOKS[self.looks.min(LOOKS.len() - 1)];
        let shortest = if self.looks == 0 { Duration::ZERO } else { shortest };
        self.since + step.max(shortest)
    }
}

impl Waiter {
    pub(crate) async fn wait(&self, client: &Client, of: &Submitted, limit: Duration) -> Outcome {
        let began = client.clock().running();
        client.wire().job_begins(of.command);
        let waiting = Waiting::new(self, client, of);
        let outcome = tokio::select! {
            biased;
            outcome = self.outcome(client, &waiting) => outcome,
            () = client.clock().sleep(limit) => {
                Err(JobFailed::Deadline(of.command.to_owned()))
            }
        };
        let result = match &outcome {
            Ok(_) => "success",
            Err(JobFailed::Refused(_)) => "error",
            Err(_) => "unknown",
        };
        let took = client.clock().running().saturating_sub(began);
        client.wire().job_ends(of.command, result, took);
        outcome
    }

    async fn outcome(&self, client: &Client, waiting: &Waiting<'_>) -> Outcome {
        let mut known = waiting.known.clone();
        let told = async {
            loop {
                if let Some(outcome) = known.borrow_and_update().clone() {
                    return outcome;
                }
                // The sender lives as long as a caller waits.
                if known.changed().await.is_err() {
                    return Err(JobFailed::Disappeared("job".to_owned()));
                }
            }
        };
        let _turn = tokio::select! {
            biased;
            outcome = told => return outcome,
            turn = self.asking.lock() => turn,
        };
        self.ask_for_all(client, waiting).await
    }

    /// Asks about all jobs until that of the caller is over.
    async fn ask_for_all(&self, client: &Client, waiting: &Waiting<'_>) -> Outcome {
        let clock = client.clock();
        let mut under_way = FuturesUnordered::new();
        loop {
            if let Some(outcome) = waiting.outcome() {
                let answers = async { while under_way.next().await.is_some() {} };
                tokio::select! {
                    biased;
                    () = answers => {}
                    () = clock.sleep(LAST_ANSWERS) => {}
                }
                return outcome;
            }
            while under_way.len() < AT_ONCE
                && let Some(asked) = self.next_due(client)
            {
                under_way.push(self.ask(client, asked));
            }
            let next = (under_way.len() < AT_ONCE).then(|| self.next(client)).flatten();
            let due = async {
                match next {
                    Some(at) => clock.sleep(at.saturating_sub(clock.running())).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                Some(()) = under_way.next() => {}
                () = self.more.notified() => {}
                () = due => {}
            }
        }
    }

    /// The job that is due, longest first, marked as asked about.
    fn next_due(&self, client: &Client) -> Option<Asked<'_>> {
        let mut jobs = self.jobs();
        let (now, shortest) = (client.clock().running(), shortest(client, &jobs));
        let to_ask = jobs.iter_mut().filter(|(_, of)| of.is_to_be_asked());
        let due = to_ask.filter(|(_, of)| of.due(shortest) <= now);
        let (id, of) = due.min_by_key(|(_, of)| of.due(shortest))?;
        of.is_asked = true;
        Some(Asked { waiter: self, id: id.clone() })
    }

    /// When the next job is due.
    fn next(&self, client: &Client) -> Option<Duration> {
        let jobs = self.jobs();
        let shortest = shortest(client, &jobs);
        jobs.values().filter(|of| of.is_to_be_asked()).map(|of| of.due(shortest)).min()
    }

    /// Asks about a job and tells those who wait for it what came.
    async fn ask(&self, client: &Client, asked: Asked<'_>) {
        let answer = client.job(&asked.id).await;
        let mut jobs = self.jobs();
        let Some(of) = jobs.get_mut(&asked.id) else { return };
        let outcome = match answer {
            Ok(job) => job.outcome,
            Err(error) if error.refusal().is_some_and(|said| said.unknown_entity().is_some()) => {
                Some(Err(JobFailed::Disappeared(of.command.to_owned())))
            }
            Err(error) => match error.class() {
                ErrorClass::Permission | ErrorClass::Authentication => {
                    Some(Err(JobFailed::Client(error)))
                }
                _ if matches!(error, ClientError::Tls { .. }) => {
                    Some(Err(JobFailed::Client(error)))
                }
                _ => None,
            },
        };
        of.looks += 1;
        of.since = client.clock().running();
        if outcome.is_some() {
            of.known.send_replace(outcome);
        }
    }

    fn jobs(&self) -> MutexGuard<'_, BTreeMap<String, WaitedFor>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The shortest time between two looks at one of these jobs, so that all looks together take their
/// share of requests and no more.
fn shortest(client: &Client, jobs: &BTreeMap<String, WaitedFor>) -> Duration {
    let waiting = jobs.values().filter(|of| !of.is_over()).count();
    let waiting = u32::try_from(waiting).unwrap_or(u32::MAX);
    client.interval().saturating_mul(ONE_IN).saturating_mul(waiting)
}

/// A job that is asked about. Where the question is dropped, it is due as before.
struct Asked<'w> {
    waiter: &'w Waiter,
    id: String,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if let Some(of) = self.waiter.jobs().get_mut(&self.id) {
            of.is_asked = false;
        }
    }
}

/// A caller that waits for a job.
struct Waiting<'w> {
    waiter: &'w Waiter,
    id: String,
    known: watch::Receiver<Option<Outcome>>,
}

impl<'w> Waiting<'w> {
    fn new(waiter: &'w Waiter, client: &Client, of: &Submitted) -> Self {
        let known = {
            let mut jobs = waiter.jobs();
            let entry = jobs.entry(of.job.clone()).or_insert_with(|| WaitedFor {
                command: of.command,
                known: watch::Sender::new(None),
                by: 0,
                since: client.clock().running(),
                looks: 0,
                is_asked: false,
            });
            entry.by += 1;
            entry.known.subscribe()
        };
        waiter.more.notify_one();
        Self { waiter, id: of.job.clone(), known }
    }

    fn outcome(&self) -> Option<Outcome> {
        self.known.borrow().clone()
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut jobs = self.waiter.jobs();
        if let Some(of) = jobs.get_mut(&self.id) {
            of.by -= 1;
            if of.by == 0 {
                jobs.remove(&self.id);
            }
        }
    }
}
