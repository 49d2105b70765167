//! How the beginning of a claim's end is counted.

use joiner_api::{duration::Duration, node_claim::NodeClaim};
use joiner_core::label::{CAPACITY_TYPE, NODE_POOL};

use crate::{
    claims::{label, node_name},
    context::Context,
    pods::is_reschedulable,
};

/// Counts a claim whose end begins for a reason.
pub fn count_claim(context: &Context, claim: &NodeClaim, reason: &str) {
    count_claim_under(context, claim, reason, "");
}

/// The same for an end that a consolidation policy allows, which dashboards know by its name.
pub fn count_claim_under(context: &Context, claim: &NodeClaim, reason: &str, policy: &str) {
    let (pool, capacity_type) = (label(claim, NODE_POOL), label(claim, CAPACITY_TYPE));
    let disrupted =
        context.metrics.nodeclaims_disrupted(reason, pool, capacity_type, policy, mode(claim));
    disrupted.inc();
}

/// Counts the pods that have to find another place because their claim's end begins.
pub fn count_pods(context: &Context, claim: &NodeClaim, reason: &str) {
    count_pods_under(context, claim, reason, "");
}

/// The same for an end that a consolidation policy allows.
pub fn count_pods_under(context: &Context, claim: &NodeClaim, reason: &str, policy: &str) {
    let node = node_name(claim);
    let pods = context.cache.read(|world| {
        let pods = node.into_iter().flat_map(|node| world.pods_on(node));
        pods.filter(|pod| is_reschedulable(pod)).count()
    });
    let (pool, capacity_type) = (label(claim, NODE_POOL), label(claim, CAPACITY_TYPE));
    let moved =
        context.metrics.pods_disruption_initiated(reason, pool, capacity_type, policy, mode(claim));
    moved.inc_by(pods as u64);
}

/// How patient a claim's end is with its pods, as metrics call it.
fn mode(claim: &NodeClaim) -> &'static str {
    match claim.spec.termination_grace_period.as_ref().map(Duration::nanos) {
        None => "graceful",
        Some(0) => "forceful",
        Some(_) => "eventual",
    }
}
