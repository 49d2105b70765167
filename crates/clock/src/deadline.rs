//! Deadlines that exclude the time a call waits for its turn.
//!
//! A deadline limits how long the other side may take to answer. While a call waits for Joiner's own rate limit it
//! is not sent yet, so that time does not count.

use std::{pin::pin, time::Duration};

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use crate::Clock;

tokio::task_local! {
    /// How many waits of the present call are excluded at this moment.
    static UNCOUNTED: watch::Sender<u32>;
}

impl Clock {
    /// The result of a call; `None` if it takes longer than `limit`. The deadline starts again after each
    /// [`uncounted`] wait in the call.
    pub async fn within<T>(&self, limit: Duration, call: impl Future<Output = T>) -> Option<T> {
        until(|| self.instant_after(limit), call).await
    }
}

/// The result of a call; `None` if it is not available at its deadline. The deadline is computed at the start, and
/// again after each [`uncounted`] wait in the call.
///
/// Among nested deadlines, only the innermost one excludes such waits.
pub async fn until<T>(deadline: impl Fn() -> Instant, call: impl Future<Output = T>) -> Option<T> {
    let (waits, mut changes) = watch::channel(0);
    let mut call = pin!(UNCOUNTED.scope(waits, call));
    let mut ends = Some(deadline());
    loop {
        let late = async {
            match ends {
                Some(end) => sleep_until(end).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            outcome = &mut call => return Some(outcome),
            // The call holds the sender, so there is one while the call runs.
            Ok(()) = changes.changed() => {
                let waits = *changes.borrow_and_update() > 0;
                ends = (!waits).then(&deadline);
            }
            () = late => return None,
        }
    }
}

/// Waits without counting against the surrounding deadline.
pub async fn uncounted<T>(wait: impl Future<Output = T>) -> T {
    let _pause = Pause::begin();
    wait.await
}

/// Suspends the deadline until it is dropped.
struct Pause(Option<watch::Sender<u32>>);

impl Pause {
    fn begin() -> Self {
        // Outside of any deadline there is nothing to suspend.
        let waits = UNCOUNTED.try_with(watch::Sender::clone).ok();
        if let Some(waits) = &waits {
            waits.send_modify(|waits| *waits += 1);
        }
        Self(waits)
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        if let Some(waits) = &self.0 {
            waits.send_modify(|waits| *waits -= 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    fn clock() -> Clock {
        Clock::following_runtime("2026-01-01T12:00:00Z".parse().unwrap())
    }

    async fn takes(seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_takes_too_long_is_given_up_at_its_deadline() {
        let clock = clock();
        assert_eq!(clock.within(LIMIT, takes(29)).await, Some(()));
        let before = Instant::now();
        assert_eq!(clock.within(LIMIT, takes(31)).await, None);
        assert_eq!(before.elapsed(), LIMIT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_for_the_calls_turn_is_not_counted() {
        let call = |seconds| async move {
            takes(10).await;
            uncounted(takes(3600)).await;
            takes(seconds).await;
        };
        assert_eq!(clock().within(LIMIT, call(29)).await, Some(()));
        let before = Instant::now();
        assert_eq!(clock().within(LIMIT, call(31)).await, None);
        assert_eq!(before.elapsed(), Duration::from_secs(10 + 3600) + LIMIT);
    }

    #[tokio::test(start_paused = true)]
    async fn the_deadline_counts_again_when_a_wait_is_given_up() {
        let call = async {
            let wait = tokio::time::timeout(Duration::from_mins(5), uncounted(takes(3600)));
            assert!(wait.await.is_err());
            takes(3600).await;
        };
        let before = Instant::now();
        assert_eq!(clock().within(LIMIT, call).await, None);
        assert_eq!(before.elapsed(), Duration::from_mins(5) + LIMIT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_outside_of_any_deadline_is_just_a_wait() {
        let before = Instant::now();
        uncounted(takes(5)).await;
        assert_eq!(before.elapsed(), Duration::from_secs(5));
    }
}
