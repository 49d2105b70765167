//! The loop that takes, renews and releases one lease.

use std::{sync::Arc, time::Duration};

use joiner_clock::Clock;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{
    Api,
    api::{ObjectMeta, PostParams},
};
use tokio::sync::watch;

use super::{
    Candidate, LeaseName, Lost,
    decide::{Record, Seen, Step, decide},
    waiting::{Teller, Waiting},
};
use crate::answers;

/// The problem text if no attempt has ended.
const UNANSWERED: &str = "the API server did not answer";

/// The validity of a held lease.
#[derive(Debug, Clone)]
pub(super) struct Holding {
    lease: LeaseName,
    /// When it expires without another renewal, by the running time of the clock.
    pub(super) until: Duration,
    /// The error of the last renewal.
    problem: String,
}

impl Holding {
    /// The loss of a lease that expired.
    pub(super) fn not_renewed(&self) -> Lost {
        Lost::NotRenewed { lease: self.lease.clone(), problem: self.problem.clone() }
    }
}

/// A lease that is held.
pub(super) struct Hold {
    lock: Lock,
    state: watch::Sender<Holding>,
}

impl Hold {
    /// Waits until the lease is held.
    pub(super) async fn acquire<T: FnMut(&Waiting)>(
        candidate: Arc<Candidate>,
        lease: LeaseName,
        teller: &mut Teller<T>,
    ) -> (Self, watch::Receiver<Holding>) {
        let (clock, terms) = (candidate.clock.clone(), candidate.terms);
        let mut lock = Lock::new(candidate, lease.clone());
        let until = loop {
            let mut pause = terms.retry;
            match lock.attempt_within(terms.renew_deadline).await {
                Ok(Attempt::Held { until }) => break until,
                Ok(Attempt::Theirs { left }) => {
                    let Record { holder, acquired: since, .. } = lock.record();
                    teller.tell(Waiting::Held { lease: lease.clone(), holder, since });
                    // The pause ends at the expiry, so that no time is wasted.
                    pause = pause.min(left);
                }
                Err(Failed { verb, problem, forbidden }) => teller.tell(if forbidden {
                    Waiting::Forbidden { lease: lease.clone(), verb }
                } else {
                    Waiting::Failing { lease: lease.clone(), problem }
                }),
            }
            clock.sleep(pause).await;
        };
        let problem = UNANSWERED.to_owned();
        let (state, holding) = watch::channel(Holding { lease, until, problem });
        (Self { lock, state }, holding)
    }

    /// Renews the lease until it is lost or to be released.
    pub(super) async fn keep(
        mut self,
        mut release: watch::Receiver<bool>,
        lost: Arc<watch::Sender<Option<Lost>>>,
    ) {
        let (clock, terms) = (self.lock.candidate.clock.clone(), self.lock.candidate.terms);
        loop {
            let released = tokio::select! {
                biased;
                released = release.wait_for(|release| *release) => Some(released.is_ok()),
                () = clock.sleep(terms.retry) => None,
            };
            match released {
                Some(true) => return self.lock.give_back().await,
                // The owner of the lease has been dropped.
                Some(false) => return,
                None => {}
            }
            let left = self.state.borrow().until.saturating_sub(clock.running());
            if left.is_zero() {
                return;
            }
            match self.lock.attempt_within(left).await {
                Ok(Attempt::Held { until }) => self.state.send_modify(|state| {
                    (state.until, state.problem) = (until, UNANSWERED.to_owned());
                }),
                Ok(Attempt::Theirs { .. }) => {
                    let (lease, by) = (self.lock.name.clone(), self.lock.record().holder);
                    lost.send_replace(Some(Lost::Taken { lease, by }));
                    return;
                }
                Err(failed) => self.state.send_modify(|state| state.problem = failed.problem),
            }
        }
    }
}

/// The lease object and its observation.
struct Lock {
    candidate: Arc<Candidate>,
    name: LeaseName,
    leases: Api<Lease>,
    seen: Option<Seen>,
    /// The object's resource version: a write must not overwrite another process's write.
    version: Option<String>,
    mine: bool,
}

/// The result of an attempt.
enum Attempt {
    /// This process holds it until this moment.
    Held { until: Duration },
    /// Another process holds it, for this long at most.
    Theirs { left: Duration },
}

/// A failed attempt.
struct Failed {
    verb: &'static str,
    problem: String,
    forbidden: bool,
}

impl Failed {
    fn new(verb: &'static str, problem: String) -> Self {
        Self { verb, problem, forbidden: false }
    }

    fn of(verb: &'static str, error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => {
                let forbidden = status.code == 403;
                Self { verb, problem: status.message.clone(), forbidden }
            }
            other => Self::new(verb, answers::problem(other)),
        }
    }
}

