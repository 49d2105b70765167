//! The order of evictions: large pods before small ones, across nodes.
//!
//! The scheduler prefers the node with the most free room. Small pods that arrive first fill the
//! gaps that large pods need, and a large pod then needs a new instance. If large pods go first,
//! each finds its gap. The planner assumes this order.
//!
//! COMPAT: upstream evicts all pods of a node at once.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use joiner_core::pod::Size;

use super::list::{PodId, Wanted};

/// How long a pod waits for larger pods of other nodes to be added to the list. The value was
/// chosen and not measured separately.
const GATHERING: Duration = Duration::from_secs(2);
/// How long to wait for the replacements of evicted pods to be scheduled. The value was chosen and
/// not measured separately.
const SETTLING: Duration = Duration::from_secs(5);
/// How long a pod waits for larger ones at most. The value was chosen and not measured separately.
const LONGEST: Duration = Duration::from_secs(20);
/// How often a pod checks whether the larger ones were evicted. The value was chosen and not
/// measured separately.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Whether it is a pod's turn to be evicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// Yes.
    Now,
    /// Ask again after this long.
    After(Duration),
    /// Ask again after this long if other nodes are leaving too; otherwise yes.
    AfterOthers(Duration),
}

/// The pods to evict, and the latest evictions. Times are the clock's running time: a wall clock
/// that is set back delays no pod.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Pods that were not evicted yet and are not known to be protected.
    in_line: BTreeSet<(Size, PodId)>,
    /// When the last pod of each size was evicted.
    asked: BTreeMap<Size, Duration>,
}

impl Turns {
    pub(super) fn join(&mut self, id: &PodId, size: Size) {
        self.in_line.insert((size, id.clone()));
    }

    /// Removes a pod, so that smaller ones stop waiting for it.
    pub(super) fn leave(&mut self, id: &PodId, size: Size) {
        self.in_line.remove(&(size, id.clone()));
    }

    pub(super) fn asked(&mut self, id: &PodId, size: Size, now: Duration) {
        self.leave(id, size);
        self.asked.insert(size, now);
    }

    /// Whether it is a pod's turn.
    pub(super) fn of(&self, wanted: &Wanted, now: Duration) -> Turn {
        let until = |from: Duration, after: Duration| {
            (from + after).checked_sub(now).filter(|left| !left.is_zero())
        };
        let Some(longest) = until(wanted.since, LONGEST) else { return Turn::Now };
        let is_larger = |size: &Size| *size > wanted.size;
        if self.in_line.last().is_some_and(|(size, _)| is_larger(size)) {
            return Turn::After(LOOK_EVERY.min(longest));
        }
        let asked = self.asked.iter().filter(|(size, _)| is_larger(size)).map(|(_, at)| *at).max();
        if let Some(settling) = asked.and_then(|at| until(at, SETTLING)) {
            return Turn::After(settling.min(longest));
        }
        until(wanted.since, GATHERING).map_or(Turn::Now, Turn::AfterOthers)
    }
}

#[cfg(test)]
mod tests {
    use joiner_core::resources::{CPU, MEMORY};

    use super::*;
    use crate::world::Key;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(100 + seconds)
    }

    fn after(seconds: u64) -> Turn {
        Turn::After(Duration::from_secs(seconds))
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

    fn turn(turns: &Turns, seconds: u64) -> Turn {
        turns.of(&small(), at(seconds))
    }

    #[test]
    fn a_pod_waits_until_larger_ones_are_asked_and_have_settled() {
        let mut turns = Turns::default();
        let large = size("4", "16Gi");
        turns.join(&id("small"), small().size);
        turns.join(&id("large"), large);
        assert_eq!(turn(&turns, 0), after(1));
        turns.asked(&id("large"), large, at(1));
        assert_eq!(turn(&turns, 1), after(5));
        assert_eq!(turn(&turns, 4), after(2));
        assert_eq!(turn(&turns, 6), Turn::Now);
    }

    #[test]
    fn pods_that_are_no_larger_are_not_waited_for() {
        let mut turns = Turns::default();
        turns.join(&id("other"), small().size);
        turns.join(&id("tiny"), Size::default());
        turns.asked(&id("tiny"), Size::default(), at(0));
        assert_eq!(turn(&turns, 2), Turn::Now);
    }

    #[test]
    fn a_larger_pod_that_is_protected_or_gone_is_not_waited_for() {
        let mut turns = Turns::default();
        turns.join(&id("large"), size("4", "16Gi"));
        turns.leave(&id("large"), size("4", "16Gi"));
        assert_eq!(turn(&turns, 2), Turn::Now);
    }

    #[test]
    fn nobody_waits_for_ever() {
        let mut turns = Turns::default();
        turns.join(&id("large"), size("4", "16Gi"));
        assert_eq!(turn(&turns, 19), after(1));
        assert_eq!(turn(&turns, 20), Turn::Now);
        turns.asked(&id("large"), size("4", "16Gi"), at(18));
        assert_eq!(turn(&turns, 18), after(2), "not until the large one has settled");
    }

    #[test]
    fn where_other_nodes_go_too_their_pods_are_waited_for() {
        let turns = Turns::default();
        assert_eq!(turn(&turns, 1), Turn::AfterOthers(Duration::from_secs(1)));
        assert_eq!(turn(&turns, 2), Turn::Now);
    }
}
