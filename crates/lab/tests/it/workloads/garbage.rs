//! Garbage collection, and the deletion of namespaces.

use joiner_apiserver::Propagation;
use serde_json::{Value, json};

use super::stage::{Stage, template};

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": template("web", json!({})),
        },
    })
}

fn left(stage: &Stage) -> [usize; 3] {
    ["deployments.apps", "replicasets.apps", "pods"].map(|kind| stage.list(kind).len())
}

#[tokio::test(start_paused = true)]
async fn what_a_deleted_object_owned_goes_after_it() {
    let mut stage = Stage::with_nodes(1).await;
    stage.create("deployments.apps", deployment());
    stage.pass(1).await;
    assert_eq!(left(&stage), [1, 1, 2]);
    stage.delete("deployments.apps", "web", Some(Propagation::Background));
    assert_eq!(left(&stage), [0, 1, 2]);
    stage.pass(1).await;
    assert_eq!(left(&stage), [0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn in_the_foreground_an_object_waits_for_what_it_owns() {
    let mut stage = Stage::with_nodes(1).await;
    stage.create("deployments.apps", deployment());
    stage.pass(1).await;
    stage.silence("n1");
    stage.delete("deployments.apps", "web", Some(Propagation::Foreground));
    stage.pass(1).await;
    assert_eq!(left(&stage), [1, 1, 2]);
    for pod in stage.list("pods") {
        assert!(pod["metadata"]["deletionTimestamp"].is_string());
        let name = pod["metadata"]["name"].as_str().unwrap();
        stage.patch_status("pods", name, json!({"phase": "Failed"}));
    }
    stage.delete("nodes", "n1", None);
    stage.pass(60).await;
    assert_eq!(left(&stage), [0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn orphans_stay_and_are_taken_in_again() {
    let mut stage = Stage::with_nodes(1).await;
    stage.create("deployments.apps", deployment());
    stage.pass(1).await;
    stage.delete("deployments.apps", "web", Some(Propagation::Orphan));
    stage.pass(1).await;
    assert_eq!(left(&stage), [0, 1, 2]);
    assert!(stage.list("replicasets.apps")[0]["metadata"]["ownerReferences"].is_null());
    stage.create("deployments.apps", deployment());
    stage.pass(1).await;
    assert_eq!(left(&stage), [1, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn absent_owners_and_owners_elsewhere_are_none() {
    let mut stage = Stage::with_nodes(1).await;
    stage.create("namespaces", json!({"metadata": {"name": "other"}}));
    stage.create("configmaps", json!({"metadata": {"name": "here"}}));
    stage.create("configmaps", json!({"metadata": {"name": "there", "namespace": "other"}}));
    stage.pass(1).await;
    let uid = |name: &str| {
        let maps = stage.list("configmaps");
        let map = maps.iter().find(|map| map["metadata"]["name"] == name).unwrap();
        map["metadata"]["uid"].as_str().unwrap().to_owned()
    };
    let owned = |name: &str, owners: &[&str]| {
        let reference =
            |uid: &&str| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": uid});
        let owners: Vec<_> = owners.iter().map(reference).collect();
        json!({"metadata": {"name": name, "ownerReferences": owners}})
    };
    stage.create("configmaps", owned("of-nobody", &["gone"]));
    stage.create("configmaps", owned("of-one-elsewhere", &[&uid("there")]));
    stage.create("configmaps", owned("of-one-here", &[&uid("here")]));
    stage.create("configmaps", owned("of-one-here-and-nobody", &[&uid("here"), "gone"]));
    stage.pass(1).await;
    assert_eq!(
        stage.names("configmaps"),
        "here kube-root-ca.crt of-one-here of-one-here-and-nobody"
    );
    let kept = stage.get("configmaps", "of-one-here-and-nobody");
    assert_eq!(kept["metadata"]["ownerReferences"].as_array().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn namespaces_are_furnished_and_emptied() {
    let mut stage = Stage::with_nodes(1).await;
    let names: Vec<_> = stage
        .list("namespaces")
        .iter()
        .map(|namespace| namespace["metadata"]["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["default", "kube-node-lease", "kube-public", "kube-system"]);
    assert_eq!(stage.names("serviceaccounts"), "default");
    stage.create("namespaces", json!({"metadata": {"name": "shop"}}));
    stage.pass(1).await;
    let mut shop = deployment();
    shop["metadata"]["namespace"] = "shop".into();
    stage.create("deployments.apps", shop);
    stage.pass(1).await;
    assert_eq!(left(&stage), [1, 1, 2]);
    stage.silence("n1");
    stage.delete("namespaces", "shop", None);
    stage.pass(1).await;
    let namespace = stage.get("namespaces", "shop");
    assert_eq!(namespace["status"]["phase"], "Terminating");
    assert_eq!(left(&stage), [0, 0, 2]);
    stage.delete("nodes", "n1", None);
    stage.pass(60).await;
    assert!(stage.get("namespaces", "shop").is_null());
    assert_eq!(left(&stage), [0, 0, 0]);
}
