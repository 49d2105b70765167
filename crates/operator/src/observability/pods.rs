//! Where pods are, and how they are.

use std::collections::HashMap;

use joiner_core::label::{ARCH, CAPACITY_TYPE, INSTANCE_TYPE, NODE_POOL, ZONE};
use k8s_openapi::api::core::v1::Pod;

use super::{Lines, Shown, ShownNode};
use crate::{
    claims::{label, name},
    context::Context,
    pods::node_of,
    world::Kept,
};

pub(super) fn work_out(context: &Context, shown: &Shown) {
    let nodes: HashMap<&str, &ShownNode> =
        shown.nodes.iter().map(|shown| (name(&shown.node.metadata), shown)).collect();
    let mut lines = Lines::default();
    for pod in &shown.pods {
        let node = node_of(pod);
        let shown = node.and_then(|node| nodes.get(node).copied());
        let of_node = |key: &str| shown.map_or("", |shown| label(&*shown.node, key));
        let labels = [
            name(&pod.metadata),
            pod.metadata.namespace.as_deref().unwrap_or_default(),
            &owner(pod),
            node.unwrap_or_default(),
            word(node.is_some()),
            of_node(NODE_POOL),
            of_node(ZONE),
            of_node(ARCH),
            of_node(CAPACITY_TYPE),
            of_node(INSTANCE_TYPE),
            pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or_default(),
            word(is_ready(pod)),
            word(shown.is_some_and(|shown| shown.is_managed)),
        ];
        lines.add(&pod.key().to_string(), &labels, 1.0);
    }
    lines.show(context.metrics.pods_state());
    context.metrics.work_out_pod_times(shown.now);
}

fn word(holds: bool) -> &'static str {
    if holds { "true" } else { "false" }
}

/// The pod's first owner, as the paths of its API are written.
fn owner(pod: &Pod) -> String {
    let Some(owner) = pod.metadata.owner_references.iter().flatten().next() else {
        return String::new();
    };
    format!(
        "/apis/{}/namespaces/{}/{}s/{}",
        owner.api_version,
        pod.metadata.namespace.as_deref().unwrap_or_default(),
        owner.kind.to_lowercase(),
        owner.name
    )
}

fn is_ready(pod: &Pod) -> bool {
    let mut conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}
