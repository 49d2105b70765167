//! Registration: copies the claim's labels, annotations and taints to its node, once.

use std::sync::Arc;

use jiff::Timestamp;
use joiner_api::node_claim::NodeClaim;
use joiner_core::label::{self, Labels};
use k8s_openapi::{
    api::core::v1::{Node, Taint},
    apimachinery::pkg::apis::meta::v1::OwnerReference,
};

use crate::{
    claims::{self, has_finalizer, is_deleting, name, several_nodes, uid},
    conditions::{Conditioned, REGISTERED, Status},
    marks::{DISRUPTION_COMMAND, DO_NOT_SYNC_TAINTS, TERMINATION_FINALIZER, is_unregistered_taint},
};

/// The observed nodes of a claim.
#[derive(Debug, PartialEq)]
pub(super) enum Joined {
    /// This one.
    Node(Arc<Node>),
    /// None yet, with a message for users.
    NotYet(String),
    /// Several, which is an error.
    Several(String),
}

/// The claim's node among the nodes with its provider ID.
pub(super) fn joined(nodes: &[Arc<Node>]) -> Joined {
    match nodes {
        [] => Joined::NotYet("Node not registered with cluster".to_owned()),
        // A deleted node cannot get a finalizer any more, and is about to vanish.
        [node] if is_deleting(&**node) && !has_finalizer(&**node, TERMINATION_FINALIZER) => {
            Joined::NotYet(format!("Node {:?} is being deleted", name(&node.metadata)))
        }
        [node] => Joined::Node(Arc::clone(node)),
        several => Joined::Several(several_nodes(several.iter().map(|node| &**node))),
    }
}

/// Gives the claim its provider ID in the form of its node: clouds have several forms, and a node's
/// ID is immutable.
pub(super) fn take_over_id(claim: &mut NodeClaim, node: &Node) {
    if let Some(id) = node.spec.as_ref().and_then(|spec| spec.provider_id.as_ref()) {
        claim.status.get_or_insert_default().provider_id = Some(id.clone());
    }
}

/// Records that there is no node to register.
pub(super) fn not_joined(claim: &mut NodeClaim, joined: &Joined, now: Timestamp) {
    let mut conditions = claim.conditions_mut(now);
    match joined {
        Joined::Node(_) => {}
        Joined::NotYet(message) => {
            conditions.set(REGISTERED, Status::Unknown, "NodeNotFound", message);
        }
        Joined::Several(message) => {
            conditions.set(REGISTERED, Status::False, "MultipleNodesFound", message);
        }
    }
}

/// Whether pods may have reached the node before its registration, because its kubelet did not set
/// the taint.
pub(super) fn lacks_unregistered_taint(node: &Node) -> bool {
    let labels = node.metadata.labels.as_ref();
    let is_registered = labels.is_some_and(|labels| labels.contains_key(label::REGISTERED));
    !is_registered && !taints(node).any(is_unregistered_taint)
}

/// The different zones of node and claim, if they differ. A cloud controller labels nodes before
/// their registration, from the instance's real place.
pub(super) fn zones_differ<'o>(node: &'o Node, claim: &'o NodeClaim) -> Option<(&'o str, &'o str)> {
    let own = (claims::label(node, label::ZONE), claims::label(claim, label::ZONE));
    (!own.0.is_empty() && !own.1.is_empty() && own.0 != own.1).then_some(own)
}

/// The node with the finalizer, so that it is drained before it vanishes.
pub(super) fn held(node: &Node) -> Node {
    let mut held = node.clone();
    if !has_finalizer(node, TERMINATION_FINALIZER) {
        let finalizers = held.metadata.finalizers.get_or_insert_default();
        finalizers.push(TERMINATION_FINALIZER.to_owned());
    }
    held
}

/// The node with the labels, annotations and taints of its claim.
pub(super) fn synced(node: &Node, claim: &NodeClaim) -> Node {
    let mut synced = held(node);
    let metadata = &mut synced.metadata;
    let owner = owner(claim);
    let owners = metadata.owner_references.get_or_insert_default();
    if !owners.iter().any(|known| is_same_owner(known, &owner)) {
        owners.push(owner);
    }
    extend(&mut metadata.labels, claim.metadata.labels.as_ref());
    let mut annotations = claim.metadata.annotations.clone();
    if let Some(annotations) = &mut annotations {
        // The command belongs to the claim, and is removed only there.
        annotations.remove(DISRUPTION_COMMAND);
    }
    extend(&mut metadata.annotations, annotations.as_ref());
    if !keeps_its_taints(node) {
        add_taints(&mut synced, claim);
    }
    synced
}

/// The node without its unregistered taint.
pub(super) fn opened(mut node: Node) -> Node {
    let labels = node.metadata.labels.get_or_insert_default();
    labels.insert(label::REGISTERED.to_owned(), "true".to_owned());
    if let Some(taints) = node.spec.as_mut().and_then(|spec| spec.taints.as_mut()) {
        taints.retain(|taint| !is_unregistered_taint(taint));
    }
    node
}

fn owner(claim: &NodeClaim) -> OwnerReference {
    OwnerReference {
        api_version: "karpenter.sh/v1".to_owned(),
        kind: "NodeClaim".to_owned(),
        name: name(&claim.metadata).to_owned(),
        uid: uid(&claim.metadata).to_owned(),
        block_owner_deletion: Some(true),
        controller: None,
    }
}

fn is_same_owner(a: &OwnerReference, b: &OwnerReference) -> bool {
    (&a.api_version, &a.kind, &a.uid) == (&b.api_version, &b.kind, &b.uid)
}

/// Adds new labels and replaces existing ones; other labels stay.
fn extend(labels: &mut Option<Labels>, more: Option<&Labels>) {
    if let Some(more) = more.filter(|more| !more.is_empty()) {
        let more = more.iter().map(|(key, value)| (key.clone(), value.clone()));
        labels.get_or_insert_default().extend(more);
    }
}

fn keeps_its_taints(node: &Node) -> bool {
    let labels = node.metadata.labels.as_ref();
    labels.and_then(|labels| labels.get(DO_NOT_SYNC_TAINTS)).is_some_and(|value| value == "true")
}

/// Adds the claim's missing taints. Existing taints stay as they are.
fn add_taints(node: &mut Node, claim: &NodeClaim) {
    for taint in claim.spec.taints.iter().chain(&claim.spec.startup_taints) {
        if !taints(node).any(|known| is_same_taint(known, taint)) {
            let spec = node.spec.get_or_insert_default();
            spec.taints.get_or_insert_default().push(taint.clone());
        }
    }
}

fn is_same_taint(a: &Taint, b: &Taint) -> bool {
    (&a.key, &a.effect) == (&b.key, &b.effect)
}

fn taints(node: &Node) -> impl Iterator<Item = &Taint> {
    node.spec.iter().flat_map(|spec| spec.taints.iter().flatten())
}
