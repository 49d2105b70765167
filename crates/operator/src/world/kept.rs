//! The trait of every cached kind.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;

use super::{Change, Diff, Key, Table, World};

/// A kind whose objects are cached.
pub trait Kept: std::fmt::Debug + Send + Sync + Sized + 'static {
    /// The kind's name.
    const KIND: &'static str;
    /// The kind's plural, as in URLs.
    const PLURAL: fn() -> String;

    /// The kind's table.
    fn table(world: &World) -> &Table<Self>;

    /// The kind's table, to be changed.
    fn table_mut(world: &mut World) -> &mut Table<Self>;

    /// The change that listeners receive for an object of this kind.
    fn change(diff: Diff<Self>) -> Change;

    /// The object without the fields that no decision depends on.
    fn slim(self) -> Self;

    /// The object's name and version.
    fn identity(&self) -> Identity<'_>;

    /// The object's key within its kind.
    fn key(&self) -> Key {
        let identity = self.identity();
        Key::new(identity.namespace, identity.name)
    }
}

/// An object's name and version.
#[derive(Debug, Clone, Copy)]
pub struct Identity<'o> {
    /// The namespace, if it has one.
    pub namespace: Option<&'o str>,
    /// The name.
    pub name: &'o str,
    /// The resource version; 0 where there is none.
    pub version: u64,
}

impl<'o> Identity<'o> {
    /// Reads the name and version from an object's metadata.
    pub fn of(metadata: &'o ObjectMeta) -> Self {
        Self {
            namespace: metadata.namespace.as_deref(),
            name: metadata.name.as_deref().unwrap_or_default(),
            version: version(metadata.resource_version.as_deref()),
        }
    }
}

/// The resource version as a number. Since Kubernetes 1.35 the versions of one kind are comparable;
/// on etcd they always were.
pub(super) fn version(text: Option<&str>) -> u64 {
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Removes `managedFields`: no decision depends on it, and it is larger than the rest.
pub(super) fn without_managed_fields<T: Resource>(mut object: T) -> T {
    object.meta_mut().managed_fields = None;
    object
}
