//! From a node that has joined to one that pods can use.

use std::sync::Arc;

use joiner_cloud::instance::Instance;
use joiner_core::quantity::Quantity;
use joiner_operator::measuring::Measuring;
use serde_json::{Value, json};

use super::{stage, with_lifecycle};
use crate::{
    play::{amounts, node, unregistered},
    stage::{Stage, claim},
};

const INITIALIZED: &str = "karpenter.sh/initialized";

/// A claim with this spec, launched, and its node, joined.
async fn joined(spec: Value) -> Stage {
    let mut stage = stage();
    join(&mut stage, spec).await;
    stage
}

async fn join(stage: &mut Stage, spec: Value) {
    let mut claim = claim("web-1");
    for (field, value) in spec.as_object().unwrap() {
        claim["spec"][field] = value.clone();
    }
    stage.create_claim_as(claim);
    stage.pass(1).await;
    stage.join(node("node-1", "web-1"));
    stage.pass(1).await;
}

fn is_initialized(stage: &Stage) -> bool {
    let condition = stage.status_of("web-1", "Initialized").as_deref() == Some("True");
    let label = stage.label_of("node-1", INITIALIZED).as_deref() == Some("true");
    assert_eq!(condition, label, "claim and node say the same");
    condition
}

/// What the node still lacks: reason and message.
fn lack(stage: &Stage) -> (String, String) {
    assert!(!is_initialized(stage));
    let (status, reason, message) = stage.condition("web-1", "Initialized").unwrap();
    assert_eq!(status, "Unknown");
    (reason, message)
}

fn said(reason: &str, message: &str) -> (String, String) {
    (reason.to_owned(), message.to_owned())
}

#[tokio::test(start_paused = true)]
async fn l32_a_node_is_initialized_only_after_it_has_registered() {
    let mut stage = stage();
    stage.create_claim("web-1");
    stage.pass(1).await;
    stage.join(node("node-1", "web-1"));
    stage.join(node("node-2", "web-1"));
    stage.pass(1).await;
    assert_eq!(stage.status_of("web-1", "Registered").as_deref(), Some("False"));
    assert_eq!(stage.status_of("web-1", "Initialized").as_deref(), Some("Unknown"));
    assert_eq!(stage.label_of("node-1", INITIALIZED), None);
}

#[tokio::test(start_paused = true)]
async fn l33_an_initialized_node_has_the_label_and_its_claim_is_ready() {
    let stage = joined(json!({})).await;
    assert!(is_initialized(&stage));
    assert_eq!(stage.status_of("web-1", "Ready").as_deref(), Some("True"));
}

#[tokio::test(start_paused = true)]
async fn when_nothing_changes_nothing_is_written() {
    let mut stage = joined(json!({})).await;
    let versions = |stage: &Stage| {
        let claim = stage.claim("web-1").metadata.resource_version;
        (claim, stage.find_node("node-1").unwrap().metadata.resource_version)
    };
    let before = versions(&stage);
    stage.pass(3600).await;
    assert_eq!(versions(&stage), before);
}

#[tokio::test(start_paused = true)]
async fn l34_a_node_that_is_not_ready_is_not_initialized() {
    let mut stage = stage();
    stage.create_claim("web-1");
    stage.pass(1).await;
    stage.join(node("node-1", "web-1"));
    stage.report("node-1", false, &amounts());
    stage.pass(1).await;
    assert_eq!(stage.status_of("web-1", "Registered").as_deref(), Some("True"));
    assert_eq!(lack(&stage), said("NodeNotReady", "Node status is NotReady"));
    stage.report("node-1", true, &amounts());
    stage.pass(1).await;
    assert!(is_initialized(&stage));
}

