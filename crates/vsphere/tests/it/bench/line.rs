//! A way to a vCenter on which things go wrong.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use joiner_cloud::conformance::Mishap;
use joiner_vim::{Transport, transport::TransportError};
use tokio::sync::Notify;

/// When something goes wrong.
#[derive(Debug, Clone)]
enum When {
    /// Once so many calls have got through.
    After(u32),
    /// At the first call of this name: a method, or the method and path of a request in REST.
    At(&'static str),
}

/// What goes wrong with calls, and whom it kills.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    armed: Mutex<Option<(Mishap, When)>>,
    killed: Notify,
}

/// A way to a vCenter on which things go wrong.
pub(crate) struct Line {
    pub(crate) way: Arc<dyn Transport>,
    pub(crate) faults: Arc<Faults>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Faults {
    /// Lets a call go wrong, once so many calls have got through.
    pub(crate) fn arm(&self, mishap: Mishap, after: u32) {
        *lock(&self.armed) = Some((mishap, When::After(after)));
    }

    /// Lets the first call of this name go wrong.
    pub(crate) fn arm_at(&self, mishap: Mishap, call: &'static str) {
        *lock(&self.armed) = Some((mishap, When::At(call)));
    }

    /// Lets every call get through. Says whether one had gone wrong.
    pub(crate) fn disarm(&self) -> bool {
        lock(&self.armed).take().is_none()
    }

    /// Ends when somebody is killed.
    pub(crate) async fn kills(&self) {
        self.killed.notified().await;
    }

    fn strike(&self, request: &Request<Bytes>) -> Option<Mishap> {
        let mut armed = lock(&self.armed);
        let (mishap, when) = armed.as_mut()?;
        let is_now = match when {
            When::After(0) => true,
            When::After(left) => {
                *left -= 1;
                false
            }
            When::At(call) => {
                let body = String::from_utf8_lossy(request.body());
                body.contains(&format!("<{call} "))
                    || body.contains(&format!("<{call}>"))
                    || format!("{} {}", request.method(), request.uri()) == *call
            }
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
}

#[async_trait]
impl Transport for Line {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        match self.faults.strike(&request) {
            None => self.way.send(request).await,
            Some(Mishap::KilledBefore) => self.faults.die().await,
            Some(Mishap::KilledAfter) => {
                // Nobody is left to hear what it answers.
                let _ = self.way.send(request).await;
                self.faults.die().await
            }
            Some(Mishap::NoAnswer) => std::future::pending().await,
            Some(Mishap::AnswerLost) => {
                let _ = self.way.send(request).await;
                Err(TransportError::NoAnswer("the connection broke".to_owned()))
            }
            Some(Mishap::Failed) => {
                let mut response = Response::new(Bytes::new());
                *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                Ok(response)
            }
        }
    }
}
