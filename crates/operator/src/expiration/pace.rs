//! The rate at which a pool's instances expire.

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

/// The window in which a share of a pool may expire. The value was chosen and not measured
/// separately.
const WINDOW: Duration = Duration::from_mins(1);
/// One of this many instances expires in a window. Instances that were created together also expire
/// together. At a tenth per minute, replacements keep up, and users can react. The value was chosen
/// and not measured separately.
const ONE_OF: usize = 10;
/// How long a count of instances is reused, because counting a large pool is expensive. The value
/// was chosen and not measured separately.
const COUNT_FOR: Duration = Duration::from_secs(10);

/// The expirations of the last minute, by pool. Claims without a pool count as one pool.
#[derive(Debug, Default)]
pub(super) struct Pace(BTreeMap<Option<String>, Lately>);

/// The recent expirations of one pool. Times are running time.
#[derive(Debug)]
struct Lately {
    /// When instances expired, oldest first.
    expired: VecDeque<Duration>,
    /// The number of instances at the last count.
    instances: usize,
    counted: Duration,
}

impl Pace {
    /// How long the next instance of a pool waits; nothing if it may expire now.
    ///
    /// COMPAT: upstream deletes all instances at once whose time has come (D58).
    pub(super) fn wait(
        &mut self,
        pool: Option<&str>,
        now: Duration,
        count: impl FnOnce() -> usize,
    ) -> Option<Duration> {
        self.forget(now);
        // The first expiration in a window needs no count.
        let lately = self.0.get_mut(&pool.map(str::to_owned))?;
        if lately.instances == 0 || now.saturating_sub(lately.counted) >= COUNT_FOR {
            (lately.instances, lately.counted) = (count(), now);
        }
        let allowed = (lately.instances / ONE_OF).max(1);
        let first_of_allowed = lately.expired.len().checked_sub(allowed)?;
        Some((lately.expired[first_of_allowed] + WINDOW).saturating_sub(now))
    }

    /// Records an expiration.
    pub(super) fn expired(&mut self, pool: Option<&str>, now: Duration) {
        let none = || Lately { expired: VecDeque::new(), instances: 0, counted: now };
        self.0.entry(pool.map(str::to_owned)).or_insert_with(none).expired.push_back(now);
    }

    /// Removes expirations that are older than the window.
    fn forget(&mut self, now: Duration) {
        for lately in self.0.values_mut() {
            let is_over = |at: &Duration| now.saturating_sub(*at) >= WINDOW;
            let over = lately.expired.iter().take_while(|at| is_over(at)).count();
            lately.expired.drain(..over);
        }
        self.0.retain(|_, lately| !lately.expired.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// How many instances of a pool of so many expire if all of them would at this moment.
    fn expire(pace: &mut Pace, pool: Option<&str>, instances: usize, at: u64) -> usize {
        let mut expired = 0;
        while pace.wait(pool, seconds(at), || instances).is_none() {
            pace.expired(pool, seconds(at));
            expired += 1;
        }
        expired
    }

    #[test]
    fn a_tenth_of_a_pool_expires_in_a_minute() {
        let mut pace = Pace::default();
        assert_eq!(expire(&mut pace, Some("a"), 35, 0), 3);
        assert_eq!(pace.wait(Some("a"), seconds(20), || 35), Some(seconds(40)));
        assert_eq!(expire(&mut pace, Some("a"), 35, 59), 0);
        assert_eq!(expire(&mut pace, Some("a"), 35, 60), 3);
    }

    #[test]
    fn one_of_a_small_pool_expires_in_a_minute() {
        let mut pace = Pace::default();
        for (at, expected) in [(0, 1), (59, 0), (60, 1), (61, 0)] {
            assert_eq!(expire(&mut pace, Some("a"), 3, at), expected, "{at}");
        }
    }

    #[test]
    fn pools_do_not_wait_for_each_other() {
        let mut pace = Pace::default();
        for pool in [Some("a"), Some("b"), None] {
            assert_eq!(expire(&mut pace, pool, 20, 0), 2, "{pool:?}");
        }
    }

    #[test]
    fn those_of_different_times_free_their_places_one_by_one() {
        let mut pace = Pace::default();
        pace.expired(Some("a"), seconds(0));
        pace.expired(Some("a"), seconds(30));
        assert_eq!(pace.wait(Some("a"), seconds(40), || 20), Some(seconds(20)));
        assert_eq!(pace.wait(Some("a"), seconds(60), || 20), None);
        pace.expired(Some("a"), seconds(60));
        assert_eq!(pace.wait(Some("a"), seconds(60), || 20), Some(seconds(30)));
    }

    #[test]
    fn a_pool_that_shrinks_waits_until_fewer_have_expired() {
        let mut pace = Pace::default();
        assert_eq!(expire(&mut pace, Some("a"), 50, 0), 5);
        assert_eq!(pace.wait(Some("a"), seconds(30), || 10), Some(seconds(30)));
    }
}