#[tokio::test(start_paused = true)]
async fn l35_l36_a_node_waits_for_every_resource_that_was_asked_for() {
    let requests = json!({"cpu": "1", "example.com/gpu": "2", "example.com/nothing": "0"});
    let mut stage = stage();
    let types = Arc::clone(&stage.cloud.state().types);
    let with_gpus = types.iter().cloned().map(|mut with_gpus| {
        Arc::make_mut(&mut with_gpus).capacity.set("example.com/gpu", Quantity::whole(2));
        with_gpus
    });
    stage.cloud.state().types = with_gpus.collect();
    join(&mut stage, json!({"resources": {"requests": requests}})).await;
    let message = "Resource \"example.com/gpu\" was requested but not registered";
    assert_eq!(lack(&stage), said("ResourceNotRegistered", message));
    let mut more = amounts();
    more["example.com/gpu"] = "0".into();
    stage.report("node-1", true, &more);
    stage.pass(1).await;
    assert_eq!(lack(&stage), said("ResourceNotRegistered", message), "none is not some");
    more["example.com/gpu"] = "2".into();
    stage.report("node-1", true, &more);
    stage.pass(1).await;
    assert!(is_initialized(&stage));
}

#[tokio::test(start_paused = true)]
async fn l37_l38_a_node_waits_until_its_startup_taints_are_taken_off() {
    let taint = json!({"key": "cni", "value": "pending", "effect": "NoExecute"});
    let mut stage = joined(json!({"startupTaints": [taint]})).await;
    let message = "StartupTaint \"cni=pending:NoExecute\" still exists";
    assert_eq!(lack(&stage), said("StartupTaintsExist", message));
    stage.taint("node-1", &json!([]));
    stage.pass(1).await;
    assert!(is_initialized(&stage));
}

/// A node with a taint that goes away by itself waits for that.
async fn waits_for(taint: Value, told: &str) {
    let mut stage = stage();
    stage.create_claim("web-1");
    stage.pass(1).await;
    let mut node = node("node-1", "web-1");
    node["spec"]["taints"] = json!([unregistered(), taint]);
    stage.join(node);
    stage.pass(1).await;
    let message = format!("KnownEphemeralTaint \"{told}\" still exists");
    assert_eq!(lack(&stage), said("KnownEphemeralTaintsExist", &message));
    stage.taint("node-1", &json!([]));
    stage.pass(1).await;
    assert!(is_initialized(&stage));
}

#[tokio::test(start_paused = true)]
async fn l39_l40_a_node_waits_until_ephemeral_taints_are_gone() {
    let taint = json!({
        "key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true",
        "effect": "NoSchedule",
    });
    waits_for(taint, "node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule").await;
}

#[tokio::test(start_paused = true)]
async fn l41_a_node_waits_until_taints_of_readiness_gates_are_gone() {
    let taint = json!({"key": "readiness.k8s.io/storage", "effect": "NoSchedule"});
    waits_for(taint, "readiness.k8s.io/storage:NoSchedule").await;
}

/// A slice of a driver's pool on node-1.
fn slice(name: &str, driver: &str, generation: i64, count: i64) -> Value {
    json!({
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {
            "driver": driver, "nodeName": "node-1",
            "pool": {"name": "node-1", "generation": generation, "resourceSliceCount": count},
            "devices": [],
        },
    })
}

/// A claim that waits for these drivers, launched, and its node, joined, where devices are looked at
/// or not.
async fn awaiting(drivers: Option<&str>, ignore_dra: bool) -> Stage {
    let mut stage =
        with_lifecycle(Stage::bare().set(|settings| settings.planner.plan.ignore_dra = ignore_dra));
    let mut claim = claim("web-1");
    if let Some(drivers) = drivers {
        claim["metadata"]["annotations"] = json!({"karpenter.sh/requested-dra-drivers": drivers});
    }
    stage.create_claim_as(claim);
    stage.pass(1).await;
    stage.join(node("node-1", "web-1"));
    stage.pass(1).await;
    stage
}

async fn publish(stage: &mut Stage, slice: Value) {
    stage.create("resource.k8s.io", "resourceslices", slice);
    stage.pass(6).await;
}

