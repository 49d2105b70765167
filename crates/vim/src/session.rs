//! Sessions: one login for everybody, and none too many.

mod refusal;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use refusal::Refusals;
use tokio::sync::Mutex as Turn;

use crate::VimError;

/// A session that is shared by all who ask.
#[derive(Debug)]
pub(crate) struct Shared<S> {
    current: Mutex<State<S>>,
    /// Whose turn it is to log in.
    turn: Turn<()>,
}

#[derive(Debug)]
struct State<S> {
    session: Option<Arc<S>>,
    /// How many logins have failed so far, and why the last one did.
    failures: (u64, Option<VimError>),
}

impl<S> Shared<S> {
    pub(crate) fn new() -> Self {
        let state = State { session: None, failures: (0, None) };
        Self { current: Mutex::new(state), turn: Turn::new(()) }
    }

    /// The session, or a new one where there is none. However many ask, one of them logs in; the
    /// others get what it got, be it a session or an error.
    pub(crate) async fn get(
        &self,
        login: impl Future<Output = Result<S, VimError>>,
    ) -> Result<Arc<S>, VimError> {
        let failures = {
            let state = self.state();
            if let Some(session) = &state.session {
                return Ok(Arc::clone(session));
            }
            state.failures.0
        };
        let _turn = self.turn.lock().await;
        {
            let state = self.state();
            if let Some(session) = &state.session {
                return Ok(Arc::clone(session));
            }
            if let (count, Some(error)) = &state.failures
                && *count > failures
            {
                return Err(error.clone());
            }
        }
        let result = login.await;
        let mut state = self.state();
        match result {
            Ok(session) => {
                let session = Arc::new(session);
                state.session = Some(Arc::clone(&session));
                Ok(session)
            }
            Err(error) => {
                state.failures = (state.failures.0 + 1, Some(error.clone()));
                Err(error)
            }
        }
    }

    /// The session, where there is one.
    pub(crate) fn present(&self) -> Option<Arc<S>> {
        self.state().session.clone()
    }

    /// Takes note that a session is over. One that came after it is not touched.
    pub(crate) fn ended(&self, session: &Arc<S>) {
        let mut state = self.state();
        if state.session.as_ref().is_some_and(|current| Arc::ptr_eq(current, session)) {
            state.session = None;
        }
    }

    fn state(&self) -> MutexGuard<'_, State<S>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
