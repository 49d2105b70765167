//! What disruption budgets allow.

use std::{collections::BTreeMap, sync::Arc};

use joiner_core::{label::Labels, selector::LabelSelector};
use k8s_openapi::{
    api::{core::v1::Pod, policy::v1::PodDisruptionBudget},
    apimachinery::pkg::util::intstr::IntOrString,
};

use crate::{
    index::convert,
    pods::{is_unhealthy, tolerates_disruption},
    world::{Kept, Key},
};

/// The disruption budgets of a cluster.
#[derive(Debug, Default)]
pub struct Budgets {
    by_namespace: BTreeMap<String, Vec<Budget>>,
}

#[derive(Debug)]
struct Budget {
    key: Key,
    selector: LabelSelector,
    /// Whether it never allows an eviction, whatever else happens.
    is_closed: bool,
    /// Whether it allows no eviction now.
    is_spent: bool,
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
        let allowed = budget.status.as_ref().and_then(|status| status.disruptions_allowed);
        Self {
            key: budget.key(),
            selector: spec
                .and_then(|spec| spec.selector.as_ref())
                .map_or_else(LabelSelector::nothing, convert::selector),
            is_closed: max_unavailable == Some(&IntOrString::Int(0))
                || is(max_unavailable, "0%")
                || is(min_available, "100%"),
            is_spent: allowed.unwrap_or(0) == 0,
            spares_only_healthy: policy == Some("AlwaysAllow"),
        }
    }

    fn spares(&self, pod: &Pod) -> bool {
        self.spares_only_healthy && is_unhealthy(pod)
    }
}

impl Budgets {
    /// What these objects say.
    pub fn new<'b>(budgets: impl IntoIterator<Item = &'b Arc<PodDisruptionBudget>>) -> Self {
        let mut by_namespace: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for budget in budgets {
            let namespace = budget.metadata.namespace.clone().unwrap_or_default();
            by_namespace.entry(namespace).or_default().push(Budget::new(budget));
        }
        Self { by_namespace }
    }

    /// Whether budgets block an active pod until a user changes them.
    pub fn keep_for_good(&self, pod: &Pod) -> bool {
        match self.about(pod).as_slice() {
            [] => false,
            [budget] => budget.is_closed && !budget.spares(pod),
            // Kubernetes evicts no pod that two budgets are about.
            _ => true,
        }
    }

    /// The budgets that are about a pod, whether they allow its eviction or not.
    pub fn of(&self, pod: &Pod) -> Vec<&Key> {
        self.about(pod).into_iter().map(|budget| &budget.key).collect()
    }

    /// The budgets that keep an active pod where it is now.
    pub fn keeping(&self, pod: &Pod) -> Vec<&Key> {
        match self.about(pod).as_slice() {
            [budget] if !budget.is_spent || budget.spares(pod) => Vec::new(),
            budgets => budgets.iter().map(|budget| &budget.key).collect(),
        }
    }

    /// Budgets do not apply to a pod that tolerates the disruption taint, because it is never
    /// evicted.
    fn about(&self, pod: &Pod) -> Vec<&Budget> {
        if tolerates_disruption(pod) {
            return Vec::new();
        }
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let none = Labels::new();
        let labels = pod.metadata.labels.as_ref().unwrap_or(&none);
        let budgets = self.by_namespace.get(namespace).into_iter().flatten();
        budgets.filter(|budget| budget.selector.matches(labels)).collect()
    }
}

#[cfg(test)]
mod tests;
