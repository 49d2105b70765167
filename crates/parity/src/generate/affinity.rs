//! Pods that must be near other pods, or away from them.

use serde_json::{Value, json};

use super::world::{HOSTNAME, NAMESPACES, Workload, World, ZONE, require_pods};
use crate::rng::Rng;

fn own(world: &mut World, rng: &mut Rng, field: &str, key: &str, replicas: usize) {
    for workload in world.some_workloads(rng) {
        let selector = workload.some_selector(rng);
        require_pods(workload, field, json!({"topologyKey": key, "labelSelector": selector}));
        workload.replicas = workload.replicas.min(replicas);
    }
}

pub(super) fn zone(world: &mut World, rng: &mut Rng) {
    own(world, rng, "podAffinity", ZONE, 30);
}

pub(super) fn host(world: &mut World, rng: &mut Rng) {
    own(world, rng, "podAffinity", HOSTNAME, 10);
}

pub(super) fn anti_zone(world: &mut World, rng: &mut Rng) {
    own(world, rng, "podAntiAffinity", ZONE, 5);
}

pub(super) fn anti_host(world: &mut World, rng: &mut Rng) {
    own(world, rng, "podAntiAffinity", HOSTNAME, 12);
}

/// Each workload wants to be near the next, and the last is pinned somewhere or wants its own like.
pub(super) fn chain(world: &mut World, rng: &mut Rng) {
    let key = *rng.pick(&[ZONE, HOSTNAME]);
    let selectors: Vec<Value> = world.workloads.iter().map(Workload::selector).collect();
    let zone = rng.pick(&world.zones).clone();
    let last = world.workloads.len() - 1;
    for (index, workload) in world.workloads.iter_mut().enumerate() {
        workload.replicas = workload.replicas.min(6);
        if index < last {
            require_pods(
                workload,
                "podAffinity",
                json!({"topologyKey": key, "labelSelector": selectors[index + 1]}),
            );
        } else if rng.chance(50) {
            workload.pod["spec"]["nodeSelector"][ZONE] = json!(zone);
        } else if rng.chance(70) {
            require_pods(
                workload,
                "podAffinity",
                json!({"topologyKey": key, "labelSelector": selectors[index]}),
            );
        }
    }
}

/// Workloads in several namespaces that attract or repel each other across them.
pub(super) fn namespaces(world: &mut World, rng: &mut Rng) {
    for workload in &mut world.workloads {
        workload.pod["metadata"]["namespace"] = json!(rng.pick(&NAMESPACES).0);
        workload.replicas = workload.replicas.min(8);
    }
    let others: Vec<(Value, String)> = world
        .workloads
        .iter()
        .map(|workload| (workload.selector(), workload.namespace().to_owned()))
        .collect();
    for workload in world.some_workloads(rng) {
        let (selector, namespace) = rng.pick(&others).clone();
        let mut term =
            json!({"topologyKey": *rng.pick(&[ZONE, HOSTNAME]), "labelSelector": selector});
        match rng.below(4) {
            0 => term["namespaces"] = json!([namespace]),
            1 => term["namespaceSelector"] = json!({}),
            2 => term["namespaceSelector"] = json!({"matchLabels": {"group": "blue"}}),
            _ => {
                term["namespaces"] = json!(["default"]);
                term["namespaceSelector"] = json!({"matchLabels": {"group": "blue"}});
            }
        }
        let field = *rng.pick(&["podAffinity", "podAntiAffinity"]);
        require_pods(workload, field, term);
    }
}