fn unpublished(driver: &str) -> (String, String) {
    let message = format!("DRA driver \"{driver}\" has not published a complete resource pool");
    said("DRADriverPoolsNotPublished", &message)
}

#[tokio::test(start_paused = true)]
async fn l42_a_node_waits_until_the_driver_has_published_its_devices() {
    let mut stage = awaiting(Some("gpu.example.com"), false).await;
    assert_eq!(lack(&stage), unpublished("gpu.example.com"));
    publish(&mut stage, slice("other", "nic.example.com", 1, 1)).await;
    assert_eq!(lack(&stage), unpublished("gpu.example.com"));
    publish(&mut stage, slice("gpu", "gpu.example.com", 1, 1)).await;
    assert!(is_initialized(&stage));
}

#[tokio::test(start_paused = true)]
async fn l43_a_part_of_a_pool_is_not_enough() {
    let mut stage = awaiting(Some("gpu.example.com"), false).await;
    publish(&mut stage, slice("gpu-1", "gpu.example.com", 1, 2)).await;
    assert_eq!(lack(&stage), unpublished("gpu.example.com"));
    publish(&mut stage, slice("gpu-2", "gpu.example.com", 1, 2)).await;
    assert!(is_initialized(&stage));
}

#[tokio::test(start_paused = true)]
async fn l44_an_older_generation_does_not_complete_a_newer_one() {
    let mut stage = awaiting(Some("gpu.example.com"), false).await;
    publish(&mut stage, slice("gpu-1", "gpu.example.com", 2, 2)).await;
    publish(&mut stage, slice("gpu-0", "gpu.example.com", 1, 1)).await;
    assert_eq!(lack(&stage), unpublished("gpu.example.com"));
    publish(&mut stage, slice("gpu-2", "gpu.example.com", 2, 2)).await;
    assert!(is_initialized(&stage));
}

#[tokio::test(start_paused = true)]
async fn l45_every_driver_is_waited_for() {
    let mut stage = awaiting(Some("gpu.example.com, nic.example.com"), false).await;
    publish(&mut stage, slice("gpu", "gpu.example.com", 1, 1)).await;
    assert_eq!(lack(&stage), unpublished("nic.example.com"));
    publish(&mut stage, slice("nic", "nic.example.com", 1, 1)).await;
    assert!(is_initialized(&stage));
}

#[tokio::test(start_paused = true)]
async fn l46_a_claim_that_names_no_driver_waits_for_none() {
    assert!(is_initialized(&awaiting(None, false).await));
}

#[tokio::test(start_paused = true)]
async fn l47_where_devices_are_ignored_nobody_waits_for_them() {
    assert!(is_initialized(&awaiting(Some("gpu.example.com"), true).await));
}

#[tokio::test(start_paused = true)]
async fn clouds_hear_what_their_instances_nodes_have_until_they_know_the_instance() {
    let mut stage = Stage::bare().with(Measuring);
    let mut claim = claim("web-1");
    claim["metadata"]["labels"] = json!({"node.kubernetes.io/instance-type": "test-4x"});
    stage.create_claim_as(claim);
    let status = json!({"status": {"providerID": "test://web-1"}});
    stage.merge("karpenter.sh", "nodeclaims", "web-1", Some("status"), status);
    stage.join(node("node-1", "web-1"));
    stage.pass(60).await;
    assert_eq!(stage.cloud.calls("measured"), 0, "it is not set up yet");
    let set_up = json!({"metadata": {"labels": {"karpenter.sh/initialized": "true"}}});
    stage.merge("", "nodes", "node-1", None, set_up);
    stage.pass(1).await;
    let told = "measured test://web-1: test-4x has cpu 4, memory 16Gi, pods 110";
    assert_eq!(stage.cloud.calls(told), 1);
    let instance = Instance { provider_id: "test://web-1".to_owned(), ..Instance::default() };
    stage.cloud.state().instances.insert("test://web-1".to_owned(), instance);
    stage.pass(600).await;
    assert_eq!(stage.cloud.calls("measured"), 2, "once more, and then it knows");
}
