//! Asking again.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use joiner_clock::Clock;

use crate::VimError;

/// How long to wait before asking again for the first time.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// How long to wait at most.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// How long to wait after a number of failures in a row, a little different for each who waits.
pub(crate) fn wait_after(failures: u32) -> Duration {
    static WAITS: AtomicU64 = AtomicU64::new(0);
    // Golden-ratio steps spread any number of waits evenly over the second half.
    let count = WAITS.fetch_add(1, Ordering::Relaxed);
    let spread = count.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let share = 0.5 + spread as f64 / f64::from(u32::MAX) / 2.0;
    let exponent = failures.saturating_sub(1).min(10);
    (FIRST_WAIT * 2_u32.pow(exponent)).min(LONGEST_WAIT).mul_f64(share)
}

/// Asks a question that changes nothing, and again while what is in the way may pass. Nobody is asked
/// again when patience is at its end: whoever wants the answer learns more from an error.
pub(crate) async fn asked<T, F>(
    clock: &Clock,
    patience: Duration,
    mut ask: impl FnMut() -> F,
) -> Result<T, VimError>
where
    F: Future<Output = Result<T, VimError>>,
{
    let began = clock.running();
    let mut failures = 0;
    loop {
        match ask().await {
            Err(error) if error.passes() => {
                failures += 1;
                let wait = wait_after(failures);
                if clock.running().saturating_sub(began) + wait > patience {
                    return Err(error);
                }
                tracing::debug!(%error, ?wait, "a question to vCenter is asked again");
                clock.sleep(wait).await;
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_differ() {
        for (failures, longest) in [(1, 1.0), (2, 2.0), (4, 8.0), (6, 30.0), (50, 30.0)] {
            let waits: Vec<Duration> = (0..100).map(|_| wait_after(failures)).collect();
            let suits = |wait: &Duration| (longest / 2.0..=longest).contains(&wait.as_secs_f64());
            assert!(waits.iter().all(suits), "{waits:?}");
            assert!(waits.windows(2).all(|pair| pair[0] != pair[1]), "{waits:?}");
        }
    }
}
