//! What the removal of an instance means for a pod.

use joiner_core::disruption::PodFacts;
use k8s_openapi::api::core::v1::Pod;

use super::super::disruption::Disruption;
use crate::pods::{eviction_cost, is_reschedulable};

/// What the removal of its instance means for a pod.
pub(super) fn facts(pod: &Pod, disruption: &Disruption) -> PodFacts {
    PodFacts {
        reschedulable: is_reschedulable(pod),
        movable: disruption.is_currently_reschedulable(pod),
        eviction_cost: eviction_cost(pod),
        kept_by: disruption.kept_by(pod),
        bare: pod.metadata.owner_references.as_ref().is_none_or(Vec::is_empty),
    }
}
