//! Asking again.

use std::{
    fmt::Display,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use joiner_clock::Clock;

/// How long to wait before asking again for the first time, where a client says nothing else.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// How long to wait at most, where a client says nothing else.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// For how long a question is asked again, and how fast. Waits double from the first to the
/// longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For how long in all. No attempt begins after that.
    pub in_all: Duration,
    /// The wait after the first failure.
    pub first_wait: Duration,
    /// The longest wait.
    pub longest_wait: Duration,
}

impl Patience {
    /// Patience for a time, with the usual waits.
    pub fn of(in_all: Duration) -> Self {
        Self { in_all, first_wait: FIRST_WAIT, longest_wait: LONGEST_WAIT }
    }

    /// How long to wait after a number of failures in a row. Clients that fail together wait
    /// differently: each wait is between half of its full length and all of it.
    pub fn wait_after(&self, failures: u32) -> Duration {
        static WAITS: AtomicU64 = AtomicU64::new(0);
        // Golden-ratio steps spread any number of waits evenly over the second half.
        let count = WAITS.fetch_add(1, Ordering::Relaxed);
        let spread = count.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let share = 0.5 + spread as f64 / f64::from(u32::MAX) / 2.0;
        let exponent = failures.saturating_sub(1).min(10);
        (self.first_wait * 2_u32.pow(exponent)).min(self.longest_wait).mul_f64(share)
    }
}

/// Asks, and asks again while `allows` says so of the error. When the next wait would exceed the
/// patience, the last error is returned at once. `server` names the server in the log.
pub async fn asked<T, E, F>(
    clock: &Clock,
    patience: &Patience,
    server: &str,
    allows: impl Fn(&E) -> bool,
    mut ask: impl FnMut() -> F,
) -> Result<T, E>
where
    E: Display,
    F: Future<Output = Result<T, E>>,
{
    let began = clock.running();
    let mut failures = 0;
    loop {
        match ask().await {
            Err(error) if allows(&error) => {
                failures += 1;
                let wait = patience.wait_after(failures);
                if clock.running().saturating_sub(began) + wait > patience.in_all {
                    return Err(error);
                }
                tracing::debug!(%error, ?wait, "a question to {server} is asked again");
                clock.sleep(wait).await;
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn waits_grow_and_differ() {
        let patience = Patience::of(Duration::from_mins(2));
        for (failures, longest) in [(1, 1.0), (2, 2.0), (4, 8.0), (6, 30.0), (50, 30.0)] {
            let waits: Vec<Duration> = (0..100).map(|_| patience.wait_after(failures)).collect();
            let suits = |wait: &Duration| (longest / 2.0..=longest).contains(&wait.as_secs_f64());
            assert!(waits.iter().all(suits), "{waits:?}");
            assert!(waits.windows(2).all(|pair| pair[0] != pair[1]), "{waits:?}");
        }
    }

    /// How often a question is asked whose every answer is an error, and how long that takes.
    async fn attempts(patience: &Patience, allows: bool) -> (u32, Duration) {
        let clock = Clock::following_runtime("2026-01-01T12:00:00Z".parse().unwrap());
        let count = Cell::new(0);
        let ask = async || {
            count.set(count.get() + 1);
            Err::<(), _>("broken")
        };
        assert_eq!(asked(&clock, patience, "the server", |_| allows, ask).await, Err("broken"));
        (count.get(), clock.running())
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_is_asked_again_until_patience_ends() {
        let patience = Patience {
            in_all: Duration::from_secs(10),
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(8),
        };
        let (count, took) = attempts(&patience, true).await;
        // Waits of at most 0.5, 1, 2, 4 and 8 s, and of at least half of that.
        assert!((4..=6).contains(&count), "{count}");
        assert!(took <= patience.in_all, "{took:?}");
        assert_eq!(attempts(&patience, false).await, (1, Duration::ZERO));
    }
}
