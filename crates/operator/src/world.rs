//! The cache: every object that decisions depend on, kept up to date by watches.
//!
//! A [`World`] is plain data. A [`Cache`] shares one world between the feeds that fill it, the
//! controllers that read it and the listeners for changes. A controller's own write is visible at
//! once, from the API server's answer. A watch event with an older version is ignored.

mod cache;
pub(crate) mod feed;
mod feeds;
mod intended;
mod kept;
mod table;
mod text;
pub(crate) mod watch;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use joiner_api::{
    capacity_buffer::CapacityBuffer, node_claim::NodeClaim, node_overlay::NodeOverlay,
    node_pool::NodePool,
};
use joiner_cloud::{ProviderIds, class::NodeClass};
use k8s_openapi::api::{
    apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet},
    batch::v1::Job,
    core::v1::{
        Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, PodTemplate,
        ReplicationController, Service,
    },
    policy::v1::PodDisruptionBudget,
    scheduling::v1::PriorityClass,
    storage::v1::{CSINode, StorageClass, VolumeAttachment},
};

use self::feed::Feeder;
pub use self::{
    cache::Cache,
    feed::{Wanted, feed_all},
    feeds::{FeedState, Feeds},
    intended::Intended,
    kept::{Identity, Kept},
    table::{Key, Table},
};
use crate::objects::{self, Objects, each_kind};

/// A change of one object.
#[derive(Debug, Clone)]
pub struct Diff<T> {
    /// The object before; none if it was unknown.
    pub old: Option<Arc<T>>,
    /// The object now; none if it is gone.
    pub new: Option<Arc<T>>,
    /// Whether the object comes from the first list of the watch, and so did not change just now.
    pub initial: bool,
}

impl<T> Diff<T> {
    /// The object as it is now, or its last known state.
    pub fn latest(&self) -> &Arc<T> {
        self.new.as_ref().or(self.old.as_ref()).expect("a change has one side at least")
    }
}

