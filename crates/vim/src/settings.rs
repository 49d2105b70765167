//! The settings of a client: address, credentials and timeouts.

use std::{
    fmt::{self, Debug, Formatter},
    sync::Arc,
    time::Duration,
};

pub use joiner_line::{Credentials, CredentialsSource, Endpoint, InvalidEndpoint};

use crate::{Observer, Unobserved};

/// The settings of a client.
#[derive(Clone)]
pub struct VimSettings {
    /// Where credentials come from.
    pub credentials: CredentialsSource,
    /// How we introduce ourselves, `joiner/1.0 (cluster)`; administrators see it among sessions.
    pub user_agent: String,
    /// How many requests may be under way at once. vCenters have some hundreds for all clients
    /// together.
    pub requests_in_flight: usize,
    /// How long an answer may take.
    pub request_timeout: Duration,
    /// How long an unanswered read-only query is repeated.
    pub patience: Duration,
    /// How long the server may hold a request back until there is something to tell.
    pub long_poll: Duration,
    /// The observer that counts calls.
    pub observer: Arc<dyn Observer>,
}

impl VimSettings {
    /// The usual patience, with credentials that never change.
    pub fn new(credentials: Credentials) -> Self {
        Self::with_source(credentials.into_source())
    }

    /// The usual patience, with credentials from a source.
    pub fn with_source(credentials: CredentialsSource) -> Self {
        Self {
            credentials,
            user_agent: concat!("joiner/", env!("CARGO_PKG_VERSION")).to_owned(),
            requests_in_flight: 20,
            request_timeout: Duration::from_mins(2),
            patience: Duration::from_mins(2),
            long_poll: Duration::from_mins(1),
            observer: Arc::new(Unobserved),
        }
    }
}

impl Debug for VimSettings {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("VimSettings")
            .field("user_agent", &self.user_agent)
            .field("requests_in_flight", &self.requests_in_flight)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        let credentials = Credentials::new("joiner", "hunter2");
        let shown = format!("{credentials:?} {:?}", VimSettings::new(credentials.clone()));
        assert!(shown.contains("joiner") && !shown.contains("hunter2"), "{shown}");
    }
}
