//! A world behind one lock that keeps up with a clock.

use std::{
    fmt,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use joiner_clock::Clock;
use tokio::sync::{Notify, futures::Notified};

/// The whole state of a simulated cloud. Nothing in it waits.
pub trait World: Send + 'static {
    /// What happens in it and is told to others.
    type Event;

    /// Lets everything happen that is due by now.
    fn catch_up(&mut self, clock: &Clock);

    /// How long until something happens; none if nothing will.
    fn next_due(&self) -> Option<Duration>;

    /// A number that grows when something changes that clients wait for.
    fn changes(&self) -> u64;

    /// What happened since this was asked last.
    fn take_events(&mut self) -> Vec<Self::Event>;
}

type Hook<E> = Arc<dyn Fn(&E) + Send + Sync>;

/// A simulated cloud. Clones are the same one.
pub struct Simulation<W: World>(Arc<Inner<W>>);

struct Inner<W: World> {
    world: Mutex<W>,
    clock: Clock,
    /// Wakes everything that waits for a change.
    changed: Notify,
    hook: Mutex<Option<Hook<W::Event>>>,
}

impl<W: World> Clone for Simulation<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<W: World> fmt::Debug for Simulation<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulation").field("clock", &self.0.clock).finish_non_exhaustive()
    }
}

impl<W: World> Simulation<W> {
    /// A world by this clock.
    pub fn new(world: W, clock: Clock) -> Self {
        let (changed, hook) = (Notify::new(), Mutex::new(None));
        Self(Arc::new(Inner { world: Mutex::new(world), clock, changed, hook }))
    }

    /// The clock by which things happen.
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Tells a listener what happens from now on, instead of the listener before. Things happen
    /// when they are due while the simulation [runs](Self::run), and at the next look otherwise.
    pub fn on_event(&self, hook: impl Fn(&W::Event) + Send + Sync + 'static) {
        *lock(&self.0.hook) = Some(Arc::new(hook));
    }

    /// Lets everything happen when it is due. Never ends.
    pub async fn run(&self) {
        loop {
            let changed = self.changed();
            let due = self.look(|world| world.next_due());
            self.until_change(changed, due).await;
        }
    }

    /// Looks at the world as it is now, and tells what came of that.
    pub fn look<T>(&self, look: impl FnOnce(&mut W) -> T) -> T {
        let (result, changed, events) = {
            let mut world = lock(&self.0.world);
            let before = world.changes();
            world.catch_up(&self.0.clock);
            let result = look(&mut world);
            (result, world.changes() != before, world.take_events())
        };
        if changed {
            self.0.changed.notify_waiters();
        }
        if !events.is_empty() {
            let hook = lock(&self.0.hook).clone();
            for event in events {
                if let Some(hook) = &hook {
                    hook(&event);
                }
            }
        }
        result
    }

    /// The next change after this call; to be made before the world is looked at.
    pub fn changed(&self) -> Notified<'_> {
        self.0.changed.notified()
    }

    /// Waits until something was changed, or until something is due.
    pub async fn until_change(&self, changed: impl Future<Output = ()>, due: Option<Duration>) {
        let time = async {
            match due {
                Some(due) => self.0.clock.sleep(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = changed => {}
            () = time => {}
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
