//! Leader election: Kubernetes leases, compatible with client-go's.
//!
//! A process acts only while it holds its own lease and the lease of each enabled provider's
//! predecessor. So the old and the new controller never act at the same time.
//!
//! Clocks of computers differ. [`decide`] therefore never compares times in a lease with a clock. A
//! lease has expired when this process has *seen* it unchanged for its full duration. A holder
//! stops earlier, counted from the moment before it sent its last successful renewal.

mod decide;
mod hold;
#[cfg(test)]
mod tests;
mod waiting;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
    time::Duration,
};

use joiner_clock::Clock;
use tokio::{sync::watch, task::JoinSet};

pub use self::{
    decide::{Record, Seen, Step, decide},
    waiting::Waiting,
};
use self::{
    hold::{Hold, Holding},
    waiting::Teller,
};

/// The namespace and name of a lease.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeaseName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for LeaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// How long a lease lasts after its last renewal. The value is the default of Go controllers.
pub(crate) const LEASE: Duration = Duration::from_secs(15);

/// The durations of leader election. All candidates should use the same values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// How long other candidates wait after the last renewal.
    pub lease: Duration,
    /// How long a holder acts without a renewal. It is shorter than `lease`, so the holder stops
    /// before another candidate starts.
    pub renew_deadline: Duration,
    /// The time between two attempts.
    pub retry: Duration,
}

impl Default for Terms {
    /// The defaults of Go controllers.
    fn default() -> Self {
        Self {
            lease: LEASE,
            renew_deadline: Duration::from_secs(10),
            retry: Duration::from_secs(2),
        }
    }
}

/// A process that takes part in leader election.
#[derive(Clone)]
pub struct Candidate {
    /// A separate client, so that other calls cannot delay a renewal.
    pub client: kube::Client,
    /// The clock.
    pub clock: Clock,
    /// The unique identity of this process; a restart needs a new one.
    pub identity: String,
    /// The durations.
    pub terms: Terms,
    /// All leases to hold.
    pub leases: BTreeSet<LeaseName>,
    /// The annotations of the leases while they are held.
    pub annotations: BTreeMap<String, String>,
}

impl fmt::Debug for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Candidate")
            .field("identity", &self.identity)
            .field("terms", &self.terms)
            .field("leases", &self.leases)
            .finish_non_exhaustive()
    }
}

/// The right to act. It can be lost at any moment. Dropping it lets the leases expire.
#[derive(Debug)]
pub struct Leadership {
    clock: Clock,
    held: Vec<watch::Receiver<Holding>>,
    /// Set once another process holds one of the leases.
    taken: watch::Receiver<Option<Lost>>,
    release: watch::Sender<bool>,
    renewals: JoinSet<()>,
}

/// Why the right to act was lost.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// Another process holds a lease.
    #[error("lease {lease} was taken over by {by:?}")]
    Taken {
        /// The lease.
        lease: LeaseName,
        /// Its holder.
        by: String,
    },
    /// A lease was not renewed in time.
    #[error("lease {lease} could not be renewed in time: {problem}")]
    NotRenewed {
        /// The lease.
        lease: LeaseName,
        /// The error of the last attempt.
        problem: String,
    },
}

impl Leadership {
    /// Waits until every lease is held. `tell` is called with the current obstacle when it changes,
    /// and every minute.
    pub async fn acquire(candidate: Candidate, tell: impl FnMut(&Waiting)) -> Self {
        let candidate = Arc::new(candidate);
        let mut teller = Teller::new(candidate.clock.clone(), tell);
        loop {
            let leadership = Self::take_all(&candidate, &mut teller).await;
            // A lease can be lost while the process waits for the next one.
            if leadership.is_held() {
                return leadership;
            }
        }
    }

    /// Takes the leases in the order of their names. All processes use this order, so that two of
    /// them cannot deadlock. Held leases are renewed during the wait.
    async fn take_all(
        candidate: &Arc<Candidate>,
        teller: &mut Teller<impl FnMut(&Waiting)>,
    ) -> Self {
        let (release, released) = watch::channel(false);
        let (lost, noticed) = watch::channel(None);
        let lost = Arc::new(lost);
        let mut renewals = JoinSet::new();
        let mut held = Vec::new();
        for lease in &candidate.leases {
            let (hold, holding) = Hold::acquire(Arc::clone(candidate), lease.clone(), teller).await;
            held.push(holding);
            renewals.spawn(hold.keep(released.clone(), Arc::clone(&lost)));
        }
        Self { clock: candidate.clock.clone(), held, taken: noticed, release, renewals }
    }

    /// Whether all leases are held now. The check is cheap: call it before each write.
    pub fn is_held(&self) -> bool {
        self.why_lost().is_none()
    }

    /// Waits until the right to act is lost.
    pub async fn lost(&self) -> Lost {
        let mut taken = self.taken.clone();
        loop {
            if let Some(lost) = self.why_lost() {
                return lost;
            }
            let end = self.held.iter().map(|holding| holding.borrow().until).min();
            let left = end.map(|end| end.saturating_sub(self.clock.running()));
            let over = async {
                match left {
                    Some(left) => self.clock.sleep(left).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                // The tasks that could report this end with the last lease; the time reports it
                // then.
                Ok(_) = taken.wait_for(Option::is_some) => {}
                () = over => {}
            }
        }
    }

    /// Releases the leases, so that the next process need not wait. Call it when no task runs any
    /// more.
    pub async fn release(mut self) {
        self.release.send_replace(true);
        while self.renewals.join_next().await.is_some() {}
    }

    fn why_lost(&self) -> Option<Lost> {
        let taken = self.taken.borrow().clone();
        let now = self.clock.running();
        let over = self.held.iter().map(|holding| holding.borrow()).find(|h| now >= h.until);
        taken.or_else(|| over.map(|holding| holding.not_renewed()))
    }
}
