//! What pools say about their instances.

use std::collections::BTreeSet;

use joiner_core::label::CAPACITY_TYPE;
use serde_json::{Value, json};

use super::{pools_of, some};
use crate::{
    disruption::{
        kind::Kind,
        rules::{IN_FORCE, NOT_IN_FORCE},
    },
    rng::Rng,
    scenario::Scenario,
};

/// A pool whose instances may go at any time, and are not spot unless that is what it is about.
pub(super) fn set_up(pool: &mut Value, kinds: &BTreeSet<Kind>) {
    pool["spec"]["disruption"] = json!({
        "consolidateAfter": "0s", "consolidationPolicy": "WhenEmptyOrUnderutilized",
        "budgets": [{"nodes": "100%"}],
    });
    let template = &mut pool["spec"]["template"]["spec"];
    if kinds.contains(&Kind::GracePeriod) {
        template["terminationGracePeriod"] = json!("1h");
    }
    if !kinds.contains(&Kind::Spot) {
        let on_demand = json!({"key": CAPACITY_TYPE, "operator": "In", "values": ["on-demand"]});
        if let Some(requirements) = template["requirements"].as_array_mut() {
            requirements.push(on_demand);
        }
    }
}

pub(super) fn budgets(scenario: &mut Scenario, rng: &mut Rng) {
    for pool in some(scenario, "NodePool", 70, rng) {
        let budgets: Vec<Value> = (0..rng.between(1, 3))
            .map(|_| {
                let nodes = *rng.pick(&["0", "1", "1", "2", "3", "10%", "30%", "50%", "100%"]);
                let mut budget = json!({"nodes": nodes});
                if rng.chance(40) {
                    let reasons = ["Underutilized", "Empty", "Drifted"];
                    let count = rng.between(1, 2);
                    budget["reasons"] = json!(rng.pick_some(&reasons, count));
                }
                if rng.chance(30) {
                    let (schedule, duration) = *rng.pick(&[IN_FORCE, NOT_IN_FORCE]);
                    budget["schedule"] = json!(schedule);
                    budget["duration"] = json!(duration);
                }
                budget
            })
            .collect();
        pool["spec"]["disruption"]["budgets"] = json!(budgets);
    }
}

pub(super) fn policy(scenario: &mut Scenario, rng: &mut Rng, policy: &str) {
    for pool in some(scenario, "NodePool", 60, rng) {
        pool["spec"]["disruption"]["consolidationPolicy"] = json!(policy);
    }
}

pub(super) fn never(scenario: &mut Scenario, rng: &mut Rng) {
    for pool in some(scenario, "NodePool", 30, rng) {
        pool["spec"]["disruption"]["consolidateAfter"] = json!("Never");
    }
}

/// A pool that is deleted leaves its instances behind for a while. The last one stays.
pub(super) fn gone(scenario: &mut Scenario, rng: &mut Rng) {
    let names: Vec<Value> =
        pools_of(scenario).map(|pool| pool["metadata"]["name"].clone()).collect();
    if names.len() > 1 {
        let gone = rng.pick(&names);
        scenario
            .objects
            .retain(|object| object["kind"] != "NodePool" || object["metadata"]["name"] != *gone);
    }
}
