//! Work queues: which objects to reconcile, and when.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use joiner_clock::Clock;
use tokio::sync::Notify;

use crate::metrics::{QueueMetrics, Working};

/// The delay before a failed key is tried again: it doubles with each failure in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The delay after the first failure.
    pub first: Duration,
    /// The longest delay.
    pub longest: Duration,
}

impl Backoff {
    /// The default of most controllers; the values are controller-runtime's.
    pub const DEFAULT: Self =
        Self { first: Duration::from_millis(5), longest: Duration::from_secs(1000) };

    /// For expensive work: slower at first, and never slower than a minute. The values are those of
    /// Karpenter's `reasonable` limiter.
    pub const REASONABLE: Self =
        Self { first: Duration::from_millis(100), longest: Duration::from_mins(1) };

    /// The delay after this many failures in a row.
    pub fn after(self, failures: u32) -> Duration {
        let doubled = 2_u32.checked_pow(failures).and_then(|times| self.first.checked_mul(times));
        doubled.unwrap_or(self.longest).min(self.longest)
    }
}

/// A queue of keys. Each key waits once, at the earliest time that was asked for, and is given to
/// one worker at a time.
///
/// Times are those of the given clock, not of the async runtime. While that clock stands still, no
/// key becomes due.
#[derive(Debug)]
pub struct Queue<K> {
    clock: Clock,
    backoff: Backoff,
    state: Mutex<State<K>>,
    changed: Notify,
    metrics: OnceLock<QueueMetrics>,
}

#[derive(Debug)]
struct State<K> {
    /// The due time of each waiting key.
    due: BTreeMap<K, Duration>,
    /// The same keys, ordered by due time.
    by_time: BTreeSet<(Duration, K)>,
    /// Keys that a worker processes.
    running: BTreeMap<K, Running>,
    failures: BTreeMap<K, u32>,
}

/// A key that a worker processes.
#[derive(Debug)]
struct Running {
    /// When the worker took it.
    since: Duration,
    /// The due time if the key was added again meanwhile.
    again: Option<Duration>,
}

impl<K: Ord + Clone> State<K> {
    /// Schedules a key; returns whether it was not waiting before.
    fn schedule(&mut self, key: K, at: Duration) -> bool {
        if let Some(running) = self.running.get_mut(&key) {
            let is_new = running.again.is_none();
            running.again = Some(running.again.map_or(at, |other| other.min(at)));
            return is_new;
        }
        let later = self.due.get(&key).copied();
        match later {
            Some(earlier) if earlier <= at => return false,
            Some(later) => {
                self.by_time.remove(&(later, key.clone()));
            }
            None => {}
        }
        self.due.insert(key.clone(), at);
        self.by_time.insert((at, key));
        later.is_none()
    }
}

impl<K: Ord + Clone> Queue<K> {
    /// An empty queue.
    pub fn new(clock: Clock, backoff: Backoff) -> Self {
        let state = State {
            due: BTreeMap::new(),
            by_time: BTreeSet::new(),
            running: BTreeMap::new(),
            failures: BTreeMap::new(),
        };
        let (state, changed, metrics) = (Mutex::new(state), Notify::new(), OnceLock::new());
        Self { clock, backoff, state, changed, metrics }
    }

    /// Starts to count in these metrics. Only the first call has an effect.
    pub(crate) fn measure(&self, metrics: QueueMetrics) {
        self.metrics.get_or_init(|| metrics);
    }

    /// Adds a key that is due now.
    pub fn add(&self, key: K) {
        self.add_after(key, Duration::ZERO);
    }

    /// Adds a key that is due after `wait`; an earlier due time stays.
    pub fn add_after(&self, key: K, wait: Duration) {
        let at = self.clock.running() + wait;
        let is_new = self.lock().schedule(key, at);
        self.count(|metrics| metrics.adds.inc_by(u64::from(is_new)));
        self.changed.notify_waiters();
    }

    /// The number of waiting keys.
    pub fn len(&self) -> usize {
        self.lock().due.len()
    }

    /// Whether no key waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits for the next due key and returns it. The caller must give it back.
    pub async fn next(&self) -> K {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            let wait = match self.take_due() {
                Taken::Key(key) => return key,
                Taken::NothingFor(wait) => wait,
            };
            let due = async {
                match wait {
                    Some(wait) => self.clock.sleep(wait).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = changed => {}
                () = due => {}
            }
        }
    }

    fn take_due(&self) -> Taken<K> {
        let state = &mut *self.lock();
        let now = self.clock.running();
        let Some((at, _)) = state.by_time.first() else { return Taken::NothingFor(None) };
        if *at > now {
            return Taken::NothingFor(Some(at.saturating_sub(now)));
        }
        let Some((at, key)) = state.by_time.pop_first() else { return Taken::NothingFor(None) };
        self.count(|metrics| metrics.waits.observe(now.saturating_sub(at).as_secs_f64()));
        state.due.remove(&key);
        state.running.insert(key.clone(), Running { since: now, again: None });
        Taken::Key(key)
    }

    /// Gives back a key that is settled until its object changes.
    pub fn done(&self, key: K) {
        self.give_back(key, |state, key| {
            state.failures.remove(key);
            None
        });
    }

