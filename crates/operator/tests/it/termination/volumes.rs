//! A node waits until the volumes of its pods are detached.

use serde_json::json;

use crate::leaving::Leaving;

/// A leaving node to which the volume of `web` and that of `stays` are attached. Nobody waits for
/// `stays` to leave.
fn leaving() -> Leaving {
    let leaving = Leaving::new();
    leaving.node("node-1");
    let volumes =
        |name: &str| json!([{"name": "data", "persistentVolumeClaim": {"claimName": name}}]);
    leaving.pod("web", json!({"spec": {"volumes": volumes("web")}}));
    let tolerations = json!([{"operator": "Exists"}]);
    leaving
        .pod("stays", json!({"spec": {"volumes": volumes("stays"), "tolerations": tolerations}}));
    attach(&leaving, "web");
    attach(&leaving, "stays");
    leaving.delete_node("node-1");
    leaving
}

/// A bound claim whose volume is attached to the node.
fn attach(leaving: &Leaving, name: &str) {
    leaving.stage.create(
        "",
        "persistentvolumeclaims",
        json!({
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {
                "volumeName": format!("volume-of-{name}"), "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }),
    );
    leaving.stage.create(
        "storage.k8s.io",
        "volumeattachments",
        json!({
            "metadata": {"name": format!("attached-{name}")},
            "spec": {
                "attacher": "csi.example.com", "nodeName": "node-1",
                "source": {"persistentVolumeName": format!("volume-of-{name}")},
            },
        }),
    );
}

fn detach(leaving: &Leaving, name: &str) {
    leaving.stage.delete("storage.k8s.io", "volumeattachments", &format!("attached-{name}"));
}

#[tokio::test(start_paused = true)]
async fn t27_t28_a_node_waits_for_the_volumes_of_pods_that_left_and_of_no_others() {
    let mut leaving = leaving();
    leaving.pass(1).await;
    leaving.end_pod("web");
    leaving.pass(300).await;
    assert_eq!(leaving.condition("node-1", "Drained").unwrap(), "True Drained");
    let waits = "Unknown AwaitingVolumeDetachment";
    assert_eq!(leaving.condition("node-1", "VolumesDetached").unwrap(), waits);
    assert_eq!(leaving.stage.cloud.calls("delete"), 0);
    let told = "AwaitingVolumeDetachment: Awaiting deletion of bound volumeattachments \
                (attached-web)";
    assert!(leaving.stage.events("Node", "node-1").contains(&told.to_owned()));
    detach(&leaving, "web");
    leaving.pass(1).await;
    assert_eq!(leaving.condition("node-1", "VolumesDetached").unwrap(), "True VolumesDetached");
    assert_eq!(leaving.stage.cloud.calls("delete"), 1);
}

#[tokio::test(start_paused = true)]
async fn t28_the_claim_of_an_ephemeral_volume_is_named_after_its_pod() {
    let mut leaving = Leaving::new();
    leaving.node("node-1");
    let template = json!({"spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
    }});
    let volume = json!({"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}});
    let tolerations = json!([{"operator": "Exists"}]);
    leaving.pod("stays", json!({"spec": {"volumes": [volume], "tolerations": tolerations}}));
    attach(&leaving, "stays-scratch");
    leaving.delete_node("node-1");
    leaving.pass(15).await;
    assert!(leaving.find_node("node-1").is_none());
}

#[tokio::test(start_paused = true)]
async fn t29_nobody_waits_for_volumes_beyond_the_deadline() {
    let mut leaving = leaving();
    leaving.set_deadline("node-1", 60);
    leaving.pass(1).await;
    leaving.end_pod("web");
    leaving.pass(57).await;
    assert_eq!(leaving.stage.cloud.calls("delete"), 0);
    leaving.pass(3).await;
    let given_up = "False TerminationGracePeriodElapsed";
    assert_eq!(leaving.condition("node-1", "VolumesDetached").unwrap(), given_up);
    assert_eq!(leaving.stage.cloud.calls("delete"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_class_may_limit_the_wait() {
    let mut leaving = leaving();
    let timeout = json!({"metadata": {"annotations": {"joiner.sh/volume-detach-timeout": "2m"}}});
    leaving.stage.merge("karpenter.test.sh", "testnodeclasses", "default", None, timeout);
    leaving.pass(1).await;
    leaving.end_pod("web");
    leaving.pass(120).await;
    assert_eq!(leaving.stage.cloud.calls("delete"), 0);
    leaving.pass(10).await;
    let given_up = "False VolumeDetachTimeoutElapsed";
    assert_eq!(leaving.condition("node-1", "VolumesDetached").unwrap(), given_up);
    leaving.pass(10).await;
    assert!(leaving.find_node("node-1").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_cannot_be_read_is_none() {
    let mut leaving = leaving();
    let timeout = json!({"metadata": {"annotations": {"joiner.sh/volume-detach-timeout": "soon"}}});
    leaving.stage.merge("karpenter.test.sh", "testnodeclasses", "default", None, timeout);
    leaving.pass(1).await;
    leaving.end_pod("web");
    leaving.pass(600).await;
    let waits = "Unknown AwaitingVolumeDetachment";
    assert_eq!(leaving.condition("node-1", "VolumesDetached").unwrap(), waits);
    assert_eq!(leaving.stage.cloud.calls("delete"), 0);
    detach(&leaving, "web");
    leaving.pass(15).await;
    assert!(leaving.find_node("node-1").is_none());
}
