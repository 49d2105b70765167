//! The objects, their versions, and what changed.
//!
//! One counter numbers all changes of all resources, as etcd's revision does. Each resource keeps
//! its recent changes, from which watches resume and lists of an earlier version are worked out.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::sync::{Notify, watch};

use crate::{
    object::{Change, ChangeKind, Key, Object, Resource},
    record::Recorder,
};

/// How long changes are kept: the API server compacts etcd every five minutes.
const CHANGES_KEPT_FOR: SignedDuration = SignedDuration::from_mins(5);

/// How many changes of one resource are kept at most. Ten thousand writes a second leave a watcher
/// five seconds to catch up; with pods of 4 KiB this is 200 MiB at worst.
const CHANGES_KEPT_MAX: usize = 50_000;

/// How many changes are checked one by one for unseen ones: a follower has usually seen all but the
/// newest.
const NEWEST_CHANGES: usize = 8;

/// A resource of no more objects than this keeps them as values too. There are few nodes and leases,
/// which are written again and again; many pods would take gigabytes.
const VALUES_KEPT_MAX: usize = 512;

/// All objects of all resources.
pub(crate) struct Store {
    version: u64,
    tables: BTreeMap<Resource, Table>,
    feeds: Vec<Weak<FeedQueue>>,
    recorder: Option<Arc<dyn Recorder>>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store at version {}", self.version)
    }
}

/// The objects of one resource.
#[derive(Debug)]
pub(crate) struct Table {
    objects: BTreeMap<Key, Arc<Object>>,
    changes: VecDeque<Change>,
    /// The objects as values, while there are few: see [`Object::shared`].
    values: BTreeMap<Key, Arc<Value>>,
    /// Changes up to this version are no longer kept.
    compacted: u64,
    /// Before this version the resource was not served, and there was nothing.
    born: u64,
    /// Tells watches that there is something new; carries the version.
    news: watch::Sender<u64>,
}

/// The version asked for is no longer kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compacted;

impl Table {
    fn new(version: u64) -> Self {
        Self {
            objects: BTreeMap::new(),
            changes: VecDeque::new(),
            values: BTreeMap::new(),
            compacted: version,
            born: version,
            news: watch::Sender::new(version),
        }
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&Arc<Object>> {
        self.objects.get(key)
    }

    pub(crate) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Objects in the order of their keys, of one namespace or of all, after a key.
    pub(crate) fn range<'a>(
        &'a self,
        namespace: Option<&'a str>,
        after: Option<&Key>,
    ) -> impl Iterator<Item = &'a Arc<Object>> {
        use std::ops::Bound;
        let start = match (after, namespace) {
            (Some(key), _) => Bound::Excluded(key.clone()),
            (None, Some(namespace)) => Bound::Included(Key::new(namespace, "")),
            (None, None) => Bound::Unbounded,
        };
        self.objects
            .range((start, Bound::Unbounded))
            .map(|(_, object)| object)
            .take_while(move |object| namespace.is_none_or(|ns| &*object.key.namespace == ns))
    }

    /// The changes after a version.
    pub(crate) fn changes_after(
        &self,
        version: u64,
    ) -> Result<impl Iterator<Item = &Change>, Compacted> {
        if version < self.compacted {
            return Err(Compacted);
        }
        let seen = |change: &Change| change.object.version <= version;
        let start = match self.changes.iter().rev().take(NEWEST_CHANGES).position(seen) {
            Some(unseen) => self.changes.len() - unseen,
            None => self.changes.partition_point(seen),
        };
        Ok(self.changes.range(start..))
    }

    /// What the objects that changed after a version were at that version.
    pub(crate) fn undo_to(
        &self,
        version: u64,
    ) -> Result<BTreeMap<Key, Option<Arc<Object>>>, Compacted> {
        let mut then = BTreeMap::new();
        for change in self.changes_after(version.max(self.born))? {
            then.entry(change.object.key.clone()).or_insert_with(|| change.previous.clone());
        }
        Ok(then)
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    fn keep_value(&mut self, key: &Key, value: &Arc<Value>) {
        if self.objects.len() <= VALUES_KEPT_MAX {
            self.values.insert(key.clone(), Arc::clone(value));
        } else {
            self.values.clear();
        }
    }

    fn forget_old_changes(&mut self, now: Timestamp) {
        while let Some(oldest) = self.changes.front() {
            let old = now.duration_since(oldest.at) > CHANGES_KEPT_FOR;
            if !old && self.changes.len() <= CHANGES_KEPT_MAX {
                break;
            }
            self.compacted = oldest.object.version;
            self.changes.pop_front();
        }
    }
}

