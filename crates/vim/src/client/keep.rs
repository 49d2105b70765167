//! Keeping sessions, and ending them.

use std::time::Duration;

use super::Vim;
use crate::{VimError, soap::Call};

/// How often an idle session is used. Servers end sessions that were idle for half an hour or more.
const EVERY: Duration = Duration::from_mins(5);

impl Vim {
    /// Keeps the session alive; never ends. The owner of the client runs this beside its work and
    /// drops it to stop. It never starts a session.
    pub async fn keep_alive(&self) {
        loop {
            self.clock().sleep(EVERY).await;
            if self.0.session.present().is_none() {
                continue;
            }
            if let Err(error) = self.current_time().await {
                tracing::warn!(%error, "the session in vCenter cannot be kept alive now");
            }
        }
    }

    /// Ends the sessions. Best effort: a session that is not ended ends by itself later.
    pub async fn logout(&self) {
        self.tags().logout().await;
        let Some(session) = self.0.session.present() else { return };
        let Some(content) = self.0.content.get() else { return };
        self.0.session.ended(&session);
        let call = Call::new(&content.session_manager, "Logout", |_| {});
        match self.wire().call(Some(&session.cookie), &call).await {
            Ok(_) => {}
            Err(error) if error.session_ended() => {}
            Err(error) => forgotten(&error),
        }
    }
}

pub(crate) fn forgotten(error: &VimError) {
    tracing::warn!(%error, "a session in vCenter could not be ended; it ends when it was idle long enough");
}
