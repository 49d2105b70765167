//! Persistent volumes and where they can be.

use serde_json::{Value, json};

use super::world::{World, ZONE, all_of, condition, push};
use crate::rng::Rng;

const DRIVER: &str = "csi.example.com";

/// Gives each pod of a workload a claim of its own, or one to all: turns the workload into one per
/// pod where needed.
fn mount(
    world: &mut World,
    chosen: usize,
    prefix: &str,
    shared: bool,
    claim: impl Fn(&str) -> (Value, Option<Value>),
) {
    let workload = world.workloads.remove(chosen);
    let pods = if shared { 1 } else { workload.replicas };
    for index in 0..pods {
        let mut one = workload.clone();
        let name = format!("{prefix}-{}-{index}", workload.name);
        let (mut claim, volume) = claim(&name);
        claim["metadata"]["name"] = json!(name);
        claim["metadata"]["namespace"] = json!(workload.namespace());
        world.objects.push(claim);
        world.objects.extend(volume);
        let mount = json!({"name": prefix, "persistentVolumeClaim": {"claimName": name}});
        push(&mut one.pod["spec"]["volumes"], mount);
        if !shared {
            one.replicas = 1;
            one.name = format!("{}-{index}", workload.name);
        }
        world.workloads.push(one);
    }
}

/// A workload to mount volumes in, cut to a few pods.
fn choose(world: &mut World, rng: &mut Rng) -> usize {
    let chosen = rng.below(world.workloads.len());
    let workload = &mut world.workloads[chosen];
    workload.replicas = workload.replicas.min(8);
    chosen
}

pub(super) fn bound(world: &mut World, rng: &mut Rng) {
    let zones = world.zones.clone();
    let chosen = choose(world, rng);
    let shared = rng.chance(30);
    let terms = rng.between(0, 2);
    let start = rng.below(zones.len());
    let in_zone =
        |index: usize| all_of([condition(ZONE, "In", &[&zones[(start + index) % zones.len()]])]);
    mount(world, chosen, "bound", shared, |claim| {
        // The pod's number decides the zone, so that the pods of one workload are pinned to
        // different ones.
        let number = claim.rsplit('-').next().and_then(|text| text.parse().ok()).unwrap_or(0);
        let mut spec = json!({
            "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": DRIVER, "volumeHandle": claim},
        });
        if terms > 0 {
            let terms: Vec<Value> = (0..terms).map(|term| in_zone(number + term)).collect();
            spec["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": terms}});
        }
        let name = format!("pv-{claim}");
        let volume = json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": spec,
        });
        let claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            "spec": {"volumeName": name, "storageClassName": "", "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}}},
            "status": {"phase": "Bound"},
        });
        (claim, Some(volume))
    });
}

pub(super) fn waiting(world: &mut World, rng: &mut Rng) {
    let chosen = choose(world, rng);
    let shared = rng.chance(20);
    let immediate = rng.chance(10);
    let mut class = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": "local-zone"}, "provisioner": DRIVER,
        "volumeBindingMode": if immediate { "Immediate" } else { "WaitForFirstConsumer" },
    });
    let term =
        |zones: Vec<String>| json!({"matchLabelExpressions": [{"key": ZONE, "values": zones}]});
    match rng.below(3) {
        0 => class["allowedTopologies"] = json!([term(rng.pick_some(&world.zones, 2))]),
        1 => {
            class["allowedTopologies"] =
                json!([term(rng.pick_some(&world.zones, 1)), term(rng.pick_some(&world.zones, 1))]);
        }
        _ => {}
    }
    world.objects.push(class);
    mount(world, chosen, "waiting", shared, |_| {
        let claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "spec": {"storageClassName": "local-zone", "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}}},
            "status": {"phase": "Pending"},
        });
        (claim, None)
    });
    if rng.chance(10) {
        // A claim that nobody has made: its pods wait.
        let workload = &mut world.workloads[0];
        push(
            &mut workload.pod["spec"]["volumes"],
            json!({"name": "missing", "persistentVolumeClaim": {"claimName": "not-there"}}),
        );
    }
}

pub(super) fn limits(world: &mut World, rng: &mut Rng) {
    for node in world.nodes.clone() {
        let allocatable = json!({"count": rng.between(1, 3)});
        world.objects.push(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": node},
            "spec": {"drivers": [{"name": DRIVER, "nodeID": node, "allocatable": allocatable}]},
        }));
    }
}
