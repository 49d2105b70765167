//! Whether a node is for a pod: all rules, in the order in which Kubernetes asks them.

use std::collections::BTreeSet;

use joiner_core::taint::{Effect, Taint, first_untolerated};

use super::{
    amounts::amount,
    pod::Pod,
    refusal::Refusal,
    state::{Node, NodeId, State},
    storage::Needs,
    topology::{Topology, tolerates},
};

/// The taint that stands for `spec.unschedulable`.
const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// One pod looking for a node, with everything worked out that is the same for all nodes.
#[derive(Debug)]
pub(super) struct Fit<'s> {
    state: &'s State,
    pod: &'s Pod,
    needs: Needs<'s>,
    topology: Topology<'s>,
    /// The only nodes that the pod can mean.
    named: Option<BTreeSet<&'s str>>,
}

impl<'s> Fit<'s> {
    /// Looks for a node for a pod, or says why it cannot be anywhere yet. The state must be
    /// [prepared](State::prepare) for the pod.
    pub(super) fn new(state: &'s State, pod: &'s Pod) -> Result<Self, String> {
        let needs = state.storage.needs(pod)?;
        let topology = Topology::new(state, pod);
        Ok(Self { state, pod, needs, topology, named: pod.nodes.names() })
    }

    /// The pod's needs of storage.
    pub(super) fn needs(&self) -> &Needs<'s> {
        &self.needs
    }

    /// Why a node is not for the pod, if it is not.
    pub(super) fn refusal(&self, id: NodeId) -> Option<Refusal> {
        let node = &self.state.nodes[id];
        if self.named.as_ref().is_some_and(|names| !names.contains(&*node.name)) {
            return Some(Refusal::NotNamed);
        }
        self.node_refusal(node)
            .or_else(|| self.ports_refusal(id, node))
            .or_else(|| self.resources_refusal(id, node))
            .or_else(|| self.state.storage.refusal(self.pod, &self.needs, node))
            .or_else(|| self.topology.refusal(id))
    }

    fn node_refusal(&self, node: &Node) -> Option<Refusal> {
        node_refusal(self.pod, node)
    }

    fn ports_refusal(&self, id: NodeId, node: &Node) -> Option<Refusal> {
        if self.pod.ports.is_empty() {
            return None;
        }
        let promised = self.promised(id).flat_map(|pod| &pod.ports);
        let taken = node.ports.iter().chain(promised);
        let conflict = |port| self.pod.ports.iter().any(|own| own.conflicts(port));
        taken.into_iter().any(conflict).then_some(Refusal::PortsTaken)
    }

    fn resources_refusal(&self, id: NodeId, node: &Node) -> Option<Refusal> {
        let mut lacking = Vec::new();
        let mut even_empty = false;
        for (resource, wanted) in &self.pod.requests {
            let has = amount(&node.allocatable, *resource);
            let promised: i64 = self
                .promised(id)
                .flat_map(|pod| pod.requests.iter().filter(|(own, _)| own == resource))
                .map(|(_, amount)| amount)
                .sum();
            let used = amount(&node.used, *resource).saturating_add(promised);
            if used.saturating_add(*wanted) > has {
                lacking.push(*resource);
                even_empty |= *wanted > has;
            }
        }
        (!lacking.is_empty()).then_some(Refusal::Insufficient(lacking, even_empty))
    }

    /// Pods that wait for room on a node and are at least as important. What they hold against
    /// other pods is looked at only once they are there.
    fn promised(&self, id: NodeId) -> impl Iterator<Item = &Pod> {
        let waiting = self.state.nominated.get(&id).into_iter().flat_map(|pods| pods.values());
        waiting
            .filter(|pod| pod.priority >= self.pod.priority && pod.key != self.pod.key)
            .map(|pod| &**pod)
    }
}

/// Why a node as such is not for a pod: the rules that no other pod has a part in.
pub(super) fn node_refusal(pod: &Pod, node: &Node) -> Option<Refusal> {
    if node.facts.unschedulable {
        let mark = Taint {
            key: UNSCHEDULABLE.to_owned(),
            value: String::new(),
            effect: Effect::NoSchedule,
        };
        if first_untolerated(&[mark], &pod.tolerations).is_some() {
            return Some(Refusal::Unschedulable);
        }
    }
    if !tolerates(pod, node) {
        return Some(Refusal::Tainted);
    }
    if !pod.nodes.allows(&node.name, &node.facts.labels) {
        return Some(Refusal::NotSelected);
    }
    None
}

/// Whether a node could take a pod if it were empty. This is what a change of a node is looked at
/// for before a waiting pod is tried again.
pub(super) fn could_fit(pod: &Pod, node: &Node) -> bool {
    node_refusal(pod, node).is_none()
        && pod
            .requests
            .iter()
            .all(|(resource, wanted)| amount(&node.allocatable, *resource) >= *wanted)
}
