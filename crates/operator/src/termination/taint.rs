//! How a node looks that goes away.

use k8s_openapi::api::core::v1::{Node, Taint};

use crate::marks::{DISRUPTED, EXCLUDE_FROM_LOAD_BALANCERS, disrupted_taint};

/// The node with the taint that keeps new pods away, and the label that load balancers outside the
/// cluster look for.
pub(super) fn leaving(node: &Node) -> Node {
    let mut node = node.clone();
    let effect = disrupted_taint().effect.as_str().to_owned();
    let taints = node.spec.get_or_insert_default().taints.get_or_insert_default();
    if !taints.iter().any(|taint| taint.key == DISRUPTED && taint.effect == effect) {
        taints.retain(|taint| taint.key != DISRUPTED);
        taints.push(Taint { key: DISRUPTED.to_owned(), effect, ..Taint::default() });
    }
    let labels = node.metadata.labels.get_or_insert_default();
    labels.insert(EXCLUDE_FROM_LOAD_BALANCERS.to_owned(), "karpenter".to_owned());
    node
}
