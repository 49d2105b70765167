//! Not more calls to the API server than were promised.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

/// Lets so many calls through in a second, and so many at once after a quiet time. Clones, and all
/// services it is laid around, share what is allowed.
#[derive(Debug, Clone)]
pub struct Throttle(Arc<Mutex<Bucket>>);

/// Calls that may be made, filled up as time passes.
#[derive(Debug)]
struct Bucket {
    per_second: f64,
    size: f64,
    /// Less than nothing while calls wait.
    left: f64,
    as_of: Instant,
}

impl Bucket {
    /// Takes one call out; answers how long it has to wait.
    fn take(&mut self, now: Instant) -> Duration {
        let passed = now.saturating_duration_since(self.as_of).as_secs_f64();
        self.left = (self.left + passed * self.per_second).min(self.size) - 1.0;
        self.as_of = now;
        Duration::try_from_secs_f64(-self.left / self.per_second).unwrap_or_default()
    }
}

impl Throttle {
    /// So many calls per second on average, so many at once.
    pub fn new(per_second: u32, at_once: u32) -> Self {
        let size = f64::from(at_once.max(1));
        let per_second = f64::from(per_second.max(1));
        Self(Arc::new(Mutex::new(Bucket { per_second, size, left: size, as_of: Instant::now() })))
    }

    fn wait(&self) -> Duration {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take(Instant::now())
    }
}

impl<S> Layer<S> for Throttle {
    type Service = Throttled<S>;

    fn layer(&self, inner: S) -> Throttled<S> {
        Throttled { throttle: self.clone(), inner }
    }
}

/// A service that is not called more often than allowed.
#[derive(Debug, Clone)]
pub struct Throttled<S> {
    throttle: Throttle,
    inner: S,
}

impl<R, S> Service<R> for Throttled<S>
where
    S: Service<R>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let wait = self.throttle.wait();
        // Nothing is sent before the answer is waited for.
        let call = self.inner.call(request);
        Box::pin(async move {
            if !wait.is_zero() {
                tokio::time::sleep(wait).await;
            }
            call.await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn after_a_burst_calls_are_spread_out_and_quiet_time_allows_the_next_burst() {
        let throttle = Throttle::new(10, 3);
        let waits: Vec<u128> = (0..6).map(|_| throttle.wait().as_millis()).collect();
        assert_eq!(waits, [0, 0, 0, 100, 200, 300]);
        tokio::time::sleep(Duration::from_secs(10)).await;
        let waits: Vec<u128> = (0..4).map(|_| throttle.wait().as_millis()).collect();
        assert_eq!(waits, [0, 0, 0, 100]);
    }
}