macro_rules! world {
    ($(
        $(#[doc = $doc:literal])+
        $field:ident: $type:ident = $group:literal $kind:literal $scope:ident $(, $slim:path)?;
    )+) => {
        /// The cached objects of a cluster by kind, with their indexes.
        #[derive(Debug, Default)]
        pub struct World {
            $($(#[doc = $doc])+ pub $field: Table<$type>,)+
            /// The classes of the clouds, by [`class_key`].
            pub node_classes: Table<NodeClass>,
            /// Decisions of this process that no object shows yet.
            pub intended: Intended,
            indexes: Indexes,
        }

        /// A change in the cluster, or a note from a cloud.
        #[derive(Debug, Clone)]
        pub enum Change {
            $(
                #[doc = concat!("A `", $kind, "`.")]
                $type(Diff<$type>),
            )+
            /// A class of a cloud.
            NodeClass(Diff<NodeClass>),
            /// A note from a cloud: judge this class now, or the object that classes refer to. It
            /// is named by [`class_key`].
            LookAgain(Key),
            /// A note from a cloud: it may have capacity again, so waiting pods are planned again.
            Replan,
        }

        $(impl Kept for $type {
            const KIND: &'static str = $kind;
            const PLURAL: fn() -> String = || <$type as kube::Resource>::plural(&()).into_owned();

            fn table(world: &World) -> &Table<Self> {
                &world.$field
            }

            fn table_mut(world: &mut World) -> &mut Table<Self> {
                &mut world.$field
            }

            fn change(diff: Diff<Self>) -> Change {
                Change::$type(diff)
            }

            fn slim(self) -> Self {
                #[allow(unused_mut, reason = "not every kind is made small in a way of its own")]
                let mut object = kept::without_managed_fields(self);
                $(object = $slim(object);)?
                object
            }

            fn identity(&self) -> Identity<'_> {
                Identity::of(&self.metadata)
            }
        })+

        /// Starts a feed for every kind that is needed, classes excepted.
        fn feed_kinds(feeder: &mut Feeder, wanted: &Wanted) {
            $(if wanted.needs($kind) {
                feeder.add::<$type>();
            })+
        }

        impl World {
            /// All objects in the form that the index reads.
            pub fn objects(&self) -> Objects {
                let mut objects = Objects::default();
                $(objects.$field = self.$field.values().cloned().collect();)+
                objects.node_classes = self.node_classes.values().map(|class| to_object(class)).collect();
                objects.leaving = self.intended.leaving().clone();
                objects.ids = self.indexes.ids.clone();
                objects
            }
        }
    };
}

each_kind!(world);

impl Kept for NodeClass {
    const KIND: &'static str = "NodeClass";
    const PLURAL: fn() -> String = || "nodeclasses".to_owned();

    fn table(world: &World) -> &Table<Self> {
        &world.node_classes
    }

    fn table_mut(world: &mut World) -> &mut Table<Self> {
        &mut world.node_classes
    }

    fn change(diff: Diff<Self>) -> Change {
        Change::NodeClass(diff)
    }

    fn slim(self) -> Self {
        self
    }

    fn identity(&self) -> Identity<'_> {
        Identity { namespace: None, name: &self.name, version: self.version }
    }

    fn key(&self) -> Key {
        class_key(&self.group, &self.kind, &self.name)
    }
}

/// The key of a class in [`World::node_classes`].
pub fn class_key(group: &str, kind: &str, name: &str) -> Key {
    Key::new(Some(&format!("{kind}.{group}")), name)
}

fn to_object(class: &NodeClass) -> objects::NodeClass {
    objects::NodeClass {
        group: class.group.clone(),
        kind: class.kind.clone(),
        name: class.name.clone(),
        object: class.object(),
        place: None,
    }
}

/// Indexes other than by name.
#[derive(Debug, Default)]
struct Indexes {
    /// How provider IDs are compared: the indexes keep those of nodes and claims in canonical form.
    ids: ProviderIds,
    pods_by_node: BTreeMap<Box<str>, BTreeSet<Key>>,
    nodes_by_provider_id: BTreeMap<Box<str>, BTreeSet<Key>>,
    claims_by_provider_id: BTreeMap<Box<str>, BTreeSet<Key>>,
    attachments_by_node: BTreeMap<Box<str>, BTreeSet<Key>>,
}

impl World {
    /// Pods that are bound to a node, ordered by name.
    pub fn pods_on<'w>(&'w self, node: &str) -> impl Iterator<Item = &'w Arc<Pod>> {
        found(&self.pods, self.indexes.pods_by_node.get(node))
    }

    /// An empty world with these rules to compare provider IDs.
    pub fn comparing(ids: ProviderIds) -> Self {
        Self { indexes: Indexes { ids, ..Indexes::default() }, ..Self::default() }
    }

    /// Nodes with this provider ID in any of its forms: normally one.
    pub fn nodes_of<'w>(&'w self, provider_id: &str) -> impl Iterator<Item = &'w Arc<Node>> {
        let id = self.indexes.ids.canonical(provider_id);
        found(&self.nodes, self.indexes.nodes_by_provider_id.get(&*id))
    }

    /// Claims with this provider ID in any of its forms: normally one.
    pub fn claims_of<'w>(&'w self, provider_id: &str) -> impl Iterator<Item = &'w Arc<NodeClaim>> {
        let id = self.indexes.ids.canonical(provider_id);
        found(&self.node_claims, self.indexes.claims_by_provider_id.get(&*id))
    }

    /// The claim of a node. Where several claims name the same instance, none is returned: they
    /// contradict each other.
    pub fn claim_of(&self, node: &Node) -> Option<&Arc<NodeClaim>> {
        let mut claims = self.claims_of(node.spec.as_ref()?.provider_id.as_deref()?);
        let claim = claims.next()?;
        claims.next().is_none().then_some(claim)
    }

    /// Instances that several nodes name, by provider ID. It is unknown then which node runs the
    /// pods.
    pub fn shared_instances(&self) -> impl Iterator<Item = (&str, Vec<&Arc<Node>>)> {
        let shared = self.indexes.nodes_by_provider_id.iter().filter(|(_, keys)| keys.len() > 1);
        shared.map(|(id, keys)| (&**id, found(&self.nodes, Some(keys)).collect()))
    }

    /// Whether another node has the same provider ID.
    pub fn shares_instance(&self, node: &Node) -> bool {
        let id = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref());
        id.is_some_and(|id| self.nodes_of(id).nth(1).is_some())
    }

    /// Volumes that are attached to a node.
    pub fn attachments_to<'w>(
        &'w self,
        node: &str,
    ) -> impl Iterator<Item = &'w Arc<VolumeAttachment>> {
        found(&self.volume_attachments, self.indexes.attachments_by_node.get(node))
    }

    /// The class with this group, kind and name.
    pub fn class(&self, group: &str, kind: &str, name: &str) -> Option<&Arc<NodeClass>> {
        self.node_classes.get(&class_key(group, kind, name))
    }

    /// Stores an object's current state; returns the change, if there is one.
    pub(crate) fn put<T: Kept>(&mut self, object: T, initial: bool) -> Option<Change> {
        let (old, new) = T::table_mut(self).put(object)?;
        Some(self.changed(Diff { old, new: Some(new), initial }))
    }

    /// Removes an object, unless the cache has a newer object of the same name.
    pub(crate) fn remove<T: Kept>(&mut self, key: &Key, version: u64) -> Option<Change> {
        let old = T::table_mut(self).remove(key, version)?;
        Some(self.changed(Diff { old: Some(old), new: None, initial: false }))
    }

    fn changed<T: Kept>(&mut self, diff: Diff<T>) -> Change {
        let change = T::change(diff);
        self.indexes.follow(&change);
        change
    }
}

