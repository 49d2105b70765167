//! Memory against repeating useless work: moves that were undone, replacements that failed, and pools that do not
//! settle.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use joiner_core::disruption::{HeldMove, Restless};

/// If an instance of the same kind is needed again within this time, its removal may count as undone. The value was
/// chosen and not measured separately: a longer time holds back more good moves.
const UNDONE_WITHIN: SignedDuration = SignedDuration::from_mins(30);
/// A move is undone if one in `UNDONE_SHARE` of its instances is needed again. The value was chosen and not
/// measured separately: a larger number holds back large moves that were mostly good.
const UNDONE_SHARE: usize = 4;
/// A pool that was not restless for this long has settled. The value was chosen and not measured separately. It is
/// long enough that a pool whose jobs start every minute does not count as settled.
const SETTLED_AFTER: SignedDuration = SignedDuration::from_mins(1);
/// How long moves are held back that were undone: at first, and at most. The values were chosen and not measured
/// separately: longer ones repeat fewer useless moves and save later.
const HELD: Growth =
    Growth { first: SignedDuration::from_mins(15), longest: SignedDuration::from_hours(4) };
/// How long instances stay whose replacement has failed: at first, and at most. The values were chosen and not
/// measured separately: longer ones spare the cloud useless launches and save later.
const FAILED: Growth =
    Growth { first: SignedDuration::from_mins(1), longest: SignedDuration::from_mins(10) };

/// A delay that doubles.
#[derive(Debug, Clone, Copy)]
struct Growth {
    first: SignedDuration,
    longest: SignedDuration,
}

impl Growth {
    /// The delay after the `times`-th time in a row, from 1.
    fn after(self, times: u32) -> SignedDuration {
        let doubled = 2_i32
            .checked_pow(times.saturating_sub(1))
            .and_then(|factor| self.first.checked_mul(factor));
        doubled.unwrap_or(self.longest).min(self.longest)
    }
}

/// A pool and an instance type: the kind of instance that a move was about.
type Kind = (String, String);

/// Past consolidations, and the kinds of moves that are held back for a while.
#[derive(Debug, Default)]
pub struct Moves {
    made: BTreeMap<Kind, Made>,
    held: BTreeMap<Kind, Held>,
}

/// When instances of a kind were removed, and created again.
#[derive(Debug, Clone, Default)]
struct Made {
    removed: Vec<Timestamp>,
    again: Vec<Timestamp>,
}

impl Made {
    /// Whether the move is undone. A move of many instances may leave a pod over that needs one of
    /// them again, and was still good.
    fn is_undone(&self) -> bool {
        !self.removed.is_empty() && self.again.len() * UNDONE_SHARE >= self.removed.len()
    }

