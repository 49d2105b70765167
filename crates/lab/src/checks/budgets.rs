//! Evictions and the budgets that they must leave intact.

use std::collections::BTreeMap;

use joiner_apiserver::{Call, Change, ChangeKind, Key, Object};
use joiner_core::label::Labels;
use serde_json::Value;

use super::Violation;
use crate::{
    cluster::selection::selector,
    history::{Entry, History},
};

const RULE: &str = "evictions respect budgets";

/// Every successful eviction leaves as many healthy pods as its budget wants. Unhealthy pods are only
/// evicted while the budget has enough healthy ones, unless it always allows that. Evictions wait
/// until the controller has processed the current version of the budget.
///
/// How many pods there should be is taken from the budget's status, since the server decides by it;
/// what follows from that number is worked out here.
pub fn evictions_within_budgets(history: &History) -> Vec<Violation> {
    removals_within_budgets(history, evicted_by, is_eviction)
}

/// The same for pods that are deleted without an eviction. A program that drains nodes must evict,
/// while workloads may delete their own pods.
pub fn deletions_within_budgets(history: &History, caller: &str) -> Vec<Violation> {
    removals_within_budgets(history, deleted_by, |call| {
        is_deletion(call) && *call.caller == *caller
    })
}

/// Replays a history up to each change that removes a pod, and asks budgets about those of them that
/// were caused by such a call.
fn removals_within_budgets(
    history: &History,
    removed_by: impl Fn(&Change) -> Option<Key>,
    is_meant: impl Fn(&Call) -> bool,
) -> Vec<Violation> {
    let mut world = World::default();
    let mut violations = Vec::new();
    // The changes that a call makes stand before it, so the state before a removal is the one before
    // the change that puts the removal's mark on the pod.
    let mut before_removal: BTreeMap<Key, Vec<Violation>> = BTreeMap::new();
    for entry in history.entries().iter() {
        match entry {
            Entry::Change(change) => {
                if let Some(pod) = removed_by(change) {
                    before_removal.insert(pod, world.broken_by_loss_of(change));
                }
                world.apply(change);
            }
            Entry::Call(call) if is_meant(call) => {
                violations.extend(before_removal.remove(&call.key).unwrap_or_default());
            }
            Entry::Call(call) if is_deletion(call) => drop(before_removal.remove(&call.key)),
            _ => {}
        }
    }
    violations
}

fn is_deletion(call: &Call) -> bool {
    let is_pod = call.resource.is("", "pods") && call.subresource.is_none();
    call.verb == "delete" && is_pod && call.code < 300
}

/// The pod that a change takes away, or marks for that.
fn deleted_by(change: &Change) -> Option<Key> {
    if !change.resource.is("", "pods") {
        return None;
    }
    let is_marked = |change: &Change| match change.kind {
        ChangeKind::Deleted => true,
        _ => change.object.deleting,
    };
    let before = change.previous.as_deref().is_some_and(|pod| pod.deleting);
    (!before && is_marked(change)).then(|| change.object.key.clone())
}

fn is_eviction(call: &Call) -> bool {
    call.verb == "create" && call.subresource.as_deref() == Some("eviction") && call.code == 201
}

/// The pod that a change marks as evicted through the API.
fn evicted_by(change: &Change) -> Option<Key> {
    if !change.resource.is("", "pods") || change.kind != ChangeKind::Modified {
        return None;
    }
    let marked = |object: &Object| {
        let value = object.value();
        let conditions = value["status"]["conditions"].as_array();
        conditions.into_iter().flatten().any(|c| c["reason"] == "EvictionByEvictionAPI")
    };
    let before = change.previous.as_deref().is_some_and(marked);
    (!before && marked(&change.object)).then(|| change.object.key.clone())
}

/// Pods and budgets as a replay has them.
#[derive(Debug, Default)]
struct World {
    pods: BTreeMap<Key, Pod>,
    budgets: BTreeMap<Key, Value>,
}

#[derive(Debug)]
struct Pod {
    labels: Labels,
    /// Ready and to stay.
    healthy: bool,
    /// Not started yet, over, or on its way out: budgets do not protect it.
    unprotected: bool,
}

