//! Which objects have to be looked at, now or later.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::Status;

/// The first pause after a failure; it doubles with every further one, as in client-go's queues.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_millis(5);

/// The longest pause between two tries.
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_secs(1000);

/// A work queue in clock time. Every key is in it at most once now and at most once later, and
/// keys come out in their order, so that a run can be repeated.
#[derive(Debug)]
pub(super) struct Queue<K> {
    now: BTreeSet<K>,
    later: BTreeSet<(Timestamp, K)>,
    due: BTreeMap<K, Timestamp>,
    failures: BTreeMap<K, u32>,
}

impl<K> Default for Queue<K> {
    fn default() -> Self {
        Self {
            now: BTreeSet::new(),
            later: BTreeSet::new(),
            due: BTreeMap::new(),
            failures: BTreeMap::new(),
        }
    }
}

impl<K: Ord + Clone> Queue<K> {
    /// Something about this one changed.
    pub(super) fn add(&mut self, key: K) {
        self.now.insert(key);
    }

    /// This one wants to be looked at at that time; an earlier wish stands.
    pub(super) fn add_at(&mut self, key: K, moment: Timestamp) {
        if let Some(earlier) = self.due.get(&key) {
            if *earlier <= moment {
                return;
            }
            self.later.remove(&(*earlier, key.clone()));
        }
        self.due.insert(key.clone(), moment);
        self.later.insert((moment, key));
    }

    /// This one is gone for good.
    pub(super) fn forget(&mut self, key: &K) {
        self.now.remove(key);
        self.failures.remove(key);
        if let Some(moment) = self.due.remove(key) {
            self.later.remove(&(moment, key.clone()));
        }
    }

    /// Takes out everything that is to be looked at now.
    pub(super) fn take(&mut self, now: Timestamp) -> BTreeSet<K> {
        while self.later.first().is_some_and(|(moment, _)| *moment <= now) {
            if let Some((_, key)) = self.later.pop_first() {
                self.due.remove(&key);
                self.now.insert(key);
            }
        }
        std::mem::take(&mut self.now)
    }

    /// Notes what became of looking at a key: done, done until a time, or refused. What was
    /// refused is tried again after a pause.
    pub(super) fn settle(
        &mut self,
        key: K,
        now: Timestamp,
        result: &Result<Option<Timestamp>, Status>,
    ) {
        match result {
            Ok(next) => {
                self.failures.remove(&key);
                if let Some(moment) = next {
                    self.add_at(key, *moment);
                }
            }
            Err(_) => {
                let failures = self.failures.entry(key.clone()).or_default();
                let pause = pause_after(*failures);
                *failures = failures.saturating_add(1);
                self.add_at(key, now.saturating_add(pause).unwrap_or(Timestamp::MAX));
            }
        }
    }

    /// When the next key is to be looked at, of those that are not to be looked at now.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.later.first().map(|(moment, _)| *moment)
    }
}

/// The pause after the failure that follows this many others.
fn pause_after(failures: u32) -> SignedDuration {
    let doubled = 1_i32.checked_shl(failures.min(30)).unwrap_or(i32::MAX);
    FIRST_PAUSE.saturating_mul(doubled).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn keys_come_out_once_and_in_order() {
        let mut queue = Queue::default();
        for key in ["b", "a", "b"] {
            queue.add(key);
        }
        assert_eq!(queue.take(at(0)), BTreeSet::from(["a", "b"]));
        assert_eq!(queue.take(at(0)), BTreeSet::new());
    }

    #[test]
    fn the_earlier_of_two_wishes_stands() {
        let mut queue = Queue::default();
        queue.add_at("a", at(20));
        queue.add_at("a", at(10));
        queue.add_at("a", at(30));
        assert_eq!(queue.next(), Some(at(10)));
        assert_eq!(queue.take(at(9)), BTreeSet::new());
        assert_eq!(queue.take(at(10)), BTreeSet::from(["a"]));
        assert_eq!(queue.next(), None);
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_start_over_after_success() {
        let mut queue = Queue::default();
        let refused = Err(Status::bad_request("no"));
        queue.settle("a", at(0), &refused);
        queue.settle("b", at(0), &refused);
        assert_eq!(queue.next(), Some(at(0).saturating_add(FIRST_PAUSE).unwrap()));
        assert_eq!(pause_after(1), SignedDuration::from_millis(10));
        assert_eq!(pause_after(40), LONGEST_PAUSE);
        queue.take(at(1));
        queue.settle("a", at(1), &Ok(None));
        queue.settle("a", at(1), &refused);
        assert_eq!(queue.next(), Some(at(1).saturating_add(FIRST_PAUSE).unwrap()));
        queue.forget(&"a");
        assert_eq!(queue.next(), None);
    }
}
