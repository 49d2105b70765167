//! The objects of one kind.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use super::Kept;

/// The key of an object within its kind: `namespace/name`, or the name alone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Box<str>);

impl Key {
    /// The key of an object with this namespace and name.
    pub fn new(namespace: Option<&str>, name: &str) -> Self {
        match namespace.filter(|namespace| !namespace.is_empty()) {
            Some(namespace) => Self(format!("{namespace}/{name}").into()),
            None => Self(name.into()),
        }
    }

    /// The key of a cluster-scoped object.
    pub fn cluster(name: &str) -> Self {
        Self::new(None, name)
    }

    /// The namespace, if the object is namespaced.
    pub fn namespace(&self) -> Option<&str> {
        self.0.rsplit_once('/').map(|(namespace, _)| namespace)
    }

    /// The name.
    pub fn name(&self) -> &str {
        self.0.rsplit_once('/').map_or(&self.0, |(_, name)| name)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The part of a table that one list covers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// All objects.
    Whole,
    /// The objects of this namespace. Kinds that share a table use one namespace each.
    Namespace(Box<str>),
}

impl Part {
    /// The part that contains this key.
    pub(super) fn of(key: &Key) -> Self {
        key.namespace().map_or(Self::Whole, |namespace| Self::Namespace(namespace.into()))
    }

    fn has(&self, key: &Key) -> bool {
        match self {
            Self::Whole => true,
            Self::Namespace(namespace) => key.namespace() == Some(namespace),
        }
    }
}

/// The objects of one kind, ordered by key.
#[derive(Debug)]
pub struct Table<T> {
    objects: BTreeMap<Key, Entry<T>>,
    /// Unreadable objects. `objects` keeps their last readable state, because they still exist.
    unreadable: BTreeMap<Key, Unreadable>,
    /// Objects that running lists have returned so far, by the part that the list covers.
    listed: BTreeMap<Part, BTreeSet<Key>>,
}

#[derive(Debug)]
struct Unreadable {
    version: u64,
    why: String,
}

#[derive(Debug)]
struct Entry<T> {
    object: Arc<T>,
    version: u64,
    /// Whether only a write of this process has shown the object. A list without it may be older
    /// than that write.
    own: bool,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), unreadable: BTreeMap::new(), listed: BTreeMap::new() }
    }
}

impl<T: Kept> Table<T> {
    /// The object with this key.
    pub fn get(&self, key: &Key) -> Option<&Arc<T>> {
        self.objects.get(key).map(|entry| &entry.object)
    }

    /// The cluster-scoped object with this name.
    pub fn named(&self, name: &str) -> Option<&Arc<T>> {
        self.get(&Key::cluster(name))
    }

    /// The last version of an object that was seen.
    pub fn version(&self, key: &Key) -> Option<u64> {
        self.objects.get(key).map(|entry| entry.version)
    }

    /// All objects, ordered by key.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Arc<T>> {
        self.objects.values().map(|entry| &entry.object)
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Why objects are unreadable: each by name, with the field and the remedy.
    pub fn unreadable(&self) -> impl ExactSizeIterator<Item = &str> {
        self.unreadable.values().map(|unreadable| unreadable.why.as_str())
    }

    /// Why the object with this key is unreadable; none if it is readable or absent.
    pub fn why_unreadable(&self, key: &Key) -> Option<&str> {
        self.unreadable.get(key).map(|unreadable| unreadable.why.as_str())
    }

    /// Objects that only writes of this process have shown.
    pub(super) fn unconfirmed(&self) -> impl Iterator<Item = &Key> {
        self.objects.iter().filter(|(_, entry)| entry.own).map(|(key, _)| key)
    }

    /// Stores an object from a watch or a list; returns its previous and new state if it is newer.
    pub(super) fn put(&mut self, object: T) -> Option<(Option<Arc<T>>, Arc<T>)> {
        let key = object.key();
        self.was_listed(&key);
        self.take(key, object, false)
    }

    /// Stores the API server's answer to a write of this process.
    pub(super) fn put_own(&mut self, object: T) -> Option<(Option<Arc<T>>, Arc<T>)> {
        let own = !self.objects.contains_key(&object.key());
        self.take(object.key(), object, own)
    }

    fn take(&mut self, key: Key, object: T, own: bool) -> Option<(Option<Arc<T>>, Arc<T>)> {
        let version = object.identity().version;
        self.unreadable.retain(|other, unreadable| *other != key || unreadable.version > version);
        if let Some(known) = self.objects.get_mut(&key)
            && version <= known.version
        {
            known.own &= own;
            return None;
        }
        let object = Arc::new(object.slim());
        let entry = Entry { object: Arc::clone(&object), version, own };
        let old = self.objects.insert(key, entry).map(|entry| entry.object);
        Some((old, object))
    }

