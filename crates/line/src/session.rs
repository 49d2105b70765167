//! Sessions that a login begins: one login for all requests.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Mutex as Turn;

/// A session `S` that all requests of a client share. A login that fails has the error `E`.
#[derive(Debug)]
pub struct Shared<S, E> {
    current: Mutex<State<S, E>>,
    /// Held by the request that logs in.
    turn: Turn<()>,
}

#[derive(Debug)]
struct State<S, E> {
    session: Option<Arc<S>>,
    /// How many logins have failed so far, and why the last one did.
    failures: (u64, Option<E>),
}

impl<S, E> Default for Shared<S, E> {
    fn default() -> Self {
        let state = State { session: None, failures: (0, None) };
        Self { current: Mutex::new(state), turn: Turn::new(()) }
    }
}

impl<S, E: Clone> Shared<S, E> {
    /// The session, or a new one where there is none. Of all requests that wait for one, a single
    /// one logs in. The others get its result, the session or the error.
    pub async fn get(&self, login: impl Future<Output = Result<S, E>>) -> Result<Arc<S>, E> {
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
    pub fn present(&self) -> Option<Arc<S>> {
        self.state().session.clone()
    }

    /// Takes note that a session is over. A session that came after it stays.
    pub fn ended(&self, session: &Arc<S>) {
        let mut state = self.state();
        if state.session.as_ref().is_some_and(|current| Arc::ptr_eq(current, session)) {
            state.session = None;
        }
    }

    fn state(&self) -> MutexGuard<'_, State<S, E>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
