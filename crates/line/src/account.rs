//! The account of a client: its credentials of the moment, and whether they may be tried.

mod refusals;

use std::{
    fmt::{self, Debug, Formatter},
    time::Duration,
};

use joiner_clock::Clock;
use refusals::Refusals;

use crate::{Credentials, CredentialsSource};

/// Why credentials are not tried: the server has just refused them. Accounts are locked after a few
/// failures, so the same credentials wait.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the credentials of {user:?} are refused; the next attempt is in {} s, or at once with other \
     credentials",
    retry_in.as_secs()
)]
pub struct Refused {
    /// The name that was refused.
    pub user: String,
    /// When the same credentials may be tried again.
    pub retry_in: Duration,
}

/// The account of a client. All sessions and requests on one account share it, because failures
/// count against the account.
pub struct Account {
    source: CredentialsSource,
    refusals: Refusals,
    clock: Clock,
}

impl Account {
    /// An account with credentials from a source.
    pub fn new(source: CredentialsSource, clock: Clock) -> Self {
        Self { source, refusals: Refusals::default(), clock }
    }

    /// An attempt with the credentials of the moment, unless the server has just refused them.
    pub fn attempt(&self) -> Result<Attempt<'_>, Refused> {
        let credentials = (self.source)();
        self.refusals.allow(&credentials, self.clock.running())?;
        Ok(Attempt { account: self, credentials, is_second: false })
    }
}

/// An attempt of a client to show its credentials. The server's verdict has to be told.
#[must_use = "the account has to know what the server said"]
pub struct Attempt<'a> {
    account: &'a Account,
    credentials: Credentials,
    is_second: bool,
}

impl Attempt<'_> {
    /// What to show to the server.
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// The server accepted the credentials.
    pub fn accepted(self) {
        self.account.refusals.accepted(&self.credentials);
    }

    /// The server refused the credentials. They wait for a time that doubles with each refusal.
    pub fn refused(self) -> Refused {
        self.account.refusals.refused(&self.credentials, self.account.clock.running())
    }

    /// The server refused the credentials, and the source may have others by now: they are another
    /// attempt, once.
    pub fn refused_for_others(self) -> Result<Self, Refused> {
        let (account, is_second) = (self.account, self.is_second);
        let refused = self.refused();
        if is_second {
            return Err(refused);
        }
        account.attempt().map(|attempt| Self { is_second: true, ..attempt })
    }
}

impl Debug for Attempt<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt").field("credentials", &self.credentials).finish_non_exhaustive()
    }
}

impl Debug for Account {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("refusals", &self.refusals).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// A server that knows one secret, an account that reads another place, and what was tried.
    struct Site {
        account: Account,
        kept: Arc<Mutex<String>>,
        right: Mutex<String>,
        tried: Mutex<Vec<String>>,
    }

    impl Site {
        fn new(kept: &str, right: &str) -> Self {
            let clock = Clock::following_runtime("2026-01-01T12:00:00Z".parse().unwrap());
            let kept = Arc::new(Mutex::new(kept.to_owned()));
            let source = Arc::clone(&kept);
            let source = move || Credentials::new("joiner", source.lock().unwrap().clone());
            let account = Account::new(Arc::new(source), clock);
            let right = Mutex::new(right.to_owned());
            Self { account, kept, right, tried: Mutex::default() }
        }

        /// Asks; `during` happens between the server's judgement and its answer.
        fn ask_during(&self, during: impl Fn()) -> Result<(), Refused> {
            let mut attempt = self.account.attempt()?;
            loop {
                let secret = attempt.credentials().password.to_string();
                let is_right = secret == *self.right.lock().unwrap();
                self.tried.lock().unwrap().push(secret);
                during();
                if is_right {
                    attempt.accepted();
                    return Ok(());
                }
                attempt = attempt.refused_for_others()?;
            }
        }

        fn ask(&self) -> Result<(), Refused> {
            self.ask_during(|| {})
        }

        fn keep(&self, secret: &str) {
            secret.clone_into(&mut self.kept.lock().unwrap());
        }

        fn tried(&self) -> Vec<String> {
            std::mem::take(&mut self.tried.lock().unwrap())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn credentials_that_changed_meanwhile_are_tried_at_once() {
        let site = Site::new("old", "new");
        assert_eq!(site.ask_during(|| site.keep("new")), Ok(()));
        assert_eq!(site.tried(), ["old", "new"]);
    }

    #[tokio::test(start_paused = true)]
    async fn refused_credentials_wait_and_others_do_not() {
        let site = Site::new("old", "new");
        let refused = Refused { user: "joiner".to_owned(), retry_in: Duration::from_mins(1) };
        assert_eq!(site.ask(), Err(refused.clone()));
        assert_eq!(site.ask(), Err(refused));
        assert_eq!(site.tried(), ["old"]);
        site.keep("new");
        assert_eq!(site.ask(), Ok(()));
        assert_eq!(site.tried(), ["new"]);
    }

    #[tokio::test(start_paused = true)]
    async fn two_wrong_secrets_in_a_row_are_two_attempts() {
        let site = Site::new("old", "new");
        site.ask_during(|| site.keep("wrong too")).unwrap_err();
        site.ask().unwrap_err();
        assert_eq!(site.tried(), ["old", "wrong too"]);
    }

    #[tokio::test(start_paused = true)]
    async fn requests_that_are_refused_together_count_once() {
        let site = Site::new("old", "new");
        let under_way: Vec<_> = (0..8).map(|_| site.account.attempt().unwrap()).collect();
        for attempt in under_way {
            assert_eq!(attempt.refused().retry_in, Duration::from_mins(1));
        }
    }

    #[tokio::test]
    async fn an_account_shows_no_secret() {
        let site = Site::new("hunter2", "other");
        let error = site.ask().unwrap_err();
        let shown = format!("{:?} {error:?} {error}", site.account);
        assert!(shown.contains("joiner") && !shown.contains("hunter2"), "{shown}");
    }
}