    /// Records an unreadable object.
    pub(crate) fn put_unreadable(&mut self, key: Key, version: u64, why: String) {
        self.was_listed(&key);
        if self.version(&key).is_none_or(|known| known < version) {
            self.unreadable.insert(key, Unreadable { version, why });
        }
    }

    /// Removes an object, unless the table has a newer object of the same name.
    pub(super) fn remove(&mut self, key: &Key, version: u64) -> Option<Arc<T>> {
        self.unreadable.retain(|other, unreadable| other != key || unreadable.version > version);
        let known = self.objects.get(key)?;
        if known.version > version {
            return None;
        }
        self.objects.remove(key).map(|entry| entry.object)
    }

    /// Starts a list of a part; objects that the list lacks are gone at its end.
    pub(super) fn begin_list(&mut self, part: &Part) {
        self.listed.insert(part.clone(), BTreeSet::new());
    }

    /// Ends the list of a part; returns the objects that it lacks. Objects that only own writes
    /// have shown stay: they may be newer than the list.
    pub(super) fn end_list(&mut self, part: &Part) -> Vec<Key> {
        let listed = self.listed.remove(part).unwrap_or_default();
        let is_missing = |key: &Key| part.has(key) && !listed.contains(key);
        self.unreadable.retain(|key, _| !is_missing(key));
        let missing = self.objects.iter().filter(|(key, entry)| !entry.own && is_missing(key));
        missing.map(|(key, _)| key.clone()).collect()
    }

    fn was_listed(&mut self, key: &Key) {
        for (part, listed) in &mut self.listed {
            if part.has(key) {
                listed.insert(key.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use joiner_cloud::class::NodeClass;
    use k8s_openapi::{api::core::v1::Node, apimachinery::pkg::apis::meta::v1::ObjectMeta};

    use super::*;

    fn node(version: u64) -> Node {
        let metadata = ObjectMeta {
            name: Some("n".to_owned()),
            resource_version: Some(version.to_string()),
            ..ObjectMeta::default()
        };
        Node { metadata, ..Node::default() }
    }

    /// The version that is known, and whether a newer one cannot be read.
    fn known(table: &Table<Node>) -> (Option<u64>, bool) {
        (table.version(&Key::cluster("n")), table.unreadable().len() > 0)
    }

    fn unreadable(table: &mut Table<Node>, version: u64) {
        table.put_unreadable(Key::cluster("n"), version, "odd".to_owned());
    }

    #[test]
    fn an_object_that_cannot_be_read_is_what_it_was_until_it_can() {
        let mut table = Table::default();
        table.put(node(1));
        unreadable(&mut table, 2);
        assert_eq!(known(&table), (Some(1), true));
        table.put(node(1));
        assert_eq!(known(&table), (Some(1), true), "that is old news");
        table.put(node(3));
        assert_eq!(known(&table), (Some(3), false));
        unreadable(&mut table, 2);
        assert_eq!(known(&table), (Some(3), false), "that too");
    }

    #[test]
    fn a_list_that_has_it_keeps_it_and_one_that_has_not_ends_it() {
        let mut table = Table::default();
        table.put(node(1));
        table.begin_list(&Part::Whole);
        unreadable(&mut table, 2);
        assert_eq!(table.end_list(&Part::Whole), []);
        assert_eq!(known(&table), (Some(1), true));
        table.begin_list(&Part::Whole);
        assert_eq!(table.end_list(&Part::Whole), [Key::cluster("n")]);
        assert_eq!(known(&table), (Some(1), false), "whoever lists removes the rest");
    }

    #[test]
    fn a_list_of_one_part_of_a_table_ends_nothing_in_another() {
        let class = |kind: &str| NodeClass {
            group: "example.com".to_owned(),
            kind: kind.to_owned(),
            name: "default".to_owned(),
            version: 1,
            ..NodeClass::default()
        };
        let (class, template) = (class("Class"), class("Template"));
        let (keys, mut table) = ([class.key(), template.key()], Table::default());
        table.put(class);
        table.put(template.clone());
        let parts = [Part::of(&keys[0]), Part::of(&keys[1])];
        for part in &parts {
            table.begin_list(part);
        }
        table.put(template);
        assert_eq!(table.end_list(&parts[1]), []);
        assert_eq!(table.end_list(&parts[0]), [keys[0].clone()]);
    }

    #[test]
    fn it_is_gone_when_the_watch_says_so() {
        let mut table = Table::default();
        unreadable(&mut table, 2);
        assert_eq!(known(&table), (None, true));
        assert_eq!(table.remove(&Key::cluster("n"), 3), None);
        assert_eq!(known(&table), (None, false));
    }
}
