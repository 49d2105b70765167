//! Waiting before the pods of a restless pool are moved.
//!
//! A pool is restless while pods come, go or move on many of its instances. Moves chosen meanwhile are often undone
//! by the next change. Moves chosen after the change are far better. A pool that never settles must shrink too. So
//! the planner first waits, then makes only moves that save much, and finally treats the pool like any other.
//!
//! An instance that has just become empty also makes its pool restless. It is removed soon, but until then the
//! scheduler prefers it for every pod that moves. Then it stays.

use jiff::{SignedDuration, Timestamp};

use super::balanced::SCORE_MIN;

/// A pool is restless if more than one in `RESTLESS_SHARE` of its instances is busy. The value was chosen with D49
/// of docs/compat.md and not measured separately: a smaller share makes more pools wait.
const RESTLESS_SHARE: usize = 10;
/// From this number of busy instances on, the planner waits. Fewer are taken for ordinary jobs that start and end.
/// The value was chosen with D49 and not measured separately: a smaller number delays consolidation of small pools.
const MANY: usize = 5;
/// How long the planner waits at most. It is also how soon an empty instance must be removable to be waited for. The
/// value was chosen with D49: the scale-ins of `basic` in docs/bench.md take one to two minutes. Waiting longer would
/// delay savings in pools that never settle.
pub(super) const WAIT: SignedDuration = SignedDuration::from_mins(5);
/// How long a pool is treated as restless at most. The value was chosen with D49 and not measured separately: a
/// longer time avoids more repeated moves, but costs more in pools that never settle.
const PATIENCE: SignedDuration = SignedDuration::from_mins(15);
/// The score required of moves in a pool that is still restless after `WAIT`. An instance of average price that is
/// used by a third less than the average scores 1.5. The value was chosen with D49 and not measured separately.
const UNSETTLED_SCORE_MIN: f64 = 1.5;

/// How the pods of a restless pool are treated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Patience {
    /// None of its pods is moved.
    Wait { until: Timestamp },
    /// Only moves with at least this score are made, whatever the pool's policy.
    Pick { score_min: f64, until: Timestamp },
}

impl Patience {
    /// `None` if the pool is treated like any other: it is quiet, or has been restless for `PATIENCE`.
    pub(super) fn with(pool: Unrest, since: Timestamp, now: Timestamp) -> Option<Self> {
        if !pool.is_restless() {
            return None;
        }
        let is_many = pool.busy >= MANY;
        let is_waited_for = is_many || pool.emptied > 0;
        let after = |time: SignedDuration| since.checked_add(time).unwrap_or(Timestamp::MAX);
        let (wait, pick) = (after(WAIT), after(PATIENCE));
        if is_waited_for && now < wait {
            return Some(Self::Wait { until: wait });
        }
        let score_min = if is_many { UNSETTLED_SCORE_MIN } else { SCORE_MIN };
        (now < pick).then_some(Self::Pick { score_min, until: pick })
    }

    /// When this treatment ends.
    pub(super) fn until(self) -> Timestamp {
        match self {
            Self::Wait { until } | Self::Pick { until, .. } => until,
        }
    }
}

/// The number of a pool's instances that are busy: something has happened there within `consolidateAfter`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Unrest {
    pub(super) busy: usize,
    /// Busy instances that are empty and will be removed within [`WAIT`].
    pub(super) emptied: usize,
    pub(super) instances: usize,
}

impl Unrest {
    /// Whether the best moves are likely to change soon.
    pub(super) fn is_restless(self) -> bool {
        self.busy * RESTLESS_SHARE > self.instances || self.emptied > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The treatment of a pool that has been restless for this many minutes.
    fn after(minutes: i64, busy: usize, instances: usize) -> Option<Patience> {
        let since = Timestamp::UNIX_EPOCH;
        let pool = Unrest { busy, emptied: 0, instances };
        Patience::with(pool, since, since + SignedDuration::from_mins(minutes))
    }

    fn minute(minutes: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes)
    }

    #[test]
    fn a_change_that_is_under_way_is_waited_for_then_picked_from_then_ignored() {
        assert_eq!(after(0, 40, 144), Some(Patience::Wait { until: minute(5) }));
        let picks = Some(Patience::Pick { score_min: 1.5, until: minute(15) });
        assert_eq!(after(5, 40, 144), picks);
        assert_eq!(after(14, 40, 144), picks);
        assert_eq!(after(15, 40, 144), None);
    }

    #[test]
    fn an_instance_that_goes_in_a_moment_is_waited_for_in_the_largest_pool() {
        let pool = Unrest { busy: 1, emptied: 1, instances: 1000 };
        let with = |since| Patience::with(pool, since, minute(0));
        assert_eq!(with(minute(0)), Some(Patience::Wait { until: minute(5) }));
        // A pool in which an instance is always about to be removed still gets its other moves.
        let picks = Some(Patience::Pick { score_min: SCORE_MIN, until: minute(10) });
        assert_eq!([with(minute(-5)), with(minute(-15))], [picks, None]);
    }

    #[test]
    fn a_few_instances_are_no_change_that_is_waited_for() {
        let picks = Some(Patience::Pick { score_min: SCORE_MIN, until: minute(15) });
        assert_eq!([after(0, 4, 4), after(0, 4, 39), after(14, 1, 9)], [picks; 3]);
        assert_eq!([after(0, 4, 40), after(0, 0, 1), after(15, 4, 4)], [None; 3]);
    }
}
