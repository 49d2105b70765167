//! Protection against too many orphans at once.
//!
//! A deleted CRD removes all claims, and a wrong kubeconfig shows none. Failures of single
//! operations leave few orphans, so many at once have another cause.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// This many instances may always be removed. The value was chosen and not measured separately.
const ALWAYS: usize = 5;
/// The largest share of orphans, in percent of all instances. The value was chosen and not measured
/// separately.
const SHARE: usize = 30;
/// The number of rounds in a row without removals; after them the orphans are treated as intended.
/// The value was chosen and not measured separately.
const ROUNDS: u32 = 3;

/// The number of rounds in a row with too many orphans, by cloud.
#[derive(Debug, Default)]
pub(super) struct Storms(Mutex<BTreeMap<&'static str, u32>>);

impl Storms {
    /// Whether the removal of orphans is blocked in this round.
    pub(super) fn forbid(&self, cloud: &'static str, orphans: usize, instances: usize) -> bool {
        if !is_storm(orphans, instances) {
            self.none(cloud);
            return false;
        }
        let mut rounds = self.lock();
        let rounds = rounds.entry(cloud).or_default();
        *rounds += 1;
        *rounds <= ROUNDS
    }

    /// Records a round without too many orphans.
    pub(super) fn none(&self, cloud: &'static str) {
        self.lock().remove(cloud);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the number of orphans is too large for the number of instances.
fn is_storm(orphans: usize, instances: usize) -> bool {
    orphans > ALWAYS && orphans * 100 > instances * SHARE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_or_a_small_share_are_no_storm() {
        for (orphans, instances, expected) in
            [(5, 5, false), (6, 6, true), (6, 20, false), (7, 20, true), (300, 1000, false)]
        {
            assert_eq!(is_storm(orphans, instances), expected, "{orphans} of {instances}");
        }
    }

    #[test]
    fn a_storm_that_lasts_is_believed_and_one_that_ends_begins_anew() {
        let storms = Storms::default();
        let rounds = |count: usize| -> Vec<bool> {
            (0..count).map(|_| storms.forbid("cloud", 6, 6)).collect()
        };
        assert_eq!(rounds(2), [true, true]);
        assert!(!storms.forbid("cloud", 1, 6));
        assert_eq!(rounds(4), [true, true, true, false]);
        assert!(storms.forbid("another", 6, 6), "each cloud has its own");
    }
}
