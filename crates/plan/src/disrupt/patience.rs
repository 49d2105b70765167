//! Pools in which much happens are given time.
//!
//! While pods come, go and move, better moves show up in a moment, and what is moved now may have to move again. What is
//! known once a change is over leads to far better moves. But a pool in which much always happens must become smaller
//! too: it is waited for, then only moves are made that pay well, and in the end it is treated like any other.
//!
//! An instance that has just become empty is such a change by itself. It goes in a moment; but to the scheduler it is the best
//! place for whatever is moved before, and then it stays.

use jiff::{SignedDuration, Timestamp};

use super::balanced::SCORE_MIN;

/// Above one instance in so many that is not quiet a pool is restless.
const RESTLESS_SHARE: usize = 10;
/// From this many on a change is under way, and not just somebody's jobs that come and go.
const MANY: usize = 5;
/// How long a pool is waited for in which that is so.
pub(super) const WAIT: SignedDuration = SignedDuration::from_mins(5);
/// How long after it became restless a pool is treated like any other.
const PATIENCE: SignedDuration = SignedDuration::from_mins(15);
/// The score of an instance that is used by a third less than others.
const UNSETTLED_SCORE_MIN: f64 = 1.5;

/// How a restless pool is treated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Patience {
    /// None of its pods is moved.
    Wait { until: Timestamp },
    /// Only moves with this score are made, whatever the pool's policy.
    Pick { score_min: f64, until: Timestamp },
}

impl Patience {
    /// Nothing for a pool that is like any other, for it is quiet or has been restless for long.
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

    /// When there is less of it.
    pub(super) fn until(self) -> Timestamp {
        match self {
            Self::Wait { until } | Self::Pick { until, .. } => until,
        }
    }
}

/// On how many of a pool's instances something has happened a short while ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Unrest {
    pub(super) busy: usize,
    /// Those of them that hold nothing and go for it in a moment.
    pub(super) emptied: usize,
    pub(super) instances: usize,
}

impl Unrest {
    /// Whether so much happens that what is best now is not best in a moment.
    pub(super) fn is_restless(self) -> bool {
        self.busy * RESTLESS_SHARE > self.instances || self.emptied > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a pool is treated that has been restless for so many minutes.
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
        // Where there is always one, everything else goes on.
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
