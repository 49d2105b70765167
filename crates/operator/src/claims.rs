//! Common questions about claims and their nodes.

use joiner_api::{node_claim::NodeClaim, node_class_reference::NodeClassReference};
use joiner_cloud::{class::NodeClass, order::ClaimId};
use joiner_core::label;
use k8s_openapi::{
    api::core::v1::Node,
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use kube::Resource;

/// The claim's name and identity, as instances are marked with them.
pub fn id(claim: &NodeClaim) -> ClaimId {
    ClaimId { name: name(&claim.metadata).to_owned(), uid: uid(&claim.metadata).to_owned() }
}

/// The cloud's name of the claim's instance, once it is known.
pub fn provider_id(claim: &NodeClaim) -> Option<&str> {
    claim.status.as_ref()?.provider_id.as_deref().filter(|id| !id.is_empty())
}

/// The node that the claim says has registered for it.
pub fn node_name(claim: &NodeClaim) -> Option<&str> {
    claim.status.as_ref()?.node_name.as_deref().filter(|name| !name.is_empty())
}

/// The name that the claim's instance goes by: its node's once that has registered, else the claim's.
pub fn instance_name(claim: &NodeClaim) -> &str {
    node_name(claim).unwrap_or(name(&claim.metadata))
}

/// The pool that the claim says it belongs to.
pub fn pool(claim: &NodeClaim) -> Option<&str> {
    Some(label(claim, label::NODE_POOL)).filter(|pool| !pool.is_empty())
}

/// A label of the object; empty if it has none, as metrics show it.
pub fn label<'o>(object: &'o impl Resource, key: &str) -> &'o str {
    let label = object.meta().labels.as_ref().and_then(|labels| labels.get(key));
    label.map(String::as_str).unwrap_or_default()
}

/// The identity of the pool that owns the claim, if one does.
pub fn owning_pool(claim: &NodeClaim) -> Option<&OwnerReference> {
    claim.metadata.owner_references.iter().flatten().find(|owner| owner.kind == "NodePool")
}

/// How an object says that it goes when a claim does.
pub fn owner_reference(claim: &ClaimId) -> OwnerReference {
    OwnerReference {
        api_version: NodeClaim::api_version(&()).into_owned(),
        kind: NodeClaim::kind(&()).into_owned(),
        name: claim.name.clone(),
        uid: claim.uid.clone(),
        ..OwnerReference::default()
    }
}

/// Whether a claim's or a pool's reference leads to this class.
pub fn refers_to(reference: Option<&NodeClassReference>, class: &NodeClass) -> bool {
    reference.is_some_and(|reference| {
        (&reference.group, &reference.kind, &reference.name)
            == (&class.group, &class.kind, &class.name)
    })
}

/// Whether the object is being deleted.
pub fn is_deleting(object: &impl Resource) -> bool {
    object.meta().deletion_timestamp.is_some()
}

/// Whether the object has this finalizer.
pub fn has_finalizer(object: &impl Resource, finalizer: &str) -> bool {
    object.meta().finalizers.iter().flatten().any(|known| known == finalizer)
}

/// Whether the node's kubelet says that it is ready.
pub fn is_ready(node: &Node) -> bool {
    let mut conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// What is wrong when several nodes have the provider ID of one claim, and what to do.
pub fn several_nodes<'n>(nodes: impl IntoIterator<Item = &'n Node>) -> String {
    let names: Vec<&str> = nodes.into_iter().map(|node| name(&node.metadata)).collect();
    format!(
        "{} nodes have this provider ID: {}; delete those that are not this instance",
        names.len(),
        names.join(", ")
    )
}

/// An object's name.
pub fn name(metadata: &ObjectMeta) -> &str {
    metadata.name.as_deref().unwrap_or_default()
}

/// An object's identity.
pub fn uid(metadata: &ObjectMeta) -> &str {
    metadata.uid.as_deref().unwrap_or_default()
}
