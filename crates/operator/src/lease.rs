//! Who acts, where several controllers could: leases, as client-go's leader election holds them.
//!
//! A process acts only while it holds its own lease and, for each provider that is on, the lease
//! that the provider's predecessor used; so the old and the new controller never act together.
//!
//! Computers do not agree on what time it is. [`decide`] therefore never compares the times that
//! are written in a lease with a clock: a lease is over when this process has *seen* it unchanged
//! for as long as its holder promised to come back. A holder stops acting earlier than that,
//! counted from the moment before its last successful renewal was sent.

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

/// The name of a lease.
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

/// How long a lease lasts after the last sign of life of its holder.
pub(crate) const LEASE: Duration = Duration::from_secs(15);

/// How long things take. All who want a lease should agree on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// How long others wait after the last sign of life.
    pub lease: Duration,
    /// How long a holder goes on acting without having renewed; shorter, so that it has stopped
    /// before anybody else begins.
    pub renew_deadline: Duration,
    /// How long between two attempts.
    pub retry: Duration,
}

impl Default for Terms {
    /// What controllers written in Go have.
    fn default() -> Self {
        Self {
            lease: LEASE,
            renew_deadline: Duration::from_secs(10),
            retry: Duration::from_secs(2),
        }
    }
}

/// A process that wants to act.
#[derive(Clone)]
pub struct Candidate {
    /// A client of its own, so that a flood of other calls cannot delay a renewal.
    pub client: kube::Client,
    /// The clock that everything goes by.
    pub clock: Clock,
    /// The name of this process; no other may have it, nor may the same after a restart.
    pub identity: String,
    /// How long things take.
    pub terms: Terms,
    /// All that must be held.
    pub leases: BTreeSet<LeaseName>,
    /// What is written on leases for as long as they are held.
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

/// The right to act. It can be lost at any moment; dropping it lets the leases run out.
#[derive(Debug)]
pub struct Leadership {
    clock: Clock,
    held: Vec<watch::Receiver<Holding>>,
    /// Set when it is known that somebody else has a lease.
    taken: watch::Receiver<Option<Lost>>,
    release: watch::Sender<bool>,
    renewals: JoinSet<()>,
}

/// Why the right to act was lost.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// Somebody else has it now.
    #[error("lease {lease} was taken over by {by:?}")]
    Taken {
        /// Which lease.
        lease: LeaseName,
        /// By whom.
        by: String,
    },
    /// It could not be renewed in time.
    #[error("lease {lease} could not be renewed in time: {problem}")]
    NotRenewed {
        /// Which lease.
        lease: LeaseName,
        /// What the last attempt met.
        problem: String,
    },
}

impl Leadership {
    /// Waits until every lease is held. `tell` is told whom or what it waits for, whenever that
    /// changes and every minute.
    pub async fn acquire(candidate: Candidate, tell: impl FnMut(&Waiting)) -> Self {
        let candidate = Arc::new(candidate);
        let mut teller = Teller::new(candidate.clock.clone(), tell);
        loop {
            let leadership = Self::take_all(&candidate, &mut teller).await;
            // A lease can be lost again while the next one is waited for.
            if leadership.is_held() {
                return leadership;
            }
        }
    }

    /// Takes the leases in the order of their names, which is the same for everybody: two
    /// processes can then not wait for each other. Those it has are renewed while it waits.
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

    /// Whether everything is held at this moment. Cheap: to be asked before each act.
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
                // Those who could tell are gone once all leases are lost, and that is told by time.
                Ok(_) = taken.wait_for(Option::is_some) => {}
                () = over => {}
            }
        }
    }

    /// Gives everything back, so that the next one need not wait. Call it when nothing is under
    /// way any more.
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
