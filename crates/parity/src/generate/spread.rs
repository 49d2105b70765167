//! Topology spread that must be kept.

use serde_json::{Value, json};

use super::world::{
    CAPACITY_TYPE, FAMILY, HOSTNAME, RACK, Workload, World, ZONE, all_of, condition, pool, push,
    require, require_nodes, require_pods,
};
use crate::rng::Rng;

fn add(workload: &mut Workload, constraint: Value) {
    push(&mut workload.pod["spec"]["topologySpreadConstraints"], constraint);
}

fn constraint(workload: &Workload, key: &str, skews: &[usize], rng: &mut Rng) -> Value {
    json!({
        "maxSkew": rng.pick(skews), "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": workload.some_selector(rng),
    })
}

pub(super) fn zone(world: &mut World, rng: &mut Rng) {
    for workload in world.some_workloads(rng) {
        let constraint = constraint(workload, ZONE, &[1, 1, 2, 3], rng);
        add(workload, constraint);
    }
}

pub(super) fn host(world: &mut World, rng: &mut Rng) {
    for workload in world.some_workloads(rng) {
        let constraint = constraint(workload, HOSTNAME, &[1, 2, 3, 4], rng);
        add(workload, constraint);
        workload.replicas = workload.replicas.min(16);
    }
}

pub(super) fn custom(world: &mut World, rng: &mut Rng) {
    let key = *rng.pick(&[CAPACITY_TYPE, FAMILY, RACK]);
    if key == RACK {
        for pool in &mut world.pools {
            require(pool, RACK, "In", &["r1", "r2", "r3"]);
        }
    }
    for workload in world.some_workloads(rng) {
        let constraint = constraint(workload, key, &[1, 2], rng);
        add(workload, constraint);
    }
}

pub(super) fn min_domains(world: &mut World, rng: &mut Rng) {
    for workload in world.some_workloads(rng) {
        let mut constraint = constraint(workload, ZONE, &[1], rng);
        constraint["minDomains"] = json!(rng.between(2, 5));
        add(workload, constraint);
    }
}

/// Pods that cannot use every zone, spread with each combination of the two policies.
pub(super) fn policies(world: &mut World, rng: &mut Rng) {
    let zones = world.zones.clone();
    if rng.chance(50) {
        let spec = &mut world.pools[0]["spec"]["template"]["spec"];
        push(&mut spec["taints"], json!({"key": "example.com/zone", "effect": "NoSchedule"}));
        let mut open = pool("pool-open");
        require(&mut open, ZONE, "In", &zones[..zones.len() - 1]);
        world.pools.push(open);
    }
    for workload in world.some_workloads(rng) {
        if rng.chance(60) {
            let count = rng.between(1, zones.len());
            let some_zones = condition(ZONE, "In", &rng.pick_some(&zones, count));
            require_nodes(&mut workload.pod["spec"], [all_of([some_zones])]);
        }
        if rng.chance(30) {
            push(
                &mut workload.pod["spec"]["tolerations"],
                json!({"key": "example.com/zone", "operator": "Exists"}),
            );
        }
        let mut constraint = constraint(workload, ZONE, &[1, 2], rng);
        for policy in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            if rng.chance(75) {
                constraint[policy] = json!(*rng.pick(&["Honor", "Ignore"]));
            }
        }
        add(workload, constraint);
    }
}

/// Two revisions of one workload, each of which is to be spread by itself.
pub(super) fn match_label_keys(world: &mut World, rng: &mut Rng) {
    let chosen = rng.below(world.workloads.len());
    let key = *rng.pick(&[ZONE, HOSTNAME]);
    let mut constraint = constraint(&world.workloads[chosen], key, &[1], rng);
    constraint["matchLabelKeys"] = json!(["revision", "absent"]);
    let workload = &mut world.workloads[chosen];
    workload.replicas = workload.replicas.clamp(2, 9);
    add(workload, constraint);
    workload.pod["metadata"]["labels"]["revision"] = json!("1");
    let mut newer = workload.clone();
    newer.pod["metadata"]["labels"]["revision"] = json!("2");
    // The pods of both revisions match one selector, as a Deployment's do.
    newer.name = format!("{}-next", newer.name);
    world.workloads.push(newer);
}

pub(super) fn no_selector(world: &mut World, rng: &mut Rng) {
    for workload in world.some_workloads(rng) {
        match rng.below(3) {
            0 | 1 => {
                let key = *rng.pick(&[ZONE, HOSTNAME]);
                add(
                    workload,
                    json!({"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}),
                );
            }
            _ => require_pods(workload, "podAntiAffinity", json!({"topologyKey": HOSTNAME})),
        }
    }
}
