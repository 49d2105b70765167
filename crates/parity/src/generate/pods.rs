//! What pods ask of a machine: size, labels, ports.

use serde_json::{Value, json};

use super::world::{ARCH, CAPACITY_TYPE, CPUS, FAMILY, HOSTNAME, INSTANCE_TYPE, World, ZONE, push};
use crate::rng::Rng;

/// Pods that are large, lopsided, or ask for nothing.
pub(super) fn odd_sizes(world: &mut World, rng: &mut Rng) {
    for workload in world.some_workloads(rng) {
        let requests = &mut workload.pod["spec"]["containers"][0]["resources"]["requests"];
        match rng.below(6) {
            0 => *requests = json!({"cpu": "7", "memory": "1Gi"}),
            1 => *requests = json!({"cpu": "100m", "memory": "15Gi"}),
            2 => *requests = json!({"memory": "333Mi"}),
            3 => *requests = json!({}),
            4 => *requests = json!({"cpu": "3333m", "memory": "3333Mi"}),
            _ => *requests = json!({"cpu": "64", "memory": "1Gi"}),
        }
    }
}

pub(super) fn node_selector(world: &mut World, rng: &mut Rng) {
    let mut labels: Vec<(&str, String)> = (0..3).map(|_| world.label(rng)).collect();
    labels.push(world.pool_label(rng));
    labels.push(("failure-domain.beta.kubernetes.io/zone", world.zones[0].clone()));
    for workload in world.some_workloads(rng) {
        let (key, value) = rng.pick(&labels).clone();
        workload.pod["spec"]["nodeSelector"][key] = json!(value);
    }
}

/// A condition on node labels that something on offer meets, most of the time.
fn expression(world: &World, rng: &mut Rng) -> Value {
    let one_zone = || json!([world.zones[0]]);
    match rng.below(10) {
        0 | 1 => json!({"key": ZONE, "operator": "In", "values": rng.pick_some(&world.zones, 2)}),
        2 => json!({"key": ZONE, "operator": "NotIn", "values": one_zone()}),
        3 => json!({"key": FAMILY, "operator": "Exists"}),
        4 => json!({"key": "example.com/unknown", "operator": "DoesNotExist"}),
        5 => json!({"key": CPUS, "operator": "Gt", "values": [*rng.pick(&["1", "2", "4"])]}),
        6 => json!({"key": CPUS, "operator": "Lt", "values": [*rng.pick(&["4", "8", "32"])]}),
        7 => {
            json!({"key": CAPACITY_TYPE, "operator": "NotIn", "values": [*rng.pick(&["spot", "on-demand"])]})
        }
        8 => {
            json!({"key": INSTANCE_TYPE, "operator": "In", "values": rng.pick_some(&world.type_names(), 4)})
        }
        _ => match rng.below(3) {
            0 => json!({"key": "example.com/unknown", "operator": "Exists"}),
            1 => json!({"key": "example.com/unknown", "operator": "NotIn", "values": ["x"]}),
            _ => json!({"key": ARCH, "operator": "In", "values": [*rng.pick(&["amd64", "arm64"])]}),
        },
    }
}

/// A term of one or two conditions.
pub(super) fn term(world: &World, rng: &mut Rng) -> Value {
    let expressions: Vec<Value> = (0..rng.between(1, 2)).map(|_| expression(world, rng)).collect();
    json!({"matchExpressions": expressions})
}

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

