//! The server: objects and rules behind one lock.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use joiner_clock::Clock;

use crate::{
    Caller, Feed, Status,
    object::{Key, Object, Resource},
    operation::{Operation, Outcome},
    store::Store,
};

/// A Kubernetes API server; clones are the same server.
#[derive(Clone)]
pub struct Server(Arc<Inner>);

struct Inner {
    store: Mutex<Store>,
    clock: Clock,
}

impl Server {
    /// An empty server. Uids and generated names come from the seed.
    pub fn new(clock: Clock, _seed: u64) -> Self {
        Self(Arc::new(Inner { store: Mutex::new(Store::default()), clock }))
    }

    /// Somebody inside the process who calls under this name.
    pub fn caller(&self, name: &str) -> Caller {
        Caller::new(self.clone(), name)
    }

    /// The clock that everything here goes by.
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// Every object that is there, as added, and every change from now on.
    pub fn feed_with_past(&self) -> Feed {
        let now = self.0.clock.now();
        self.store().feed_with_past(now)
    }

    /// Carries out a request in the name of a caller.
    pub fn execute(&self, _caller: &str, operation: Operation) -> Result<Outcome, Status> {
        let resource = &operation.resource;
        Err(Status::not_found(&resource.group, &resource.plural, &operation.key.name))
    }

    pub(crate) fn peek(&self, resource: &Resource, key: &Key) -> Option<Arc<Object>> {
        self.store().get(resource, key).cloned()
    }

    pub(crate) fn peek_all(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
    ) -> Vec<Arc<Object>> {
        let store = self.store();
        let Some(table) = store.table(resource) else { return Vec::new() };
        table.range(namespace, None).cloned().collect()
    }

    pub(crate) fn store(&self) -> MutexGuard<'_, Store> {
        self.0.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server at version {}", self.store().version())
    }
}