impl Store {
    pub(crate) fn new(recorder: Option<Arc<dyn Recorder>>) -> Self {
        Self { version: 0, tables: BTreeMap::new(), feeds: Vec::new(), recorder }
    }

    /// The version of the last change.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn table(&self, resource: &Resource) -> Option<&Table> {
        self.tables.get(resource)
    }

    /// Makes room for a resource that is served from now on.
    pub(crate) fn ensure_table(&mut self, resource: &Resource) -> &Table {
        let version = self.version;
        self.tables.entry(resource.clone()).or_insert_with(|| Table::new(version))
    }

    /// Forgets a resource that is no longer served; its watches end.
    pub(crate) fn drop_table(&mut self, resource: &Resource) {
        self.tables.remove(resource);
    }

    pub(crate) fn get(&self, resource: &Resource, key: &Key) -> Option<&Arc<Object>> {
        self.table(resource)?.get(key)
    }

    /// Writes a new version of an object, which must carry the store's next version.
    pub(crate) fn put(
        &mut self,
        resource: &Resource,
        at: Timestamp,
        object: Object,
        value: Arc<Value>,
    ) -> Arc<Object> {
        let object = Arc::new(object);
        let table = self.advance(resource);
        let previous = table.objects.insert(object.key.clone(), Arc::clone(&object));
        table.keep_value(&object.key, &value);
        let kind = if previous.is_some() { ChangeKind::Modified } else { ChangeKind::Added };
        let resource = resource.clone();
        let value = Some(value);
        self.publish(Change { resource, kind, object: Arc::clone(&object), previous, at, value });
        object
    }

    /// Removes an object, whose last state must carry the store's next version.
    pub(crate) fn remove(
        &mut self,
        resource: &Resource,
        at: Timestamp,
        last: Object,
        value: Arc<Value>,
    ) -> Arc<Object> {
        let object = Arc::new(last);
        let table = self.advance(resource);
        let previous = table.objects.remove(&object.key);
        table.values.remove(&object.key);
        let kind = ChangeKind::Deleted;
        let resource = resource.clone();
        let value = Some(value);
        self.publish(Change { resource, kind, object: Arc::clone(&object), previous, at, value });
        object
    }

    /// Gives every object that is there, as added, and every change from now on to the caller.
    pub(crate) fn feed_with_past(&mut self, at: Timestamp) -> Feed {
        let queue = Arc::new(FeedQueue::default());
        for (resource, table) in &self.tables {
            for object in table.objects.values() {
                let (resource, object) = (resource.clone(), Arc::clone(object));
                let kind = ChangeKind::Added;
                queue.push(Change::new(resource, kind, object, None, at));
            }
        }
        self.feeds.push(Arc::downgrade(&queue));
        Feed(queue)
    }

    fn advance(&mut self, resource: &Resource) -> &mut Table {
        let before = self.version;
        self.version += 1;
        if !self.tables.contains_key(resource) {
            self.tables.insert(resource.clone(), Table::new(before));
        }
        self.tables.get_mut(resource).expect("made above")
    }

    fn publish(&mut self, mut change: Change) {
        self.feeds.retain(|feed| feed.upgrade().map(|feed| feed.push(change.clone())).is_some());
        // Parsed values are large, so they are shared only with immediate readers.
        change.value = None;
        if let Some(recorder) = &self.recorder {
            recorder.change(&change);
        }
        let version = self.version;
        if let Some(table) = self.tables.get_mut(&change.resource) {
            let now = change.at;
            table.changes.push_back(change);
            table.forget_old_changes(now);
            table.news.send_replace(version);
        }
    }
}

/// The objects there were when the feed was opened and every change since, for followers of the whole
/// cluster inside the process. It never expires, so its owner must drain it.
#[derive(Debug)]
pub struct Feed(Arc<FeedQueue>);

#[derive(Debug, Default)]
pub(crate) struct FeedQueue {
    changes: Mutex<Vec<Change>>,
    news: Notify,
}

impl FeedQueue {
    fn push(&self, change: Change) {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner).push(change);
        self.news.notify_one();
    }
}

impl Feed {
    /// The changes since the last call.
    pub fn drain(&self) -> Vec<Change> {
        std::mem::take(&mut *self.0.changes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether every change was drained.
    pub fn is_empty(&self) -> bool {
        self.0.changes.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Waits until there is a change that was not drained.
    pub async fn changed(&self) {
        while self.is_empty() {
            // A permit is kept while there is no waiter, so a change between the two lines is not
            // lost.
            self.0.news.notified().await;
        }
    }
}
