//! The resources of nodes, and their use.

use std::collections::HashMap;

use joiner_core::resources::Resources;
use k8s_openapi::api::core::v1::Node;

use super::{Lines, Shown, ShownNode, resource_type};
use crate::{
    claims::{label, name},
    context::Context,
    index::{requests_of_pod, resources},
    metrics::seconds,
    pods::{Owner, is_owned_by, is_terminal, node_of},
};

/// The requests and limits of a node's pods.
#[derive(Debug, Default)]
struct Used {
    all: Resources,
    daemons: Resources,
}

pub(super) fn work_out(context: &Context, shown: &Shown) {
    let used = used_by_node(shown);
    let nothing = Used::default();
    let known = context.providers.well_known();
    let keys: Vec<&str> = known.iter().collect();
    let (mut allocatable, mut overhead, mut requests, mut daemons, mut lifetimes) =
        (Lines::default(), Lines::default(), Lines::default(), Lines::default(), Lines::default());
    let (mut all_allocatable, mut all_used) = (Resources::new(), Resources::new());
    for ShownNode { node, is_managed } in &shown.nodes {
        let name = name(&node.metadata);
        let used = used.get(name).unwrap_or(&nothing);
        let (has, can_give) = amounts(node);
        let labels = labels(node, *is_managed, &keys);
        let by_resource = [
            (&mut allocatable, &can_give),
            (&mut overhead, &has.minus(&can_give)),
            (&mut requests, &used.all),
            (&mut daemons, &used.daemons),
        ];
        for (lines, amounts) in by_resource {
            for (resource, amount) in amounts.iter() {
                let resource = resource_type(resource);
                let labels: Vec<&str> = labels.iter().copied().chain([&*resource]).collect();
                lines.add(name, &labels, amount.as_f64());
            }
        }
        if let Some(created) = &node.metadata.creation_timestamp {
            lifetimes.add(name, &labels, seconds(created.0, shown.now));
        }
        all_allocatable.add(&can_give);
        all_used.add(&used.all);
    }
    let mut utilization = Lines::default();
    for (resource, amount) in all_allocatable.iter().filter(|(_, amount)| amount.as_f64() > 0.0) {
        let share = 100.0 * all_used.get(resource).as_f64() / amount.as_f64();
        utilization.add("cluster", &[resource_type(resource)], share);
    }
    let gauges = context.metrics.nodes();
    allocatable.show(&gauges.allocatable);
    overhead.show(&gauges.system_overhead);
    requests.show(&gauges.total_pod_requests);
    daemons.show(&gauges.total_daemon_requests);
    lifetimes.show(&gauges.current_lifetime_seconds);
    utilization.show(context.metrics.cluster_utilization());
}

/// The requests of each node's pods that have not ended.
fn used_by_node(shown: &Shown) -> HashMap<&str, Used> {
    let mut all: HashMap<&str, Used> = HashMap::new();
    for pod in shown.pods.iter().filter(|pod| !is_terminal(pod)) {
        let Some(node) = node_of(pod) else { continue };
        let used = all.entry(node).or_default();
        let requests = requests_of_pod(pod);
        used.all.add(&requests);
        if is_owned_by(pod, Owner::DaemonSet) {
            used.daemons.add(&requests);
        }
    }
    all
}

/// The capacity and allocatable resources of a node.
fn amounts(node: &Node) -> (Resources, Resources) {
    let status = node.status.as_ref();
    (
        resources(status.and_then(|status| status.capacity.as_ref())),
        resources(status.and_then(|status| status.allocatable.as_ref())),
    )
}

/// The node's own labels that providers know, its name, its phase, and whether it is ours. Nodes have
/// had no phase for years; the label stays for queries that name it.
fn labels<'n>(node: &'n Node, is_managed: bool, keys: &[&str]) -> Vec<&'n str> {
    let known = keys.iter().map(|key| label(node, key));
    let managed = if is_managed { "true" } else { "false" };
    known.chain([name(&node.metadata), "", managed]).collect()
}
