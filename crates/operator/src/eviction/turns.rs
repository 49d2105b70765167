//! Whose turn it is to leave: large pods before small ones, whichever nodes they are on.
//!
//! The scheduler puts a pod where most is free. Where small pods come to it first they spread over the gaps that large
//! ones need, and for those a machine would have to be made like the one that has just gone. Large ones first, and each
//! finds its place while there is one. The planner counts on that.
//!
//! COMPAT: upstream asks all pods of a node at once.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use joiner_core::pod::Size;

use super::list::{PodId, Wanted};

/// How long pods wait until larger ones of other nodes, which go together with theirs, are known.
const GATHERING: SignedDuration = SignedDuration::from_secs(2);
/// How long those who have been asked to leave are given until their successors have a place.
const SETTLING: SignedDuration = SignedDuration::from_secs(5);
/// How long a pod lets larger ones go first at most.
const LONGEST: SignedDuration = SignedDuration::from_secs(20);
/// How often a pod looks whether larger ones have been asked.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The pods that can be asked to leave, and those that have just been.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Pods that were not asked yet and are not known to be protected.
    in_line: BTreeSet<(Size, PodId)>,
    /// When the last pod of each size was asked.
    asked: BTreeMap<Size, Timestamp>,
}

impl Turns {
    pub(super) fn join(&mut self, id: &PodId, size: Size) {
        self.in_line.insert((size, id.clone()));
    }

    /// The pod does not keep others waiting any more.
    pub(super) fn leave(&mut self, id: &PodId, size: Size) {
        self.in_line.remove(&(size, id.clone()));
    }

    pub(super) fn asked(&mut self, id: &PodId, size: Size, now: Timestamp) {
        self.leave(id, size);
        self.asked.insert(size, now);
    }

    /// How long a pod lets others go first; none if it is its turn. Whether nodes other than its own are on their way out
    /// is asked only if it matters.
    pub(super) fn wait(
        &self,
        wanted: &Wanted,
        now: Timestamp,
        others_go: impl FnOnce() -> bool,
    ) -> Option<Duration> {
        let until = |from: Timestamp, after: SignedDuration| {
            Duration::try_from((from + after).duration_since(now))
                .ok()
                .filter(|left| !left.is_zero())
        };
        let longest = until(wanted.since, LONGEST)?;
        let is_larger = |size: &Size| *size > wanted.size;
        if self.in_line.last().is_some_and(|(size, _)| is_larger(size)) {
            return Some(LOOK_EVERY.min(longest));
        }
        let asked = self.asked.iter().filter(|(size, _)| is_larger(size)).map(|(_, at)| *at).max();
        let settling = asked.and_then(|at| until(at, SETTLING));
        let wait = settling.or_else(|| until(wanted.since, GATHERING).filter(|_| others_go()));
        wait.map(|wait| wait.min(longest))
    }
}

#[cfg(test)]
mod tests {
    use joiner_core::resources::{CPU, MEMORY};

    use super::*;
    use crate::world::Key;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_772_625_600 + seconds).expect("a moment")
    }

    fn id(name: &str) -> PodId {
        PodId { pod: Key::new(Some("shop"), name), uid: name.to_owned() }
    }

    fn size(cpu: &str, memory: &str) -> Size {
        let asked = [(CPU, cpu), (MEMORY, memory)];
        let asked = asked.map(|(name, amount)| (name, amount.parse().expect("an amount")));
        Size::of(&asked.into_iter().collect())
    }

    fn small() -> Wanted {
        Wanted { since: at(0), size: size("900m", "3Gi"), ..Wanted::default() }
    }

    fn wait(turns: &Turns, seconds: i64) -> Option<u64> {
        turns.wait(&small(), at(seconds), || false).map(|wait| wait.as_secs())
    }

    #[test]
    fn a_pod_waits_until_larger_ones_are_asked_and_have_settled() {
        let mut turns = Turns::default();
        let large = size("4", "16Gi");
        turns.join(&id("small"), small().size);
        turns.join(&id("large"), large);
        assert_eq!(wait(&turns, 0), Some(1));
        turns.asked(&id("large"), large, at(1));
        assert_eq!(wait(&turns, 1), Some(5));
        assert_eq!(wait(&turns, 4), Some(2));
        assert_eq!(wait(&turns, 6), None);
    }

    #[test]
    fn pods_that_are_no_larger_are_not_waited_for() {
        let mut turns = Turns::default();
        turns.join(&id("other"), small().size);
        turns.join(&id("tiny"), Size::default());
        turns.asked(&id("tiny"), Size::default(), at(0));
        assert_eq!(wait(&turns, 0), None);
    }

    #[test]
    fn a_larger_pod_that_is_protected_or_gone_is_not_waited_for() {
        let mut turns = Turns::default();
        turns.join(&id("large"), size("4", "16Gi"));
        turns.leave(&id("large"), size("4", "16Gi"));
        assert_eq!(wait(&turns, 0), None);
    }

    #[test]
    fn nobody_waits_for_ever() {
        let mut turns = Turns::default();
        turns.join(&id("large"), size("4", "16Gi"));
        assert_eq!(wait(&turns, 19), Some(1));
        assert_eq!(wait(&turns, 20), None);
        turns.asked(&id("large"), size("4", "16Gi"), at(18));
        assert_eq!(wait(&turns, 18), Some(2), "not until the large one has settled");
    }

    #[test]
    fn where_other_nodes_go_too_their_pods_are_waited_for() {
        let turns = Turns::default();
        assert_eq!(turns.wait(&small(), at(1), || true), Some(Duration::from_secs(1)));
        assert_eq!(turns.wait(&small(), at(2), || true), None);
    }
}
