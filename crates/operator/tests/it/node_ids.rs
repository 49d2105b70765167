//! Nodes that neither their guests nor a cloud controller give a provider id.

use joiner_operator::node_ids::NodeIds;
use serde_json::{Value, json};

use crate::stage::Stage;

const UUID: &str = "4c4c4544-0033-3010-8042-b4c04f4b5931";

/// A launched claim whose instance has the name and UUID of nodes of these tests.
async fn stage() -> Stage {
    let mut stage = crate::lifecycle::with_lifecycle(Stage::bare()).with(NodeIds);
    stage.create_claim("web-1");
    stage.pass(1).await;
    let mut state = stage.cloud.state();
    let instance = state.instances.get_mut("test://web-1").unwrap();
    instance.system_uuid = Some(UUID.to_uppercase());
    drop(state);
    stage
}

/// A node without an id that has joined now.
fn nameless(stage: &Stage, uuid: &str, taints: &Value) {
    let now = stage.context.now().to_string();
    let node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "web-1", "creationTimestamp": now},
        "spec": {"taints": taints},
    });
    stage.create("", "nodes", node);
    let info = json!({"status": {"nodeInfo": {
        "machineID": "", "systemUUID": uuid, "bootID": "", "kernelVersion": "", "osImage": "",
        "containerRuntimeVersion": "", "kubeletVersion": "v1.33.4", "kubeProxyVersion": "",
        "operatingSystem": "linux", "architecture": "amd64",
    }}});
    stage.merge("", "nodes", "web-1", Some("status"), info);
}

fn id_of(stage: &Stage) -> Value {
    stage.find::<Value>("", "nodes", "web-1").unwrap()["spec"]["providerID"].clone()
}

#[tokio::test(start_paused = true)]
async fn a_node_with_name_and_uuid_of_an_instance_gets_its_id_after_half_a_minute() {
    let mut stage = stage().await;
    nameless(&stage, UUID, &json!([]));
    stage.pass(25).await;
    assert_eq!(id_of(&stage), Value::Null, "its guest may write it");
    stage.pass(10).await;
    assert_eq!(id_of(&stage), "test://web-1");
}

#[tokio::test(start_paused = true)]
async fn a_node_with_another_uuid_gets_no_id() {
    let mut stage = stage().await;
    nameless(&stage, "another", &json!([]));
    stage.pass(600).await;
    assert_eq!(id_of(&stage), Value::Null);
}

#[tokio::test(start_paused = true)]
async fn an_id_is_left_to_a_cloud_controller_that_runs_or_is_expected() {
    let mut expected = stage().await;
    let taint = json!([{"key": "node.cloudprovider.kubernetes.io/uninitialized",
        "value": "true", "effect": "NoSchedule"}]);
    nameless(&expected, UUID, &taint);
    expected.pass(600).await;
    assert_eq!(id_of(&expected), Value::Null);

    let mut runs = stage().await;
    runs.cloud.state().cloud_controllers = &["test-cloud-controller"];
    let labels = json!({"app": "controller"});
    runs.create(
        "apps",
        "deployments",
        json!({
            "metadata": {"name": "controller", "namespace": "kube-system"},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"containers": [
                        {"name": "controller", "image": "example.org/test-cloud-controller:v1"},
                    ]},
                },
            },
        }),
    );
    nameless(&runs, UUID, &json!([]));
    runs.pass(600).await;
    assert_eq!(id_of(&runs), Value::Null);
}
