//! The file for KWOK on a real API server, whose roles count.
//!
//! Runs where `JOINER_CONTROL_PLANE` names a file with what `scripts/install-real-parts` printed.

use std::{env, fs};

use joiner_realparts::{
    control_plane::{ControlPlane, Options, Parts},
    http::Server,
};
use serde_json::{Value, json};

use super::{
    Installed, KWOK, apply,
    installed::{LOOK_EVERY, LOOKS, NAMESPACE, send},
    of_account,
};

const NODES: &str = "/api/v1/nodes";
const PODS: &str = "/api/v1/namespaces/default/pods";

async fn create(server: &Server, path: &str, object: Value) {
    let answer = send(server, "POST", path, "application/json", &object).await;
    assert_eq!(answer.status, 201, "{path}: {}", answer.body);
}

async fn list(server: &Server, path: &str) -> Vec<Value> {
    let answer = send(server, "GET", path, "application/json", &Value::Null).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    let list: Value = serde_json::from_str(&answer.body).unwrap();
    list["items"].as_array().cloned().unwrap_or_default()
}

/// Waits until objects at a path are as they should be.
async fn until(server: &Server, path: &str, done: impl Fn(&[Value]) -> bool) {
    for _ in 0..LOOKS {
        if done(&list(server, path).await) {
            return;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    unreachable!("{path}: not as it should be: {:#?}", list(server, path).await)
}

fn all_run(pods: &[Value]) -> bool {
    pods.iter().all(|pod| pod["status"]["phase"] == "Running")
}

/// A node that was there before, for the pods of the Deployment.
fn node() -> Value {
    let room = json!({"cpu": "4", "memory": "8Gi", "pods": "10"});
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": "control", "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {"kubernetes.io/os": "linux", "node-role.kubernetes.io/control-plane": ""},
        },
        "spec": {"taints": [{
            "key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule",
        }]},
        "status": {"capacity": room, "allocatable": room},
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_file_for_kwok_installs_a_controller_that_makes_and_removes_nodes() {
    let Some(listing) = env::var_os("JOINER_CONTROL_PLANE") else { return };
    let parts = Parts::from_listing(&fs::read_to_string(listing).unwrap()).unwrap();
    let options = Options { controllers: true, scheduler: true, kwok: true, ..Options::default() };
    let plane = ControlPlane::start(&parts, &options).await.unwrap();
    let server = Server::new(plane.url(), plane.token());
    create(&server, NODES, node()).await;
    apply(&server, KWOK).await;
    // Pods of the Deployment are allowed in the namespace, and have their place on the node.
    let own = format!("/api/v1/namespaces/{NAMESPACE}/pods");
    until(&server, &own, |pods| pods.len() == 2 && all_run(pods)).await;

    let config = fs::read_to_string(plane.kubeconfig()).unwrap();
    let config = of_account(&server, serde_json::from_str(&config).unwrap()).await;
    let mut installed = Installed::start(&server, &config, plane.folder(), KWOK).await;
    installed.ready().await;
    let class = json!({
        "apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": "KWOKNodeClass",
        "metadata": {"name": "default"},
    });
    create(&server, "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses", class).await;
    let class = json!({"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"});
    let pool = json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "general"},
        "spec": {
            "template": {"spec": {"nodeClassRef": class, "requirements": []}},
            "disruption": {"consolidateAfter": "1s", "budgets": [{"nodes": "100%"}]},
        },
    });
    create(&server, "/apis/karpenter.sh/v1/nodepools", pool).await;
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
        "spec": {"containers": [{
            "name": "web", "image": "example.com/web", "resources": {"requests": {"cpu": "1"}},
        }]},
    });
    create(&server, PODS, pod).await;
    until(&server, PODS, all_run).await;
    assert_eq!(list(&server, NODES).await.len(), 2, "the node that was there, and one of ours");

    let web = format!("{PODS}/web");
    let answer = send(&server, "DELETE", &web, "application/json", &Value::Null).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    until(&server, NODES, |nodes| nodes.len() == 1).await;
    // A right that is missing would be named here.
    assert_eq!(installed.readiness().await.matches("may not").count(), 0);
    installed.end();
}
