//! The objects of a cluster, by kind.

mod resource;
pub(crate) mod slim;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt::{self, Display, Formatter},
    sync::Arc,
};

use joiner_api::{
    capacity_buffer::CapacityBuffer, node_claim::NodeClaim, node_overlay::NodeOverlay,
    node_pool::NodePool,
};
use joiner_cloud::{
    ProviderIds,
    class::{self, ClassKind},
};
use k8s_openapi::{
    api::{
        apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet},
        batch::v1::Job,
        core::v1::{
            Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, PodTemplate,
            ReplicationController, Service,
        },
        policy::v1::PodDisruptionBudget,
        scheduling::v1::PriorityClass,
        storage::v1::{CSINode, StorageClass, VolumeAttachment},
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

pub(crate) use self::resource::{Resource, api_resource};
use crate::{
    files::Place,
    validate::{Invalid, Validate},
    world::feed::node_class,
};

/// The namespace of a namespaced object that names none.
pub const DEFAULT_NAMESPACE: &str = "default";

/// The suffix of the kinds that count as classes.
pub(crate) const NODE_CLASS_SUFFIX: &str = "NodeClass";

/// A class of any kind.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeClass {
    /// API group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
    /// The whole object.
    pub object: Value,
    /// Where it was read; none for objects that are not from a file.
    pub place: Option<Place>,
}

impl NodeClass {
    /// The class as its provider reads it; none for another kind or an invalid object.
    pub fn of_kind(&self, kind: &ClassKind) -> Option<class::NodeClass> {
        let is_it = self.group == kind.group && self.kind == kind.kind;
        let text = is_it.then(|| serde_json::from_value(self.object.clone()).ok())??;
        Some(node_class(kind, text))
    }
}

/// An object as a user wrote it.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// Where it was read.
    pub place: Place,
    /// The whole object.
    pub object: Value,
}

/// All objects of a kind, as the API returns them.
#[derive(Debug, Clone, PartialEq)]
pub struct List {
    /// The resource name of the kind in RBAC rules: `pods`, `nodepools.karpenter.sh`.
    pub resource: String,
    /// The objects.
    pub items: Vec<Value>,
}

/// Where an object was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Index of the file among those read.
    pub(crate) file: u32,
    /// From 1.
    pub(crate) document: u32,
    /// From 1, in a list; 0 for an object that is a document of its own.
    pub(crate) item: u32,
}

/// The part of an object that is read before the rest is decoded.
#[derive(Debug, Clone, Default)]
pub(crate) struct Head {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

impl Head {
    /// The head of an object of this group and kind. The API version is irrelevant.
    fn of(group: &str, kind: &str, metadata: &ObjectMeta) -> Self {
        Self {
            api_version: if group.is_empty() { String::new() } else { format!("{group}/") },
            kind: kind.to_owned(),
            namespace: metadata.namespace.clone(),
            name: metadata.name.clone().unwrap_or_default(),
        }
    }

    /// The unique identity within a cluster.
    fn identity(&self) -> String {
        let namespace = self.namespace.as_deref().unwrap_or_default();
        format!("{}/{}/{namespace}/{}", self.group(), self.kind, self.name)
    }

    /// The API group; empty for the core one.
    pub(crate) fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }
}

impl Display for Head {
    /// `Pod shop/web-1`.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        match (&self.namespace, self.name.is_empty()) {
            (_, true) => Ok(()),
            (Some(namespace), false) => write!(f, " {namespace}/{}", self.name),
            (None, false) => write!(f, " {}", self.name),
        }
    }
}

/// The undecoded object, in any format.
pub(crate) trait Body {
    /// Decodes the object, or names the invalid field.
    fn decode<T: DeserializeOwned>(&self) -> Result<T, Invalid>;
}

/// Why an object was rejected.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// A field is invalid.
    Invalid(Invalid),
    /// The same object was already read there.
    Duplicate(Origin),
}

impl From<Invalid> for Refusal {
    fn from(invalid: Invalid) -> Self {
        Self::Invalid(invalid)
    }
}

