//! What was seen: everything a plan may depend on.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    instance_type::Catalog,
    label::{self, Labels},
    pod::{Pod, PodSpec, PodVolumes},
    pool::{NodePool, Readiness},
    quantity::Quantity,
    requirement::{Requirement, Requirements},
    resources::{NODES, Resources},
    taint::Taint,
};

/// A cluster at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// All pools, usable or not.
    pub pools: Vec<NodePool>,
    /// What instances each pool can have.
    pub catalog: Catalog,
    /// Instances that exist or are on their way.
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
    pub volumes: Arc<PodVolumes>,
}

/// An instance that exists or is on its way.
///
/// How a node and its claim become one of these (whose labels, which taints) is decided by the
/// index.
#[derive(Debug, Clone, Default)]
pub struct Node {
    /// The Node object's name, once there is one.
    pub node: Option<String>,
    /// The `NodeClaim`'s name, if the instance is ours.
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
    /// What the instance has, for the pool's limits.
    pub capacity: Resources,
    /// Whether it is ready for pods. Nodes that are not ours always are.
    pub initialized: bool,
    /// Whether it is going away: it takes no pods and does not count against limits.
    pub leaving: bool,
    /// How many volumes of each CSI driver it can attach.
    pub volume_limits: BTreeMap<String, u32>,
    /// The pods that stay on it, each with what a place elsewhere would have to offer it.
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
        capacity.set(NODES, Quantity::whole(1));
        capacity
    }
}

impl Snapshot {
    /// Pools that instances can be made for, heaviest first; among equals the later name first. Those whose instances do not
    /// join come last, however heavy they are: whoever waits is better off with an instance that comes.
    ///
    /// COMPAT: the order of names is upstream's. Upstream tries a pool that fails again and again, before all lighter
    /// ones.
    pub fn usable_pools(&self) -> Vec<&NodePool> {
        let mut pools: Vec<&NodePool> = self
            .pools
            .iter()
            .filter(|pool| !pool.is_static && pool.readiness == Readiness::Ready)
            .collect();
        let rank = |pool: &NodePool| (pool.failing.is_some(), Reverse(pool.weight));
        pools.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| b.name.cmp(&a.name)));
        pools
    }

    /// Keys of all pods that the snapshot wants placed.
    pub fn pod_keys(&self) -> BTreeSet<String> {
        self.pods.iter().map(Pod::key).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_that_work_come_first_then_by_weight_then_by_name_backwards() {
        let pool =
            |name: &str, weight| NodePool { name: name.to_owned(), weight, ..NodePool::default() };
        let snapshot = Snapshot {
            pools: vec![
                pool("a", 0),
                pool("b", 0),
                pool("heavy", 50),
                NodePool { failing: Some("why".to_owned()), ..pool("failing", 100) },
                NodePool { failing: Some("why".to_owned()), ..pool("failing too", 50) },
                NodePool { is_static: true, ..pool("static", 100) },
                NodePool { readiness: Readiness::Deleting, ..pool("deleting", 100) },
                NodePool { readiness: Readiness::NotReady("why".to_owned()), ..pool("down", 100) },
            ],
            ..Snapshot::default()
        };
        let names: Vec<&str> =
            snapshot.usable_pools().iter().map(|pool| pool.name.as_str()).collect();
        assert_eq!(names, ["heavy", "b", "a", "failing", "failing too"]);
    }

    #[test]
    fn a_node_offers_its_labels_and_its_hostname() {
        let labels = [(label::ZONE, "a"), (label::HOSTNAME, "stale")];
        let node = Node {
            labels: labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
            hostname: "host-1".to_owned(),
            ..Node::default()
        };
        let requirements = node.requirements();
        assert_eq!(requirements.single_values()[label::HOSTNAME], "host-1");
        assert_eq!(requirements.to_string(), "topology.kubernetes.io/zone In [a]");
    }

    #[test]
    fn a_node_counts_as_one_against_limits() {
        let capacity = Resources::from_iter([("cpu", Quantity::whole(4))]);
        let node = Node { capacity, ..Node::default() };
        assert_eq!(node.counted_capacity().to_string(), "cpu 4, nodes 1");
    }

    #[test]
    fn an_instance_is_known_by_its_node_then_by_its_claim() {
        let mut instance = Node::default();
        assert_eq!(instance.name(), "");
        instance.claim = Some("claim".to_owned());
        assert_eq!(instance.name(), "claim");
        instance.node = Some("node".to_owned());
        assert_eq!(instance.name(), "node");
    }
}
