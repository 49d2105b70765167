//! What every kept kind can say of itself.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;

use super::{Change, Diff, Key, Table, World};

/// A kind whose objects are kept.
pub trait Kept: std::fmt::Debug + Send + Sync + Sized + 'static {
    /// What objects of this kind are called.
    const KIND: &'static str;
    /// What they are called in URLs.
    const PLURAL: fn() -> String;

    /// Where they are kept.
    fn table(world: &World) -> &Table<Self>;

    /// Where they are kept.
    fn table_mut(world: &mut World) -> &mut Table<Self>;

    /// What is told when one of them changes.
    fn change(diff: Diff<Self>) -> Change;

    /// The object without what nothing here depends on.
    fn slim(self) -> Self;

    /// Its name and version.
    fn identity(&self) -> Identity<'_>;

    /// What tells it apart from others of its kind.
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
    /// What an object's metadata says.
    pub fn of(metadata: &'o ObjectMeta) -> Self {
        Self {
            namespace: metadata.namespace.as_deref(),
            name: metadata.name.as_deref().unwrap_or_default(),
            version: version(metadata.resource_version.as_deref()),
        }
    }
}

/// A resource version as a number: since Kubernetes 1.35 versions of one kind may be compared, and
/// they always could be on etcd.
pub(super) fn version(text: Option<&str>) -> u64 {
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Who last wrote which field is of no interest here, and takes more room than the rest.
pub(super) fn without_managed_fields<T: Resource>(mut object: T) -> T {
    object.meta_mut().managed_fields = None;
    object
}
