//! How controllers run: each has a queue of keys, filled by changes of the cache and worked off by
//! several workers.

use std::{fmt, sync::Arc, time::Duration};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::FuturesUnordered};
use joiner_clock::Clock;

use crate::{
    context::Context,
    metrics::Metrics,
    queue::{Backoff, Queue},
    stop::Stop,
    trouble::Trouble,
    world::{Change, World},
};

/// When to reconcile an object again, unless it changes before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// When it changes.
    Done,
    /// Soon, with a growing backoff.
    Again,
    /// After this long.
    After(Duration),
}

impl Next {
    /// The sooner of the two.
    pub fn sooner(self, other: Self) -> Self {
        match (self, other) {
            (Self::Again, _) | (_, Self::Again) => Self::Again,
            (Self::After(a), Self::After(b)) => Self::After(a.min(b)),
            (Self::After(a), Self::Done) | (Self::Done, Self::After(a)) => Self::After(a),
            (Self::Done, Self::Done) => Self::Done,
        }
    }
}

/// A controller reconciles its objects one at a time.
///
/// It can start from nothing at any moment: an earlier write may have taken effect or not.
pub trait Controller: Send + Sync + 'static {
    /// The key of its objects.
    type Key: Ord + Clone + fmt::Display + Send + Sync + 'static;

    /// The name in logs and metrics; Karpenter's name for the same controller.
    const NAME: &'static str;
    /// The backoff after failures.
    const BACKOFF: Backoff = Backoff::DEFAULT;
    /// How many objects are reconciled at the same time, at most. Most of Karpenter's controllers
    /// use this value.
    const AT_ONCE: usize = 10;

    /// The queue. A controller that receives work from others returns the queue that they share.
    fn queue(&self, clock: &Clock) -> Arc<Queue<Self::Key>> {
        Arc::new(Queue::new(clock.clone(), Self::BACKOFF))
    }

    /// Adds the keys of the objects that a change affects.
    fn affected(&self, world: &World, change: &Change, add: &mut dyn FnMut(Self::Key));

    /// Brings one object to its desired state.
    fn reconcile(&self, key: &Self::Key) -> impl Future<Output = Result<Next, Trouble>> + Send;
}

/// A controller whose queue collects changes; it works them off once it is run.
#[must_use = "a controller does nothing until it is run"]
pub struct Started {
    /// The name of the controller.
    pub name: &'static str,
    run: Box<dyn FnOnce(Stop) -> BoxFuture<'static, ()> + Send>,
}

impl fmt::Debug for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Started({})", self.name)
    }
}

impl Started {
    /// Connects a controller with its queue.
    pub(crate) fn new<C: Controller>(
        controller: Arc<C>,
        queue: Arc<Queue<C::Key>>,
        context: &Context,
    ) -> Self {
        let Context { metrics, clock, .. } = context;
        queue.measure(metrics.add_controller(C::NAME, C::AT_ONCE, Arc::clone(&queue) as _));
        let measured = Measured { metrics: Arc::clone(metrics), clock: clock.clone() };
        let run = |stop| work(controller, queue, measured, stop).boxed();
        Self { name: C::NAME, run: Box::new(run) }
    }

    /// Runs until `stop`; running reconciles finish first.
    pub async fn run(self, stop: Stop) {
        (self.run)(stop).await;
    }
}

/// Starts to collect the keys for a controller.
pub fn start<C: Controller>(controller: C, context: &Context) -> Started {
    let controller = Arc::new(controller);
    let queue = controller.queue(&context.clock);
    let started = Started::new(Arc::clone(&controller), Arc::clone(&queue), context);
    context.cache.listen(move |world, change| {
        controller.affected(world, change, &mut |key| queue.add(key));
    });
    started
}

/// The metrics of a controller.
struct Measured {
    metrics: Arc<Metrics>,
    clock: Clock,
}

impl Measured {
    fn reconciled<C: Controller>(&self, began: Duration, outcome: &Result<Next, Trouble>) {
        let result = match outcome {
            Ok(Next::Done) => "success",
            Ok(Next::Again) => "requeue",
            Ok(Next::After(_)) => "requeue_after",
            Err(_) => "error",
        };
        let took = self.clock.running().saturating_sub(began);
        self.metrics.reconciles(C::NAME, result).inc();
        self.metrics.reconcile_time(C::NAME).observe(took.as_secs_f64());
        if outcome.is_err() {
            self.metrics.reconcile_errors(C::NAME).inc();
        }
    }
}

async fn work<C: Controller>(
    controller: Arc<C>,
    queue: Arc<Queue<C::Key>>,
    measured: Measured,
    stop: Stop,
) {
    let mut running = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            Some((key, began, outcome)) = running.next(), if !running.is_empty() => {
                measured.reconciled::<C>(began, &outcome);
                settle::<C>(&queue, key, outcome);
            }
            () = stop.asked() => break,
            key = queue.next(), if running.len() < C::AT_ONCE => {
                let (controller, began) = (Arc::clone(&controller), measured.clock.running());
                running.push(async move {
                    let outcome = controller.reconcile(&key).await;
                    (key, began, outcome)
                });
            }
        }
    }
    while running.next().await.is_some() {}
}

fn settle<C: Controller>(queue: &Queue<C::Key>, key: C::Key, outcome: Result<Next, Trouble>) {
    match outcome {
        Ok(Next::Done) => queue.done(key),
        Ok(Next::After(wait)) => queue.done_until(key, wait),
        Ok(Next::Again) => queue.failed(key, Duration::ZERO),
        Err(trouble) => {
            if trouble.is_conflict() || trouble.is_about_what_is_gone() {
                // The conflicting change is about to arrive by the watch.
                tracing::debug!(controller = C::NAME, object = %key, "{trouble}");
            } else {
                tracing::error!(controller = C::NAME, object = %key, "{trouble}");
            }
            queue.failed(key, trouble.retry_after().unwrap_or_default());
        }
    }
}
