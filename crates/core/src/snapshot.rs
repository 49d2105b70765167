//! The snapshot: everything that a plan depends on.

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
    /// The instance types of each pool.
    pub catalog: Catalog,
    /// Instances that exist or were launched.
    pub nodes: Vec<Node>,
    /// Pods to place.
    pub pods: Vec<Pod>,
    /// DaemonSets, each with the pod it would run on a node.
    pub daemons: Vec<Daemon>,
    /// Namespaces and their labels.
    pub namespaces: BTreeMap<String, Labels>,
}

/// A DaemonSet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Daemon {
    /// `namespace/name`.
    pub key: Arc<str>,
    /// The constraints and requests of its pod.
    pub spec: Arc<PodSpec>,
    /// The volumes that its pod attaches.
    pub volumes: Arc<PodVolumes>,
}

/// An instance that exists or was launched.
///
/// The index combines a node and its claim, and decides whose labels and taints count.
#[derive(Debug, Clone, Default)]
pub struct Node {
    /// The Node object's name, once it exists.
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
    /// The taints on the Node object itself. They decide whether the node counts for spreading.
    pub object_taints: Vec<Taint>,
    /// The total capacity for pods.
    pub allocatable: Resources,
    /// The total capacity, for the pool's limits.
    pub capacity: Resources,
    /// Whether it is ready for pods. Nodes without a claim always are.
    pub initialized: bool,
    /// Whether it is being removed: it takes no pods and does not count against limits.
    pub leaving: bool,
    /// How many volumes of each CSI driver it can attach.
    pub volume_limits: BTreeMap<String, u32>,
    /// The pods that stay on it, each with its requests and constraints.
    pub pods: Vec<Pod>,
}

impl Node {
    /// Its name: the node's, or the claim's while there is no node.
    pub fn name(&self) -> &str {
        self.node.as_deref().or(self.claim.as_deref()).unwrap_or_default()
    }

    /// Its labels as requirements, including the hostname.
    pub fn requirements(&self) -> Requirements {
        let mut requirements = Requirements::from_labels(&self.labels);
        requirements.set(label::HOSTNAME, Requirement::one_of([self.hostname.as_str()]));
        requirements
    }

    /// The capacity that counts against its pool's limits.
    pub fn counted_capacity(&self) -> Resources {
        let mut capacity = self.capacity.clone();
        capacity.set(NODES, Quantity::whole(1));
        capacity
    }
}

impl Snapshot {
    /// Pools that can create instances, heaviest first; equal ones in reverse order of name. Pools whose instances
    /// do not join come last, whatever their weight, so that pending pods get an instance that joins.
    ///
    /// COMPAT: the order of names is upstream's. Upstream retries a failing pool before all lighter ones.
    pub fn usable_pools(&self) -> Vec<&NodePool> {
        let mut pools: Vec<&NodePool> = self
            .pools
            .iter()
            .filter(|pool| !pool.is_static && pool.readiness == Readiness::Ready)
            .collect();
        let rank = |pool: &NodePool| (pool.failing.is_some(), Reverse(pool.weight));
        pools.sort_by(|left, right| {
            rank(left).cmp(&rank(right)).then_with(|| right.name.cmp(&left.name))
        });
        pools
    }

    /// The keys of all pods to place.
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
