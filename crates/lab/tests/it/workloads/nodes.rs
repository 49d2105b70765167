//! The life of nodes, and what it means for pods and volumes.

use expect_test::expect;
use serde_json::{Value, json};

use super::stage::{Stage, conditions, template};

fn taints(stage: &Stage, node: &str) -> String {
    let taints = stage.get("nodes", node)["spec"]["taints"].take();
    let one = |taint: &Value| {
        let key = taint["key"].as_str().unwrap().trim_start_matches("node.kubernetes.io/");
        format!("{key}:{}", taint["effect"].as_str().unwrap())
    };
    taints.as_array().into_iter().flatten().map(one).collect::<Vec<_>>().join(" ")
}

fn pod(name: &str, node: &str) -> Value {
    let mut pod = template("web", json!({"nodeName": node}));
    pod["metadata"]["name"] = name.into();
    pod
}

#[tokio::test(start_paused = true)]
async fn a_silent_node_is_unknown_and_loses_its_pods() {
    let mut stage = Stage::with_nodes(3).await;
    stage.create("pods", pod("p", "n1"));
    stage.pass(20).await;
    stage.silence("n1");
    stage.pass(45).await;
    assert_eq!(conditions(&stage.get("nodes", "n1")), "Ready=True KubeletReady");
    assert_eq!(taints(&stage, "n1"), "");
    stage.pass(10).await;
    expect![["Ready=Unknown NodeStatusUnknown, MemoryPressure=Unknown NodeStatusNeverUpdated, DiskPressure=Unknown NodeStatusNeverUpdated, PIDPressure=Unknown NodeStatusNeverUpdated"]]
    .assert_eq(&conditions(&stage.get("nodes", "n1")));
    assert_eq!(taints(&stage, "n1"), "unreachable:NoSchedule unreachable:NoExecute");
    assert_eq!(conditions(&stage.get("pods", "p")), "Ready=False ");
    assert_eq!(
        stage.events(&["NodeNotReady"]),
        ["NodeNotReady: Node n1 status is now: NodeNotReady", "NodeNotReady: Node is not ready"]
    );
    stage.pass(285).await;
    assert!(stage.get("pods", "p")["metadata"]["deletionTimestamp"].is_null());
    stage.pass(10).await;
    let leaving = stage.get("pods", "p");
    assert!(leaving["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(conditions(&leaving), "Ready=False , DisruptionTarget=True DeletionByTaintManager");
    stage.delete("nodes", "n1", None);
    stage.pass(60).await;
    assert_eq!(stage.names("pods"), "");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_speaks_again_keeps_its_pods() {
    let mut stage = Stage::with_nodes(2).await;
    stage.create("pods", pod("p", "n1"));
    let ready = |status: &str| json!({"conditions": [{"type": "Ready", "status": status}]});
    stage.patch_status("nodes", "n1", ready("False"));
    stage.pass(100).await;
    assert_eq!(taints(&stage, "n1"), "not-ready:NoSchedule not-ready:NoExecute");
    stage.patch_status("nodes", "n1", ready("True"));
    stage.pass(1000).await;
    assert_eq!(taints(&stage, "n1"), "");
    assert_eq!(stage.names("pods"), "p");
    assert_eq!(
        stage.events(&["TaintManagerEviction"]),
        ["TaintManagerEviction: Cancelling deletion of Pod default/p"]
    );
}

#[tokio::test(start_paused = true)]
async fn when_every_node_is_silent_nobody_is_driven_out() {
    let mut stage = Stage::with_nodes(2).await;
    stage.create("pods", pod("p", "n1"));
    stage.pass(20).await;
    stage.silence("n1");
    stage.silence("n2");
    stage.pass(1000).await;
    assert_eq!(taints(&stage, "n1"), "unreachable:NoSchedule");
    assert_eq!(stage.names("pods"), "p");
    assert!(stage.get("pods", "p")["metadata"]["deletionTimestamp"].is_null());
}

#[tokio::test(start_paused = true)]
async fn what_a_node_says_becomes_taints() {
    let mut stage = Stage::with_nodes(1).await;
    stage.patch("nodes", "n1", json!({"spec": {"unschedulable": true}}));
    stage.patch_status(
        "nodes",
        "n1",
        json!({"conditions": [
            {"type": "Ready", "status": "True"},
            {"type": "MemoryPressure", "status": "True"},
            {"type": "DiskPressure", "status": "False"},
        ]}),
    );
    stage.pass(1).await;
    assert_eq!(taints(&stage, "n1"), "memory-pressure:NoSchedule unschedulable:NoSchedule");
    stage.patch("nodes", "n1", json!({"spec": {"unschedulable": null}}));
    stage.pass(1).await;
    assert_eq!(taints(&stage, "n1"), "memory-pressure:NoSchedule");
}

#[tokio::test(start_paused = true)]
async fn a_node_out_of_service_gives_up_its_pods_at_once() {
    let mut stage = Stage::with_nodes(2).await;
    stage.create("pods", pod("p", "n1"));
    stage.pass(20).await;
    stage.silence("n1");
    stage.pass(100).await;
    let mut all = stage.get("nodes", "n1")["spec"]["taints"].take();
    let dead = json!({"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"});
    all.as_array_mut().unwrap().push(dead);
    stage.patch("nodes", "n1", json!({"spec": {"taints": all}}));
    stage.pass(1).await;
    assert_eq!(stage.names("pods"), "");
}

#[tokio::test(start_paused = true)]
async fn volumes_are_attached_while_a_pod_uses_them() {
    let mut stage = Stage::with_nodes(2).await;
    let capacity = json!({"storage": "1Gi"});
    stage.create(
        "persistentvolumes",
        json!({
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "pv"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "capacity": capacity,
                "csi": {"driver": "csi.example.com", "volumeHandle": "disk-1"},
            },
        }),
    );
    stage.create(
        "persistentvolumeclaims",
        json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": capacity},
                "volumeName": "pv",
            },
        }),
    );
    let mut user = pod("p", "n1");
    user["spec"]["volumes"] =
        json!([{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]);
    stage.create("pods", user);
    stage.pass(1).await;
    let attachments = stage.list("volumeattachments.storage.k8s.io");
    assert_eq!(attachments.len(), 1);
    assert_eq!(attachments[0]["spec"]["nodeName"], "n1");
    assert_eq!(attachments[0]["status"]["attached"], true);

    let in_use = json!({"volumesInUse": ["kubernetes.io/csi/csi.example.com^disk-1"]});
    stage.patch_status("nodes", "n1", in_use);
    stage.delete("pods", "p", None);
    stage.pass(1000).await;
    assert_eq!(stage.names("pods"), "");
    assert_eq!(stage.list("volumeattachments.storage.k8s.io").len(), 1);
    stage.patch_status("nodes", "n1", json!({"volumesInUse": null}));
    stage.pass(1).await;
    assert_eq!(stage.list("volumeattachments.storage.k8s.io").len(), 0);
}
