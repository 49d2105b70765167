//! What the scheduler knows of the cluster, kept up to date change by change.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use joiner_apiserver::{Key, Object};
use joiner_core::{label::Labels, resources::Resources, taint::Taint};
use serde_json::Value;

use super::{
    amounts::{self, Names},
    counts::Counts,
    pod::{HostPort, Pod},
    storage::Storage,
};
use crate::cluster::{
    requests::resources,
    selection::{labels, list, text},
};

/// The number of a node. A number is used again when its node is gone and has no pods left.
pub(super) type NodeId = usize;

/// What a Node object says that matters for scheduling.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NodeFacts {
    pub(super) labels: Labels,
    pub(super) taints: Vec<Taint>,
    pub(super) unschedulable: bool,
    pub(super) allocatable: Resources,
}

impl NodeFacts {
    /// Reads a node.
    pub(super) fn read(value: &Value) -> Self {
        let status = &value["status"];
        let own = if status["allocatable"].is_object() { "allocatable" } else { "capacity" };
        Self {
            labels: labels(&value["metadata"]["labels"]),
            taints: list(&value["spec"]["taints"]).iter().map(taint).collect(),
            unschedulable: value["spec"]["unschedulable"] == true,
            allocatable: resources(&status[own]),
        }
    }
}

/// A taint of a node.
pub(super) fn taint(value: &Value) -> Taint {
    Taint {
        key: text(&value["key"]),
        value: text(&value["value"]),
        effect: text(&value["effect"]).into(),
    }
}

/// A node and the sums of its pods.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) name: Arc<str>,
    /// Whether there is a Node object; pods may be assigned to a node that is gone.
    pub(super) present: bool,
    pub(super) facts: NodeFacts,
    pub(super) allocatable: Vec<i64>,
    pub(super) used: Vec<i64>,
    /// CPU and memory of its pods as scores count them.
    pub(super) weight: [i64; 2],
    pub(super) pods: BTreeMap<Key, Arc<Pod>>,
    pub(super) ports: Vec<HostPort>,
}

/// The cluster.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) names: Names,
    pub(super) nodes: Vec<Node>,
    ids: BTreeMap<Arc<str>, NodeId>,
    free: BTreeSet<NodeId>,
    present: usize,
    version: u64,
    assigned: BTreeMap<Key, NodeId>,
    pub(super) counts: Counts,
    pub(super) storage: Storage,
    /// Pods that wait for room on a node where they have pushed out others.
    pub(super) nominated: BTreeMap<NodeId, BTreeMap<Key, Arc<Pod>>>,
}

impl State {
    /// How many nodes there are.
    pub(super) fn size(&self) -> usize {
        self.present
    }

    /// A number that grows with every change that may matter to a decision.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// Takes note that something changed that is kept elsewhere.
    pub(super) fn touch(&mut self) {
        self.version += 1;
    }

    /// The numbers of the nodes that are there.
    pub(super) fn present(&self) -> impl Iterator<Item = NodeId> + '_ {
        (0..self.nodes.len()).filter(|id| self.nodes[*id].present)
    }

    /// The node of this name, if it is there.
    pub(super) fn find(&self, name: &str) -> Option<NodeId> {
        self.ids.get(name).copied().filter(|id| self.nodes[*id].present)
    }

    /// The node that a pod is assigned to, and the pod as it was when it was assigned.
    pub(super) fn assignment(&self, pod: &Key) -> Option<(NodeId, &Arc<Pod>)> {
        let node = *self.assigned.get(pod)?;
        Some((node, self.nodes[node].pods.get(pod)?))
    }

    /// Takes note of a node. Says whether anything changed that matters here.
    pub(super) fn put_node(&mut self, object: &Object) -> bool {
        let facts = NodeFacts::read(&object.shared());
        let id = self.id(&object.key.name);
        let node = &mut self.nodes[id];
        if node.present && node.facts == facts {
            return false;
        }
        self.present += usize::from(!node.present);
        self.version += 1;
        node.present = true;
        node.allocatable = self.names.dense(&facts.allocatable);
        node.facts = facts;
        self.counts.set_labels(id, &self.nodes);
        true
    }

    /// Takes note that a node is gone.
    pub(super) fn remove_node(&mut self, name: &str) {
        let Some(id) = self.find(name) else { return };
        let node = &mut self.nodes[id];
        node.present = false;
        node.facts = NodeFacts::default();
        node.allocatable.clear();
        self.present -= 1;
        self.version += 1;
        self.counts.set_labels(id, &self.nodes);
        self.free_if_empty(id);
    }

    /// Counts a pod on a node, whether or not the node is there.
    pub(super) fn assign(&mut self, pod: Arc<Pod>, node: &str) -> NodeId {
        self.unassign(&pod.key);
        let id = self.id(node);
        self.assigned.insert(pod.key.clone(), id);
        self.version += 1;
        self.storage.uses(&pod);
        self.counts.add(&pod, id, 1);
        let node = &mut self.nodes[id];
        for (resource, amount) in &pod.requests {
            amounts::add(&mut node.used, *resource, *amount);
        }
        for (sum, own) in node.weight.iter_mut().zip(pod.weight) {
            *sum += own;
        }
        node.ports.extend(pod.ports.iter().cloned());
        node.pods.insert(pod.key.clone(), pod);
        id
    }

    /// No longer counts a pod on its node.
    pub(super) fn unassign(&mut self, pod: &Key) -> Option<(NodeId, Arc<Pod>)> {
        let id = self.assigned.remove(pod)?;
        let node = &mut self.nodes[id];
        let pod = node.pods.remove(pod)?;
        self.version += 1;
        for (resource, amount) in &pod.requests {
            amounts::add(&mut node.used, *resource, -*amount);
        }
        for (sum, own) in node.weight.iter_mut().zip(pod.weight) {
            *sum -= own;
        }
        for port in &pod.ports {
            if let Some(at) = node.ports.iter().position(|taken| taken == port) {
                node.ports.swap_remove(at);
            }
        }
        self.storage.no_longer_uses(&pod);
        self.counts.add(&pod, id, -1);
        self.free_if_empty(id);
        Some((id, pod))
    }

    /// Remembers, or forgets, on which node a waiting pod has asked for room.
    pub(super) fn nominate(&mut self, pod: &Arc<Pod>, node: Option<&str>) {
        let mut changed = false;
        self.nominated.retain(|_, pods| {
            changed |= pods.remove(&pod.key).is_some();
            !pods.is_empty()
        });
        self.version += u64::from(changed);
        if let Some(id) = node.and_then(|name| self.find(name)) {
            self.version += 1;
            self.nominated.entry(id).or_default().insert(pod.key.clone(), Arc::clone(pod));
        }
    }

    fn id(&mut self, name: &str) -> NodeId {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = self.free.pop_first().unwrap_or(self.nodes.len());
        if id == self.nodes.len() {
            self.nodes.push(Node::default());
        }
        let name: Arc<str> = name.into();
        self.nodes[id] = Node { name: Arc::clone(&name), ..Node::default() };
        self.ids.insert(name, id);
        id
    }

    fn free_if_empty(&mut self, id: NodeId) {
        let node = &self.nodes[id];
        if !node.present && node.pods.is_empty() {
            self.ids.remove(&node.name);
            self.free.insert(id);
            self.nominated.remove(&id);
        }
    }
}

/// The pods of some nodes, with their nodes.
pub(super) fn pods_of(nodes: &[Node]) -> impl Iterator<Item = (NodeId, &Arc<Pod>)> {
    nodes.iter().enumerate().flat_map(|(id, node)| node.pods.values().map(move |pod| (id, pod)))
}
