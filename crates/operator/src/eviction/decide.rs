//! The next step for a pod that must leave.

use std::sync::Arc;

use jiff::Timestamp;
use joiner_api::condition::find;
use k8s_openapi::api::core::v1::{Node, Pod};

use super::list::{PodId, Wanted};
use crate::{
    claims::is_deleting,
    conditions::{Conditioned, DISRUPTION_REASON},
    pods::{grace_seconds, is_active, is_evictable, is_waiting_eviction},
    world::World,
};

/// The reason for nodes whose claim names none.
const FORCEFUL: &str = "Forceful Termination";

/// The known state of a pod that must leave.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The pod.
    pub pod: Arc<Pod>,
    /// Its resource version.
    pub version: u64,
    /// Its node, if it exists.
    pub node: Option<Arc<Node>>,
    /// Why its node leaves, as users read it; empty if unknown.
    pub reason: String,
}

/// The next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Remove the entry: the pod leaves, or its node stays.
    Forget,
    /// Wait for a newer version: the eviction was accepted.
    AwaitNews,
    /// Try again later: the pod is protected.
    Wait,
    /// Evict the pod.
    Evict,
    /// Delete the pod: its deadline is over.
    Delete {
        /// When its node must be empty.
        deadline: Timestamp,
        /// The grace period that is left.
        grace_seconds: u32,
    },
}

impl Seen {
    /// The cached state of a pod with this UID; none if it is gone.
    pub fn of(world: &World, id: &PodId) -> Option<Self> {
        let pod = world.pods.get(&id.pod)?;
        if pod.metadata.uid.as_deref() != Some(&id.uid) {
            return None;
        }
        let version = world.pods.version(&id.pod)?;
        let name = pod.spec.as_ref()?.node_name.as_deref()?;
        let node = world.nodes.named(name).cloned();
        let reason = node.as_ref().map(|node| reason(world, node)).unwrap_or_default();
        Some(Self { pod: Arc::clone(pod), version, node, reason })
    }

    /// The name of the pod's node.
    pub fn node_name(&self) -> &str {
        self.pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default()
    }

    fn node_leaves(&self) -> bool {
        self.node.as_ref().is_some_and(|node| is_deleting(&**node))
    }
}

/// The next step for a pod that must leave.
///
/// COMPAT: upstream continues to evict a pod whose node is no longer being deleted.
pub fn decide(seen: &Seen, wanted: &Wanted, now: Timestamp) -> Step {
    let pod = &seen.pod;
    if wanted.asked == Some(seen.version) {
        return Step::AwaitNews;
    }
    if !seen.node_leaves() || !is_waiting_eviction(pod, now) {
        return Step::Forget;
    }
    if let Some(deadline) = wanted.deadline
        && wanted.is_forced(pod, now)
    {
        return Step::Delete { deadline, grace_seconds: grace_seconds(deadline, now) };
    }
    if !is_active(pod) {
        return Step::Forget;
    }
    if is_evictable(pod, now) { Step::Evict } else { Step::Wait }
}

/// Why a node leaves, as users read it; empty if unknown.
fn reason(world: &World, node: &Node) -> String {
    let Some(claim) = world.claim_of(node) else { return String::new() };
    match find(claim.conditions(), DISRUPTION_REASON) {
        Some(condition) if condition.is_true() => condition.reason.clone(),
        _ => FORCEFUL.to_owned(),
    }
}
