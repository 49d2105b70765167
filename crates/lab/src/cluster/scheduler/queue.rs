//! The pods that wait for a node, and when each is tried next.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::Key;

use super::{pod::Pod, refusal::Rule};
use crate::cluster::times::{Timers, later};

/// After a failure a pod waits this long at least, twice as long each time,
const FIRST_BACK_OFF: SignedDuration = SignedDuration::from_secs(1);
/// but no longer than this.
const LAST_BACK_OFF: SignedDuration = SignedDuration::from_secs(10);
/// A pod is tried again after this time even if nothing happened that could help it.
const FLUSH_AFTER: SignedDuration = SignedDuration::from_mins(5);
/// How long a node is kept for a pod whose volumes are being bound.
const BINDING_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);

type Turn = (Reverse<i64>, Timestamp, u64);

#[derive(Debug)]
enum Place {
    /// Tried as soon as its turn comes.
    Active(Turn),
    /// Tried when its back-off is over.
    BackOff,
    /// Tried when something changes that may help it: these rules refused nodes.
    Stuck(BTreeSet<Rule>),
    /// Not tried while it has scheduling gates.
    Gated,
    /// It has a node and waits for its volumes.
    Binding,
}

#[derive(Debug)]
struct Waiting {
    pod: Arc<Pod>,
    attempts: u32,
    last_attempt: Timestamp,
    place: Place,
    /// Tells timers that were meant for an earlier place apart.
    ticket: u64,
}

/// All pods that wait.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pods: BTreeMap<Key, Waiting>,
    active: BTreeMap<Turn, Key>,
    stuck: BTreeSet<Key>,
    timers: Timers<(Key, u64)>,
    tickets: u64,
}

impl Queue {
    /// The pod of this name, if it waits.
    pub(super) fn get(&self, key: &Key) -> Option<&Arc<Pod>> {
        self.pods.get(key).map(|waiting| &waiting.pod)
    }

    /// Takes note of a pod that wants a node. One that changed is tried at once; one that differs
    /// only in the node it waits for keeps its place.
    pub(super) fn put(&mut self, pod: &Arc<Pod>, now: Timestamp) {
        if let Some(known) = self.pods.get_mut(&pod.key) {
            let same = Pod { nominated: pod.nominated.clone(), ..(*known.pod).clone() } == **pod;
            let keeps_place = same || matches!(known.place, Place::Binding);
            known.pod = Arc::clone(pod);
            if keeps_place {
                return;
            }
        } else {
            let waiting = Waiting {
                pod: Arc::clone(pod),
                attempts: 0,
                last_attempt: now,
                place: Place::Gated,
                ticket: 0,
            };
            self.pods.insert(pod.key.clone(), waiting);
        }
        if pod.gated {
            self.set_place(&pod.key, Place::Gated);
        } else {
            self.activate(&pod.key, now);
        }
    }

    /// Forgets a pod.
    pub(super) fn remove(&mut self, key: &Key) {
        self.leave_place(key);
        self.pods.remove(key);
    }

    /// The pod whose turn it is: the most important one, then the one that waits longest.
    pub(super) fn pop(&mut self, now: Timestamp) -> Option<Arc<Pod>> {
        let (_, key) = self.active.pop_first()?;
        let waiting = self.pods.get_mut(&key)?;
        waiting.attempts += 1;
        waiting.last_attempt = now;
        waiting.place = Place::BackOff;
        Some(Arc::clone(&waiting.pod))
    }

    /// A pod found no node; it waits for a change that may help.
    pub(super) fn stick(&mut self, key: &Key, rules: BTreeSet<Rule>, now: Timestamp) {
        self.set_place(key, Place::Stuck(rules));
        self.wait_until(key, later(now, FLUSH_AFTER));
    }

    /// Something went wrong that has nothing to do with nodes; the pod is tried again.
    pub(super) fn retry(&mut self, key: &Key) {
        let Some(waiting) = self.pods.get(key) else { return };
        let until = later(waiting.last_attempt, back_off(waiting.attempts));
        self.set_place(key, Place::BackOff);
        self.wait_until(key, until);
    }

    /// A pod has a node and waits for its volumes.
    pub(super) fn bind_later(&mut self, key: &Key, now: Timestamp) {
        self.set_place(key, Place::Binding);
        self.wait_until(key, later(now, BINDING_TIMEOUT));
    }

    /// Tries stuck pods again that a change may help.
    pub(super) fn wake(&mut self, now: Timestamp, helps: impl Fn(&Pod, &BTreeSet<Rule>) -> bool) {
        let woken: Vec<_> = self
            .stuck
            .iter()
            .filter(|key| match self.pods.get(key) {
                Some(Waiting { pod, place: Place::Stuck(rules), .. }) => helps(pod, rules),
                _ => false,
            })
            .cloned()
            .collect();
        for key in woken {
            self.try_again(&key, now);
        }
    }

    /// Moves on the pods whose time has come. Returns those whose volumes took too long.
    pub(super) fn pass_time(&mut self, now: Timestamp) -> Vec<Key> {
        let mut late = Vec::new();
        while let Some((key, ticket)) = self.timers.pop_due(now) {
            let Some(waiting) = self.pods.get(&key).filter(|own| own.ticket == ticket) else {
                continue;
            };
            match waiting.place {
                Place::BackOff => self.activate(&key, now),
                Place::Stuck(_) => self.try_again(&key, now),
                Place::Binding => late.push(key),
                Place::Active(_) | Place::Gated => {}
            }
        }
        late
    }

    /// When the next pod's time comes.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.timers.next()
    }

    /// At once if the back-off of its last attempt is over, else when it is.
    fn try_again(&mut self, key: &Key, now: Timestamp) {
        let Some(waiting) = self.pods.get(key) else { return };
        let until = later(waiting.last_attempt, back_off(waiting.attempts));
        if until <= now {
            self.activate(key, now);
        } else {
            self.set_place(key, Place::BackOff);
            self.wait_until(key, until);
        }
    }

    fn activate(&mut self, key: &Key, now: Timestamp) {
        self.tickets += 1;
        let Some(waiting) = self.pods.get(key) else { return };
        let turn = (Reverse(waiting.pod.priority), now, self.tickets);
        self.set_place(key, Place::Active(turn));
        self.active.insert(turn, key.clone());
    }

    fn set_place(&mut self, key: &Key, place: Place) {
        let is_stuck = matches!(place, Place::Stuck(_));
        self.leave_place(key);
        if let Some(waiting) = self.pods.get_mut(key) {
            waiting.place = place;
            waiting.ticket = 0;
            if is_stuck {
                self.stuck.insert(key.clone());
            }
        }
    }

    fn leave_place(&mut self, key: &Key) {
        if let Some(Waiting { place: Place::Active(turn), .. }) = self.pods.get(key) {
            self.active.remove(turn);
        }
        self.stuck.remove(key);
    }

    fn wait_until(&mut self, key: &Key, until: Timestamp) {
        self.tickets += 1;
        if let Some(waiting) = self.pods.get_mut(key) {
            waiting.ticket = self.tickets;
            self.timers.add(until, (key.clone(), self.tickets));
        }
    }
}

fn back_off(attempts: u32) -> SignedDuration {
    let doubled = FIRST_BACK_OFF.saturating_mul(1 << attempts.saturating_sub(1).min(10));
    doubled.min(LAST_BACK_OFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_ten_seconds() {
        let waits = [1, 2, 3, 4, 5, 100].map(|attempts| back_off(attempts).as_secs());
        assert_eq!(waits, [1, 2, 4, 8, 10, 10]);
    }
}
