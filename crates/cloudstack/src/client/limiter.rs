//! How many requests a second.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use joiner_clock::{Clock, deadline::uncounted};

/// How long nothing is sent after the server has said that there was too much. Its own limit counts
/// by seconds unless it is changed.
const AFTER_REFUSAL: Duration = Duration::from_secs(1);
/// What share of the server's own limit is used: others may have the same account.
const SHARE: f64 = 0.8;

/// Spaces requests evenly, so that no second has more than its share.
#[derive(Debug)]
pub(crate) struct Limiter(Mutex<State>);

#[derive(Debug)]
struct State {
    /// When the next request may leave, on the clock's running time.
    next: Duration,
    /// Between two requests.
    interval: Duration,
    /// Until when nothing may leave.
    closed_until: Duration,
}

impl Limiter {
    /// At most so many requests a second.
    pub(crate) fn new(requests_per_second: u32) -> Self {
        let interval = Duration::from_secs(1) / requests_per_second.max(1);
        Self(Mutex::new(State { next: Duration::ZERO, interval, closed_until: Duration::ZERO }))
    }

    /// Waits for a turn. Deadlines of callers do not count this time.
    pub(crate) async fn turn(&self, clock: &Clock) {
        loop {
            let now = clock.running();
            let at = {
                let mut state = self.state();
                let at = state.next.max(state.closed_until).max(now);
                state.next = at + state.interval;
                at
            };
            let wait = at.saturating_sub(now);
            if !wait.is_zero() {
                uncounted(clock.sleep(wait)).await;
            }
            // The server may have had too much while this request waited.
            if self.state().closed_until <= clock.running() {
                return;
            }
        }
    }

    /// Takes note that the server has had too much.
    pub(crate) fn refused(&self, now: Duration) {
        self.state().closed_until = now + AFTER_REFUSAL;
    }

    /// Takes note of the server's own limit. It never makes requests more frequent.
    pub(crate) fn learn(&self, requests: u32, seconds: u32) {
        if requests == 0 || seconds == 0 {
            return;
        }
        let interval = Duration::from_secs(u64::from(seconds)).div_f64(f64::from(requests) * SHARE);
        let mut state = self.state();
        state.interval = state.interval.max(interval);
    }

    /// The time between two requests.
    pub(crate) fn interval(&self) -> Duration {
        self.state().interval
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;
    use jiff::Timestamp;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn no_second_has_more_requests_than_allowed() {
        let clock = Clock::following_runtime(Timestamp::UNIX_EPOCH);
        let limiter = Limiter::new(20);
        let clock = &clock;
        let limiter = &limiter;
        let turns = (0..100).map(|_| async move {
            limiter.turn(clock).await;
            clock.running().as_secs()
        });
        let seconds = join_all(turns).await;
        for second in 0..5 {
            assert_eq!(seconds.iter().filter(|at| **at == second).count(), 20, "{second}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_servers_own_limit_is_not_used_up() {
        let limiter = Limiter::new(50);
        limiter.learn(25, 1);
        assert_eq!(limiter.interval(), Duration::from_millis(50));
        limiter.learn(1000, 1);
        limiter.learn(0, 0);
        assert_eq!(limiter.interval(), Duration::from_millis(50));
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_leaves_for_a_while_after_too_much() {
        let clock = Clock::following_runtime(Timestamp::UNIX_EPOCH);
        let limiter = Limiter::new(20);
        limiter.turn(&clock).await;
        limiter.refused(clock.running());
        limiter.turn(&clock).await;
        assert_eq!(clock.running(), Duration::from_secs(1));
    }
}
