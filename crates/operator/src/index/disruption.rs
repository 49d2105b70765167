//! Which pods of a leaving node can be moved now.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;

use crate::{
    budgets::Budgets,
    objects::Objects,
    pods::{is_disruptable, is_reschedulable, is_terminating},
};

/// What stands in the way of moving pods.
#[derive(Debug)]
pub(super) struct Disruption {
    budgets: Budgets,
    now: Timestamp,
}

impl Disruption {
    pub(super) fn new(objects: &Objects, now: Timestamp) -> Self {
        Self { budgets: Budgets::new(&objects.pod_disruption_budgets), now }
    }

    /// Whether a pod of a leaving node needs another place now. What protects a pod ends when it
    /// terminates.
    pub(super) fn is_currently_reschedulable(&self, pod: &Pod) -> bool {
        is_reschedulable(pod)
            && is_disruptable(pod, self.now)
            && (is_terminating(pod) || !self.budgets.keep_for_good(pod))
    }
}

#[cfg(test)]
mod tests;
