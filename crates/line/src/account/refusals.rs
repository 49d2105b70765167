//! Credentials that were refused, and when they may be tried again.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::Refused;
use crate::Credentials;

/// How long to wait after the first refusal. Accounts are locked after some failures within some
/// minutes, usually five in three.
const FIRST_WAIT: Duration = Duration::from_mins(1);

/// How long to wait at most.
const LONGEST_WAIT: Duration = Duration::from_mins(15);

/// Remembers the credentials that were refused last.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<Option<Refusal>>);

#[derive(Debug)]
struct Refusal {
    credentials: Credentials,
    /// On the clock's running time.
    until: Duration,
    wait: Duration,
}

impl Refusals {
    /// Whether credentials may be tried now; an error that says when, if not. Credentials that
    /// differ from the refused ones may be tried at once.
    pub(crate) fn allow(&self, credentials: &Credentials, now: Duration) -> Result<(), Refused> {
        match &*self.last() {
            Some(refusal) if refusal.credentials == *credentials && now < refusal.until => {
                Err(refusal.error(now))
            }
            _ => Ok(()),
        }
    }

    /// Takes note that credentials were refused. Requests that were under way when the first of
    /// them was refused count as one attempt.
    pub(crate) fn refused(&self, credentials: &Credentials, now: Duration) -> Refused {
        let mut last = self.last();
        let wait = match &*last {
            Some(refusal) if refusal.credentials == *credentials => {
                if now < refusal.until {
                    return refusal.error(now);
                }
                refusal.wait * 2
            }
            _ => FIRST_WAIT,
        };
        let wait = wait.min(LONGEST_WAIT);
        let refusal = Refusal { credentials: credentials.clone(), until: now + wait, wait };
        let error = refusal.error(now);
        *last = Some(refusal);
        error
    }

    /// Takes note that credentials were accepted.
    pub(crate) fn accepted(&self, credentials: &Credentials) {
        let mut last = self.last();
        if last.as_ref().is_some_and(|refusal| refusal.credentials == *credentials) {
            *last = None;
        }
    }

    fn last(&self) -> MutexGuard<'_, Option<Refusal>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Refusal {
    fn error(&self, now: Duration) -> Refused {
        let retry_in = self.until.saturating_sub(now);
        Refused { user: self.credentials.user.clone(), retry_in }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_doubles_up_to_a_quarter_of_an_hour() {
        let refusals = Refusals::default();
        let credentials = Credentials::new("joiner", "old");
        let mut now = Duration::from_secs(100);
        let mut waits = Vec::new();
        for _ in 0..6 {
            refusals.allow(&credentials, now).unwrap();
            let Refused { retry_in, .. } = refusals.refused(&credentials, now);
            let moment_before = now + retry_in.mul_f64(0.99);
            refusals.allow(&credentials, moment_before).unwrap_err();
            waits.push(retry_in.as_secs() / 60);
            now += retry_in;
        }
        assert_eq!(waits, [1, 2, 4, 8, 15, 15]);
    }

    #[test]
    fn other_credentials_are_tried_at_once() {
        let refusals = Refusals::default();
        let now = Duration::ZERO;
        let (old, new) = (Credentials::new("joiner", "old"), Credentials::new("joiner", "new"));
        refusals.refused(&old, now);
        refusals.allow(&new, now).unwrap();
        refusals.allow(&old, now).unwrap_err();
        refusals.accepted(&old);
        refusals.allow(&old, now).unwrap();
    }
}
