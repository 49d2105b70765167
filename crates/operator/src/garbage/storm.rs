//! When too many instances seem to be left over.
//!
//! A definition that was deleted takes all claims with it, and a wrong kubeconfig shows none. What is
//! left over after something went wrong is few instances; many at once mean something else.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// So many instances may always be removed.
const ALWAYS: usize = 5;
/// And so many of all, in percent.
const SHARE: usize = 30;
/// In so many rounds in a row nothing is removed; somebody who is not there by then means it.
const ROUNDS: u32 = 3;

/// In how many rounds there were too many, by the cloud's name.
#[derive(Debug, Default)]
pub(super) struct Storms(Mutex<BTreeMap<&'static str, u32>>);

impl Storms {
    /// Whether none of so many orphans may be removed in this round.
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

    /// There were not too many in this round.
    pub(super) fn none(&self, cloud: &'static str) {
        self.lock().remove(cloud);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether so many orphans among so many instances mean that something else is wrong.
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
