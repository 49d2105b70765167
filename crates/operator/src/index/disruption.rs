//! What protects pods, and which pods can move now.

use jiff::Timestamp;
use joiner_core::disruption::KeptBy;
use k8s_openapi::api::core::v1::Pod;

use crate::{
    budgets::Budgets,
    objects::Objects,
    pods::{
        DoNotDisrupt, is_active, is_disruptable, is_evictable, is_reschedulable, is_terminating,
    },
};

/// The protections of pods.
#[derive(Debug)]
pub(super) struct Disruption {
    budgets: Budgets,
    now: Timestamp,
}

impl Disruption {
    pub(super) fn new(objects: &Objects, now: Timestamp) -> Self {
        Self { budgets: Budgets::new(&objects.pod_disruption_budgets), now }
    }

    /// Whether a pod of a leaving node needs another place now. A protection ends when the pod
    /// terminates.
    pub(super) fn is_currently_reschedulable(&self, pod: &Pod) -> bool {
        is_reschedulable(pod)
            && is_disruptable(pod, self.now)
            && (is_terminating(pod) || !self.budgets.keep_for_good(pod))
    }

    /// The protection of a pod now: its own annotation, or a budget if the pod would be evicted.
    pub(super) fn kept_by(&self, pod: &Pod) -> Option<KeptBy> {
        let wish = DoNotDisrupt::of(pod);
        if is_active(pod) && wish.is_active(self.now) {
            return Some(KeptBy::DoNotDisrupt(match wish {
                DoNotDisrupt::Until(end) => Some(end),
                _ => None,
            }));
        }
        if !is_evictable(pod, self.now) {
            return None;
        }
        match self.budgets.keeping(pod).as_slice() {
            [] => None,
            [budget] => Some(KeptBy::Budget(budget.to_string())),
            budgets => Some(KeptBy::Budgets(budgets.iter().map(ToString::to_string).collect())),
        }
    }
}

#[cfg(test)]
mod tests;
