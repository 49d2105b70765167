//! Daemon sets, and their pods on nodes that exist.

use serde_json::{Value, json};

use super::world::{ARCH, FAMILY, World, ZONE, all_of, condition, owner, push, require_nodes};
use crate::rng::Rng;

pub(super) fn daemon_sets(world: &mut World, rng: &mut Rng) {
    for index in 0..rng.between(1, 3) {
        let name = format!("agent-{index}");
        let spec = pod_spec(world, rng);
        let template = json!({"metadata": {"labels": {"app": name}}, "spec": spec});
        world.objects.push(json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": {"name": name, "namespace": "default", "uid": format!("uid-{name}")},
            "spec": {"selector": {"matchLabels": {"app": name}}, "template": template},
        }));
        // Daemons that do not run everywhere have no pods yet, so that nobody has to work out where
        // they would be.
        if spec.get("nodeSelector").or_else(|| spec.get("affinity")).is_none() {
            start(world, rng, &name, &spec);
        }
    }
}

fn pod_spec(world: &World, rng: &mut Rng) -> Value {
    let requests = json!({
        "cpu": *rng.pick(&["50m", "200m", "500m"]), "memory": *rng.pick(&["64Mi", "512Mi"]),
    });
    let container =
        json!({"name": "main", "image": "example.com/agent", "resources": {"requests": requests}});
    let mut spec = json!({"containers": [container]});
    match rng.below(7) {
        0 => spec["nodeSelector"] = json!({ARCH: *rng.pick(&["amd64", "arm64"])}),
        1 => spec["nodeSelector"] = json!({FAMILY: *rng.pick(&["c", "s", "m"])}),
        2 => require_nodes(&mut spec, [all_of([condition(ZONE, "NotIn", &world.zones[..1])])]),
        3 => {
            let families = ["c", "s"].map(|family| all_of([condition(FAMILY, "In", &[family])]));
            require_nodes(&mut spec, families);
        }
        _ => {}
    }
    if rng.chance(60) {
        spec["tolerations"] = json!([{"operator": "Exists"}]);
    }
    if rng.chance(15) {
        spec["containers"][0]["ports"] =
            json!([{"containerPort": 8080, "hostPort": 8080, "protocol": "TCP"}]);
    }
    spec
}

/// Puts the daemon's pods on most nodes, but not on those that are just starting.
fn start(world: &mut World, rng: &mut Rng, name: &str, spec: &Value) {
    for node in &world.nodes {
        if node.starts_with("young") || rng.chance(30) {
            continue;
        }
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": format!("{name}-{node}"), "namespace": "default", "labels": {"app": name},
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "ownerReferences": owner("DaemonSet", name),
            },
            "spec": spec,
            "status": {"phase": "Running"},
        });
        pod["spec"]["nodeName"] = json!(node);
        // The controller adds this to every daemon's pod.
        let not_ready = json!({"key": "node.kubernetes.io/not-ready", "operator": "Exists"});
        push(&mut pod["spec"]["tolerations"], not_ready);
        world.objects.push(pod);
    }
}
