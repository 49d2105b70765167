//! Which pods leave, in which order, and which the node does not wait for.

use serde_json::{Value, json};

use crate::leaving::Leaving;

/// A node that is deleted once the test has put its pods there.
fn leaving() -> Leaving {
    let leaving = Leaving::new();
    leaving.node("node-1");
    leaving
}

fn tolerating(toleration: &Value) -> Value {
    json!({"spec": {"tolerations": [toleration]}})
}

fn owned_by(api_version: &str, kind: &str) -> Value {
    let owner = json!({"apiVersion": api_version, "kind": kind, "name": "o", "uid": "u"});
    json!({"metadata": {"ownerReferences": [owner]}})
}

fn critical(mut pod: Value, class: &str) -> Value {
    pod["spec"]["priorityClassName"] = class.into();
    pod
}

/// The node is gone, and pods that were not asked to leave are still there.
async fn goes_without(leaving: &mut Leaving, pods: &[&'static str]) {
    leaving.delete_node("node-1");
    leaving.pass(15).await;
    assert!(leaving.find_node("node-1").is_none());
    assert_eq!(leaving.leaving(pods), [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn t08_a_pod_that_tolerates_this_very_taint_is_not_evicted() {
    let mut leaving = leaving();
    let equal =
        json!({"key": "karpenter.sh/disrupted", "operator": "Equal", "effect": "NoSchedule"});
    leaving.pod("web", tolerating(&equal));
    goes_without(&mut leaving, &["web"]).await;
}

#[tokio::test(start_paused = true)]
async fn t09_a_pod_that_tolerates_the_taint_with_any_value_is_not_evicted() {
    let mut leaving = leaving();
    let exists = json!({"key": "karpenter.sh/disrupted", "operator": "Exists"});
    leaving.pod("web", tolerating(&exists));
    leaving.pod("all", tolerating(&json!({"operator": "Exists"})));
    goes_without(&mut leaving, &["web", "all"]).await;
}

#[tokio::test(start_paused = true)]
async fn t10_a_pod_that_tolerates_cordons_only_is_evicted() {
    let mut leaving = leaving();
    let cordon = json!({"key": "node.kubernetes.io/unschedulable", "operator": "Exists"});
    leaving.pod("web", tolerating(&cordon));
    leaving.delete_node("node-1");
    leaving.pass(1).await;
    assert!(leaving.is_leaving("web"));
}

#[tokio::test(start_paused = true)]
async fn t11_a_pod_without_an_owner_is_evicted_like_any_other() {
    let mut leaving = leaving();
    leaving.pod("orphan", json!({}));
    leaving.pod("owned", owned_by("apps/v1", "ReplicaSet"));
    leaving.delete_node("node-1");
    leaving.pass(1).await;
    assert_eq!(leaving.leaving(&["orphan", "owned"]), ["orphan", "owned"]);
    leaving.end_pod("orphan");
    leaving.end_pod("owned");
    leaving.pass(15).await;
    assert!(leaving.find_node("node-1").is_none());
}

#[tokio::test(start_paused = true)]
async fn t12_pods_that_have_ended_are_not_waited_for() {
    let mut leaving = leaving();
    for (name, phase) in [("done", "Succeeded"), ("broken", "Failed")] {
        leaving.pod(name, json!({}));
        leaving.set_status(name, &json!({"phase": phase}));
    }
    goes_without(&mut leaving, &["done", "broken"]).await;
}

#[tokio::test(start_paused = true)]
async fn t13_a_node_waits_for_a_pod_that_its_budget_keeps() {
    let mut leaving = leaving();
    leaving.pod("web", json!({}));
    leaving.budget("web", "web", 0);
    leaving.delete_node("node-1");
    leaving.pass(600).await;
    assert!(!leaving.is_leaving("web"));
    assert!(leaving.find_node("node-1").is_some());
    assert_eq!(leaving.condition("node-1", "Drained").unwrap(), "Unknown Draining");
    assert_eq!(leaving.stage.cloud.calls("delete"), 0);
    let told = leaving.stage.events("Node", "node-1");
    for why in [
        "1 pods are waiting to be evicted",
        "evicting pod violates a PDB (Pod=shop/web): PodDisruptionBudget shop/web allows no \
         eviction now; let it allow one, or add replicas",
    ] {
        let event = format!("FailedDraining: Failed to drain node, {why}");
        assert!(told.contains(&event), "{told:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn t14_each_tier_leaves_when_the_one_before_is_completely_gone() {
    let mut leaving = leaving();
    leaving.pod("workload", json!({}));
    leaving.pod("daemon", owned_by("apps/v1", "DaemonSet"));
    leaving.pod("critical", critical(json!({}), "system-cluster-critical"));
    let daemon = critical(owned_by("apps/v1", "DaemonSet"), "system-node-critical");
    leaving.pod("critical-daemon", daemon);
    leaving.delete_node("node-1");
    let mut left = vec!["workload", "daemon", "critical", "critical-daemon"];
    while let Some(first) = left.first().copied() {
        leaving.pass(40).await;
        assert_eq!(leaving.leaving(&left), [first], "and nobody after it");
        leaving.end_pod(first);
        left.remove(0);
    }
    leaving.pass(15).await;
    assert!(leaving.find_node("node-1").is_none());
}

#[tokio::test(start_paused = true)]
async fn t15_critical_pods_leave_last() {
    let mut leaving = leaving();
    let names = ["cluster", "node", "web-1", "web-2"];
    leaving.pod("cluster", critical(json!({}), "system-cluster-critical"));
    leaving.pod("node", critical(json!({}), "system-node-critical"));
    leaving.pod("web-1", json!({}));
    leaving.pod("web-2", json!({}));
    leaving.delete_node("node-1");
    leaving.pass(2).await;
    assert_eq!(leaving.leaving(&names), ["web-1", "web-2"]);
    leaving.end_pod("web-1");
    leaving.pass(2).await;
    assert_eq!(leaving.leaving(&["cluster", "node"]), [] as [&str; 0]);
    leaving.end_pod("web-2");
    leaving.pass(2).await;
    assert_eq!(leaving.leaving(&["cluster", "node"]), ["cluster", "node"]);
}

#[tokio::test(start_paused = true)]
async fn t16_static_pods_are_not_waited_for() {
    let mut leaving = leaving();
    leaving.pod("static", owned_by("v1", "Node"));
    goes_without(&mut leaving, &["static"]).await;
}

#[tokio::test(start_paused = true)]
async fn t17_a_node_stays_until_its_last_pod_is_gone() {
    let mut leaving = leaving();
    leaving.pod("web-1", json!({}));
    leaving.pod("web-2", json!({}));
    leaving.delete_node("node-1");
    leaving.pass(10).await;
    leaving.end_pod("web-1");
    leaving.pass(10).await;
    assert!(leaving.find_node("node-1").is_some());
    assert_eq!(leaving.stage.cloud.calls("delete"), 0);
    leaving.end_pod("web-2");
    leaving.pass(10).await;
    assert!(leaving.find_node("node-1").is_none());
}

#[tokio::test(start_paused = true)]
async fn t20_a_pod_that_should_have_been_gone_a_minute_ago_is_not_waited_for() {
    let mut leaving = leaving();
    leaving.pod("hangs", json!({}));
    leaving.delete_pod("hangs", 30);
    leaving.delete_node("node-1");
    // Half a minute of its own, and a minute more.
    leaving.pass(88).await;
    assert_eq!(leaving.condition("node-1", "Drained").unwrap(), "Unknown Draining");
    leaving.pass(4).await;
    assert_eq!(leaving.condition("node-1", "Drained").unwrap(), "True Drained");
}

#[tokio::test(start_paused = true)]
async fn t21_another_pod_of_the_same_name_is_not_evicted_for_the_one_before() {
    let mut leaving = leaving();
    leaving.stage.create("", "nodes", json!({"metadata": {"name": "elsewhere"}}));
    leaving.pod("web", json!({}));
    leaving.budget("web", "web", 0);
    leaving.delete_node("node-1");
    leaving.pass(5).await;
    leaving.end_pod("web");
    leaving.pod("web", json!({"spec": {"nodeName": "elsewhere"}}));
    leaving.allow("web", 1);
    leaving.pass(60).await;
    assert!(!leaving.is_leaving("web"));
    assert!(leaving.find_node("node-1").is_none());
}
