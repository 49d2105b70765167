//! The state of a pod, and what may be done to it.
//!
//! Every controller and the planner use these functions, so their decisions agree.

mod deadline;
#[cfg(test)]
mod tests;

use jiff::{SignedDuration, Timestamp};
use joiner_api::duration::{Duration, DurationError};
use joiner_core::taint::first_untolerated;
use k8s_openapi::api::core::v1::Pod;

pub use self::deadline::{forced_since, grace_seconds};
use crate::{
    events::{Event, Subject},
    index::convert::tolerations,
    marks::{DO_NOT_DISRUPT, POD_DELETION_COST, disrupted_taint},
};

/// How long after its deadline a terminating pod still counts. After that its kubelet is probably
/// gone. The value is Karpenter's.
const STUCK_AFTER: SignedDuration = SignedDuration::from_mins(1);

/// The kinds of pod owners that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// A daemon set.
    DaemonSet,
    /// A stateful set.
    StatefulSet,
    /// A static pod's node.
    Node,
}

/// Whether one of a pod's owners is of this kind.
pub fn is_owned_by(pod: &Pod, owner: Owner) -> bool {
    let (api_version, kind) = match owner {
        Owner::DaemonSet => ("apps/v1", "DaemonSet"),
        Owner::StatefulSet => ("apps/v1", "StatefulSet"),
        Owner::Node => ("v1", "Node"),
    };
    let mut owners = pod.metadata.owner_references.iter().flatten();
    owners.any(|reference| reference.api_version == api_version && reference.kind == kind)
}

/// Whether a pod belongs to its node and cannot move to another.
pub fn belongs_to_node(pod: &Pod) -> bool {
    is_owned_by(pod, Owner::DaemonSet) || is_owned_by(pod, Owner::Node)
}

/// The node that a pod is bound to.
pub fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref().filter(|node| !node.is_empty())
}

/// Whether a pod has succeeded or failed.
pub fn is_terminal(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Failed" | "Succeeded"))
}

/// Whether a pod is being deleted.
pub fn is_terminating(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

/// Whether a pod is neither terminal nor terminating.
pub fn is_active(pod: &Pod) -> bool {
    !is_terminal(pod) && !is_terminating(pod)
}

/// Whether a pod exists well past its deletion time. That time already includes the grace period.
pub fn is_stuck_terminating(pod: &Pod, now: Timestamp) -> bool {
    let deleted = pod.metadata.deletion_timestamp.as_ref();
    deleted.is_some_and(|time| now.duration_since(time.0) > STUCK_AFTER)
}

/// Whether a pod tolerates the disruption taint: such a pod is never evicted.
pub fn tolerates_disruption(pod: &Pod) -> bool {
    let Some(spec) = &pod.spec else { return false };
    first_untolerated(&[disrupted_taint()], &tolerations(spec)).is_none()
}

/// Whether a pod must leave before its node is removed. A pod with the do-not-disrupt annotation
/// must leave too: the node waits for it.
pub fn is_drainable(pod: &Pod, now: Timestamp) -> bool {
    !tolerates_disruption(pod) && !is_stuck_terminating(pod, now) && !is_owned_by(pod, Owner::Node)
}

/// Whether a node that leaves waits for this pod.
pub fn is_waiting_eviction(pod: &Pod, now: Timestamp) -> bool {
    !is_terminal(pod) && is_drainable(pod, now)
}

/// Whether a pod may be evicted now.
pub fn is_evictable(pod: &Pod, now: Timestamp) -> bool {
    is_active(pod)
        && !tolerates_disruption(pod)
        && !is_owned_by(pod, Owner::Node)
        && !DoNotDisrupt::of(pod).is_active(now)
}

/// Whether a pod needs another place when its node is removed. A `StatefulSet` pod does even while
/// it terminates: its successor has the same name and starts after it.
pub fn is_reschedulable(pod: &Pod) -> bool {
    let needs_successor = is_owned_by(pod, Owner::StatefulSet) && is_terminating(pod);
    (is_active(pod) || needs_successor) && !belongs_to_node(pod)
}

/// Whether a pod is pending, was refused by the scheduler, and may get a new instance.
pub fn is_provisionable(pod: &Pod) -> bool {
    let is_bound = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
    let Some(status) = &pod.status else { return false };
    let is_nominated = status.nominated_node_name.as_deref();
    let mut conditions = status.conditions.iter().flatten();
    let is_given_up = conditions.any(|condition| {
        condition.type_ == "PodScheduled" && condition.reason.as_deref() == Some("Unschedulable")
    });
    is_given_up
        && is_bound.is_none_or(str::is_empty)
        && is_nominated.is_none_or(str::is_empty)
        && !belongs_to_node(pod)
}

/// Whether a pod reports that it is not ready.
pub fn is_unhealthy(pod: &Pod) -> bool {
    let mut conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "False")
}

