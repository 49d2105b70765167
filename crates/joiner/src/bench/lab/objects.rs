//! Nodes and pods as they are in clusters, for the laboratory to keep.

use serde_json::{Value, json};

const NOW: &str = "2026-01-01T00:00:00Z";

/// The name of a pod.
pub(super) fn pod_name(number: usize) -> String {
    format!("web-5d78c9869d-{number:06}")
}

fn node_name(number: usize) -> String {
    format!("node-{number:05}")
}

/// A node as its kubelet describes it.
pub(super) fn node(number: usize) -> Value {
    let name = node_name(number);
    let zone = ["a", "b", "c"][number % 3];
    let amounts = json!({
        "cpu": "16", "memory": "65536Mi", "ephemeral-storage": "100Gi", "pods": "110",
    });
    let conditions = [
        ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID"),
        ("Ready", "True", "KubeletReady"),
    ]
    .map(|(kind, status, reason)| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": reason,
            "lastHeartbeatTime": NOW, "lastTransitionTime": NOW,
        })
    });
    json!({
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": "m-16",
                "topology.kubernetes.io/zone": zone,
            },
        },
        "spec": {"providerID": format!("lab://{name}")},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": conditions},
    })
}

/// A pod of a Deployment that runs on a node.
pub(super) fn pod(number: usize, node: usize) -> Value {
    json!({
        "metadata": {
            "name": pod_name(number),
            "namespace": "default",
            "labels": {"app": "web", "pod-template-hash": "5d78c9869d"},
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d78c9869d",
                "uid": "6a2b6d7e-0f53-4f5e-8c5e-2b1f0c9a7d10",
                "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": {
            "nodeName": node_name(node),
            "containers": [{
                "name": "app",
                "image": "registry.example/web:1.27.3",
                "env": [{"name": "LOG_LEVEL", "value": "info"}, {"name": "PORT", "value": "8080"}],
                "ports": [{"name": "http", "containerPort": 8080}],
                "resources": {
                    "requests": {"cpu": "250m", "memory": "256Mi"},
                    "limits": {"memory": "512Mi"},
                },
                "readinessProbe": {"httpGet": {"path": "/healthz", "port": "http"}},
            }],
        },
        "status": pod_status(number),
    })
}

/// The status of a pod that runs.
pub(super) fn pod_status(number: usize) -> Value {
    let conditions = ["PodScheduled", "Initialized", "ContainersReady", "Ready"]
        .map(|kind| json!({"type": kind, "status": "True", "lastTransitionTime": NOW}));
    json!({
        "phase": "Running",
        "hostIP": "10.0.0.1",
        "podIP": "10.1.0.1",
        "podIPs": [{"ip": "10.1.0.1"}],
        "startTime": NOW,
        "conditions": conditions,
        "containerStatuses": [{
            "name": "app", "ready": true, "started": true, "restartCount": 0,
            "image": "registry.example/web:1.27.3",
            "imageID": "registry.example/web@sha256:0f3b1c",
            "containerID": format!("containerd://{number:064x}"),
            "state": {"running": {"startedAt": NOW}},
        }],
    })
}