impl World {
    fn apply(&mut self, change: &Change) {
        let key = change.object.key.clone();
        let deleted = change.kind == ChangeKind::Deleted;
        if change.resource.is("", "pods") {
            if deleted {
                self.pods.remove(&key);
            } else {
                self.pods.insert(key, pod_of(&change.object));
            }
        } else if change.resource.is("policy", "poddisruptionbudgets") {
            if deleted {
                self.budgets.remove(&key);
            } else {
                self.budgets.insert(key, change.object.value());
            }
        }
    }

    /// The budgets that the loss of a pod breaks.
    fn broken_by_loss_of(&self, change: &Change) -> Vec<Violation> {
        let key = &change.object.key;
        let Some(pod) = self.pods.get(key).filter(|pod| !pod.unprotected) else {
            return Vec::new();
        };
        let of_namespace = |name: &Key| name.namespace == key.namespace;
        let mut violations = Vec::new();
        for (name, budget) in self.budgets.iter().filter(|(name, _)| of_namespace(name)) {
            let selector = selector(&budget["spec"]["selector"]);
            if !selector.matches(&pod.labels) {
                continue;
            }
            let selected = self
                .pods
                .iter()
                .filter(|(name, pod)| of_namespace(name) && selector.matches(&pod.labels));
            let healthy = selected.filter(|(_, pod)| pod.healthy).count() as i64;
            if let Some(why) = objection(budget, pod, healthy) {
                let what = format!("pod {key} evicted although budget {name} {why}");
                violations.push(Violation { at: change.at, rule: RULE, what });
            }
        }
        violations
    }
}

/// What a budget has against the loss of a pod when so many of its pods are healthy.
fn objection(budget: &Value, pod: &Pod, healthy: i64) -> Option<String> {
    let always = budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow";
    if !pod.healthy && always {
        return None;
    }
    let generation = |of: &Value, field: &str| of[field].as_i64().unwrap_or(0);
    if generation(&budget["status"], "observedGeneration")
        < generation(&budget["metadata"], "generation")
    {
        return Some("was not worked out yet".to_owned());
    }
    let wanted = wanted(&budget["spec"], budget["status"]["expectedPods"].as_i64().unwrap_or(0));
    let left = healthy - i64::from(pod.healthy);
    let was = if pod.healthy { "there were" } else { "it was not one of" };
    (left < wanted).then(|| format!("wants {wanted} healthy pods and {was} {healthy}"))
}

/// How many healthy pods a budget wants of those that there should be.
fn wanted(spec: &Value, expected: i64) -> i64 {
    let amount = |value: &Value| match value.as_str() {
        // Parts of a pod count as a whole one, in both directions.
        Some(text) => {
            let percent: i64 = text.trim_end_matches('%').parse().unwrap_or(100);
            (percent * expected + 99) / 100
        }
        None => value.as_i64().unwrap_or(0),
    };
    match spec.get("maxUnavailable") {
        Some(unavailable) => (expected - amount(unavailable)).max(0),
        None => amount(&spec["minAvailable"]),
    }
}

fn pod_of(object: &Object) -> Pod {
    let value = object.value();
    let conditions = value["status"]["conditions"].as_array();
    let ready = conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
    let labels = object.labels.iter().map(|(key, value)| (key.to_string(), value.to_string()));
    let phase = value["status"]["phase"].as_str().unwrap_or("Pending");
    Pod {
        labels: labels.collect(),
        healthy: ready && !object.deleting,
        unprotected: object.deleting || phase != "Running",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn percentages_are_of_the_pods_that_there_should_be() {
        for (spec, expected, healthy) in [
            (json!({"minAvailable": 2}), 10, 2),
            (json!({"minAvailable": "50%"}), 5, 3),
            (json!({"maxUnavailable": 1}), 5, 4),
            (json!({"maxUnavailable": "15%"}), 10, 8),
            (json!({"maxUnavailable": 7}), 5, 0),
            (json!({}), 5, 0),
        ] {
            assert_eq!(wanted(&spec, expected), healthy, "{spec} of {expected}");
        }
    }
}
