//! The taint and label of a node that leaves.

use k8s_openapi::api::core::v1::Node;

use crate::marks::{EXCLUDE_FROM_LOAD_BALANCERS, disrupt};

/// The node with the taint that keeps new pods away, and the label that external load balancers
/// honour.
pub(super) fn leaving(node: &Node) -> Node {
    let mut node = node.clone();
    disrupt(&mut node);
    let labels = node.metadata.labels.get_or_insert_default();
    labels.insert(EXCLUDE_FROM_LOAD_BALANCERS.to_owned(), "karpenter".to_owned());
    node
}
