//! Liveness: the runtime runs, and every calculation ends.
//!
//! Calls are not included, because each has a deadline. A restart would not help while an API
//! server or a cloud is unreachable.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use joiner_clock::Clock;

use crate::{disruption::looking::REFRESH, lease::LEASE};

/// How often the runtime shows that it runs.
const BEAT_EVERY: Duration = Duration::from_secs(1);
/// How long the runtime may stand still. After as long as a lease lasts another process may act,
/// and a runtime that stands still cannot end its own work.
const STILL_MAX: Duration = LEASE;
/// How long one calculation may take: two looks at the cluster are overdue then. Karpenter gives
/// up a pass after one minute, and its longest search after three.
const CALCULATION_MAX: Duration = REFRESH.saturating_mul(2);

/// The running calculations and their start times. Clones share them.
#[derive(Clone)]
pub struct Liveness(Arc<Signs>);

struct Signs {
    clock: Clock,
    seen: Mutex<Seen>,
    /// Whether it was said in the log that the process is not well.
    told: AtomicBool,
}

/// The signs of life so far, by the time that the clock has been going.
#[derive(Debug, Default)]
struct Seen {
    beat: Duration,
    /// Calculations under way, in the order in which they were begun.
    calculations: BTreeMap<u64, (&'static str, Duration)>,
    begun: u64,
}

impl Seen {
    /// Everything that is wrong, a line each; empty when nothing is.
    fn why_not(&self, now: Duration) -> String {
        let still = now.saturating_sub(self.beat);
        let runtime = (still > STILL_MAX).then(|| {
            format!(
                "runtime: nothing ran for {} s, {} s is the limit\n",
                secs(still),
                secs(STILL_MAX)
            )
        });
        let calculations = self.calculations.values().filter_map(|(name, since)| {
            let takes = now.saturating_sub(*since);
            let limit = secs(CALCULATION_MAX);
            let line = || {
                format!("{name}: its calculation takes {} s, {limit} s is the limit\n", secs(takes))
            };
            (takes > CALCULATION_MAX).then(line)
        });
        runtime.into_iter().chain(calculations).collect()
    }
}

impl Liveness {
    /// Of a process that has just started.
    pub fn new(clock: Clock) -> Self {
        let seen = Seen { beat: clock.running(), ..Seen::default() };
        Self(Arc::new(Signs { clock, seen: Mutex::new(seen), told: AtomicBool::new(false) }))
    }

    /// Shows again and again that the runtime runs which this is spawned on.
    pub async fn beat(self) {
        loop {
            let now = self.0.clock.running();
            self.seen().beat = now;
            self.0.clock.sleep(BEAT_EVERY).await;
        }
    }

    /// A calculation of a part of the process begins; it ends when the answer is dropped.
    pub(crate) fn calculates(&self, name: &'static str) -> Calculation {
        let now = self.0.clock.running();
        let mut seen = self.seen();
        seen.begun += 1;
        let number = seen.begun;
        seen.calculations.insert(number, (name, now));
        Calculation { liveness: self.clone(), number }
    }

    /// Everything that is wrong, a line each; empty when nothing is. The log has it once: a
    /// kubelet that restarts a process does not say why.
    pub fn why_not(&self) -> String {
        let now = self.0.clock.running();
        let why_not = self.seen().why_not(now);
        let told = self.0.told.swap(!why_not.is_empty(), Ordering::Relaxed);
        if !told && !why_not.is_empty() {
            tracing::error!(
                "/healthz fails, so that the kubelet restarts this: {}",
                why_not.trim_end()
            );
        }
        why_not
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Liveness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Liveness").field(&*self.seen()).finish()
    }
}

/// A calculation under way.
#[derive(Debug)]
pub(crate) struct Calculation {
    liveness: Liveness,
    number: u64,
}

impl Drop for Calculation {
    fn drop(&mut self) {
        self.liveness.seen().calculations.remove(&self.number);
    }
}

fn secs(time: Duration) -> u64 {
    time.as_secs()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_runtime_may_stand_still_for_as_long_as_a_lease_lasts() {
        let seen = Seen { beat: Duration::from_secs(100), ..Seen::default() };
        assert_eq!(seen.why_not(Duration::from_secs(115)), "");
        expect!["runtime: nothing ran for 16 s, 15 s is the limit\n"]
            .assert_eq(&seen.why_not(Duration::from_secs(116)));
    }

    #[test]
    fn each_calculation_has_its_own_time() {
        let at = Duration::from_secs;
        let calculations = [(1, ("provisioner", at(1000))), (2, ("disruption", at(1500)))];
        let mut seen = Seen { beat: at(1601), calculations: calculations.into(), begun: 2 };
        assert_eq!(seen.why_not(at(1600)), "");
        expect!["provisioner: its calculation takes 601 s, 600 s is the limit\n"]
            .assert_eq(&seen.why_not(at(1601)));
        seen.calculations.remove(&1);
        assert_eq!(seen.why_not(at(1601)), "");
    }

    #[test]
    fn a_calculation_ends_however_it_ends() {
        let liveness = Liveness::new(Clock::wall());
        let first = liveness.calculates("provisioner");
        let second = liveness.calculates("provisioner");
        drop(first);
        assert_eq!(liveness.seen().calculations.keys().collect::<Vec<_>>(), [&2]);
        let panics = std::panic::AssertUnwindSafe(|| {
            let _working = second;
            std::panic::resume_unwind(Box::new("a bug"));
        });
        std::panic::catch_unwind(panics).unwrap_err();
        assert!(liveness.seen().calculations.is_empty());
    }
}
