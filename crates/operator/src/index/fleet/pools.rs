//! What pools allow, and who has paused it.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use joiner_api::{
    duration::{Duration, NillableDuration},
    node_pool::{Budget, NodePool},
};
use joiner_core::{
    disruption::{ConsolidationPolicy, MinScore, NodeBudget, Paused, PoolRules},
    label::CONSOLIDATION_MIN_SCORE,
    resources::NODES,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{
    super::{IndexSettings, convert},
    Live,
};
use crate::{claims::name, marks::PAUSE_DISRUPTION, objects::Objects, static_pools::deletes_first};

/// What a budget allows that names no number.
const DEFAULT_BUDGET: &str = "10%";

/// What each pool allows, by its name. What a pool leaves out is what the API server fills in.
pub(super) fn rules(
    objects: &Objects,
    settings: &IndexSettings,
    live: &Live,
) -> BTreeMap<String, PoolRules> {
    let rules = objects.node_pools.iter().map(|pool| {
        let name = name(&pool.metadata);
        let drift_resumes = live.drift_resumes.get(name).copied();
        let restless_since = live.restless_since.get(name).copied();
        // With the gate off nobody would make the instance again.
        let delete_first = settings.static_capacity && deletes_first(pool);
        let rules = rules_of(pool);
        (name.to_owned(), PoolRules { drift_resumes, restless_since, delete_first, ..rules })
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
            Some(budgets) => budgets.iter().map(budget).collect(),
        },
        replicas: pool.spec.replicas.map(|replicas| u32::try_from(replicas).unwrap_or_default()),
        nodes_max: limits
            .contains(NODES)
            .then(|| u32::try_from(limits.get(NODES).floor()).unwrap_or(u32::MAX)),
        min_score: min_score(pool),
        paused: pause("NodePool", &pool.metadata),
        ..PoolRules::default()
    }
}

/// What moves of a pool's instances have to be worth, if the pool says.
pub(crate) fn min_score(pool: &NodePool) -> Option<MinScore> {
    let text = pool.metadata.annotations.as_ref()?.get(CONSOLIDATION_MIN_SCORE)?;
    Some(MinScore::from(text.as_str()))
}

/// A budget, as it is written.
pub(crate) fn budget(budget: &Budget) -> NodeBudget {
    let nanos = budget.duration.as_ref().map(Duration::nanos);
    NodeBudget {
        nodes: budget.nodes.clone().unwrap_or_else(|| DEFAULT_BUDGET.to_owned()),
        reasons: budget.reasons.clone().unwrap_or_default(),
        schedule: budget.schedule.clone(),
        duration: nanos.map(SignedDuration::from_nanos),
    }
}

/// The budgets that a pool names itself.
pub(crate) fn own_budgets(pool: &NodePool) -> impl Iterator<Item = &Budget> {
    pool.spec.disruption.iter().flat_map(|disruption| disruption.budgets.iter().flatten())
}

/// Positions of a pool's budgets whose list of reasons has no entries. They are about every reason.
///
/// COMPAT: upstream takes such a budget to be about nothing, so that it limits nothing.
pub(crate) fn without_reasons(pool: &NodePool) -> impl Iterator<Item = usize> {
    let is_empty = |budget: &Budget| budget.reasons.as_ref().is_some_and(Vec::is_empty);
    own_budgets(pool).enumerate().filter(move |(_, own)| is_empty(own)).map(|(index, _)| index)
}

/// Who has paused the removal of instances for the whole cluster, by a namespace. Where it is not known which namespace
/// counts, each does.
pub(super) fn paused(objects: &Objects, namespace: Option<&str>) -> Option<Paused> {
    let counts = |of: &str| namespace.is_none_or(|namespace| namespace == of);
    let namespaces = objects.namespaces.iter().filter(|it| counts(name(&it.metadata)));
    let pauses = namespaces.filter_map(|it| pause("Namespace", &it.metadata));
    pauses.min_by(|a, b| a.on.cmp(&b.on))
}

/// Who has paused the removal of instances by an object of this kind. An annotation without a text is a pause, too.
pub(crate) fn pause(kind: &str, metadata: &ObjectMeta) -> Option<Paused> {
    let text = metadata.annotations.as_ref()?.get(PAUSE_DISRUPTION)?.trim();
    let by = if text.is_empty() { "somebody who does not say why" } else { text };
    Some(Paused { by: by.to_owned(), on: format!("{kind} {}", name(metadata)) })
}
