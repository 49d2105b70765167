//! Deadlines of calls, and the progress of long ones.

use std::time::Duration;

use joiner_clock::Clock;

use crate::{
    CloudError,
    notes::{Note, Notes},
    order::ClaimId,
};

/// How often progress is reported. Work that ends sooner is not reported.
const REPORT_EVERY: Duration = Duration::from_secs(30);

/// Does some work with a deadline. The work must be safe to interrupt and to repeat.
pub async fn within<T>(
    clock: &Clock,
    limit: Duration,
    what: &str,
    work: impl Future<Output = Result<T, CloudError>>,
) -> Result<T, CloudError> {
    tokio::select! {
        biased;
        done = work => done,
        () = clock.sleep(limit) => Err(CloudError::Unknown(format!(
            "{what} is not done after {} minutes; it is tried again",
            limit.as_secs() / 60
        ))),
    }
}

/// Does some work for a claim and writes a note about its progress now and then.
pub async fn reporting_progress<T>(
    clock: &Clock,
    notes: &Notes,
    claim: &ClaimId,
    progress: impl Fn() -> Option<String>,
    work: impl Future<Output = T>,
) -> T {
    let reporting = async {
        loop {
            clock.sleep(REPORT_EVERY).await;
            if let Some(text) = progress() {
                notes.write(Note::progress(claim, text));
            }
        }
    };
    tokio::select! {
        biased;
        done = work => done,
        never = reporting => never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> Clock {
        Clock::following_runtime("2026-11-15T00:00:00Z".parse().unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn work_without_an_end_is_unknown_after_its_deadline() {
        let work = std::future::pending::<Result<(), CloudError>>();
        let answer = within(&clock(), Duration::from_mins(5), "listing instances", work).await;
        let expected = "listing instances is not done after 5 minutes; it is tried again";
        assert_eq!(answer, Err(CloudError::Unknown(expected.to_owned())));
    }

    #[tokio::test(start_paused = true)]
    async fn progress_is_reported_while_work_goes_on() {
        let (clock, notes, claim) = (clock(), Notes::default(), ClaimId::default());
        let work = clock.sleep(Duration::from_secs(31));
        reporting_progress(&clock, &notes, &claim, || Some("half".to_owned()), work).await;
        assert_eq!(notes.next().await, Note::progress(&claim, "half"));
    }
}
