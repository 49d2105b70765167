//! What goes wrong between a provider and its cloud.
//!
//! A cloud's tests put [`Mishaps`] into the provider's connection: each request goes through
//! [`carry`](Mishaps::carry), which loses answers and kills the process as it was told.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::conformance::Mishap;

/// When something goes wrong.
#[derive(Debug, Clone)]
enum When {
    /// After this number of calls.
    After(u32),
    /// At the first call of this name, in the cloud's words.
    At(&'static str),
}

/// What goes wrong with calls.
#[derive(Debug, Default)]
pub struct Mishaps {
    armed: Mutex<Option<(Mishap, When)>>,
    killed: Notify,
}

impl Mishaps {
    /// Makes the next call go wrong after `after` others have passed.
    pub fn arm(&self, mishap: Mishap, after: u32) {
        *self.armed() = Some((mishap, When::After(after)));
    }

    /// Makes the first call of this name go wrong.
    pub fn arm_at(&self, mishap: Mishap, call: &'static str) {
        *self.armed() = Some((mishap, When::At(call)));
    }

    /// Lets every call pass. Returns whether one had gone wrong.
    pub fn disarm(&self) -> bool {
        self.armed().take().is_none()
    }

    /// Ends when the process is killed.
    pub async fn kills(&self) {
        self.killed.notified().await;
    }

    /// Does the work of a process until it is done, or until the process is killed.
    pub async fn until_killed<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.kills() => None,
            answer = work => Some(answer),
        }
    }

    /// Sends a call, unless something goes wrong. `is_call` says whether the call has a name; `lost`
    /// is the answer over a broken connection, `failed` the answer of a cloud that failed.
    pub async fn carry<A>(
        &self,
        is_call: impl Fn(&str) -> bool,
        send: impl Future<Output = A>,
        lost: impl FnOnce() -> A,
        failed: impl FnOnce() -> A,
    ) -> A {
        match self.strike(is_call) {
            None => send.await,
            Some(Mishap::KilledBefore) => self.die().await,
            Some(Mishap::KilledAfter) => {
                send.await;
                self.die().await
            }
            Some(Mishap::NoAnswer) => std::future::pending().await,
            Some(Mishap::AnswerLost) => {
                send.await;
                lost()
            }
            Some(Mishap::Failed) => failed(),
        }
    }

    fn strike(&self, is_call: impl Fn(&str) -> bool) -> Option<Mishap> {
        let mut armed = self.armed();
        let (mishap, when) = armed.as_mut()?;
        let is_now = match when {
            When::After(0) => true,
            When::After(left) => {
                *left -= 1;
                false
            }
            When::At(call) => is_call(call),
        };
        let mishap = *mishap;
        is_now.then(|| {
            *armed = None;
            mishap
        })
    }

    async fn die<T>(&self) -> T {
        self.killed.notify_one();
        std::future::pending().await
    }

    fn armed(&self) -> MutexGuard<'_, Option<(Mishap, When)>> {
        self.armed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