/// Passes the kinds to a macro: field, type, API group, kind, scope, and the function that removes
/// unused fields, if there is one.
macro_rules! each_kind {
    ($then:ident) => {
        $then! {
            /// Pods, bound or not, with the fields that planning needs.
            pods: Pod = "" "Pod" namespaced, crate::objects::slim::pod;
            /// Nodes.
            nodes: Node = "" "Node" cluster, crate::objects::slim::node;
            /// Namespaces.
            namespaces: Namespace = "" "Namespace" cluster;
            /// Daemon sets.
            daemon_sets: DaemonSet = "apps" "DaemonSet" namespaced, crate::objects::slim::daemon_set;
            /// Deployments.
            deployments: Deployment = "apps" "Deployment" namespaced, crate::objects::slim::deployment;
            /// Replica sets.
            replica_sets: ReplicaSet = "apps" "ReplicaSet" namespaced, crate::objects::slim::replica_set;
            /// Stateful sets.
            stateful_sets: StatefulSet = "apps" "StatefulSet" namespaced, crate::objects::slim::stateful_set;
            /// Jobs.
            jobs: Job = "batch" "Job" namespaced, crate::objects::slim::job;
            /// Services.
            services: Service = "" "Service" namespaced;
            /// Replication controllers.
            replication_controllers: ReplicationController = "" "ReplicationController" namespaced, crate::objects::slim::replication_controller;
            /// Persistent volume claims.
            persistent_volume_claims: PersistentVolumeClaim = "" "PersistentVolumeClaim" namespaced;
            /// Persistent volumes.
            persistent_volumes: PersistentVolume = "" "PersistentVolume" cluster;
            /// Storage classes.
            storage_classes: StorageClass = "storage.k8s.io" "StorageClass" cluster;
            /// The volume limits of storage drivers on nodes.
            csi_nodes: CSINode = "storage.k8s.io" "CSINode" cluster;
            /// Volumes attached to nodes.
            volume_attachments: VolumeAttachment = "storage.k8s.io" "VolumeAttachment" cluster;
            /// Pod disruption budgets.
            pod_disruption_budgets: PodDisruptionBudget = "policy" "PodDisruptionBudget" namespaced;
            /// Priority classes.
            priority_classes: PriorityClass = "scheduling.k8s.io" "PriorityClass" cluster;
            /// Pod templates.
            pod_templates: PodTemplate = "" "PodTemplate" namespaced, crate::objects::slim::pod_template;
            /// Node pools.
            node_pools: NodePool = "karpenter.sh" "NodePool" cluster;
            /// Node claims.
            node_claims: NodeClaim = "karpenter.sh" "NodeClaim" cluster;
            /// Node overlays.
            node_overlays: NodeOverlay = "karpenter.sh" "NodeOverlay" cluster;
            /// Capacity buffers.
            capacity_buffers: CapacityBuffer = "autoscaling.x-k8s.io" "CapacityBuffer" namespaced;
        }
    };
}
pub(crate) use each_kind;

