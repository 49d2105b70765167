//! When a cloud may be asked again for each claim.
//!
//! A claim is reconciled after every change, including Joiner's own record of the cloud's last
//! answer. This limit spares the cloud those extra calls.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::queue::Backoff;

/// When a cloud may be asked again, by the claims' identities. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(crate) struct Attempts(Arc<Mutex<BTreeMap<String, Attempt>>>);

#[derive(Debug)]
struct Attempt {
    /// How many in a row have failed.
    failures: u32,
    not_before: Instant,
}

impl Attempts {
    /// How long to wait until the cloud may be asked on behalf of a claim; none if it may be now.
    pub(crate) fn wait(&self, claim: &str) -> Option<Duration> {
        let not_before = self.lock().get(claim)?.not_before;
        let left = not_before.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// The cloud has answered and wants to be asked again, but not before this moment.
    pub(crate) fn again(&self, claim: &str, not_before: Instant) {
        self.lock().insert(claim.to_owned(), Attempt { failures: 0, not_before });
    }

    /// The cloud has failed: the more often in a row, the longer it is left alone.
    pub(crate) fn failed(
        &self,
        claim: &str,
        backoff: Backoff,
        after: impl FnOnce(Duration) -> Instant,
    ) {
        let mut attempts = self.lock();
        let failures = attempts.get(claim).map_or(0, |attempt| attempt.failures);
        let not_before = after(backoff.after(failures));
        attempts.insert(claim.to_owned(), Attempt { failures: failures + 1, not_before });
    }

    /// There is nothing more to ask for.
    pub(crate) fn forget(&self, claim: &str) {
        self.lock().remove(claim);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Attempt>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
