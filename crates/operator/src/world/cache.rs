//! A world that many share.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use joiner_cloud::ProviderIds;

use super::{Change, Intended, Kept, Key, World, table::Part};

/// Who is told of changes, while nobody else can change anything: what is seen then is what the
/// change led to.
type Listener = Box<dyn Fn(&World, &Change) + Send>;

/// A world that feeds fill and controllers read. Clones are the same.
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
    /// A cache of a cluster whose provider ids are compared so.
    pub fn comparing(ids: ProviderIds) -> Self {
        let shared = Shared { world: World::comparing(ids), ..Shared::default() };
        Self(Arc::new(Mutex::new(shared)))
    }

    /// Looks at the world. Nothing changes meanwhile, so the look must be short.
    pub fn read<R>(&self, look: impl FnOnce(&World) -> R) -> R {
        look(&self.lock().world)
    }

    /// Takes note of what this process has decided.
    pub fn intend(&self, decide: impl FnOnce(&mut Intended)) {
        decide(&mut self.lock().world.intended);
    }

    /// Tells somebody of every change from now on.
    pub fn listen(&self, listener: impl Fn(&World, &Change) + Send + 'static) {
        self.lock().listeners.push(Box::new(listener));
    }

    /// Looks at the world, and tells somebody of every change since that look.
    pub fn listen_after(
        &self,
        look: impl FnOnce(&World),
        listener: impl Fn(&World, &Change) + Send + 'static,
    ) {
        let mut shared = self.lock();
        look(&shared.world);
        shared.listeners.push(Box::new(listener));
    }

    /// Tells of something that has changed outside of the cluster.
    pub(crate) fn announce(&self, change: &Change) {
        self.lock().tell(Some(change));
    }

    /// One of our own writes was answered with this object.
    pub fn wrote<T: Kept>(&self, object: T) {
        let shared = &mut *self.lock();
        let Some((old, new)) = T::table_mut(&mut shared.world).put_own(object) else { return };
        let diff = super::Diff { old, new: Some(new), initial: false };
        let change = shared.world.changed(diff);
        shared.tell(Some(&change));
    }

    /// One of our own writes was answered with the last there is to see of this object.
    pub(crate) fn ended<T: Kept>(&self, last: &T) {
        self.removed::<T>(&last.key(), last.identity().version);
    }

    /// The API server says that there is no such object any more.
    pub fn gone<T: Kept>(&self, key: &Key) {
        let shared = &mut *self.lock();
        let change = shared.world.remove::<T>(key, u64::MAX);
        shared.tell(change.as_ref());
    }

    /// Objects of this kind that only our own writes tell of: no watch has confirmed them yet.
    pub fn unconfirmed<T: Kept>(&self) -> Vec<Key> {
        self.read(|world| T::table(world).unconfirmed().cloned().collect())
    }

    /// Objects of this kind that are there and cannot be read: each by its name, with the field and
    /// the remedy.
    pub fn unreadable<T: Kept>(&self) -> Vec<String> {
        self.read(|world| T::table(world).unreadable().map(str::to_owned).collect())
    }

    /// A watch tells of an object; answers whether it can be read now and could not before.
    pub(super) fn put<T: Kept>(&self, object: T, initial: bool) -> bool {
        self.change::<T>(|world| world.put(object, initial))
    }

    /// A watch tells of an object that cannot be read.
    pub(super) fn put_unreadable<T: Kept>(&self, key: Key, version: u64, why: String) {
        T::table_mut(&mut self.lock().world).put_unreadable(key, version, why);
    }

    /// A watch tells that an object is gone; answers whether it is one that could not be read.
    pub(super) fn removed<T: Kept>(&self, key: &Key, version: u64) -> bool {
        self.change::<T>(|world| world.remove::<T>(key, version))
    }

    /// Changes the world and tells of it; answers whether fewer objects cannot be read than before.
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
