//! The state of each watch.

use std::{
    collections::BTreeMap,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{Notify, futures::Notified};

use crate::probes::NotReady;

/// The state of one kind's watch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FeedState {
    /// Whether a complete list has arrived.
    pub synced: bool,
    /// Why the watch fails now, and the remedy.
    pub missing: Option<NotReady>,
    /// Unreadable objects, each with the field and the remedy.
    pub unreadable: Vec<String>,
}

/// The state of each watch. Clones share the same state.
#[derive(Debug, Clone, Default)]
pub struct Feeds(Arc<FeedStates>);

#[derive(Debug, Default)]
struct FeedStates {
    by_plural: Mutex<BTreeMap<String, FeedState>>,
    changed: Notify,
}

impl Feeds {
    /// The state of every feed, by the plural of its kind.
    pub fn states(&self) -> BTreeMap<String, FeedState> {
        self.lock().clone()
    }

    /// Whether every kind was listed at least once.
    pub fn synced(&self) -> bool {
        self.lock().values().all(|state| state.synced)
    }

    /// The first reason why one of these kinds is not up to date.
    pub fn missing_of(&self, plurals: &[&str]) -> Option<NotReady> {
        let states = self.lock();
        plurals.iter().find_map(|plural| states.get(*plural)?.missing.clone())
    }

    /// Waits until every kind was listed at least once.
    pub async fn when_synced(&self) {
        loop {
            let mut changed = pin!(self.0.changed.notified());
            changed.as_mut().enable();
            if self.synced() {
                return;
            }
            changed.await;
        }
    }

    /// Waits until a state changes.
    pub fn changed(&self) -> Notified<'_> {
        self.0.changed.notified()
    }

    pub(super) fn set(&self, plural: &str, change: impl FnOnce(&mut FeedState)) {
        change(self.lock().entry(plural.to_owned()).or_default());
        self.0.changed.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, FeedState>> {
        self.0.by_plural.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
