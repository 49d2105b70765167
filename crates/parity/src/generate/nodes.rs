//! Instances that exist or are on their way, and the pods on them.

use serde_json::{Value, json};

use super::{
    catalog::Shape,
    world::{ARCH, HOSTNAME, NODE_POOL, OS, World, ZONE, owner},
};
use crate::rng::Rng;

/// How far along an instance of a pool is.
#[derive(Clone, Copy, PartialEq)]
enum Stage {
    Launched,
    Registered,
    Initialized,
    Leaving,
}

pub(super) fn existing(world: &mut World, rng: &mut Rng) {
    for index in 0..rng.between(1, 5) {
        instance(world, rng, &format!("node-{index}"), Stage::Initialized);
    }
}

pub(super) fn uninitialized(world: &mut World, rng: &mut Rng) {
    for index in 0..rng.between(1, 3) {
        instance(world, rng, &format!("young-{index}"), Stage::Registered);
    }
}

pub(super) fn in_flight(world: &mut World, rng: &mut Rng) {
    for index in 0..rng.between(1, 3) {
        instance(world, rng, &format!("flying-{index}"), Stage::Launched);
    }
}

pub(super) fn leaving(world: &mut World, rng: &mut Rng) {
    for index in 0..rng.between(1, 3) {
        instance(world, rng, &format!("old-{index}"), Stage::Leaving);
    }
    if rng.chance(40) {
        let workload = rng.pick(&world.workloads).clone();
        world.objects.push(json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": "budget", "namespace": workload.namespace()},
            "spec": {"selector": workload.selector(), "maxUnavailable": rng.below(2)},
        }));
    }
}

pub(super) fn unmanaged(world: &mut World, rng: &mut Rng) {
    for index in 0..rng.between(1, 4) {
        let name = format!("static-{index}");
        let shape = rng.pick(&world.shapes).clone();
        // Static instances may well stand where no pool can make any.
        let zone =
            if rng.chance(15) { "cellar".to_owned() } else { rng.pick(&world.zones).clone() };
        let mut labels = json!({HOSTNAME: name, ARCH: shape.arch, OS: "linux"});
        if rng.chance(90) {
            labels[ZONE] = json!(zone);
        }
        let mut node = node(&name, &labels, &shape);
        if rng.chance(20) {
            node["spec"]["taints"] =
                json!([{"key": "example.com/keep-out", "effect": "NoSchedule"}]);
        }
        world.objects.push(node);
        world.nodes.push(name.clone());
        occupy(world, rng, &name, &shape);
    }
}

fn node(name: &str, labels: &Value, shape: &Shape) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
        "spec": {"providerID": format!("example://{name}")},
        "status": {"capacity": shape.capacity(), "allocatable": shape.allocatable()},
    })
}

/// An instance of some pool, and the pods on it once it has a node.
fn instance(world: &mut World, rng: &mut Rng, name: &str, stage: Stage) {
    let pool = rng.pick(&world.pools).clone();
    let template = &pool["spec"]["template"];
    let shape = rng.pick(&world.shapes).clone();
    let zone = rng.pick(&world.zones).clone();
    let capacity_type = *rng.pick(&["spot", "on-demand"]);
    let mut labels = shape.labels(&zone, capacity_type);
    labels[NODE_POOL] = pool["metadata"]["name"].clone();
    labels["example.com/anyclass"] = json!("default");
    for (key, value) in template["metadata"]["labels"].as_object().into_iter().flatten() {
        labels[key] = value.clone();
    }
    let mut claim = json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "nodeClassRef": template["spec"]["nodeClassRef"], "requirements": [],
            "resources": {"requests": {"cpu": "100m"}},
        },
        "status": {
            "providerID": format!("example://{name}"),
            "capacity": shape.capacity(), "allocatable": shape.allocatable(),
            "conditions": conditions(stage),
        },
    });
    let mut taints = Vec::new();
    for list in ["taints", "startupTaints"] {
        if let Some(given) = template["spec"][list].as_array() {
            claim["spec"][list] = json!(given);
            if list == "taints" || stage == Stage::Registered {
                taints.extend(given.clone());
            }
        }
    }
    if stage == Stage::Leaving {
        claim["metadata"]["deletionTimestamp"] = json!("2026-03-01T00:00:00Z");
        claim["metadata"]["finalizers"] = json!(["karpenter.sh/termination"]);
    }
    if stage != Stage::Launched {
        claim["status"]["nodeName"] = json!(name);
    }
    world.objects.push(claim);
    if stage == Stage::Launched {
        return;
    }
    labels[HOSTNAME] = json!(name);
    labels["karpenter.sh/registered"] = json!("true");
    match stage {
        Stage::Registered => {
            taints.push(json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}));
        }
        Stage::Leaving => {
            taints.push(json!({"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}));
        }
        _ => {}
    }
    if stage != Stage::Registered {
        labels["karpenter.sh/initialized"] = json!("true");
    }
    let mut node = node(name, &labels, &shape);
    if !taints.is_empty() {
        node["spec"]["taints"] = json!(taints);
    }
    if stage == Stage::Registered && shape.gpus > 0 {
        // The kubelet says zero until the device plugin has registered.
        node["status"]["allocatable"][super::catalog::GPU] = json!("0");
    }
    world.objects.push(node);
    world.nodes.push(name.to_owned());
    if stage != Stage::Registered {
        occupy(world, rng, name, &shape);
    }
}

fn conditions(stage: Stage) -> Value {
    let condition = |name: &str, reached: bool| {
        let (status, reason) = if reached { ("True", name) } else { ("Unknown", "Waiting") };
        json!({
            "type": name, "status": status, "reason": reason, "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    json!([
        condition("Launched", true),
        condition("Registered", stage != Stage::Launched),
        condition("Initialized", matches!(stage, Stage::Initialized | Stage::Leaving)),
    ])
}

/// Puts pods of the workloads on a node, up to some share of its CPUs.
fn occupy(world: &mut World, rng: &mut Rng, name: &str, shape: &Shape) {
    let mut room = shape.millicores() * rng.between(0, 80) / 100;
    for index in 0..rng.between(0, 8) {
        let workload = rng.pick(&world.workloads);
        let pod = workload.bound_pod(index, name);
        let cpu = pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]
            .as_str()
            .map_or(0, millicores);
        if cpu > room {
            continue;
        }
        room -= cpu;
        world.objects.push(unsettle(pod, rng));
    }
}

/// Some pods on nodes are finished, on their way out, or not to be disturbed.
fn unsettle(mut pod: Value, rng: &mut Rng) -> Value {
    match rng.below(20) {
        0 => pod["status"]["phase"] = json!("Succeeded"),
        1 => pod["metadata"]["deletionTimestamp"] = json!("2026-03-01T00:00:00Z"),
        2 => {
            pod["metadata"]["deletionTimestamp"] = json!("2026-03-01T00:00:00Z");
            pod["metadata"]["ownerReferences"] = owner("StatefulSet", "set");
        }
        3 => pod["metadata"]["annotations"] = json!({"karpenter.sh/do-not-disrupt": "true"}),
        _ => {}
    }
    pod
}

fn millicores(quantity: &str) -> usize {
    match quantity.strip_suffix('m') {
        Some(milli) => milli.parse().unwrap_or(0),
        None => quantity.parse().map_or(0, |cpus: usize| cpus * 1000),
    }
}