pub(super) fn node_affinity(world: &mut World, rng: &mut Rng) {
    let terms: Vec<Value> = (0..4).map(|_| term(world, rng)).collect();
    for workload in world.some_workloads(rng) {
        workload.pod["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] =
            json!([rng.pick(&terms)]);
    }
}

pub(super) fn node_affinity_terms(world: &mut World, rng: &mut Rng) {
    let possible: Vec<Value> = (0..4).map(|_| term(world, rng)).collect();
    let impossible = [
        json!({"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["nowhere"]}]}),
        json!({"matchExpressions": [{"key": "example.com/unknown", "operator": "In", "values": ["x"]}]}),
        json!({"matchExpressions": [{"key": CPUS, "operator": "Gt", "values": ["9999"]}]}),
    ];
    for workload in world.some_workloads(rng) {
        let mut terms = Vec::new();
        if rng.chance(60) {
            terms.push(rng.pick(&impossible).clone());
        }
        terms.push(rng.pick(&possible).clone());
        if rng.chance(60) {
            terms.push(rng.pick(&possible).clone());
        }
        workload.pod["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] =
            json!(terms);
    }
}

pub(super) fn refused_selectors(world: &mut World, rng: &mut Rng) {
    let chosen = rng.below(world.workloads.len());
    let workload = &mut world.workloads[chosen];
    workload.replicas = workload.replicas.min(4);
    let spec = &mut workload.pod["spec"];
    match rng.below(4) {
        0 => spec["nodeSelector"][HOSTNAME] = json!("node-1"),
        1 => spec["nodeSelector"]["karpenter.sh/registered"] = json!("true"),
        2 => {
            spec["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] = json!([{"matchExpressions": [{"key": "karpenter.sh/nodepool", "operator": "DoesNotExist"}]}]);
        }
        _ => {
            spec["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] = json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}]);
        }
    }
}

pub(super) fn not_to_place(world: &mut World, rng: &mut Rng) {
    let chosen = rng.below(world.workloads.len());
    let workload = &mut world.workloads[chosen];
    match rng.below(4) {
        0 => workload.pod["spec"]["schedulingGates"] = json!([{"name": "example.com/wait"}]),
        1 => workload.pod["status"] = json!({"phase": "Succeeded"}),
        2 => workload.pod["metadata"]["deletionTimestamp"] = json!("2026-03-01T00:00:00Z"),
        _ => {
            workload.pod["spec"]["resourceClaims"] =
                json!([{"name": "device", "resourceClaimName": "device"}])
        }
    }
}

pub(super) fn init_containers(world: &mut World, rng: &mut Rng) {
    for workload in world.some_workloads(rng) {
        for index in 0..rng.between(1, 3) {
            let mut container = json!({
                "name": format!("init-{index}"), "image": "example.com/init",
                "resources": {"requests": {
                    "cpu": *rng.pick(&["100m", "700m", "1500m", "2500m"]),
                    "memory": *rng.pick(&["64Mi", "512Mi", "3Gi"]),
                }},
            });
            if rng.chance(50) {
                container["restartPolicy"] = json!("Always");
            }
            push(&mut workload.pod["spec"]["initContainers"], container);
        }
    }
}

pub(super) fn pod_level_resources(world: &mut World, rng: &mut Rng) {
    for workload in world.some_workloads(rng) {
        let requests = match rng.below(3) {
            0 => json!({"cpu": "1200m", "memory": "2Gi"}),
            1 => json!({"memory": "9Gi"}),
            _ => json!({"cpu": "3500m"}),
        };
        workload.pod["spec"]["resources"] = json!({"requests": requests});
    }
}

pub(super) fn pod_overhead(world: &mut World, rng: &mut Rng) {
    for workload in world.some_workloads(rng) {
        workload.pod["spec"]["runtimeClassName"] = json!("microvm");
        workload.pod["spec"]["overhead"] = json!({
            "cpu": *rng.pick(&["50m", "250m", "1"]), "memory": *rng.pick(&["64Mi", "160Mi", "1Gi"]),
        });
    }
}

pub(super) fn host_ports(world: &mut World, rng: &mut Rng) {
    for workload in world.some_workloads(rng) {
        let mut port = json!({"containerPort": 8080, "hostPort": *rng.pick(&[8080, 8080, 9090]), "protocol": "TCP"});
        match rng.below(5) {
            0 => port["protocol"] = json!("UDP"),
            1 => port["hostIP"] = json!("10.0.0.1"),
            2 => port["hostIP"] = json!("0.0.0.0"),
            _ => {}
        }
        push(&mut workload.pod["spec"]["containers"][0]["ports"], port);
        workload.replicas = workload.replicas.min(8);
    }
}
