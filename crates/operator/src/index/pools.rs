//! Pools, and whether they can be used.

use std::collections::{BTreeSet, HashMap};

use joiner_api::{
    condition::{self, Condition},
    hash::node_pool_hash,
    node_pool as api,
};
use joiner_core::{
    label::{self, Labels, WellKnown},
    pool::{NodeClassRef, NodePool, Readiness},
    requirement,
    taint::Taint,
};
use serde_json::Value;

use super::convert;
use crate::{
    conditions::{NODE_CLASS_READY, NODE_REGISTRATION_HEALTHY, READY, VALIDATION_SUCCEEDED},
    objects::{NodeClass, Objects},
};

/// All pools, in order of name.
pub fn node_pools(objects: &Objects, well_known: &WellKnown) -> Vec<NodePool> {
    let classes: HashMap<(&str, &str, &str), &NodeClass> = objects
        .node_classes
        .iter()
        .map(|class| ((class.group.as_str(), class.kind.as_str(), class.name.as_str()), class))
        .collect();
    let mut pools: Vec<NodePool> = objects
        .node_pools
        .iter()
        .map(|pool| {
            let mut read = node_pool(pool);
            let of_pool = &read.node_class;
            let class = classes.get(&(
                of_pool.group.as_str(),
                of_pool.kind.as_str(),
                of_pool.name.as_str(),
            ));
            read.readiness = readiness(pool, &read, class.copied(), well_known);
            read
        })
        .collect();
    pools.sort_by(|a, b| a.name.cmp(&b.name));
    pools
}

/// A pool in the planner's words. Whether it can be used is not looked at.
pub fn node_pool(pool: &api::NodePool) -> NodePool {
    let template = &pool.spec.template;
    let metadata = template.metadata.clone().unwrap_or_default();
    let class = template.spec.node_class_ref.clone().unwrap_or_default();
    NodePool {
        name: pool.metadata.name.clone().unwrap_or_default(),
        uid: pool.metadata.uid.clone().unwrap_or_default(),
        weight: pool.spec.weight.and_then(|weight| u32::try_from(weight).ok()).unwrap_or_default(),
        is_static: pool.spec.replicas.is_some(),
        readiness: Readiness::Ready,
        failing: failing(pool),
        node_class: NodeClassRef { group: class.group, kind: class.kind, name: class.name },
        labels: metadata.labels.unwrap_or_default(),
        annotations: metadata.annotations.unwrap_or_default(),
        taints: convert::taints(template.spec.taints.iter().flatten()),
        startup_taints: convert::taints(template.spec.startup_taints.iter().flatten()),
        requirements: convert::requirements(&template.spec.requirements),
        limits: convert::resources(Some(&pool.spec.limits)),
        hash: node_pool_hash(template).to_string(),
    }
}

/// Why instances of the pool as it is now have not joined, if its condition says so.
fn failing(pool: &api::NodePool) -> Option<String> {
    let conditions = pool.status.as_ref().map(|status| status.conditions.as_slice());
    let healthy = condition::find(conditions.unwrap_or_default(), NODE_REGISTRATION_HEALTHY)?;
    let is_about_it = healthy.observed_generation.is_none()
        || healthy.observed_generation == pool.metadata.generation;
    (healthy.status == "False" && is_about_it).then(|| why(&healthy.reason, &healthy.message))
}

/// Whether a pool can be used. What says nothing is ready: files written by hand carry no status.
fn readiness(
    pool: &api::NodePool,
    read: &NodePool,
    class: Option<&NodeClass>,
    well_known: &WellKnown,
) -> Readiness {
    if pool.metadata.deletion_timestamp.is_some() {
        return Readiness::Deleting;
    }
    let conditions = pool.status.as_ref().map(|status| status.conditions.as_slice());
    if let Some(why) = not_ready(conditions.unwrap_or_default()) {
        return Readiness::NotReady(why);
    }
    let problem = class.and_then(class_problem).or_else(|| invalid(read, well_known));
    problem.map_or(Readiness::Ready, Readiness::NotReady)
}

