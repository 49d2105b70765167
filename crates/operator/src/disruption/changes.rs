//! Which changes of the cluster can affect disruption.
//!
//! Most changes cannot: kubelet heartbeats, confirmed conditions, Joiner's own marks. A pass over a
//! large cluster is expensive, so these changes start none.

use joiner_api::{condition::find, node_claim::NodeClaim, node_pool::NodePool};
use k8s_openapi::{
    api::{
        core::v1::{Namespace, Node, Pod, Taint},
        policy::v1::PodDisruptionBudget,
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use crate::{
    claims::{is_deleting, is_ready},
    conditions::{CONSOLIDATABLE, Conditioned, DRIFTED, INITIALIZED, INSTANCE_TERMINATING, READY},
    marks::{DISRUPTED, DO_NOT_DISRUPT},
    pods::{is_provisionable, is_terminal, is_terminating},
    world::{Change, Diff, Kept},
};

/// Whether a change can affect which instances are disrupted.
pub(super) fn matters(change: &Change) -> bool {
    match change {
        Change::Pod(diff) => differs(diff, of_pod),
        Change::Node(diff) => differs(diff, of_node),
        Change::NodeClaim(diff) => differs(diff, of_claim),
        Change::NodePool(diff) => differs(diff, of_pool),
        Change::Namespace(diff) => differs(diff, of_namespace),
        Change::PodDisruptionBudget(diff) => differs(diff, of_budget),
        Change::DaemonSet(diff) => differs(diff, |set| set.metadata.generation),
        Change::NodeClass(diff) => differs(diff, |class| class.generation),
        Change::NodeOverlay(diff) => differs(diff, |overlay| overlay.metadata.generation),
        Change::CapacityBuffer(diff) => differs(diff, |buffer| buffer.metadata.generation),
        Change::PodTemplate(diff) => differs(diff, |template| template.metadata.generation),
        Change::Deployment(diff) => differs(diff, |workload| workload.metadata.generation),
        Change::StatefulSet(diff) => differs(diff, |workload| workload.metadata.generation),
        Change::ReplicaSet(diff) => differs(diff, |workload| workload.metadata.generation),
        _ => false,
    }
}

/// Whether an object came or went, or these facts about it changed.
fn differs<T: Kept, F: PartialEq>(diff: &Diff<T>, facts: impl Fn(&T) -> F) -> bool {
    diff.old.as_deref().map(&facts) != diff.new.as_deref().map(&facts)
}

fn of_pod(pod: &Pod) -> impl PartialEq + use<> {
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
    let wish = annotation(&pod.metadata, DO_NOT_DISRUPT);
    (node, wish, is_terminal(pod), is_terminating(pod), is_provisionable(pod))
}

fn of_node(node: &Node) -> impl PartialEq + use<> {
    let spec = node.spec.as_ref();
    // Joiner's own taint does not count.
    let is_foreign = |taint: &&Taint| taint.key != DISRUPTED;
    let taints = spec.and_then(|spec| spec.taints.as_ref()).into_iter().flatten();
    let taints: Vec<(String, String)> =
        taints.filter(is_foreign).map(|taint| (taint.key.clone(), taint.effect.clone())).collect();
    let cordoned = spec.and_then(|spec| spec.unschedulable);
    let allocatable = node.status.as_ref().and_then(|status| status.allocatable.clone());
    let wish = annotation(&node.metadata, DO_NOT_DISRUPT);
    let labels = node.metadata.labels.clone();
    ((taints, cordoned, allocatable), (wish, labels, is_ready(node), is_deleting(node)))
}

fn of_claim(claim: &NodeClaim) -> impl PartialEq + use<> {
    let holds = [CONSOLIDATABLE, INITIALIZED, INSTANCE_TERMINATING].map(|it| claim.holds(it));
    let drifted = find(claim.conditions(), DRIFTED);
    let drifted = drifted.map(|it| (it.status.clone(), it.reason.clone()));
    let wish = annotation(&claim.metadata, DO_NOT_DISRUPT);
    (holds, drifted, wish, is_deleting(claim))
}

fn of_pool(pool: &NodePool) -> impl PartialEq + use<> {
    let annotations = pool.metadata.annotations.clone();
    (pool.metadata.generation, annotations, pool.holds(READY), is_deleting(pool))
}

fn of_namespace(namespace: &Namespace) -> impl PartialEq + use<> {
    (namespace.metadata.annotations.clone(), namespace.metadata.labels.clone())
}

/// A budget matters by whether it allows a disruption.
fn of_budget(budget: &PodDisruptionBudget) -> impl PartialEq + use<> {
    let allowed = budget.status.as_ref().and_then(|status| status.disruptions_allowed);
    (budget.metadata.generation, allowed.map(|allowed| allowed > 0))
}

fn annotation(metadata: &ObjectMeta, key: &str) -> Option<String> {
    metadata.annotations.as_ref()?.get(key).cloned()
}