impl Lock {
    fn new(candidate: Arc<Candidate>, name: LeaseName) -> Self {
        let leases = Api::namespaced(candidate.client.clone(), &name.namespace);
        Self { candidate, name, leases, seen: None, version: None, mine: false }
    }

    /// An attempt with a timeout: a missing answer must not hide that the lease expires.
    async fn attempt_within(&mut self, patience: Duration) -> Result<Attempt, Failed> {
        let clock = self.candidate.clock.clone();
        within(&clock, patience, self.attempt()).await
    }

    /// Takes or renews the lease, if that is the next step.
    async fn attempt(&mut self) -> Result<Attempt, Failed> {
        // A holder knows its last write, so it need not read first. After a foreign write or a lost
        // answer the API server rejects the write, and the next attempt reads.
        if self.mine
            && let Ok(held) = self.write().await
        {
            return Ok(held);
        }
        self.look().await?;
        let (clock, terms) = (&self.candidate.clock, &self.candidate.terms);
        let me = &self.candidate.identity;
        match decide(self.seen.as_ref(), me, self.mine, clock.running(), terms) {
            Step::Acquire | Step::Renew => self.write().await,
            Step::Wait { left, .. } => Ok(Attempt::Theirs { left }),
            Step::Lost { .. } => Ok(Attempt::Theirs { left: Duration::ZERO }),
        }
    }

    async fn look(&mut self) -> Result<(), Failed> {
        let found = self.leases.get_opt(&self.name.name).await;
        let found = found.map_err(|error| Failed::of("get", &error))?;
        let now = self.candidate.clock.running();
        match found {
            Some(lease) => self.saw(&lease, now),
            None => (self.seen, self.version) = (None, None),
        }
        Ok(())
    }

    /// The last observed contents; empty if there are none.
    fn record(&self) -> Record {
        self.seen.as_ref().map(|seen| seen.record.clone()).unwrap_or_default()
    }

    fn saw(&mut self, lease: &Lease, now: Duration) {
        self.seen = Some(Seen::next(self.seen.take(), Record::of(lease), now));
        self.version.clone_from(&lease.metadata.resource_version);
    }

    /// Writes this process as the holder.
    async fn write(&mut self) -> Result<Attempt, Failed> {
        let Candidate { clock, terms, identity, .. } = &*self.candidate;
        // The time before the call: other processes count from the moment they observe the write,
        // which is later.
        let until = clock.running() + terms.renew_deadline;
        let record = self.record().taken_by(identity, clock.now(), terms);
        self.put(&record).await?;
        self.mine = true;
        Ok(Attempt::Held { until })
    }

    async fn put(&mut self, record: &Record) -> Result<(), Failed> {
        let params = PostParams::default();
        let is_mine = record.holder == self.candidate.identity;
        let annotations = is_mine.then(|| self.candidate.annotations.clone());
        let lease = Lease {
            metadata: ObjectMeta {
                annotations: annotations.filter(|all| !all.is_empty()),
                name: Some(self.name.name.clone()),
                namespace: Some(self.name.namespace.clone()),
                resource_version: self.version.clone(),
                ..ObjectMeta::default()
            },
            spec: Some(record.spec()),
        };
        let written = if self.version.is_some() {
            let written = self.leases.replace(&self.name.name, &params, &lease).await;
            written.map_err(|error| Failed::of("update", &error))?
        } else {
            let written = self.leases.create(&params, &lease).await;
            written.map_err(|error| Failed::of("create", &error))?
        };
        self.saw(&written, self.candidate.clock.running());
        Ok(())
    }

    /// Releases the lease, so that it need not expire. If the call fails, it expires.
    async fn give_back(&mut self) {
        let (clock, patience) = (self.candidate.clock.clone(), self.candidate.terms.renew_deadline);
        let give_back = async {
            self.look().await?;
            let record = self.record();
            if record.holder == self.candidate.identity {
                self.put(&record.given_back(clock.now())).await?;
            }
            Ok::<_, Failed>(())
        };
        let outcome = within(&clock, patience, give_back).await;
        if let Err(Failed { problem, .. }) = outcome {
            let lease = self.name.to_string();
            tracing::warn!(
                lease,
                error = problem,
                "lease not given back: the next one waits for it"
            );
        }
    }
}

async fn within<T>(
    clock: &Clock,
    patience: Duration,
    call: impl Future<Output = Result<T, Failed>>,
) -> Result<T, Failed> {
    tokio::select! {
        biased;
        outcome = call => outcome,
        () = clock.sleep(patience) => {
            Err(Failed::new("update", UNANSWERED.to_owned()))
        }
    }
}
