//! The cloud controller of a cluster on vSphere: it tells nodes who and where they are.

use std::{convert::Infallible, time::Duration};

use joiner_apiserver::{Caller, ChangeKind, Key, Resource, Server};
use joiner_core::taint::{Effect, Taint};
use serde_json::{Value, json};

use super::{Estate, estate, provider_id};

/// What keeps pods off a node until the controller has seen it.
const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";
const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";
/// How long it takes to ask the vCenter about a node.
const LOOKS_FOR: Duration = Duration::from_secs(1);

/// What keeps ordinary pods off the control plane.
pub(super) fn control_plane_taint() -> Taint {
    Taint { key: CONTROL_PLANE.to_owned(), value: String::new(), effect: Effect::NoSchedule }
}

/// The controller as the cluster sees it: a Deployment on the control plane.
pub(super) fn deployment() -> Value {
    let (name, labels) = ("vsphere-cloud-controller", json!({"app": "vsphere-cloud-controller"}));
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"namespace": "kube-system", "name": name},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "nodeSelector": {CONTROL_PLANE: ""},
                    "tolerations": [{"operator": "Exists"}],
                    "containers": [{
                        "name": name,
                        "image": "registry.example/cloud-provider-vsphere:1",
                        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
                    }],
                },
            },
        },
    })
}

/// Looks after the nodes of a cluster for ever.
pub(in crate::demo) async fn cloud_controller(server: Server, estate: Estate) -> Infallible {
    let feed = server.feed_with_past();
    let caller = server.caller("vsphere-cloud-controller");
    loop {
        let changed = feed.drain();
        let nodes = changed.iter().filter(|change| {
            let resource = (&*change.resource.group, &*change.resource.plural);
            resource == ("", "nodes") && change.kind != ChangeKind::Deleted
        });
        let new: Vec<String> = nodes
            .filter(|change| waits(&change.object.shared()))
            .map(|change| change.object.key.name.to_string())
            .collect();
        if new.is_empty() {
            feed.changed().await;
            continue;
        }
        server.clock().sleep(LOOKS_FOR).await;
        for node in new {
            initialize(&caller, &estate, &node);
        }
    }
}

/// Whether a node waits for the controller.
fn waits(node: &Value) -> bool {
    taints(node).iter().any(|taint| taint["key"] == UNINITIALIZED)
}

fn taints(node: &Value) -> &[Value] {
    node["spec"]["taints"].as_array().map_or(&[], Vec::as_slice)
}

/// Gives a node its provider id, its zone and its region, and lets pods in. After a conflict, or if
/// the node is gone, the next change is handled again.
fn initialize(caller: &Caller, estate: &Estate, name: &str) {
    let (nodes, key) = (Resource::new("", "nodes"), Key::new("", name));
    let Ok(node) = caller.get(&nodes, &key) else { return };
    let Some(vm) = estate.vcenter.vm(name) else { return };
    let hosts = estate.vcenter.picture().hosts;
    let zone = hosts.into_iter().find(|host| host.name == vm.host).map(|host| host.cluster);
    let node = node.shared();
    let left: Vec<&Value> =
        taints(&node).iter().filter(|taint| taint["key"] != UNINITIALIZED).collect();
    let patch = json!({
        "metadata": {
            "resourceVersion": node["metadata"]["resourceVersion"],
            "labels": {
                "topology.kubernetes.io/zone": zone,
                "topology.kubernetes.io/region": estate::DATACENTER,
            },
        },
        "spec": {"providerID": provider_id(&vm.uuid), "taints": left},
    });
    let _ = caller.merge(&nodes, &key, None, patch);
}
