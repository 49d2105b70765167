//! A real control plane whose nodes KWOK looks after, and what its audit log tells.

use std::time::Duration;

use joiner_realparts::{
    control_plane::{ControlPlane, Options, User, audit::Call},
    http::{Request, Server},
};
use serde_json::{Value, json};

use crate::real::parts;

/// Often enough to notice soon, and seldom enough to leave the others some of the instance.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// A server that is asked about objects.
struct Objects(Server);

impl Objects {
    async fn send(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let request = Request {
            method: method.into(),
            path: path.into(),
            headers: vec![("content-type".into(), "application/json".into())],
            body: body.map(|body| body.to_string()),
        };
        let answer = self.0.send(&request).await.expect("the server answers");
        (answer.status, serde_json::from_str(&answer.body).unwrap_or_default())
    }

    async fn create(&self, path: &str, object: Value) {
        let (status, answer) = self.send("POST", path, Some(object)).await;
        assert_eq!(status, 201, "{answer}");
    }

    /// Waits until what is at a path is as it should be.
    async fn until(&self, path: &str, done: impl Fn(u16, &Value) -> bool) -> Value {
        loop {
            let (status, answer) = self.send("GET", path, None).await;
            if done(status, &answer) {
                return answer;
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
    }
}

fn node(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "status": {
            "capacity": {"cpu": "4", "memory": "8Gi", "pods": "10"},
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"},
        },
    })
}

/// Two pods of a deployment, or one of a job.
fn workload(api_version: &str, kind: &str, mut spec: Value) -> Value {
    let labels = json!({"app": "work"});
    spec["template"] = json!({
        "metadata": {"labels": labels},
        "spec": {
            "restartPolicy": if kind == "Job" { "Never" } else { "Always" },
            "initContainers": [{"name": "first", "image": "example.com/first"}],
            "containers": [{"name": "main", "image": "example.com/main"}],
        },
    });
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "work"}, "spec": spec})
}

#[tokio::test]
async fn pods_run_complete_and_end_on_nodes_that_kwok_looks_after() {
    let Some(parts) = parts() else { return };
    let options = Options { controllers: true, scheduler: true, kwok: true, ..Options::default() };
    let plane = ControlPlane::start(&parts, &options).await.unwrap();
    let objects = Objects(Server::new(plane.url(), plane.token()));

    objects.create("/api/v1/nodes", node("n1")).await;
    let spec = json!({"replicas": 2, "selector": {"matchLabels": {"app": "work"}}});
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    objects.create(deployments, workload("apps/v1", "Deployment", spec)).await;
    let deployment = format!("{deployments}/work");
    objects.until(&deployment, |_, found| found["status"]["readyReplicas"] == 2).await;
    let pods = "/api/v1/namespaces/default/pods";
    let (_, list) = objects.send("GET", pods, None).await;
    for pod in list["items"].as_array().unwrap() {
        assert_eq!(pod["spec"]["nodeName"], "n1");
        assert!(pod["status"]["podIP"].is_string(), "{pod}");
        assert_eq!(pod["status"]["initContainerStatuses"][0]["ready"], true);
    }
    // A node's lease is renewed by KWOK, else its controllers would take it for dead.
    let lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1";
    objects.until(lease, |status, _| status == 200).await;
    let (_, node) = objects.send("GET", "/api/v1/nodes/n1", None).await;
    assert_eq!(node["status"]["capacity"]["cpu"], "4", "its maker's capacity stays");

    let (status, _) = objects.send("DELETE", &deployment, None).await;
    assert_eq!(status, 200);
    objects.until(pods, |_, list| list["items"].as_array().is_some_and(Vec::is_empty)).await;

    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    objects.create(jobs, workload("batch/v1", "Job", json!({}))).await;
    objects.until(&format!("{jobs}/work"), |_, found| found["status"]["succeeded"] == 1).await;
}

#[tokio::test]
async fn nodes_that_are_not_annotated_are_left_to_their_kubelets() {
    let Some(parts) = parts() else { return };
    let options = Options { kwok: true, ..Options::default() };
    let plane = ControlPlane::start(&parts, &options).await.unwrap();
    let objects = Objects(Server::new(plane.url(), plane.token()));
    let mut real = node("real");
    real["metadata"]["annotations"] = json!({});
    objects.create("/api/v1/nodes", real).await;
    objects.create("/api/v1/nodes", node("fake")).await;
    let ready = |found: &Value| found["status"]["conditions"].is_array();
    objects.until("/api/v1/nodes/fake", |_, found| ready(found)).await;
    let (_, found) = objects.send("GET", "/api/v1/nodes/real", None).await;
    assert!(!ready(&found), "{found}");
}

#[tokio::test]
async fn the_audit_log_tells_who_only_read() {
    let Some(parts) = parts() else { return };
    let users = ["reader", "writer"].map(User::in_charge).to_vec();
    let options = Options { audit: true, users, ..Options::default() };
    let plane = ControlPlane::start(&parts, &options).await.unwrap();
    assert!(plane.kubeconfig_of("reader").is_some_and(std::path::Path::exists));
    assert_eq!(plane.kubeconfig_of("nobody"), None);
    let reader = Objects(Server::new(plane.url(), &ControlPlane::token_of("reader")));
    let writer = Objects(Server::new(plane.url(), &ControlPlane::token_of("writer")));
    let namespaces = "/api/v1/namespaces";
    reader.send("GET", &format!("{namespaces}/default"), None).await;
    reader.send("GET", "/apis/apps/v1/deployments", None).await;
    reader.send("GET", "/version", None).await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}});
    writer.create(namespaces, namespace).await;
    let calls = plane.calls().unwrap();
    let told = |user: &str| -> Vec<String> {
        calls.iter().filter(|call| call.user == user).map(ToString::to_string).collect()
    };
    assert_eq!(
        told("reader"),
        ["reader get namespaces", "reader list deployments.apps", "reader get /version"]
    );
    assert_eq!(told("writer"), ["writer create namespaces"]);
    assert!(calls.iter().filter(|call| call.user == "reader").all(Call::reads));
    assert!(!calls.iter().filter(|call| call.user == "writer").all(Call::reads));
}
