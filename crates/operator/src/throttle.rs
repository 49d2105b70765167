//! Not more calls to the API server than were promised.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use joiner_clock::deadline::uncounted;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep},
};
use tower_layer::Layer;
use tower_service::Service;

/// Limits the calls per second, with a burst after a quiet time. Clones and all wrapped services
/// share one limit.
///
/// Calls run in the order in which they were made. A call that is cancelled while it waits costs
/// nothing.
#[derive(Debug, Clone)]
pub struct Throttle(mpsc::UnboundedSender<oneshot::Sender<Turn>>);

/// Calls that may be made, filled up as time passes.
#[derive(Debug)]
struct Bucket {
    per_second: f64,
    size: f64,
    left: f64,
    as_of: Instant,
}

impl Bucket {
    /// Takes one call out; if there is none, answers how long it takes until there is.
    fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let passed = now.saturating_duration_since(self.as_of).as_secs_f64();
        self.left = (self.left + passed * self.per_second).min(self.size);
        self.as_of = now;
        if self.left < 1.0 {
            let missing = (1.0 - self.left) / self.per_second;
            // Timers count in milliseconds; a shorter wait would not be one.
            let wait = Duration::try_from_secs_f64(missing).unwrap_or(Duration::MAX);
            return Err(wait.max(Duration::from_millis(1)));
        }
        self.left -= 1.0;
        Ok(())
    }
}

type Shared = Arc<Mutex<Bucket>>;

fn lock(bucket: &Shared) -> MutexGuard<'_, Bucket> {
    bucket.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The right to make one call, which goes back when it is not used.
#[derive(Debug)]
struct Turn(Option<Shared>);

impl Turn {
    fn used(mut self) {
        self.0 = None;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(bucket) = &self.0 {
            let mut bucket = lock(bucket);
            bucket.left = (bucket.left + 1.0).min(bucket.size);
        }
    }
}

impl Throttle {
    /// So many calls per second on average, so many at once. To be made inside of a runtime: a task
    /// of its own gives calls their turns, so that a call that is not waited for holds up no other.
    pub fn new(per_second: u32, at_once: u32) -> Self {
        let size = f64::from(at_once.max(1));
        let per_second = f64::from(per_second.max(1));
        let bucket = Bucket { per_second, size, left: size, as_of: Instant::now() };
        let (sender, waiting) = mpsc::unbounded_channel();
        tokio::spawn(give_turns(Arc::new(Mutex::new(bucket)), waiting));
        Self(sender)
    }

    /// A place in the queue; the turn comes when it is this call's.
    fn queue(&self) -> oneshot::Receiver<Turn> {
        let (sender, turn) = oneshot::channel();
        // The task that gives turns ends only with its runtime, when no caller waits.
        let _ = self.0.send(sender);
        turn
    }
}

/// Gives turns in the order of the requests, until all senders are gone.
async fn give_turns(bucket: Shared, mut waiting: mpsc::UnboundedReceiver<oneshot::Sender<Turn>>) {
    while let Some(mut call) = waiting.recv().await {
        loop {
            if call.is_closed() {
                break;
            }
            let taken = lock(&bucket).take(Instant::now());
            match taken {
                Ok(()) => {
                    // A call that has just been given up does not take it, and it goes back.
                    let _ = call.send(Turn(Some(Arc::clone(&bucket))));
                    break;
                }
                Err(wait) => tokio::select! {
                    biased;
                    () = call.closed() => break,
                    () = sleep(wait) => {}
                },
            }
        }
    }
}

impl<S> Layer<S> for Throttle {
    type Service = Throttled<S>;

    fn layer(&self, inner: S) -> Throttled<S> {
        Throttled { throttle: self.clone(), inner }
    }
}

