//! Which pods of a leaving node can be moved now.

use std::collections::HashMap;

use jiff::Timestamp;
use joiner_api::duration::Duration;
use joiner_core::{
    label::Labels,
    selector::LabelSelector,
    taint::{Effect, Taint, first_untolerated},
};
use k8s_openapi::{
    api::{core::v1::Pod, policy::v1::PodDisruptionBudget},
    apimachinery::pkg::util::intstr::IntOrString,
};

use super::convert::{self, tolerations};
use crate::objects::Objects;

/// Annotation: the pod must not be evicted, for ever (`true`) or for so long after its start.
const DO_NOT_DISRUPT: &str = "karpenter.sh/do-not-disrupt";

/// Who owns a pod, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    DaemonSet,
    StatefulSet,
    /// A static pod's node.
    Node,
}

/// Whether one of a pod's owners is of this kind.
pub(crate) fn is_owned_by(pod: &Pod, owner: Owner) -> bool {
    let (api_version, kind) = match owner {
        Owner::DaemonSet => ("apps/v1", "DaemonSet"),
        Owner::StatefulSet => ("apps/v1", "StatefulSet"),
        Owner::Node => ("v1", "Node"),
    };
    let mut owners = pod.metadata.owner_references.iter().flatten();
    owners.any(|reference| reference.api_version == api_version && reference.kind == kind)
}

/// Whether a pod has ended.
pub(crate) fn is_terminal(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Failed" | "Succeeded"))
}

/// Whether a pod is being deleted.
pub(crate) fn is_terminating(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

/// Whether a pod is neither at its end nor on its way there.
pub(super) fn is_active(pod: &Pod) -> bool {
    !is_terminal(pod) && !is_terminating(pod)
}

/// Whether a pod needs another place when its node goes. A pod of a `StatefulSet` does even while
/// it terminates, since its successor has its name and comes only after it.
pub(crate) fn is_reschedulable(pod: &Pod) -> bool {
    let follows = is_owned_by(pod, Owner::StatefulSet) && is_terminating(pod);
    (is_active(pod) || follows)
        && !is_owned_by(pod, Owner::DaemonSet)
        && !is_owned_by(pod, Owner::Node)
}

/// What stands in the way of moving pods.
#[derive(Debug)]
pub(super) struct Disruption<'o> {
    budgets: HashMap<&'o str, Vec<Budget>>,
    now: Timestamp,
}

#[derive(Debug)]
struct Budget {
    selector: LabelSelector,
    /// Whether it never allows an eviction, whatever else happens.
    is_closed: bool,
    /// Whether pods that are not ready may be evicted all the same.
    spares_only_healthy: bool,
}

impl Budget {
    fn new(budget: &PodDisruptionBudget) -> Self {
        let spec = budget.spec.as_ref();
        let is = |value: Option<&IntOrString>, text: &str| match value {
            Some(IntOrString::String(value)) => value == text,
            _ => false,
        };
        let max_unavailable = spec.and_then(|spec| spec.max_unavailable.as_ref());
        let min_available = spec.and_then(|spec| spec.min_available.as_ref());
        let policy = spec.and_then(|spec| spec.unhealthy_pod_eviction_policy.as_deref());
        Self {
            selector: spec
                .and_then(|spec| spec.selector.as_ref())
                .map_or_else(LabelSelector::nothing, convert::selector),
            is_closed: max_unavailable == Some(&IntOrString::Int(0))
                || is(max_unavailable, "0%")
                || is(min_available, "100%"),
            spares_only_healthy: policy == Some("AlwaysAllow"),
        }
    }
}

impl<'o> Disruption<'o> {
    pub(super) fn new(objects: &'o Objects, now: Timestamp) -> Self {
        let mut budgets: HashMap<_, Vec<_>> = HashMap::new();
        for budget in &objects.pod_disruption_budgets {
            let namespace = budget.metadata.namespace.as_deref().unwrap_or_default();
            budgets.entry(namespace).or_default().push(Budget::new(budget));
        }
        Self { budgets, now }
    }

    /// Whether a pod of a leaving node needs another place now.
    pub(super) fn is_currently_reschedulable(&self, pod: &Pod) -> bool {
        let stays = || is_active(pod) && (self.is_protected(pod) || self.is_fully_blocked(pod));
        is_reschedulable(pod) && !stays()
    }

    /// Whether the pod has asked not to be evicted. A value that is no time is no such wish.
    fn is_protected(&self, pod: &Pod) -> bool {
        let annotations = pod.metadata.annotations.as_ref();
        let Some(value) = annotations.and_then(|all| all.get(DO_NOT_DISRUPT)) else { return false };
        if value == "true" {
            return true;
        }
        let Ok(duration) = value.parse::<Duration>() else { return false };
        if duration.nanos() <= 0 {
            return false;
        }
        let start = pod.status.as_ref().and_then(|status| status.start_time.as_ref());
        start.is_none_or(|start| {
            let age = self.now.as_nanosecond() - start.0.as_nanosecond();
            age < i128::from(duration.nanos())
        })
    }

    /// Whether budgets keep an active pod where it is until somebody changes them. They mean
    /// nothing to a pod that puts up with leaving nodes, because nobody evicts it.
    fn is_fully_blocked(&self, pod: &Pod) -> bool {
        if tolerates_disruption(pod) {
            return false;
        }
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let none = Labels::new();
        let labels = pod.metadata.labels.as_ref().unwrap_or(&none);
        let matching: Vec<&Budget> = self
            .budgets
            .get(namespace)
            .into_iter()
            .flatten()
            .filter(|budget| budget.selector.matches(labels))
            .collect();
        match matching.as_slice() {
            [] => false,
            [budget] => budget.is_closed && !(budget.spares_only_healthy && is_unhealthy(pod)),
            // Kubernetes evicts no pod that two budgets are about.
            _ => true,
        }
    }
}

fn tolerates_disruption(pod: &Pod) -> bool {
    let disrupted = Taint {
        key: "karpenter.sh/disrupted".to_owned(),
        value: String::new(),
        effect: Effect::NoSchedule,
    };
    let Some(spec) = &pod.spec else { return false };
    first_untolerated(&[disrupted], &tolerations(spec)).is_none()
}

fn is_unhealthy(pod: &Pod) -> bool {
    let mut conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "False")
}

#[cfg(test)]
mod tests;
