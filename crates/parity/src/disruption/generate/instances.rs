//! What is said of instances.

use serde_json::{Value, json};

use super::some;
use crate::{disruption::cluster::condition, rng::Rng, scenario::Scenario};

/// Takes all pods from some instances.
pub(super) fn empty(scenario: &mut Scenario, rng: &mut Rng) {
    let emptied: Vec<Value> = some(scenario, "Node", 20, rng)
        .into_iter()
        .map(|node| node["metadata"]["name"].clone())
        .collect();
    scenario
        .objects
        .retain(|object| object["kind"] != "Pod" || !emptied.contains(&object["spec"]["nodeName"]));
}

/// Instances on which something happened a moment ago, in pools that wait ten minutes.
pub(super) fn busy(scenario: &mut Scenario, rng: &mut Rng) {
    for pool in some(scenario, "NodePool", 100, rng) {
        if pool["spec"]["disruption"]["consolidateAfter"] != "Never" {
            pool["spec"]["disruption"]["consolidateAfter"] = json!("10m");
        }
    }
    for claim in some(scenario, "NodeClaim", 30, rng) {
        claim["status"]["lastPodEventTime"] = json!("2026-03-31T23:55:00Z");
        if let Some(conditions) = claim["status"]["conditions"].as_array_mut() {
            conditions.retain(|it| it["type"] != "Consolidatable");
        }
    }
}

pub(super) fn drifted(scenario: &mut Scenario, rng: &mut Rng) {
    for claim in some(scenario, "NodeClaim", 40, rng) {
        let mut drifted = condition("Drifted");
        drifted["reason"] = json!("NodePoolDrifted");
        drifted["lastTransitionTime"] =
            json!(format!("2026-03-{:02}T00:00:00Z", rng.between(1, 28)));
        if let Some(conditions) = claim["status"]["conditions"].as_array_mut() {
            conditions.push(drifted);
        }
    }
}

pub(super) fn keep(scenario: &mut Scenario, rng: &mut Rng) {
    for node in some(scenario, "Node", 25, rng) {
        node["metadata"]["annotations"] = json!({"karpenter.sh/do-not-disrupt": "true"});
    }
}

pub(super) fn not_ready(scenario: &mut Scenario, rng: &mut Rng) {
    for node in some(scenario, "Node", 20, rng) {
        let mut ready = condition("Ready");
        ready["status"] = json!("False");
        node["status"]["conditions"] = json!([ready]);
    }
}
