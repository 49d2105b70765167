//! Controllers that run periodically, independent of changes.

use std::{fmt, sync::Arc, time::Duration};

use crate::{
    context::Context,
    controller::{Controller, Next, Started},
    queue::{Backoff, Queue},
    trouble::Trouble,
    world::{Change, World},
};

/// Something that is done again and again.
pub trait Rounds: Send + Sync + 'static {
    /// The name that logs and metrics call it by.
    const NAME: &'static str;
    /// How soon a round that failed is tried again.
    const BACKOFF: Backoff = Backoff::REASONABLE;

    /// Does it once; answers after how long it is done again.
    fn round(&self) -> impl Future<Output = Result<Duration, Trouble>> + Send;
}

/// Starts something that is done at once and then again and again.
pub fn start<R: Rounds>(rounds: R, context: &Context) -> Started {
    let queue = Arc::new(Queue::new(context.clock.clone(), R::BACKOFF));
    let started = Started::new(Arc::new(Round(rounds)), Arc::clone(&queue), context);
    queue.add(Everything);
    started
}

/// A controller with one thing to look at.
struct Round<R>(R);

/// The single key of a controller without distinct objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Everything;

impl fmt::Display for Everything {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("everything")
    }
}

impl<R: Rounds> Controller for Round<R> {
    type Key = Everything;

    const NAME: &'static str = R::NAME;
    const BACKOFF: Backoff = R::BACKOFF;
    const AT_ONCE: usize = 1;

    fn affected(&self, _world: &World, _change: &Change, _add: &mut dyn FnMut(Everything)) {}

    async fn reconcile(&self, _key: &Everything) -> Result<Next, Trouble> {
        self.0.round().await.map(Next::After)
    }
}
