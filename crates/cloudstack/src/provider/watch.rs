//! Launches that take longer than a creation waits.

use std::time::Duration;

use joiner_cloud::{notes::Note, order::ClaimId};

use super::{Inner, find::is_unknown};

/// How often such launches are looked at.
const EVERY: Duration = Duration::from_secs(15);
/// How many of them in one look, so that looks take a small part of the requests that may be sent.
const AT_ONCE: usize = 20;
/// How many are kept. The list of instances tells of others that they are lost.
const WATCHED_MAX: usize = 10_000;

impl Inner {
    /// Watches a job from now on.
    pub(super) fn watch(&self, job: &str, claim: &ClaimId) {
        let mut state = self.state();
        if state.watched.len() < WATCHED_MAX {
            state.watched.push_back((job.to_owned(), claim.clone()));
        }
    }

    /// Tells the operator of launches that failed after their creation had ended. Never ends.
    pub(super) async fn watch_launches(&self) {
        loop {
            self.clock.sleep(EVERY).await;
            let due = self.state().watched.len().min(AT_ONCE);
            for _ in 0..due {
                let Some((job, claim)) = self.state().watched.pop_front() else { break };
                self.look_at_launch(job, claim).await;
            }
        }
    }

    async fn look_at_launch(&self, job: String, claim: ClaimId) {
        let outcome = match self.client.job(&job).await {
            Ok(found) => found.outcome,
            Err(error) if is_unknown(&error) => return,
            Err(_) => None,
        };
        match outcome {
            None => self.state().watched.push_back((job, claim)),
            Some(Ok(_)) => {}
            Some(Err(failed)) => {
                let why = format!("the instance of NodeClaim {:?} failed: {failed}", claim.name);
                self.notes.write(Note::went_wrong(&claim, "LaunchFailed", why));
                self.notes.write(Note::look_again_at_claim(&claim));
            }
        }
    }
}
