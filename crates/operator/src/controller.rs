//! How controllers run: a queue of keys each, filled by changes of the world, worked off some at a
//! time.

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

/// When to look at an object again, besides when it changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Not before it changes.
    Done,
    /// Soon, but later each time.
    Again,
    /// After this long.
    After(Duration),
}

impl Next {
    /// Whichever is sooner.
    pub fn sooner(self, other: Self) -> Self {
        match (self, other) {
            (Self::Again, _) | (_, Self::Again) => Self::Again,
            (Self::After(a), Self::After(b)) => Self::After(a.min(b)),
            (Self::After(a), Self::Done) | (Self::Done, Self::After(a)) => Self::After(a),
            (Self::Done, Self::Done) => Self::Done,
        }
    }
}

/// Something that keeps objects as they should be, one at a time.
///
/// It must be able to start from nothing at any moment: whatever it did before may or may not have
/// taken effect.
pub trait Controller: Send + Sync + 'static {
    /// What tells its objects apart.
    type Key: Ord + Clone + fmt::Display + Send + Sync + 'static;

    /// The name that logs and metrics call it by; Karpenter's.
    const NAME: &'static str;
    /// How failures are spread out.
    const BACKOFF: Backoff = Backoff::DEFAULT;
    /// How many objects it looks at at the same time, at most.
    const AT_ONCE: usize = 10;

    /// The objects to look at. A controller that others give work to shares its queue with them.
    fn queue(&self, clock: &Clock) -> Arc<Queue<Self::Key>> {
        Arc::new(Queue::new(clock.clone(), Self::BACKOFF))
    }

    /// Which objects to look at because of a change.
    fn affected(&self, world: &World, change: &Change, add: &mut dyn FnMut(Self::Key));

    /// Looks at an object and does what there is to do.
    fn reconcile(&self, key: &Self::Key) -> impl Future<Output = Result<Next, Trouble>> + Send;
}

/// A controller whose queue fills from now on, and which works once it is run.
#[must_use = "a controller does nothing until it is run"]
pub struct Started {
    /// The controller's name.
    pub name: &'static str,
    run: Box<dyn FnOnce(Stop) -> BoxFuture<'static, ()> + Send>,
}

impl fmt::Debug for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Started({})", self.name)
    }
}

impl Started {
    /// A controller and its queue.
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

    /// Works until it is told to stop; what is under way then is finished.
    pub async fn run(self, stop: Stop) {
        (self.run)(stop).await;
    }
}

/// Starts to collect what a controller has to do.
pub fn start<C: Controller>(controller: C, context: &Context) -> Started {
    let controller = Arc::new(controller);
    let queue = controller.queue(&context.clock);
    let started = Started::new(Arc::clone(&controller), Arc::clone(&queue), context);
    context.cache.listen(move |world, change| {
        controller.affected(world, change, &mut |key| queue.add(key));
    });
    started
}

/// Counts what controllers do.
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
                // The change that made it so is on its way here.
                tracing::debug!(controller = C::NAME, object = %key, "{trouble}");
            } else {
                tracing::error!(controller = C::NAME, object = %key, "{trouble}");
            }
            queue.failed(key, trouble.retry_after().unwrap_or_default());
        }
    }
}