/// A service that is not called more often than allowed. Deadlines of calls
/// ([`joiner_clock::deadline`]) do not count the time that they wait for their turn.
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
        let turn = self.throttle.queue();
        // Nothing is sent before the answer is waited for.
        let call = self.inner.call(request);
        Box::pin(async move {
            // Without the task that gives turns the runtime is ending, and the call with it.
            if let Ok(turn) = uncounted(turn).await {
                turn.used();
            }
            call.await
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use futures_util::future::join_all;
    use joiner_clock::Clock;

    use super::*;

    const DEADLINE: Duration = Duration::from_secs(30);

    /// Counts calls and answers each after a while.
    #[derive(Debug, Clone, Default)]
    struct Server {
        sent: Arc<AtomicUsize>,
        takes: Duration,
    }

    impl Service<()> for Server {
        type Response = ();
        type Error = Infallible;
        type Future = Pin<Box<dyn Future<Output = Result<(), Infallible>> + Send>>;

        fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, (): ()) -> Self::Future {
            let Self { sent, takes } = self.clone();
            Box::pin(async move {
                sent.fetch_add(1, Ordering::Relaxed);
                sleep(takes).await;
                Ok(())
            })
        }
    }

    fn clock() -> Clock {
        Clock::following_runtime("2026-01-01T12:00:00Z".parse().unwrap())
    }

    /// When each of so many calls that are made at once is sent, in milliseconds.
    async fn sent_after(throttle: &Throttle, calls: usize) -> Vec<u128> {
        let begun = Instant::now();
        let waits = (0..calls).map(|_| throttle.queue()).map(|turn| async move {
            turn.await.unwrap().used();
            begun.elapsed().as_millis()
        });
        join_all(waits).await
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_burst_calls_are_spread_out_and_quiet_time_allows_the_next_burst() {
        let throttle = Throttle::new(10, 3);
        assert_eq!(sent_after(&throttle, 6).await, [0, 0, 0, 100, 200, 300]);
        sleep(Duration::from_secs(10)).await;
        assert_eq!(sent_after(&throttle, 4).await, [0, 0, 0, 100]);
    }

    #[tokio::test(start_paused = true)]
    async fn every_call_of_a_large_cluster_is_made_under_a_low_limit() {
        let server = Server { takes: Duration::from_secs(1), ..Server::default() };
        let throttled = Throttle::new(2, 1).layer(server.clone());
        let clock = clock();
        let calls = (0..1000).map(|_| clock.within(DEADLINE, throttled.clone().call(())));
        let begun = Instant::now();
        let answered = join_all(calls).await.into_iter().flatten().count();
        assert_eq!(answered, 1000, "a call timed out although the server answers at once");
        assert_eq!(begun.elapsed().as_secs(), 500);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_does_not_answer_is_given_up_at_the_deadline_after_the_wait() {
        let server = Server { takes: Duration::from_hours(1), ..Server::default() };
        let throttled = Throttle::new(1, 1).layer(server);
        let (clock, begun) = (clock(), Instant::now());
        let calls = (0..100).map(|_| clock.within(DEADLINE, throttled.clone().call(())));
        assert!(join_all(calls).await.into_iter().all(|answer| answer.is_none()));
        assert_eq!(begun.elapsed(), Duration::from_secs(99) + DEADLINE);
    }

    #[tokio::test(start_paused = true)]
    async fn calls_that_are_given_up_while_they_wait_cost_nothing() {
        let server = Server::default();
        let mut throttled = Throttle::new(1, 1).layer(server.clone());
        let given_up: Vec<_> = (0..1000).map(|_| throttled.call(())).collect();
        let almost_a_second = Duration::from_millis(500);
        let wait = tokio::time::timeout(DEADLINE + almost_a_second, join_all(given_up));
        assert!(wait.await.is_err());
        // One at once, then one a second.
        assert_eq!(server.sent.load(Ordering::Relaxed), 31);
        let begun = Instant::now();
        assert_eq!(throttled.call(()).await, Ok(()));
        assert!(begun.elapsed() <= Duration::from_secs(1), "{:?}", begun.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_came_too_late_goes_back() {
        let throttle = Throttle::new(1, 1);
        let late = throttle.queue();
        // The turn is there, and whoever asked for it is gone before looking.
        tokio::task::yield_now().await;
        drop(late);
        assert_eq!(sent_after(&throttle, 2).await, [0, 1000]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_not_waited_for_holds_up_no_other() {
        let mut throttled = Throttle::new(1, 1).layer(Server::default());
        let left_lying = throttled.call(());
        assert_eq!(throttled.call(()).await, Ok(()));
        assert_eq!(left_lying.await, Ok(()));
    }
}