macro_rules! objects {
    ($(
        $(#[doc = $doc:literal])+
        $field:ident: $type:ident = $group:literal $kind:literal $scope:ident $(, $slim:path)?;
    )+) => {
        /// Typed objects of a cluster, each valid and unique.
        #[derive(Debug, Default)]
        pub struct Objects {
            $($(#[doc = $doc])+ pub $field: Vec<Arc<$type>>,)+
            /// Classes: objects of any kind that ends in `NodeClass`.
            pub node_classes: Vec<NodeClass>,
            /// The number of objects of each unused kind.
            pub ignored: BTreeMap<String, usize>,
            /// User-written objects from files in raw form: typed objects have no place for a
            /// misspelt field.
            pub written: Vec<Written>,
            /// Names of claims that are about to be deleted, although their objects do not show it.
            pub leaving: BTreeSet<String>,
            /// How provider IDs of nodes and claims are compared.
            pub ids: ProviderIds,
            seen: HashMap<String, Origin>,
        }

        impl Objects {
            /// Adds an object of any kind. Its head receives the namespace.
            pub(crate) fn add(
                &mut self,
                head: &mut Head,
                body: &(impl Body + ?Sized),
                origin: Origin,
            ) -> Result<(), Refusal> {
                match (head.group(), head.kind.as_str()) {
                    $(($group, $kind) => {
                        head.namespace = objects!(@namespace $scope head);
                        self.claim(head, origin)?;
                        let object: $type = decode(body, head)?;
                        $(let object = $slim(object);)?
                        self.$field.push(Arc::new(object));
                    })+
                    (group, kind) if kind.ends_with(NODE_CLASS_SUFFIX) => {
                        let (group, kind) = (group.to_owned(), kind.to_owned());
                        head.namespace = None;
                        self.claim(head, origin)?;
                        let mut object = body.decode()?;
                        slim::value_without_copies(&mut object);
                        let name = head.name.clone();
                        let place = None;
                        self.node_classes.push(NodeClass { group, kind, name, object, place });
                    }
                    (_, kind) => *self.ignored.entry(kind.to_owned()).or_default() += 1,
                }
                Ok(())
            }
        }

        impl Objects {
            /// All objects by kind, as the API returns them.
            pub fn lists(&self) -> Vec<List> {
                let mut lists = vec![$(List {
                    resource: Resource::of::<$type>().name,
                    items: self.$field.iter().map(|object| to_value(&**object)).collect(),
                }),+];
                let mut classes: BTreeMap<String, Vec<Value>> = BTreeMap::new();
                for class in &self.node_classes {
                    let of_kind = classes.entry(resource::of_class(&class.group, &class.kind));
                    of_kind.or_default().push(class.object.clone());
                }
                let of_classes = classes.into_iter();
                lists.extend(of_classes.map(|(resource, items)| List { resource, items }));
                lists
            }

            /// Adds other objects; they replace those with the same identity. Returns which were
            /// replaced.
            pub fn lay_over(&mut self, others: Self) -> Vec<String> {
                let mut replaced = Vec::new();
                let mut stays = |head: Head| {
                    let stays = !others.seen.contains_key(&head.identity());
                    if !stays {
                        replaced.push(head.to_string());
                    }
                    stays
                };
                $(self.$field.retain(|object| {
                    stays(Head::of($group, $kind, &object.metadata))
                });)+
                self.node_classes.retain(|class| {
                    let metadata = ObjectMeta {
                        name: Some(class.name.clone()),
                        ..ObjectMeta::default()
                    };
                    stays(Head::of(&class.group, &class.kind, &metadata))
                });
                self.absorb(others);
                replaced
            }

            /// Adds other objects, none of which may be present already.
            pub(crate) fn absorb(&mut self, mut others: Self) {
                $(self.$field.append(&mut others.$field);)+
                self.node_classes.append(&mut others.node_classes);
                self.seen.extend(others.seen);
            }
        }

        /// Every kind that is read, by its API names.
        pub(crate) fn resources() -> Vec<Resource> {
            vec![$(Resource::of::<$type>()),+]
        }

        $(impl HasMetadata for $type {
            fn metadata_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        })+
    };
    (@namespace namespaced $head:ident) => {
        $head
            .namespace
            .take()
            .filter(|namespace| !namespace.is_empty())
            .or_else(|| Some(DEFAULT_NAMESPACE.to_owned()))
    };
    (@namespace cluster $head:ident) => { None };
}

each_kind!(objects);

fn to_value(object: &impl Serialize) -> Value {
    serde_json::to_value(object).expect("objects of the API can be written")
}

trait HasMetadata {
    fn metadata_mut(&mut self) -> &mut ObjectMeta;
}

impl Objects {
    /// Whether there are no objects of any kind.
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty() && self.ignored.is_empty()
    }

    /// Whether all objects are of unused kinds.
    pub fn is_of_no_use(&self) -> bool {
        self.seen.is_empty() && !self.ignored.is_empty()
    }

    /// Registers the object; rejects it if it was already read or has no valid name.
    fn claim(&mut self, head: &Head, origin: Origin) -> Result<(), Refusal> {
        if head.name.is_empty() {
            return Err(Invalid::new("metadata.name", "is missing; give the object a name").into());
        }
        // Namespace and name are joined by a slash in messages.
        let namespace = head.namespace.as_deref().unwrap_or_default();
        for (field, text) in [("metadata.namespace", namespace), ("metadata.name", &head.name)] {
            if text.contains('/') {
                return Err(Invalid::new(field, "contains a slash; choose another name").into());
            }
        }
        match self.seen.insert(head.identity(), origin) {
            Some(first) => Err(Refusal::Duplicate(first)),
            None => Ok(()),
        }
    }
}

fn decode<T: DeserializeOwned + Validate + HasMetadata>(
    body: &(impl Body + ?Sized),
    head: &Head,
) -> Result<T, Invalid> {
    let mut object: T = body.decode()?;
    object.metadata_mut().namespace.clone_from(&head.namespace);
    slim::without_copies(object.metadata_mut());
    object.validate()?;
    Ok(object)
}