/// Why a pool's conditions say that it is not ready, if they do. `Ready` only names the conditions that do not hold; what
/// is wrong and what helps is in their own messages.
pub(crate) fn not_ready(conditions: &[Condition]) -> Option<String> {
    let ready = condition::find(conditions, READY).filter(|ready| ready.status == "False")?;
    let causes = [VALIDATION_SUCCEEDED, NODE_CLASS_READY].into_iter().filter_map(|type_| {
        let cause = condition::find(conditions, type_).filter(|it| it.status == "False")?;
        Some(why(&cause.reason, &cause.message))
    });
    let causes: Vec<String> = causes.collect();
    Some(if causes.is_empty() { why(&ready.reason, &ready.message) } else { causes.join("; ") })
}

fn why(reason: &str, message: &str) -> String {
    let parts: Vec<&str> = [reason, message].into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { "Ready is False".to_owned() } else { parts.join(": ") }
}

/// Why no instance can be made with a class.
fn class_problem(class: &NodeClass) -> Option<String> {
    let subject = format!("{} {:?}", class.kind, class.name);
    let deleting = class.object.pointer("/metadata/deletionTimestamp");
    if deleting.is_some_and(|time| !time.is_null()) {
        return Some(format!(
            "{subject} is being deleted: name another one in spec.template.spec.nodeClassRef, or \
             create it again once it is gone"
        ));
    }
    let conditions = class.object.pointer("/status/conditions").and_then(Value::as_array);
    let ready = conditions.into_iter().flatten().find(|condition| condition["type"] == "Ready")?;
    let text = |field: &str| ready[field].as_str().unwrap_or_default();
    (ready["status"] == "False")
        .then(|| format!("{subject} is not ready: {}", why(text("reason"), text("message"))))
}

/// What is wrong with a pool, as Karpenter checks it while it runs.
pub fn problem(pool: &api::NodePool, well_known: &WellKnown) -> Option<String> {
    invalid(&node_pool(pool), well_known)
}

fn invalid(pool: &NodePool, well_known: &WellKnown) -> Option<String> {
    invalid_labels(&pool.labels, well_known)
        .or_else(|| invalid_taints(&pool.taints, &pool.startup_taints))
        .or_else(|| {
            let of_pool = pool.requirements.iter().find(|spec| spec.key == label::NODE_POOL);
            of_pool.map(|spec| format!("requirements: {} is set by the pool itself", spec.key))
        })
        .or_else(|| {
            let problems = pool
                .requirements
                .iter()
                .filter_map(|spec| requirement::validate(spec, well_known).err());
            problems.map(|problem| format!("requirements: {problem}")).next()
        })
}

fn invalid_labels(labels: &Labels, well_known: &WellKnown) -> Option<String> {
    for (key, value) in labels {
        if key == label::NODE_POOL {
            return Some(format!("labels: {key} is set by the pool itself"));
        }
        if !label::is_valid_key(key) {
            return Some(format!("labels: {key:?} is not a valid key of a label"));
        }
        if !label::is_valid_value(value) {
            return Some(format!("labels: {value:?} of {key} is not a valid value of a label"));
        }
        if well_known.is_restricted(key) {
            return Some(format!("labels: {key} is restricted; use a domain of your own"));
        }
    }
    None
}

fn invalid_taints(taints: &[Taint], startup_taints: &[Taint]) -> Option<String> {
    let mut seen = BTreeSet::new();
    let lists = [("taints", taints), ("startupTaints", startup_taints)];
    for (list, taint) in lists.iter().flat_map(|(list, all)| all.iter().map(move |t| (list, t))) {
        if !label::is_valid_key(&taint.key) {
            return Some(format!("{list}: {:?} is not a valid key of a taint", taint.key));
        }
        if !taint.value.is_empty() && !label::is_valid_key(&taint.value) {
            return Some(format!("{list}: {:?} is not a valid value of a taint", taint.value));
        }
        if !seen.insert((&taint.key, &taint.effect)) {
            return Some(format!("{list}: {taint} is there twice; remove one"));
        }
    }
    None
}