fn found<'w, T: Kept>(
    table: &'w Table<T>,
    keys: Option<&'w BTreeSet<Key>>,
) -> impl Iterator<Item = &'w Arc<T>> + use<'w, T> {
    keys.into_iter().flatten().filter_map(|key| table.get(key))
}

impl Indexes {
    fn follow(&mut self, change: &Change) {
        match change {
            Change::Pod(diff) => move_entry(&mut self.pods_by_node, diff, |pod| {
                pod.spec.as_ref()?.node_name.as_deref().map(Cow::from)
            }),
            Change::Node(diff) => move_entry(&mut self.nodes_by_provider_id, diff, |node| {
                Some(self.ids.canonical(node.spec.as_ref()?.provider_id.as_deref()?))
            }),
            Change::NodeClaim(diff) => move_entry(&mut self.claims_by_provider_id, diff, |claim| {
                Some(self.ids.canonical(claim.status.as_ref()?.provider_id.as_deref()?))
            }),
            Change::VolumeAttachment(diff) => {
                move_entry(&mut self.attachments_by_node, diff, |attachment| {
                    Some(Cow::from(&attachment.spec.node_name))
                });
            }
            _ => {}
        }
    }
}

/// Moves an object from its old index keys to its new ones.
fn move_entry<T: Kept>(
    index: &mut BTreeMap<Box<str>, BTreeSet<Key>>,
    diff: &Diff<T>,
    place: impl Fn(&T) -> Option<Cow<'_, str>>,
) {
    let place = |object: &T| -> Option<Box<str>> {
        place(object).filter(|place| !place.is_empty()).map(|place| Box::from(&*place))
    };
    let old = diff.old.as_deref().and_then(&place);
    let new = diff.new.as_deref().and_then(&place);
    if old == new {
        return;
    }
    let key = diff.latest().key();
    if let Some(old) = old
        && let Some(keys) = index.get_mut(&old)
    {
        keys.remove(&key);
        if keys.is_empty() {
            index.remove(&old);
        }
    }
    if let Some(new) = new {
        index.entry(new).or_default().insert(key);
    }
}
