//! What was seen: everything a plan may depend on.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    instance_type::Catalog,
    label::{self, Labels},
    pod::{Pod, PodSpec},
    pool::NodePool,
    requirement::{Requirement, Requirements},
    resources::{NODES, Resources},
    taint::Taint,
};

/// A cluster at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// All pools, usable or not.
    pub pools: Vec<NodePool>,
    /// What machines each pool can have.
    pub catalog: Catalog,
    /// Machines that exist or are on their way.
    pub nodes: Vec<Node>,
    /// Pods to place.
    pub pods: Vec<Pod>,
    /// Daemon sets, each with the pod it would put on a node.
    pub daemons: Vec<Daemon>,
    /// Namespaces and their labels.
    pub namespaces: BTreeMap<String, Labels>,
}

/// A daemon set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Daemon {
    /// `namespace/name`.
    pub key: Arc<str>,
    /// What its pod asks for.
    pub spec: Arc<PodSpec>,
    /// The volumes that its pod attaches.
    pub volumes: Arc<crate::pod::PodVolumes>,
}

/// A machine that exists or is on its way.
///
/// How a node and its claim become one of these (whose labels, which taints) is decided by the index.
#[derive(Debug, Clone, Default)]
pub struct Node {
    /// The Node object's name, once there is one.
    pub node: Option<String>,
    /// The `NodeClaim`'s name, if the machine is ours.
    pub claim: Option<String>,
    /// The pool it belongs to.
    pub pool: Option<String>,
    /// Labels that are certain.
    pub labels: Labels,
    /// The value of the hostname label.
    pub hostname: String,
    /// Taints that count for new pods.
    pub taints: Vec<Taint>,
    /// The taints on the Node object itself, which decide whether it counts when pods are spread.
    pub object_taints: Vec<Taint>,
    /// What pods can use in total.
    pub allocatable: Resources,
    /// What the machine has, for the pool's limits.
    pub capacity: Resources,
    /// Whether it is ready for pods. Nodes that are not ours always are.
    pub initialized: bool,
    /// Whether it is going away: it takes no pods and does not count against limits.
    pub leaving: bool,
    /// How many volumes of each CSI driver it can attach.
    pub volume_limits: BTreeMap<String, u32>,
    /// The pods that stay on it.
    pub pods: Vec<Pod>,
}

impl Node {
    /// The name it is known by: the node's, or the claim's while there is no node.
    pub fn name(&self) -> &str {
        self.node.as_deref().or(self.claim.as_deref()).unwrap_or_default()
    }

    /// Its labels as requirements, the hostname included.
    pub fn requirements(&self) -> Requirements {
        let mut requirements = Requirements::from_labels(&self.labels);
        requirements.set(label::HOSTNAME, Requirement::one_of([self.hostname.as_str()]));
        requirements
    }

    /// What it takes from its pool's limits.
    pub fn counted_capacity(&self) -> Resources {
        let mut capacity = self.capacity.clone();
        capacity.set(NODES, crate::quantity::Quantity::whole(1));
        capacity
    }
}

impl Snapshot {
    /// Pools that machines can be made for, heaviest first; among equals the later name first.
    ///
    /// COMPAT: the order of names is upstream's.
    pub fn usable_pools(&self) -> Vec<&NodePool> {
        let mut pools: Vec<&NodePool> = self
            .pools
            .iter()
            .filter(|pool| !pool.is_static && pool.readiness == crate::pool::Readiness::Ready)
            .collect();
        pools.sort_by(|a, b| b.weight.cmp(&a.weight).then_with(|| b.name.cmp(&a.name)));
        pools
    }

    /// Keys of all pods that the snapshot wants placed.
    pub fn pod_keys(&self) -> BTreeSet<String> {
        self.pods.iter().map(Pod::key).collect()
    }
}