    /// Gives back a key that is due again after `wait`.
    pub fn done_until(&self, key: K, wait: Duration) {
        let at = self.clock.running() + wait;
        self.give_back(key, |state, key| {
            state.failures.remove(key);
            Some(at)
        });
    }

    /// Gives back a failed key. It is due after the backoff, and not before `at_least` has passed.
    pub fn failed(&self, key: K, at_least: Duration) {
        let (clock, backoff) = (&self.clock, self.backoff);
        self.count(|metrics| metrics.retries.inc());
        self.give_back(key, |state, key| {
            let failures = state.failures.entry(key.clone()).or_default();
            let wait = backoff.after(*failures).max(at_least);
            *failures += 1;
            Some(clock.running() + wait)
        });
    }

    fn give_back(&self, key: K, next: impl FnOnce(&mut State<K>, &K) -> Option<Duration>) {
        let state = &mut *self.lock();
        let running = state.running.remove(&key);
        let next = next(state, &key);
        let again = running.as_ref().and_then(|running| running.again);
        self.count(|metrics| {
            let now = self.clock.running();
            let since = running.map_or(now, |running| running.since);
            metrics.work.observe(now.saturating_sub(since).as_secs_f64());
            // A key that was added meanwhile is counted already.
            metrics.adds.inc_by(u64::from(again.is_none() && next.is_some()));
        });
        if let Some(at) = again.into_iter().chain(next).min() {
            state.schedule(key, at);
            self.changed.notify_waiters();
        }
    }

    fn count(&self, count: impl FnOnce(&QueueMetrics)) {
        if let Some(metrics) = self.metrics.get() {
            count(metrics);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Ord + Clone + Send + Sync> Working for Queue<K> {
    fn waiting(&self) -> usize {
        let now = self.clock.running();
        self.lock().by_time.iter().take_while(|(at, _)| *at <= now).count()
    }

    fn under_way(&self) -> Vec<f64> {
        let now = self.clock.running();
        let state = self.lock();
        state
            .running
            .values()
            .map(|running| now.saturating_sub(running.since).as_secs_f64())
            .collect()
    }
}

enum Taken<K> {
    Key(K),
    /// No key is due for this long; none if no key waits.
    NothingFor(Option<Duration>),
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    fn queue() -> Queue<&'static str> {
        let start = "2026-01-01T00:00:00Z".parse().unwrap();
        let backoff = Backoff { first: Duration::from_secs(1), longest: Duration::from_mins(1) };
        Queue::new(Clock::following_runtime(start), backoff)
    }

    async fn seconds_until_next(queue: &Queue<&'static str>) -> (&'static str, u64) {
        let before = Instant::now();
        let key = queue.next().await;
        (key, before.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_added_twice_is_handed_out_once_at_the_earlier_time() {
        let queue = queue();
        queue.add_after("a", Duration::from_secs(30));
        queue.add_after("a", Duration::from_secs(10));
        queue.add_after("a", Duration::from_secs(20));
        assert_eq!(seconds_until_next(&queue).await, ("a", 10));
        queue.done("a");
        assert!(queue.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_is_not_handed_out_again_while_somebody_has_it() {
        let queue = queue();
        queue.add("a");
        assert_eq!(queue.next().await, "a");
        queue.add("a");
        queue.add_after("b", Duration::from_secs(5));
        assert_eq!(seconds_until_next(&queue).await, ("b", 5));
        queue.done("a");
        assert_eq!(seconds_until_next(&queue).await, ("a", 0), "it changed meanwhile");
    }

    #[tokio::test(start_paused = true)]
    async fn failures_in_a_row_wait_longer_up_to_a_limit_and_success_forgets_them() {
        let queue = queue();
        queue.add("a");
        let mut waits = Vec::new();
        for _ in 0..8 {
            let (key, wait) = seconds_until_next(&queue).await;
            waits.push(wait);
            queue.failed(key, Duration::ZERO);
        }
        assert_eq!(waits, [0, 1, 2, 4, 8, 16, 32, 60]);
        let (key, _) = seconds_until_next(&queue).await;
        queue.done_until(key, Duration::from_secs(3));
        let (key, wait) = seconds_until_next(&queue).await;
        assert_eq!(wait, 3);
        queue.failed(key, Duration::ZERO);
        assert_eq!(seconds_until_next(&queue).await, ("a", 1));
    }

    #[tokio::test(start_paused = true)]
    async fn what_happens_to_a_key_that_waits_after_a_failure_is_looked_at_at_once() {
        let queue = queue();
        queue.add("a");
        let key = queue.next().await;
        queue.failed(key, Duration::ZERO);
        queue.add("a");
        assert_eq!(seconds_until_next(&queue).await, ("a", 0));
    }

    /// Otherwise those who wait for a moment that is near would keep each other busy, and it would never come.
    #[tokio::test(start_paused = true)]
    async fn nothing_becomes_due_while_the_clock_stands_still() {
        let start = "2026-01-01T00:00:00Z".parse().unwrap();
        let clock = Clock::faster_at_rest(start, 10.0);
        let queue = Queue::new(clock.clone(), Backoff::DEFAULT);
        queue.add_after("a", Duration::from_micros(1));
        let work = tokio::time::timeout(Duration::from_mins(1), queue.next());
        assert!(work.await.is_err());
        clock.runtime_rests();
        assert_eq!(queue.next().await, "a");
    }
}
