//! What to do about a pod that has to leave.

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

/// The reason of nodes that go away for none that a claim tells of.
const FORCEFUL: &str = "Forceful Termination";

/// What is known of a pod that has to leave.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The pod.
    pub pod: Arc<Pod>,
    /// Its version.
    pub version: u64,
    /// Its node, if there is one.
    pub node: Option<Arc<Node>>,
    /// Why its node goes away, in a word for people; empty where that is not known.
    pub reason: String,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing is wanted of it any more: it leaves, or its node stays.
    Forget,
    /// It was asked to leave, and what came of it is not known yet.
    AwaitNews,
    /// It is protected; look again later.
    Wait,
    /// Ask it to leave.
    Evict,
    /// Its time is over.
    Delete {
        /// When its node has to be empty.
        deadline: Timestamp,
        /// What it gets to end.
        grace_seconds: u32,
    },
}

impl Seen {
    /// What the world says of this very pod; none if it is gone.
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

/// What to do about a pod that has to leave.
///
/// COMPAT: upstream goes on evicting a pod whose node is not being deleted any more.
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

/// Why a node goes away, in a word for people; empty where that is not known.
fn reason(world: &World, node: &Node) -> String {
    let Some(claim) = world.claim_of(node) else { return String::new() };
    match find(claim.conditions(), DISRUPTION_REASON) {
        Some(condition) if condition.is_true() => condition.reason.clone(),
        _ => FORCEFUL.to_owned(),
    }
}
