//! Reboots that another controller has begun.
//!
//! Karpenter 1.15 reboots unhealthy nodes in place, and Joiner may take over in the middle. Joiner
//! starts no reboots and cannot continue one. It waits as long as the reboot may take, and then
//! ends it, so that the node is used again.
//!
//! COMPAT: upstream deletes a claim whose reboot fails. Joiner does not know how far the reboot
//! came.

use jiff::{SignedDuration, Timestamp};
use joiner_api::node_claim::NodeClaim;
use k8s_openapi::api::core::v1::Node;

use crate::{
    conditions::{Conditioned, REBOOTING, Status},
    marks::{REBOOT_PRE_BOOT_ID, REBOOTING_TAINT},
};

/// How long a reboot may take from when it was requested: Karpenter 1.15 has it issued within 5
/// minutes, and gives the node 20 minutes to come back.
const PATIENCE: SignedDuration = SignedDuration::from_mins(25);

/// What people read when a reboot is ended.
pub(crate) const GIVEN_UP: &str = "the reboot was not finished within 25 minutes by the controller \
                                   that began it: its taint is removed, and the node is used again \
                                   once it is ready";

/// When the reboot of a claim's node is over at the latest, if it is being rebooted.
pub(crate) fn end(claim: &NodeClaim) -> Option<Timestamp> {
    let since = claim.since(REBOOTING).filter(|_| claim.holds(REBOOTING))?;
    Some(since.saturating_add(PATIENCE).unwrap_or(Timestamp::MAX))
}

/// Since when a claim's node has not been rebooted, if it ever was.
pub(crate) fn ended(claim: &NodeClaim) -> Option<Timestamp> {
    claim.since(REBOOTING).filter(|_| !claim.holds(REBOOTING))
}

/// The node without what keeps pods away while it is rebooted.
pub(crate) fn opened(node: &Node) -> Node {
    let mut opened = node.clone();
    if let Some(taints) = opened.spec.as_mut().and_then(|spec| spec.taints.as_mut()) {
        taints.retain(|taint| taint.key != REBOOTING_TAINT);
    }
    opened
}

/// Writes down that a reboot has failed. The boot that it was to end is forgotten, so that the next
/// reboot by Karpenter does not take it for its own.
pub(crate) fn give_up(claim: &mut NodeClaim, now: Timestamp) {
    if let Some(annotations) = &mut claim.metadata.annotations {
        annotations.remove(REBOOT_PRE_BOOT_ID);
    }
    claim.conditions_mut(now).set(REBOOTING, Status::False, "RebootFailed", GIVEN_UP);
}
