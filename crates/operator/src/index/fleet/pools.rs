//! What pools allow, and who has paused it.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use joiner_api::{duration::NillableDuration, node_pool::Budget, node_pool::NodePool};
use joiner_core::{
    disruption::{ConsolidationPolicy, NodeBudget, PoolRules},
    resources::NODES,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{super::convert, Live};
use crate::{claims::name, marks::PAUSE_DISRUPTION, objects::Objects, static_pools::deletes_first};

/// What a budget allows that names no number.
const DEFAULT_BUDGET: &str = "10%";

/// What each pool allows, by its name. What a pool leaves out is what the API server fills in.
pub(super) fn rules(objects: &Objects, live: &Live) -> BTreeMap<String, PoolRules> {
    let rules = objects.node_pools.iter().map(|pool| {
        let name = name(&pool.metadata);
        let drift_resumes = live.drift_resumes.get(name).copied();
        (name.to_owned(), PoolRules { drift_resumes, ..rules_of(pool) })
    });
    rules.collect()
}

fn rules_of(pool: &NodePool) -> PoolRules {
    let disruption = pool.spec.disruption.clone().unwrap_or_default();
    let limits = convert::resources(Some(&pool.spec.limits));
    PoolRules {
        policy: match disruption.consolidation_policy.as_deref() {
            Some("WhenEmpty") => ConsolidationPolicy::WhenEmpty,
            Some("Balanced") => ConsolidationPolicy::Balanced,
            _ => ConsolidationPolicy::WhenEmptyOrUnderutilized,
        },
        consolidate_after: match &disruption.consolidate_after {
            None => Some(SignedDuration::ZERO),
            Some(after) => NillableDuration::nanos(after).map(SignedDuration::from_nanos),
        },
        budgets: match disruption.budgets {
            None => vec![NodeBudget { nodes: DEFAULT_BUDGET.to_owned(), ..NodeBudget::default() }],
            Some(budgets) => budgets.into_iter().map(budget).collect(),
        },
        replicas: pool.spec.replicas.map(|replicas| u32::try_from(replicas).unwrap_or_default()),
        nodes_max: limits
            .contains(NODES)
            .then(|| u32::try_from(limits.get(NODES).floor()).unwrap_or(u32::MAX)),
        paused: pause(&pool.metadata).map(str::to_owned),
        delete_first: deletes_first(pool),
        ..PoolRules::default()
    }
}

fn budget(budget: Budget) -> NodeBudget {
    NodeBudget {
        nodes: budget.nodes.unwrap_or_else(|| DEFAULT_BUDGET.to_owned()),
        reasons: budget.reasons.unwrap_or_default(),
        schedule: budget.schedule,
        duration: budget.duration.map(|duration| SignedDuration::from_nanos(duration.nanos())),
    }
}

/// The namespace by which the removal of machines is paused for the whole cluster, and why. Where
/// it is not known which namespace counts, each does.
pub fn paused<'o>(objects: &'o Objects, namespace: Option<&str>) -> Option<(&'o str, &'o str)> {
    let pauses = objects.namespaces.iter().filter_map(|object| {
        let of = name(&object.metadata);
        let counts = namespace.is_none_or(|namespace| namespace == of);
        Some((of, pause(&object.metadata).filter(|_| counts)?))
    });
    pauses.min()
}

/// Who has paused the removal of machines by an object, and why.
pub(crate) fn pause(metadata: &ObjectMeta) -> Option<&str> {
    let text = metadata.annotations.as_ref()?.get(PAUSE_DISRUPTION)?.trim();
    (!text.is_empty()).then_some(text)
}
