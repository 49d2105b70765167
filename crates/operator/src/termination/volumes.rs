//! Whether a node's volumes are detached, and how long to wait.
//!
//! An instance that is removed with attached volumes may delete them, or block their attachment
//! elsewhere. Kubernetes and the storage drivers detach them; this module only waits.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use joiner_api::{duration::Duration, node_claim::NodeClaim};
use joiner_cloud::class::NodeClass;
use k8s_openapi::api::core::v1::Pod;

use crate::{
    conditions::{Conditioned, Status, VOLUMES_DETACHED},
    index::volumes::claim_names,
    marks::VOLUME_DETACH_TIMEOUT,
    pods::is_drainable,
    world::{Kept, Key, World},
};

/// The condition's reason while the node waits.
const AWAITING: &str = "AwaitingVolumeDetachment";

/// The attachments that a node waits for, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attached(pub Vec<String>);

impl Attached {
    /// The attachments of a node, except those of pods that stay until the end.
    pub fn of(world: &World, node: &str, now: Timestamp) -> Self {
        let stay = world.pods_on(node).filter(|pod| !is_drainable(pod, now));
        let kept: BTreeSet<&str> = stay.flat_map(|pod| volumes_of(world, pod)).collect();
        let attachments = world.attachments_to(node).filter(|attachment| {
            let volume = attachment.spec.source.persistent_volume_name.as_deref();
            volume.is_some_and(|volume| !kept.contains(volume))
        });
        Self(attachments.map(|attachment| attachment.key().to_string()).collect())
    }

    /// Whether no attachment is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The persistent volumes of a pod. A missing claim has none.
fn volumes_of<'w>(world: &'w World, pod: &Pod) -> Vec<&'w str> {
    let Some(spec) = &pod.spec else { return Vec::new() };
    let identity = pod.identity();
    let claims = claim_names(identity.name, spec).filter_map(|name| {
        world.persistent_volume_claims.get(&Key::new(identity.namespace, &name))
    });
    claims.filter_map(|claim| claim.spec.as_ref()?.volume_name.as_deref()).collect()
}

/// The state of a node's volumes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detachment {
    /// All are detached.
    Done,
    /// Some are attached.
    Waits,
    /// Some are attached, but the wait is over.
    GivenUp {
        /// The condition's reason.
        reason: &'static str,
    },
    /// Some are attached, and the timeout is unreadable.
    TimeoutUnreadable(String),
}

impl Detachment {
    /// Writes the state into the claim's condition.
    pub fn write(&self, claim: &mut NodeClaim, now: Timestamp) {
        let mut conditions = claim.conditions_mut(now);
        match self {
            Self::Done => conditions.set_true(VOLUMES_DETACHED),
            Self::Waits | Self::TimeoutUnreadable(_) => {
                conditions.set(VOLUMES_DETACHED, Status::Unknown, AWAITING, AWAITING);
            }
            Self::GivenUp { reason } => {
                conditions.set(VOLUMES_DETACHED, Status::False, reason, reason);
            }
        }
    }
}

/// Whether to wait for detachment, given the claim's condition and the time.
pub fn decide(
    attached: &Attached,
    claim: &NodeClaim,
    class: Option<&NodeClass>,
    deadline: Option<Timestamp>,
    now: Timestamp,
) -> Detachment {
    if attached.is_empty() {
        return Detachment::Done;
    }
    if deadline.is_some_and(|deadline| deadline <= now) {
        return Detachment::GivenUp { reason: "TerminationGracePeriodElapsed" };
    }
    let timed_out = Detachment::GivenUp { reason: "VolumeDetachTimeoutElapsed" };
    if claim.status(VOLUMES_DETACHED) == Status::False {
        return timed_out;
    }
    match class.map(timeout).transpose() {
        Err(why) => Detachment::TimeoutUnreadable(why),
        Ok(timeout) => match (timeout.flatten(), claim.since(VOLUMES_DETACHED)) {
            (Some(timeout), Some(since)) if now.duration_since(since) >= timeout => timed_out,
            _ => Detachment::Waits,
        },
    }
}

/// How long nodes of a class wait for detachment; none without a limit.
fn timeout(class: &NodeClass) -> Result<Option<SignedDuration>, String> {
    let Some(text) = class.annotations.get(VOLUME_DETACH_TIMEOUT) else { return Ok(None) };
    match text.parse::<Duration>() {
        Ok(timeout) => Ok(Some(SignedDuration::from_nanos(timeout.nanos()))),
        Err(error) => Err(format!(
            "{} {}: annotation {VOLUME_DETACH_TIMEOUT}: {error}",
            class.kind, class.name
        )),
    }
}
