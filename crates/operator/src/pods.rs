//! What state a pod is in, and what may be done to it.
//!
//! Every controller and the planner ask here, so that they agree.

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

/// For how long after its time a terminating pod is waited for. Its kubelet is most likely gone.
const STUCK_AFTER: SignedDuration = SignedDuration::from_mins(1);

/// Who owns a pod, as far as it matters here.
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

/// Whether a pod comes and goes with its node: nobody else's place would do.
pub fn belongs_to_node(pod: &Pod) -> bool {
    is_owned_by(pod, Owner::DaemonSet) || is_owned_by(pod, Owner::Node)
}

/// The node that a pod is bound to.
pub fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref().filter(|node| !node.is_empty())
}

/// Whether a pod has ended.
pub fn is_terminal(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Failed" | "Succeeded"))
}

/// Whether a pod is being deleted.
pub fn is_terminating(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

/// Whether a pod is neither at its end nor on its way there.
pub fn is_active(pod: &Pod) -> bool {
    !is_terminal(pod) && !is_terminating(pod)
}

/// Whether a pod should have been gone for a while and is not. Its time of deletion has its grace
/// period in it already.
pub fn is_stuck_terminating(pod: &Pod, now: Timestamp) -> bool {
    let deleted = pod.metadata.deletion_timestamp.as_ref();
    deleted.is_some_and(|time| now.duration_since(time.0) > STUCK_AFTER)
}

/// Whether a pod puts up with nodes that go away: it is never asked to leave one.
pub fn tolerates_disruption(pod: &Pod) -> bool {
    let Some(spec) = &pod.spec else { return false };
    first_untolerated(&[disrupted_taint()], &tolerations(spec)).is_none()
}

/// Whether a pod has to leave before its node goes. One that asked not to be disrupted has to as
/// well: the node waits for it.
pub fn is_drainable(pod: &Pod, now: Timestamp) -> bool {
    !tolerates_disruption(pod) && !is_stuck_terminating(pod, now) && !is_owned_by(pod, Owner::Node)
}

/// Whether a node that goes away waits for this pod.
pub fn is_waiting_eviction(pod: &Pod, now: Timestamp) -> bool {
    !is_terminal(pod) && is_drainable(pod, now)
}

/// Whether a pod may be asked to leave now.
pub fn is_evictable(pod: &Pod, now: Timestamp) -> bool {
    is_active(pod)
        && !tolerates_disruption(pod)
        && !is_owned_by(pod, Owner::Node)
        && !DoNotDisrupt::of(pod).is_active(now)
}

/// Whether a pod needs another place when its node goes. A pod of a `StatefulSet` does even while
/// it terminates, since its successor has its name and comes only after it.
pub fn is_reschedulable(pod: &Pod) -> bool {
    let needs_successor = is_owned_by(pod, Owner::StatefulSet) && is_terminating(pod);
    (is_active(pod) || needs_successor) && !belongs_to_node(pod)
}

/// Whether a pod wants a place that the scheduler could not find, and that we may make.
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

/// Whether a pod says that it is not ready.
pub fn is_unhealthy(pod: &Pod) -> bool {
    let mut conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "False")
}

/// Whether a pod's node may be disrupted as far as the pod is concerned.
pub fn is_disruptable(pod: &Pod, now: Timestamp) -> bool {
    !is_active(pod) || !DoNotDisrupt::of(pod).is_active(now)
}

/// How dear the eviction of a pod is: 1 for an ordinary pod, from -10 to 10. What its owner and its
/// priority say moves it.
pub fn eviction_cost(pod: &Pod) -> f64 {
    // What cannot be read says nothing, as for the controllers that scale workloads down.
    let deletion_cost = written_deletion_cost(pod).and_then(deletion_cost).unwrap_or_default();
    let priority = pod.spec.as_ref().and_then(|spec| spec.priority).unwrap_or_default();
    // Costs and priorities are 32-bit numbers: the greatest cost makes a pod as dear as 17 others,
    // and the priority of system pods as dear as 60.
    let cost = 1.0 + deletion_cost / f64::from(1 << 27) + f64::from(priority) / f64::from(1 << 25);
    cost.clamp(-10.0, 10.0)
}

/// The deletion cost as a pod's annotation has it.
pub(crate) fn written_deletion_cost(pod: &Pod) -> Option<&str> {
    pod.metadata.annotations.as_ref()?.get(POD_DELETION_COST).map(String::as_str)
}

/// The deletion cost that a text means, if it means any.
pub(crate) fn deletion_cost(text: &str) -> Option<f64> {
    text.parse().ok().filter(|cost: &f64| !cost.is_nan())
}

/// What a pod's wish not to be disrupted comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DoNotDisrupt {
    /// There is none: no annotation, or one that says so.
    None,
    /// It stands for ever.
    Always,
    /// It stands until then.
    Until(Timestamp),
    /// It stands from the start for a while, and the pod has not started.
    NotStarted,
    /// It cannot be read, and is none.
    Invalid(DurationError),
}

impl DoNotDisrupt {
    /// What a pod says.
    ///
    /// COMPAT: upstream warns of `false`, which is clear enough.
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

    /// Whether the wish stands now.
    pub fn is_active(&self, now: Timestamp) -> bool {
        match self {
            Self::Always | Self::NotStarted => true,
            Self::Until(end) => now < *end,
            Self::None | Self::Invalid(_) => false,
        }
    }

    /// What to tell about the pod because of its wish.
    pub fn event(&self, pod: &Subject, now: Timestamp) -> Option<Event> {
        match self {
            Self::Until(end) if now < *end => Some(Event::do_not_disrupt_until(pod, *end)),
            Self::Until(_) => Some(Event::do_not_disrupt_elapsed(pod)),
            Self::Invalid(error) => Some(Event::invalid_do_not_disrupt(pod, &error.to_string())),
            Self::None | Self::Always | Self::NotStarted => None,
        }
    }
}
