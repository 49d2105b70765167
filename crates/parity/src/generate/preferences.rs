//! What pods would like but can do without.

use serde_json::{Value, json};

use super::{
    pods,
    world::{FAMILY, HOSTNAME, UNKNOWN, Workload, World, ZONE, all_of, condition, push},
};
use crate::rng::Rng;

const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

pub(super) fn node_affinity(world: &mut World, rng: &mut Rng) {
    let mut terms: Vec<Value> = (0..3).map(|_| pods::term(world, rng)).collect();
    terms.push(all_of([condition(ZONE, "In", &["nowhere"])]));
    for workload in world.some_workloads(rng) {
        for index in 0..rng.between(1, 3) {
            let preference =
                json!({"weight": 10 * index + rng.between(1, 9), "preference": rng.pick(&terms)});
            push(&mut workload.pod["spec"]["affinity"]["nodeAffinity"][PREFERRED], preference);
        }
    }
}

pub(super) fn affinity(world: &mut World, rng: &mut Rng) {
    pod_terms(world, rng, "podAffinity");
}

pub(super) fn anti_affinity(world: &mut World, rng: &mut Rng) {
    pod_terms(world, rng, "podAntiAffinity");
}

fn pod_terms(world: &mut World, rng: &mut Rng, field: &str) {
    let others: Vec<Value> = world.workloads.iter().map(Workload::selector).collect();
    for workload in world.some_workloads(rng) {
        for index in 0..rng.between(1, 2) {
            let selector = if rng.chance(70) {
                workload.some_selector(rng)
            } else {
                rng.pick(&others).clone()
            };
            let key = *rng.pick(&[ZONE, HOSTNAME]);
            let preference = json!({
                "weight": 10 * index + rng.between(1, 9),
                "podAffinityTerm": {"topologyKey": key, "labelSelector": selector},
            });
            push(&mut workload.pod["spec"]["affinity"][field][PREFERRED], preference);
        }
    }
}

pub(super) fn schedule_anyway(world: &mut World, rng: &mut Rng) {
    for workload in world.some_workloads(rng) {
        let count = rng.between(1, 2);
        for key in rng.pick_some(&[ZONE, HOSTNAME, FAMILY, UNKNOWN], count) {
            let constraint = json!({
                "maxSkew": rng.between(1, 2), "topologyKey": key,
                "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": workload.some_selector(rng),
            });
            push(&mut workload.pod["spec"]["topologySpreadConstraints"], constraint);
        }
    }
}