/// Whether the pod allows the disruption of its node.
pub fn is_disruptable(pod: &Pod, now: Timestamp) -> bool {
    !is_active(pod) || !DoNotDisrupt::of(pod).is_active(now)
}

/// The cost of a pod's eviction: 1 for an ordinary pod, within -10 and 10. Deletion cost and
/// priority change it.
pub fn eviction_cost(pod: &Pod) -> f64 {
    // An unreadable deletion cost counts as none, as in the controllers that scale workloads down.
    let deletion_cost = written_deletion_cost(pod).and_then(deletion_cost).unwrap_or_default();
    let priority = pod.spec.as_ref().and_then(|spec| spec.priority).unwrap_or_default();
    // Deletion costs and priorities are 32-bit numbers. The greatest deletion cost adds
    // 16, and the priority of system pods about 60, before the limits apply.
    let cost = 1.0 + deletion_cost / f64::from(1 << 27) + f64::from(priority) / f64::from(1 << 25);
    cost.clamp(-10.0, 10.0)
}

/// The text of a pod's deletion-cost annotation.
pub(crate) fn written_deletion_cost(pod: &Pod) -> Option<&str> {
    pod.metadata.annotations.as_ref()?.get(POD_DELETION_COST).map(String::as_str)
}

/// The number in that text, if it is valid.
pub(crate) fn deletion_cost(text: &str) -> Option<f64> {
    text.parse().ok().filter(|cost: &f64| !cost.is_nan())
}

/// The meaning of a pod's do-not-disrupt annotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DoNotDisrupt {
    /// No protection: no annotation, or `false`.
    None,
    /// Protection without an end.
    Always,
    /// Protection until then.
    Until(Timestamp),
    /// Protection for a time after the start of the pod, which has not started.
    NotStarted,
    /// An invalid value, which protects nothing.
    Invalid(DurationError),
}

impl DoNotDisrupt {
    /// Reads a pod's annotation.
    ///
    /// COMPAT: upstream warns about `false`, which is valid here.
    pub fn of(pod: &Pod) -> Self {
        let annotations = pod.metadata.annotations.as_ref();
        let value = annotations.and_then(|all| all.get(DO_NOT_DISRUPT)).map(String::as_str);
        let duration = match value {
            None | Some("false") => return Self::None,
            Some("true") => return Self::Always,
            Some(value) => match value.parse::<Duration>() {
                Ok(duration) if duration.nanos() > 0 => duration,
                Ok(_) => return Self::None,
                Err(error) => return Self::Invalid(error),
            },
        };
        let start = pod.status.as_ref().and_then(|status| status.start_time.as_ref());
        let Some(start) = start else { return Self::NotStarted };
        let end = start.0.saturating_add(SignedDuration::from_nanos(duration.nanos()));
        Self::Until(end.unwrap_or(Timestamp::MAX))
    }

    /// Whether the pod is protected now.
    pub fn is_active(&self, now: Timestamp) -> bool {
        match self {
            Self::Always | Self::NotStarted => true,
            Self::Until(end) => now < *end,
            Self::None | Self::Invalid(_) => false,
        }
    }

    /// The event about the pod's annotation, if there is one to record.
    pub fn event(&self, pod: &Subject, now: Timestamp) -> Option<Event> {
        match self {
            Self::Until(end) if now < *end => Some(Event::do_not_disrupt_until(pod, *end)),
            Self::Until(_) => Some(Event::do_not_disrupt_elapsed(pod)),
            Self::Invalid(error) => Some(Event::invalid_do_not_disrupt(pod, &error.to_string())),
            Self::None | Self::Always | Self::NotStarted => None,
        }
    }
}
