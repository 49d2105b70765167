//! What clouds have answered about claims, for as long as it counts.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use joiner_cloud::class::NodeClass;

use super::drift::Verdict;

/// For how long a type that was there is not looked for again.
const TYPE_COUNTS_FOR: Duration = Duration::from_mins(30);

/// Answers by the claim's identity. Times are the clock's running time.
#[derive(Debug, Default)]
pub(super) struct Answers(Mutex<BTreeMap<String, Known>>);

#[derive(Debug, Default)]
struct Known {
    /// Until when the claim's type need not be looked for.
    type_until: Option<Duration>,
    drift: Option<Drift>,
}

/// Whether an instance has drifted from a class as it was.
#[derive(Debug)]
struct Drift {
    class: (String, u64),
    verdict: Verdict,
    until: Duration,
}

impl Answers {
    /// Whether the claim's type was there a while ago.
    pub(super) fn type_is_there(&self, claim: &str, now: Duration) -> bool {
        let until = self.lock().get(claim).and_then(|known| known.type_until);
        until.is_some_and(|until| now < until)
    }

    /// The claim's type is there.
    pub(super) fn type_was_seen(&self, claim: &str, now: Duration) {
        self.known(claim, |known| known.type_until = Some(now + TYPE_COUNTS_FOR));
    }

    /// What the cloud said of the claim's instance and this class, if that still counts.
    pub(super) fn drift(&self, claim: &str, class: &NodeClass, now: Duration) -> Option<Verdict> {
        let all = self.lock();
        let known = all.get(claim)?.drift.as_ref()?;
        (known.class == identity(class) && now < known.until).then(|| known.verdict.clone())
    }

    /// What the cloud says of the claim's instance and this class; it counts until then.
    pub(super) fn drift_is(
        &self,
        claim: &str,
        class: &NodeClass,
        verdict: Verdict,
        until: Duration,
    ) {
        let drift = Drift { class: identity(class), verdict, until };
        self.known(claim, |known| known.drift = Some(drift));
    }

    /// The claim is gone.
    pub(super) fn forget(&self, claim: &str) {
        self.lock().remove(claim);
    }

    fn known(&self, claim: &str, learn: impl FnOnce(&mut Known)) {
        learn(self.lock().entry(claim.to_owned()).or_default());
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn identity(class: &NodeClass) -> (String, u64) {
    (class.uid.clone(), class.version)
}
