//! Objects as they are stored.

use std::{
    borrow::Cow,
    fmt,
    sync::{Arc, OnceLock, Weak},
};

use bytes::Bytes;
use serde_json::Value;

/// The name of a resource without its version, such as `pods` or `deployments.apps`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource {
    /// The API group; empty for the core group.
    pub group: Arc<str>,
    /// The plural name in paths.
    pub plural: Arc<str>,
}

impl Resource {
    /// A resource by its group and plural name.
    pub fn new(group: &str, plural: &str) -> Self {
        Self { group: group.into(), plural: plural.into() }
    }

    /// Whether this is the resource of that group and plural name.
    pub fn is(&self, group: &str, plural: &str) -> bool {
        &*self.group == group && &*self.plural == plural
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.plural)?;
        if self.group.is_empty() { Ok(()) } else { write!(f, ".{}", self.group) }
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Which object of a resource: its namespace (empty for cluster-scoped ones) and name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The namespace; empty for cluster-scoped objects.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
}

impl Key {
    /// The key of an object.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// One version of one object.
///
/// The object itself is kept as the JSON that answers carry: a hundred thousand pods as parsed
/// values would take gigabytes. What lists, watches and owners need is kept beside it.
pub struct Object {
    /// Which object it is.
    pub key: Key,
    /// Its identity over its whole life.
    pub uid: Arc<str>,
    /// The store's version at which this version was written.
    pub version: u64,
    /// Its labels, sorted by key.
    pub labels: Box<[(Box<str>, Box<str>)]>,
    /// The fields that field selectors may ask for, beyond name and namespace.
    pub fields: Box<[(Cow<'static, str>, Box<str>)]>,
    /// The uids of its owners.
    pub owners: Box<[Box<str>]>,
    /// Whether it has a deletionTimestamp.
    pub deleting: bool,
    /// The object as it was written, where something is filled in that was not.
    /// The real server keeps this, and the same again is no change.
    pub written: Option<Bytes>,
    /// The object in its storage version, without what says of which type it is.
    pub json: Bytes,
    /// Of which type it is.
    pub(crate) of_type: Arc<TypeNames>,
    /// A weak reference to the object's value.
    pub(crate) shared: OnceLock<Weak<Value>>,
}

/// What an object says of its type.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TypeNames {
    pub(crate) api_version: Box<str>,
    pub(crate) kind: Box<str>,
}

impl Object {
    /// The object as a value. Parses it: keep the result rather than asking twice.
    pub fn value(&self) -> Value {
        let mut value = self.untyped();
        value["apiVersion"] = Value::from(&*self.of_type.api_version);
        value["kind"] = Value::from(&*self.of_type.kind);
        value
    }

    /// The same without its type.
    pub(crate) fn untyped(&self) -> Value {
        serde_json::from_slice(&self.json).expect("only JSON that was serialised here is stored")
    }

    /// The object as a value. It is parsed only if no other reference keeps the value alive.
    pub fn shared(&self) -> Arc<Value> {
        self.held().unwrap_or_else(|| Arc::new(self.value()))
    }

    /// The object as a value, if another reference still keeps it alive.
    pub fn held(&self) -> Option<Arc<Value>> {
        self.shared.get().and_then(Weak::upgrade)
    }

    /// Lets others use a value as long as it is held.
    pub(crate) fn share(&self, value: &Arc<Value>) {
        // The first value is as good as any other: they are equal.
        let _ = self.shared.set(Arc::downgrade(value));
    }

    /// The value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        let at = self.labels.binary_search_by(|(label, _)| (**label).cmp(key)).ok()?;
        Some(&self.labels[at].1)
    }

    /// The value of a selectable field; empty when the object does not have it.
    pub fn field(&self, path: &str) -> &str {
        match path {
            "metadata.name" => &self.key.name,
            "metadata.namespace" => &self.key.namespace,
            _ => self.fields.iter().find(|(field, _)| field == path).map_or("", |(_, value)| value),
        }
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.key, self.version)
    }
}

/// One change of the store.
#[derive(Clone, Debug)]
pub struct Change {
    /// Which resource changed.
    pub resource: Resource,
    /// What happened.
    pub kind: ChangeKind,
    /// The object after the change; for a deletion, its last state at the deletion's version.
    pub object: Arc<Object>,
    /// The object before the change.
    pub previous: Option<Arc<Object>>,
    /// When, for the age of what watches may resume from.
    pub at: jiff::Timestamp,
    /// Keeps the object's value alive for the first receivers of the change.
    pub(crate) value: Option<Arc<Value>>,
}

impl Change {
    /// A change as the store tells it.
    pub fn new(
        resource: Resource,
        kind: ChangeKind,
        object: Arc<Object>,
        previous: Option<Arc<Object>>,
        at: jiff::Timestamp,
    ) -> Self {
        Self { resource, kind, object, previous, at, value: None }
    }
}

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It was created.
    Added,
    /// It was written.
    Modified,
    /// It is gone.
    Deleted,
}
