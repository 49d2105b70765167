//! The clouds' answers about claims, while they are valid.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use joiner_cloud::class::NodeClass;

use super::drift::Verdict;

/// How long a type that was found is not checked again. The value is Karpenter's.
const TYPE_COUNTS_FOR: Duration = Duration::from_mins(30);

/// Answers by claim UID. Times are the clock's running time.
#[derive(Debug, Default)]
pub(super) struct Answers(Mutex<BTreeMap<String, Known>>);

#[derive(Debug, Default)]
struct Known {
    /// The time until which the claim's type need not be checked.
    type_until: Option<Duration>,
    drift: Option<Drift>,
}

/// Whether an instance has drifted from one generation of its class.
#[derive(Debug)]
struct Drift {
    class: (String, u64),
    verdict: Verdict,
    until: Duration,
}

impl Answers {
    /// Whether the claim's type was found recently.
    pub(super) fn type_is_there(&self, claim: &str, now: Duration) -> bool {
        let until = self.lock().get(claim).and_then(|known| known.type_until);
        until.is_some_and(|until| now < until)
    }

    /// Records that the claim's type was found.
    pub(super) fn type_was_seen(&self, claim: &str, now: Duration) {
        self.known(claim, |known| known.type_until = Some(now + TYPE_COUNTS_FOR));
    }

    /// The cloud's answer for the claim's instance and this class, if it is still valid.
    pub(super) fn drift(&self, claim: &str, class: &NodeClass, now: Duration) -> Option<Verdict> {
        let all = self.lock();
        let known = all.get(claim)?.drift.as_ref()?;
        (known.class == identity(class) && now < known.until).then(|| known.verdict.clone())
    }

    /// Records the cloud's answer for the claim's instance and this class, valid until then.
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

    /// Removes the answers for a claim.
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
