//! What is read otherwise than its author may expect.

use std::collections::BTreeMap;

use joiner_api::node_pool::NodePool;
use k8s_openapi::api::{core::v1::Pod, policy::v1::PodDisruptionBudget};

use super::pools::without_reasons;
use crate::{
    claims::name,
    marks::{DO_NOT_DISRUPT, POD_DELETION_COST},
    objects::Objects,
    pods::{DoNotDisrupt, deletion_cost, written_deletion_cost},
};

/// One sentence for each thing about the removal of instances that was read otherwise than its author
/// may expect. Pods that say the same are told together.
pub fn notes(objects: &Objects) -> Vec<String> {
    let mut sayings: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for pod in &objects.pods {
        for problem in problems(pod) {
            let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
            let pods = sayings.entry(problem).or_default();
            pods.push(format!("{namespace}/{}", name(&pod.metadata)));
        }
    }
    let of_pods = sayings.into_iter().map(|(problem, mut pods)| {
        pods.sort();
        match pods.len() - 1 {
            0 => format!("Pod {}: {problem}", pods[0]),
            others => format!("Pod {} and {others} more: {problem}", pods[0]),
        }
    });
    let of_pools = objects.node_pools.iter().flat_map(|pool| budgets_about_nothing(pool));
    let of_budgets = objects.pod_disruption_budgets.iter().filter_map(|it| without_status(it));
    of_pods.chain(of_pools).chain(of_budgets).collect()
}

fn problems(pod: &Pod) -> Vec<String> {
    let mut problems = Vec::new();
    if let Some(text) = written_deletion_cost(pod).filter(|text| deletion_cost(text).is_none()) {
        problems.push(format!(
            "annotation {POD_DELETION_COST} is {text:?}, which is no number, and is ignored; write \
             a whole number"
        ));
    }
    if let DoNotDisrupt::Invalid(error) = DoNotDisrupt::of(pod) {
        problems.push(format!("annotation {DO_NOT_DISRUPT} is ignored: {error}, or true"));
    }
    problems
}

fn budgets_about_nothing(pool: &NodePool) -> Vec<String> {
    let note = |index: usize| {
        format!(
            "NodePool {:?}: spec.disruption.budgets[{index}].reasons is empty, and the budget is \
             read as being about every reason; remove reasons, or name some",
            name(&pool.metadata)
        )
    };
    without_reasons(pool).map(note).collect()
}

/// What is not known is not taken for permission.
fn without_status(budget: &PodDisruptionBudget) -> Option<String> {
    let allowed = budget.status.as_ref().and_then(|status| status.disruptions_allowed);
    allowed.is_none().then(|| {
        format!(
            "PodDisruptionBudget {}/{} has no status.disruptionsAllowed, so that its pods stay where \
             they are; add what the cluster says",
            budget.metadata.namespace.as_deref().unwrap_or_default(),
            name(&budget.metadata)
        )
    })
}