    /// Removes entries that are too old.
    fn tidy(&mut self, now: Timestamp) {
        for times in [&mut self.removed, &mut self.again] {
            times.retain(|at| now.duration_since(*at) <= UNDONE_WITHIN);
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Held {
    /// How often in a row such moves were undone.
    undone: u32,
    /// How often in a row their replacements failed.
    failed: u32,
    until: Timestamp,
}

impl Moves {
    /// Records that an instance was removed because its pods fit elsewhere or on a cheaper
    /// instance.
    pub fn made(&mut self, pool: &str, instance_type: &str, now: Timestamp) {
        self.made.entry(kind(pool, instance_type)).or_default().removed.push(now);
        if let Some(held) = self.held.get_mut(&kind(pool, instance_type)) {
            held.failed = 0;
        }
    }

    /// Records that an instance of this kind was created for pending pods. Returns whether that
    /// undoes a move.
    pub fn provisioned(&mut self, pool: &str, instance_type: &str, now: Timestamp) -> bool {
        let kind = kind(pool, instance_type);
        let is_undone = self.made.get_mut(&kind).is_some_and(|made| {
            made.again.push(now);
            made.tidy(now);
            made.is_undone()
        });
        if is_undone {
            // Several instances for one burst of pods undo a move only once.
            self.made.remove(&kind);
            let held = self.held.entry(kind).or_default();
            held.undone += 1;
            held.until = held.until.max(now + HELD.after(held.undone));
        }
        is_undone
    }

    /// Records that the replacement of an instance of this kind has failed.
    pub fn failed(&mut self, pool: &str, instance_type: &str, now: Timestamp) {
        let held = self.held.entry(kind(pool, instance_type)).or_default();
        held.failed += 1;
        held.until = held.until.max(now + FAILED.after(held.failed));
    }

    /// The moves that are held back now.
    pub fn held_back(&self, now: Timestamp) -> Vec<HeldMove> {
        let held = self.held.iter().filter(|(_, held)| held.until > now);
        held.map(|((pool, instance_type), held)| HeldMove {
            pool: pool.clone(),
            instance_type: instance_type.clone(),
            until: held.until,
        })
        .collect()
    }

    /// Removes entries that no longer matter.
    pub fn tidy(&mut self, now: Timestamp) {
        self.made.retain(|_, made| {
            made.tidy(now);
            !made.removed.is_empty()
        });
        // A kind of move starts anew if it was good for as long as the longest delay.
        self.held.retain(|_, held| now.duration_since(held.until) <= HELD.longest);
    }
}

fn kind(pool: &str, instance_type: &str) -> Kind {
    (pool.to_owned(), instance_type.to_owned())
}

/// Pools whose drifted instances are left alone for a while, because a replacement failed.
#[derive(Debug, Default)]
pub struct DriftBackoff(BTreeMap<String, Failed>);

#[derive(Debug, Clone, Copy, Default)]
struct Failed {
    times: u32,
    resumes: Timestamp,
}

impl DriftBackoff {
    /// Records a failed replacement of a drifted instance. Half of the delay is fixed and half
    /// follows `chance`, which spreads pools that fail together. A failure during the delay was
    /// begun before it, and does not count again.
    pub fn failed(&mut self, pool: &str, now: Timestamp, chance: u64) {
        let failed = self.0.entry(pool.to_owned()).or_default();
        if failed.resumes > now {
            return;
        }
        failed.times += 1;
        let window = FAILED.after(failed.times);
        let half = window / 2;
        let by_chance = u64::try_from(half.as_millis()).map_or(0, |most| chance % (most + 1));
        let by_chance = SignedDuration::from_millis(i64::try_from(by_chance).unwrap_or_default());
        failed.resumes = now + half + by_chance;
    }

    /// Records that a drifted instance of the pool was replaced.
    pub fn succeeded(&mut self, pool: &str) {
        self.0.remove(pool);
    }

    /// Removes pools without a failure for as long as the longest delay. Some of them no longer
    /// exist.
    pub fn tidy(&mut self, now: Timestamp) {
        self.0.retain(|_, failed| now.duration_since(failed.resumes) <= HELD.longest);
    }

    /// The end of each pool's delay.
    pub fn resumes(&self, now: Timestamp) -> BTreeMap<String, Timestamp> {
        let waiting = self.0.iter().filter(|(_, failed)| failed.resumes > now);
        waiting.map(|(pool, failed)| (pool.clone(), failed.resumes)).collect()
    }
}

/// Pools that were restless in every pass, and since when.
#[derive(Debug, Default)]
pub struct Unrest(BTreeMap<String, RestlessTime>);

/// When a pool was first and last restless.
#[derive(Debug, Clone, Copy)]
struct RestlessTime {
    first: Timestamp,
    last: Timestamp,
}

impl Unrest {
    /// Records that a pass found exactly these pools restless.
    pub fn seen(&mut self, restless: &[Restless], now: Timestamp) {
        for Restless { node_pool, .. } in restless {
            let time =
                self.0.entry(node_pool.clone()).or_insert(RestlessTime { first: now, last: now });
            time.last = now;
        }
        self.0.retain(|_, time| now.duration_since(time.last) <= SETTLED_AFTER);
    }

    /// Since when each pool is restless.
    pub fn since(&self) -> BTreeMap<String, Timestamp> {
        self.0.iter().map(|(pool, time)| (pool.clone(), time.first)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_is_restless_since_it_was_first_seen_so_unless_it_was_quiet_for_a_minute() {
        let restless = |pools: &[&str]| -> Vec<Restless> {
            let of = |pool: &&str| Restless { node_pool: (*pool).to_owned(), until: None };
            pools.iter().map(of).collect()
        };
        let at = |seconds| Timestamp::from_second(seconds).expect("a moment");
        let mut unrest = Unrest::default();
        unrest.seen(&restless(&["a"]), at(10));
        unrest.seen(&restless(&["a", "b"]), at(20));
        assert_eq!(unrest.since(), [("a".to_owned(), at(10)), ("b".to_owned(), at(20))].into());
        unrest.seen(&restless(&["b"]), at(80));
        unrest.seen(&restless(&["a", "b"]), at(81));
        assert_eq!(unrest.since(), [("a".to_owned(), at(10)), ("b".to_owned(), at(20))].into());
        unrest.seen(&restless(&["b"]), at(142));
        unrest.seen(&restless(&["a", "b"]), at(143));
        assert_eq!(unrest.since(), [("a".to_owned(), at(143)), ("b".to_owned(), at(20))].into());
    }

    fn minute(minutes: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes)
    }

    /// Until when moves of small instances are held back, in minutes.
    fn held_until(moves: &Moves, now: i64) -> Vec<i64> {
        let held = moves.held_back(minute(now));
        held.iter().map(|held| held.until.as_second() / 60).collect()
    }

    #[test]
    fn a_move_that_is_undone_within_half_an_hour_is_held_back() {
        let mut moves = Moves::default();
        moves.made("general", "small", minute(0));
        assert!(!moves.provisioned("general", "large", minute(1)), "another type");
        assert!(!moves.provisioned("batch", "small", minute(1)), "another pool");
        assert!(moves.provisioned("general", "small", minute(10)));
        assert!(!moves.provisioned("general", "small", minute(10)), "the same burst");
        assert_eq!(held_until(&moves, 10), [25]);
        assert_eq!(held_until(&moves, 25), [0; 0]);
        moves.made("general", "small", minute(30));
        assert!(!moves.provisioned("general", "small", minute(61)), "half an hour is over");
    }

    #[test]
    fn a_move_of_many_is_undone_by_a_quarter_of_them() {
        let mut moves = Moves::default();
        for _ in 0..9 {
            moves.made("general", "small", minute(0));
        }
        let undone: Vec<bool> =
            (1..=3).map(|now| moves.provisioned("general", "small", minute(now))).collect();
        assert_eq!(undone, [false, false, true]);
    }

    #[test]
    fn what_was_good_half_an_hour_ago_does_not_excuse_what_is_undone_now() {
        let mut moves = Moves::default();
        for _ in 0..40 {
            moves.made("general", "small", minute(0));
        }
        for now in [10, 20, 30] {
            moves.made("general", "small", minute(now));
            assert!(!moves.provisioned("general", "small", minute(now)), "one of very many");
        }
        moves.made("general", "small", minute(40));
        assert!(moves.provisioned("general", "small", minute(40)));
    }

    #[test]
    fn each_time_it_is_held_back_twice_as_long_up_to_four_hours() {
        let mut moves = Moves::default();
        let mut lengths = Vec::new();
        let mut now = 0;
        for _ in 0..7 {
            moves.made("general", "small", minute(now));
            now += 1;
            assert!(moves.provisioned("general", "small", minute(now)));
            let until = held_until(&moves, now)[0];
            lengths.push(until - now);
            now = until;
            moves.tidy(minute(now));
        }
        assert_eq!(lengths, [15, 30, 60, 120, 240, 240, 240]);
    }

    #[test]
    fn what_was_good_for_four_hours_starts_anew() {
        let mut moves = Moves::default();
        for start in [0, 16 + 241] {
            moves.tidy(minute(start));
            moves.made("general", "small", minute(start));
            assert!(moves.provisioned("general", "small", minute(start + 1)));
            assert_eq!(held_until(&moves, start + 1), [start + 16]);
        }
    }

    #[test]
    fn a_replacement_that_fails_holds_its_kind_back_for_minutes_not_hours() {
        let mut moves = Moves::default();
        let mut lengths = Vec::new();
        let mut now = 0;
        for _ in 0..6 {
            moves.failed("general", "small", minute(now));
            let until = held_until(&moves, now)[0];
            lengths.push(until - now);
            now = until;
        }
        assert_eq!(lengths, [1, 2, 4, 8, 10, 10]);
        moves.made("general", "small", minute(now));
        moves.failed("general", "small", minute(now));
        assert_eq!(held_until(&moves, now), [now + 1], "one that went well resets it");
    }

    /// When a pool resumes after failures in a row, in seconds, with this much chance.
    fn drift_windows(chance: u64) -> Vec<i64> {
        let (mut backoff, mut now) = (DriftBackoff::default(), minute(0));
        let windows = (0..6).map(|_| {
            backoff.failed("general", now, chance);
            let resumes = backoff.resumes(now)["general"];
            let window = resumes.duration_since(now).as_secs();
            now = resumes;
            window
        });
        windows.collect()
    }

    #[test]
    fn drift_waits_twice_as_long_after_each_failure_half_of_it_by_chance() {
        assert_eq!(drift_windows(0), [30, 60, 120, 240, 300, 300]);
        let longest: Vec<i64> = [30_000, 60_000, 120_000, 240_000, 300_000, 300_000]
            .iter()
            .scan((DriftBackoff::default(), minute(0)), |(backoff, now), most| {
                backoff.failed("general", *now, *most);
                let resumes = backoff.resumes(*now)["general"];
                let window = resumes.duration_since(*now).as_secs();
                *now = resumes;
                Some(window)
            })
            .collect();
        assert_eq!(longest, [60, 120, 240, 480, 600, 600]);
    }

    #[test]
    fn failures_while_a_pool_waits_do_not_add_up_and_success_starts_anew() {
        let mut backoff = DriftBackoff::default();
        for _ in 0..5 {
            backoff.failed("general", minute(0), 0);
        }
        assert_eq!(backoff.resumes(minute(0))["general"].as_second(), 30);
        assert!(backoff.resumes(minute(1)).is_empty());
        backoff.failed("general", minute(1), 0);
        backoff.succeeded("general");
        assert!(backoff.resumes(minute(1)).is_empty());
        backoff.failed("general", minute(2), 0);
        assert_eq!(backoff.resumes(minute(2))["general"].as_second(), 150);
    }

    #[test]
    fn a_pool_in_which_nothing_has_failed_for_four_hours_starts_anew() {
        let mut backoff = DriftBackoff::default();
        for now in [0, 1] {
            backoff.failed("general", minute(now), 0);
        }
        // It resumes after two minutes.
        backoff.tidy(minute(2 + 4 * 60));
        assert_eq!(backoff.0.len(), 1);
        backoff.tidy(minute(2 + 4 * 60 + 1));
        assert!(backoff.0.is_empty());
    }
}
