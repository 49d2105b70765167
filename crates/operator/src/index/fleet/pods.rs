//! What the removal of a machine means for a pod.

use joiner_core::disruption::PodFacts;
use k8s_openapi::api::core::v1::Pod;

use super::super::disruption::Disruption;
use crate::{marks::POD_DELETION_COST, pods::is_reschedulable};

/// What a pod's deletion cost is divided by; the largest cost there is adds 16 to an ordinary pod.
const DELETION_COST_UNIT: f64 = (1_u64 << 27) as f64;
/// What a pod's priority is divided by; the highest that users can give adds about 30.
const PRIORITY_UNIT: f64 = (1_u64 << 25) as f64;
/// What no eviction costs more than, nor less than with its sign turned.
const MOST: f64 = 10.0;

/// What the removal of its machine means for a pod.
pub(super) fn facts(pod: &Pod, disruption: &Disruption) -> PodFacts {
    PodFacts {
        reschedulable: is_reschedulable(pod),
        movable: disruption.is_currently_reschedulable(pod),
        eviction_cost: eviction_cost(pod),
        kept_by: disruption.kept_by(pod),
        bare: pod.metadata.owner_references.as_ref().is_none_or(Vec::is_empty),
    }
}

/// How dear a pod's eviction is: 1 for an ordinary pod, more for those that are costly to delete or
/// important.
fn eviction_cost(pod: &Pod) -> f64 {
    let priority = pod.spec.as_ref().and_then(|spec| spec.priority).unwrap_or_default();
    let deletion_cost = written_cost(pod).and_then(cost).unwrap_or_default();
    let cost = 1.0 + deletion_cost / DELETION_COST_UNIT + f64::from(priority) / PRIORITY_UNIT;
    cost.clamp(-MOST, MOST)
}

/// The deletion cost as a pod's annotation has it.
pub(super) fn written_cost(pod: &Pod) -> Option<&str> {
    pod.metadata.annotations.as_ref()?.get(POD_DELETION_COST).map(String::as_str)
}

/// The deletion cost that a text means, if it means any.
pub(super) fn cost(text: &str) -> Option<f64> {
    text.parse().ok().filter(|cost: &f64| !cost.is_nan())
}
