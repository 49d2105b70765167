//! Initialization: from a registered node to one that is ready for pods.

use joiner_api::node_claim::NodeClaim;
use joiner_core::{label, quantity::Quantity};
use k8s_openapi::api::core::v1::Node;

use super::devices::Devices;
use crate::{
    claims::is_ready,
    index::{orders, resources, taints},
};

/// A missing part of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lack {
    /// The condition's reason.
    pub(super) reason: &'static str,
    /// The condition's message.
    pub(super) message: String,
}

impl Lack {
    pub(super) fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

/// The first missing part of the claim's node. Devices are checked where they are known.
pub(super) fn lacks(claim: &NodeClaim, node: &Node, devices: Option<&Devices>) -> Option<Lack> {
    if !is_ready(node) {
        return Some(Lack::new("NodeNotReady", "Node status is NotReady"));
    }
    tainted(claim, node)
        .or_else(|| unregistered_resource(claim, node))
        .or_else(|| devices.and_then(|devices| devices.lacks(claim, node)))
}

/// A startup taint, which another controller removes when its work is done.
fn tainted(claim: &NodeClaim, node: &Node) -> Option<Lack> {
    let of_node = taints(node.spec.iter().flat_map(|spec| spec.taints.iter().flatten()));
    let startup = taints(&claim.spec.startup_taints);
    if let Some(taint) = startup.iter().find(|s| of_node.iter().any(|taint| taint.matches(s))) {
        let message = format!("StartupTaint \"{taint}\" still exists");
        return Some(Lack::new("StartupTaintsExist", message));
    }
    let taint = of_node.iter().find(|taint| taint.is_ephemeral())?;
    let message = format!("KnownEphemeralTaint \"{taint}\" still exists");
    Some(Lack::new("KnownEphemeralTaintsExist", message))
}

/// A requested resource that the kubelet does not report yet: devices appear after their plugins
/// have started.
fn unregistered_resource(claim: &NodeClaim, node: &Node) -> Option<Lack> {
    let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
    let allocatable = resources(allocatable);
    let requests = orders::requests(claim);
    let (name, _) = requests.iter().find(|(name, requested)| {
        *requested != Quantity::ZERO && allocatable.get(name) == Quantity::ZERO
    })?;
    let message = format!("Resource \"{name}\" was requested but not registered");
    Some(Lack::new("ResourceNotRegistered", message))
}

/// The node with the label that marks it as initialized.
pub(super) fn initialized(node: &Node) -> Node {
    let mut node = node.clone();
    let labels = node.metadata.labels.get_or_insert_default();
    labels.insert(label::INITIALIZED.to_owned(), "true".to_owned());
    node
}
