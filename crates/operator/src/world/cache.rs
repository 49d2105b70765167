//! A world that several tasks share.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use joiner_cloud::ProviderIds;

use super::{Change, Intended, Kept, Key, World, table::Part};

/// A listener for changes. It is called under the lock, so it sees the world exactly as the change
/// left it.
type Listener = Box<dyn Fn(&World, &Change) + Send>;

/// A world that feeds fill and controllers read. Clones share the same world.
#[derive(Clone, Default)]
pub struct Cache(Arc<Mutex<Shared>>);

#[derive(Default)]
struct Shared {
    world: World,
    listeners: Vec<Listener>,
}

impl Shared {
    fn tell(&self, change: Option<&Change>) {
        if let Some(change) = change {
            for listener in &self.listeners {
                listener(&self.world, change);
            }
        }
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").finish_non_exhaustive()
    }
}

impl Cache {
    /// An empty cache with these rules to compare provider IDs.
    pub fn comparing(ids: ProviderIds) -> Self {
        let shared = Shared { world: World::comparing(ids), ..Shared::default() };
        Self(Arc::new(Mutex::new(shared)))
    }

    /// Reads the world under the lock. The closure must be short: it blocks every change.
    pub fn read<R>(&self, look: impl FnOnce(&World) -> R) -> R {
        look(&self.lock().world)
    }

    /// Records decisions of this process.
    pub fn intend(&self, decide: impl FnOnce(&mut Intended)) {
        decide(&mut self.lock().world.intended);
    }

    /// Calls the listener for every change from now on.
    pub fn listen(&self, listener: impl Fn(&World, &Change) + Send + 'static) {
        self.lock().listeners.push(Box::new(listener));
    }

    /// Reads the world, and calls the listener for every change after that read.
    pub fn listen_after(
        &self,
        look: impl FnOnce(&World),
        listener: impl Fn(&World, &Change) + Send + 'static,
    ) {
        let mut shared = self.lock();
        look(&shared.world);
        shared.listeners.push(Box::new(listener));
    }

    /// Passes a note from a cloud to the listeners.
    pub(crate) fn announce(&self, change: &Change) {
        self.lock().tell(Some(change));
    }

    /// Stores the API server's answer to a write of this process.
    pub fn wrote<T: Kept>(&self, object: T) {
        let shared = &mut *self.lock();
        let Some((old, new)) = T::table_mut(&mut shared.world).put_own(object) else { return };
        let diff = super::Diff { old, new: Some(new), initial: false };
        let change = shared.world.changed(diff);
        shared.tell(Some(&change));
    }

    /// Removes an object: the API server answered its deletion with this last state.
    pub(crate) fn ended<T: Kept>(&self, last: &T) {
        self.removed::<T>(&last.key(), last.identity().version);
    }

    /// Removes an object that the API server reports as not found.
    pub fn gone<T: Kept>(&self, key: &Key) {
        let shared = &mut *self.lock();
        let change = shared.world.remove::<T>(key, u64::MAX);
        shared.tell(change.as_ref());
    }

    /// Objects of this kind that only a write of this process has shown: no watch has confirmed
    /// them yet.
    pub fn unconfirmed<T: Kept>(&self) -> Vec<Key> {
        self.read(|world| T::table(world).unconfirmed().cloned().collect())
    }

    /// Unreadable objects of this kind: each by name, with the field and the remedy.
    pub fn unreadable<T: Kept>(&self) -> Vec<String> {
        self.read(|world| T::table(world).unreadable().map(str::to_owned).collect())
    }

    /// Stores an object from a watch; returns whether it was unreadable before.
    pub(super) fn put<T: Kept>(&self, object: T, initial: bool) -> bool {
        self.change::<T>(|world| world.put(object, initial))
    }

    /// Records an unreadable object from a watch.
    pub(super) fn put_unreadable<T: Kept>(&self, key: Key, version: u64, why: String) {
        T::table_mut(&mut self.lock().world).put_unreadable(key, version, why);
    }

    /// Removes an object that a watch reports as deleted; returns whether it was unreadable.
    pub(super) fn removed<T: Kept>(&self, key: &Key, version: u64) -> bool {
        self.change::<T>(|world| world.remove::<T>(key, version))
    }

    /// Changes the world and calls the listeners; returns whether fewer objects are unreadable than
    /// before.
    fn change<T: Kept>(&self, change: impl FnOnce(&mut World) -> Option<Change>) -> bool {
        let shared = &mut *self.lock();
        let before = T::table(&shared.world).unreadable().len();
        let change = change(&mut shared.world);
        shared.tell(change.as_ref());
        T::table(&shared.world).unreadable().len() < before
    }

    pub(super) fn begin_list<T: Kept>(&self, part: &Part) {
        T::table_mut(&mut self.lock().world).begin_list(part);
    }

    pub(super) fn end_list<T: Kept>(&self, part: &Part) {
        let missing = T::table_mut(&mut self.lock().world).end_list(part);
        for key in missing {
            self.gone::<T>(&key);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
