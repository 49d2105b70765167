//! What pods ask of an instance: size, labels, ports.

use serde_json::{Value, json};

use super::world::{
    ARCH, CAPACITY_TYPE, CPUS, FAMILY, HOSTNAME, INSTANCE_TYPE, NODE_POOL, UNKNOWN, World, ZONE,
    all_of, bare_condition, condition, push, require_nodes,
};
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
fn some_condition(world: &World, rng: &mut Rng) -> Value {
    match rng.below(10) {
        0 | 1 => condition(ZONE, "In", &rng.pick_some(&world.zones, 2)),
        2 => condition(ZONE, "NotIn", &world.zones[..1]),
        3 => bare_condition(FAMILY, "Exists"),
        4 => bare_condition(UNKNOWN, "DoesNotExist"),
        5 => condition(CPUS, "Gt", &[*rng.pick(&["1", "2", "4"])]),
        6 => condition(CPUS, "Lt", &[*rng.pick(&["4", "8", "32"])]),
        7 => condition(CAPACITY_TYPE, "NotIn", &[*rng.pick(&["spot", "on-demand"])]),
        8 => condition(INSTANCE_TYPE, "In", &rng.pick_some(&world.type_names(), 4)),
        _ => match rng.below(3) {
            0 => bare_condition(UNKNOWN, "Exists"),
            1 => condition(UNKNOWN, "NotIn", &["x"]),
            _ => condition(ARCH, "In", &[*rng.pick(&["amd64", "arm64"])]),
        },
    }
}

/// A term of one or two conditions.
pub(super) fn term(world: &World, rng: &mut Rng) -> Value {
    let conditions: Vec<Value> =
        (0..rng.between(1, 2)).map(|_| some_condition(world, rng)).collect();
    all_of(conditions)
}

pub(super) fn node_affinity(world: &mut World, rng: &mut Rng) {
    let terms: Vec<Value> = (0..4).map(|_| term(world, rng)).collect();
    for workload in world.some_workloads(rng) {
        require_nodes(&mut workload.pod["spec"], [rng.pick(&terms).clone()]);
    }
}

pub(super) fn node_affinity_terms(world: &mut World, rng: &mut Rng) {
    let possible: Vec<Value> = (0..4).map(|_| term(world, rng)).collect();
    let impossible = [
        all_of([condition(ZONE, "In", &["nowhere"])]),
        all_of([condition(UNKNOWN, "In", &["x"])]),
        all_of([condition(CPUS, "Gt", &["9999"])]),
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
        require_nodes(&mut workload.pod["spec"], terms);
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
        2 => require_nodes(spec, [all_of([bare_condition(NODE_POOL, "DoesNotExist")])]),
        _ => {
            let field = condition("metadata.name", "In", &["node-1"]);
            require_nodes(spec, [json!({"matchFields": [field]})]);
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
                json!([{"name": "device", "resourceClaimName": "device"}]);
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
        let number = *rng.pick(&[8080, 8080, 9090]);
        let mut port = json!({"containerPort": number, "hostPort": number, "protocol": "TCP"});
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
