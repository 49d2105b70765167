//! Nodes that go away in a whole cluster: budgets are kept, kubelets end pods, storage detaches
//! volumes.

use joiner_apiserver::Resource;
use joiner_lab::{
    checks,
    cluster::instances::{Fault, InstanceSpec, VolumeDriver},
};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use crate::leaving::Leaving;

const DRIVER: &str = "csi.example.com";

/// A cluster of two instances.
async fn cluster() -> Leaving {
    let mut leaving = Leaving::whole();
    let driver = VolumeDriver { name: DRIVER.to_owned(), limit: None, topology_keys: Vec::new() };
    for name in ["node-1", "node-2"] {
        let spec = InstanceSpec { volume_drivers: vec![driver.clone()], ..InstanceSpec::new(name) };
        leaving.boot(name, spec).await;
    }
    leaving
}

fn workload(kind: &str, replicas: u32) -> Value {
    let pod = json!({
        "terminationGracePeriodSeconds": 5,
        "containers": [{"name": "app", "image": "app"}],
    });
    json!({
        "apiVersion": "apps/v1", "kind": kind,
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod},
        },
    })
}

fn pods_on(leaving: &Leaving, node: &str) -> usize {
    let pods = leaving.stage.lab.caller("admin").list(&Resource::new("", "pods"), None);
    let pods = pods.iter().map(|pod| serde_json::from_value::<Pod>(pod.value()).unwrap());
    pods.filter(|pod| pod.spec.as_ref().unwrap().node_name.as_deref() == Some(node)).count()
}

#[tokio::test(start_paused = true)]
async fn a_deployment_moves_within_its_budget() {
    let mut leaving = cluster().await;
    let deployment = workload("Deployment", 6);
    leaving.stage.create("apps", "deployments", deployment);
    leaving.stage.create(
        "policy",
        "poddisruptionbudgets",
        json!({
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}},
        }),
    );
    leaving.pass(60).await;
    let moving = pods_on(&leaving, "node-1");
    assert!(moving > 1, "there is something to move: {moving}");
    leaving.delete_node("node-1");
    leaving.pass(300).await;
    assert_eq!(pods_on(&leaving, "node-2"), 6);
    assert!(leaving.find_node("node-1").is_none());
    assert!(leaving.evictions.is_empty());
    let violations = checks::evictions_within_budgets(leaving.stage.lab.history());
    assert_eq!(violations, []);
}

#[tokio::test(start_paused = true)]
async fn a_volume_is_detached_before_the_instance_goes() {
    let mut leaving = cluster().await;
    let class = json!({
        "metadata": {"name": "disks"}, "provisioner": DRIVER,
        "volumeBindingMode": "WaitForFirstConsumer",
    });
    leaving.stage.create("storage.k8s.io", "storageclasses", class);
    let mut set = workload("StatefulSet", 2);
    set["spec"]["volumeClaimTemplates"] = json!([{
        "metadata": {"name": "data"},
        "spec": {
            "storageClassName": "disks", "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }]);
    leaving.stage.create("apps", "statefulsets", set);
    leaving.pass(60).await;
    let node = if pods_on(&leaving, "node-1") > 0 { "node-1" } else { "node-2" };
    let attached = |leaving: &Leaving| {
        let resource = Resource::new("storage.k8s.io", "volumeattachments");
        let all = leaving.stage.lab.caller("admin").list(&resource, None);
        all.iter().filter(|attachment| attachment.value()["spec"]["nodeName"] == node).count()
    };
    assert!(attached(&leaving) > 0);
    leaving.delete_node(node);
    for _ in 0..120 {
        if leaving.stage.cloud.calls("delete") == 0 {
            leaving.pass(1).await;
        }
    }
    assert_eq!(leaving.stage.cloud.calls("delete"), 1);
    assert_eq!(attached(&leaving), 0);
    assert_eq!(leaving.condition(node, "VolumesDetached").unwrap(), "True VolumesDetached");
    leaving.pass(10).await;
    assert!(leaving.find_node(node).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_kubelet_that_ends_no_pods_does_not_keep_its_node() {
    let mut leaving = cluster().await;
    leaving.pod("web", json!({}));
    leaving.pass(5).await;
    leaving.stage.lab.instances().break_node("node-1", Fault::PodsHang);
    leaving.delete_node("node-1");
    leaving.pass(80).await;
    assert!(leaving.find_node("node-1").is_some());
    leaving.pass(30).await;
    assert!(leaving.find_node("node-1").is_none());
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_is_gone_takes_its_node_along() {
    let mut leaving = cluster().await;
    leaving.pod("web", json!({}));
    leaving.pass(5).await;
    leaving.stage.lab.instances().destroy("node-1").unwrap();
    leaving.stage.cloud.state().instances.clear();
    leaving.budget("web", "web", 0);
    leaving.delete_node("node-1");
    leaving.pass(20).await;
    assert!(leaving.find_node("node-1").is_some(), "its kubelet may only be silent for a moment");
    leaving.pass(60).await;
    assert!(leaving.find_node("node-1").is_none());
}
