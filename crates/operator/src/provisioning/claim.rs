//! Converts a planned claim to a `NodeClaim` object.

use std::sync::Arc;

use joiner_api::{
    node_claim::{NodeClaim, NodeClaimSpec, ResourceRequirements},
    node_pool::NodePool,
    requirement::Requirement,
};
use joiner_core::{
    plan::PlannedClaim, quantity::Quantity, requirement::RequirementSpec, taint::Taint,
};
use k8s_openapi::{
    api::core::v1 as core,
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};

use crate::{
    conditions::{Conditioned, READY},
    index::orders::resource_list,
    world::Cache,
};

/// The pool of a planned claim, or why the pool cannot create one now.
pub(crate) fn pool(cache: &Cache, planned: &PlannedClaim) -> Result<Arc<NodePool>, String> {
    let name = &planned.node_pool;
    let pool = cache.read(|world| world.node_pools.named(name).cloned());
    let pool = pool.ok_or_else(|| format!("no claim is created: NodePool {name:?} is gone"))?;
    if pool.metadata.deletion_timestamp.is_some() {
        return Err(format!("no claim is created: NodePool {name:?} is being deleted"));
    }
    if !pool.holds(READY) {
        return Err(format!("no claim is created: NodePool {name:?} is not ready"));
    }
    over_limit(&pool).map_or(Ok(pool), Err)
}

/// A limit that the pool already exceeds.
fn over_limit(pool: &NodePool) -> Option<String> {
    let used = &pool.status.as_ref()?.resources;
    pool.spec.limits.iter().find_map(|(resource, limit)| {
        let used_text = &used.get(resource)?.0;
        let (used, limit): (Quantity, Quantity) = (used_text.parse().ok()?, limit.0.parse().ok()?);
        (used > limit).then(|| {
            format!(
                "no claim is created: {resource} {used} is in use, more than the limit of {limit}"
            )
        })
    })
}

/// The name of a pool's claim, ending in `suffix`. It is chosen here and not by the API server, so
/// that a create whose answer was lost can be repeated.
pub(crate) fn name(pool: &str, suffix: &str) -> String {
    format!("{}{suffix}", shortened(&prefix(pool)))
}

fn prefix(pool: &str) -> String {
    format!("{pool}-")
}

/// The `NodeClaim` to create, under a name from [`name`]. A claim without requests leaves them
/// empty: any instance is large enough.
pub(crate) fn object(planned: &PlannedClaim, pool: &NodePool, name: String) -> NodeClaim {
    let template = &pool.spec.template.spec;
    let pool_name = pool.metadata.name.clone().unwrap_or_default();
    let metadata = ObjectMeta {
        name: Some(name),
        generate_name: Some(prefix(&pool_name)),
        labels: Some((*planned.labels).clone()),
        annotations: Some((*planned.annotations).clone()),
        owner_references: Some(vec![OwnerReference {
            api_version: "karpenter.sh/v1".to_owned(),
            kind: "NodePool".to_owned(),
            name: pool_name,
            uid: pool.metadata.uid.clone().unwrap_or_default(),
            block_owner_deletion: Some(true),
            controller: None,
        }]),
        ..ObjectMeta::default()
    };
    let spec = NodeClaimSpec {
        taints: taints(&planned.taints),
        startup_taints: taints(&planned.startup_taints),
        requirements: planned.requirements.iter().map(requirement).collect(),
        resources: (!planned.requests.is_empty())
            .then(|| ResourceRequirements { requests: resource_list(&planned.requests) }),
        node_class_ref: template.node_class_ref.clone(),
        termination_grace_period: template.termination_grace_period.clone(),
        expire_after: template.expire_after.clone(),
    };
    NodeClaim { metadata, spec, status: None }
}

/// The part of a prefix that fits into a label value.
fn shortened(prefix: &str) -> &str {
    const NAME_MAX: usize = 63;
    &prefix[..prefix.len().min(NAME_MAX - crate::random::SUFFIX_LENGTH)]
}

fn requirement(spec: &RequirementSpec) -> Requirement {
    Requirement {
        key: spec.key.clone(),
        operator: spec.operator.to_string(),
        values: spec.values.clone(),
        min_values: spec.min_values.map(i64::from),
    }
}

fn taints(taints: &[Taint]) -> Vec<core::Taint> {
    let taint = |taint: &Taint| core::Taint {
        key: taint.key.clone(),
        value: (!taint.value.is_empty()).then(|| taint.value.clone()),
        effect: taint.effect.as_str().to_owned(),
        time_added: None,
    };
    taints.iter().map(taint).collect()
}
