//! ST-16 to ST-30: claims that a static pool has too many are removed.

use joiner_operator::static_pools::StaticDeprovisioning;
use serde_json::{Value, json};

use super::{gated, provisioning::blind, static_pool};
use crate::stage::{Stage, pool};

fn stage() -> Stage {
    gated(Stage::bare()).with(StaticDeprovisioning)
}

/// A pool of so many nodes that has these.
fn with_claims(replicas: i64, names: &[&str]) -> Stage {
    let stage = stage();
    let pool = stage.create_ready_pool(static_pool("batch", replicas));
    for name in names {
        stage.launched(name, &pool);
    }
    stage
}

/// A pod on a node, with these annotations and owners.
fn pod_on(stage: &Stage, node: &str, name: &str, more: &Value) {
    let mut pod = json!({
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "nodeName": node, "priority": more["priority"],
            "containers": [{"name": "app", "image": "app"}],
        },
    });
    pod["metadata"]["annotations"] = more["annotations"].clone();
    pod["metadata"]["ownerReferences"] = more["owners"].clone();
    stage.create("", "pods", pod);
}

fn of_daemon_set() -> Value {
    json!([{
        "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "logs", "uid": "logs",
        "controller": true,
    }])
}

fn protected() -> Value {
    json!({"karpenter.sh/do-not-disrupt": "true"})
}

#[tokio::test(start_paused = true)]
async fn st16_a_pool_of_another_provider_is_let_alone() {
    let mut stage = stage();
    let mut foreign = static_pool("batch", 0);
    foreign["spec"]["template"]["spec"]["nodeClassRef"]["kind"] = "OtherNodeClass".into();
    let pool = stage.create_ready_pool(foreign);
    stage.launched("batch-a", &pool);
    stage.pass(120).await;
    assert_eq!(stage.staying(), ["batch-a"]);
}

#[tokio::test(start_paused = true)]
async fn st17_a_pool_without_replicas_is_let_alone() {
    let mut stage = stage();
    let pool = stage.create_ready_pool(pool("general"));
    stage.launched("general-a", &pool);
    stage.pass(120).await;
    assert_eq!(stage.staying(), ["general-a"]);
}

#[tokio::test(start_paused = true)]
async fn st18_a_pool_that_is_being_deleted_is_let_alone() {
    let mut stage = stage();
    let mut pool = static_pool("batch", 0);
    pool["metadata"]["finalizers"] = json!(["example.com/keep"]);
    let pool = stage.create_ready_pool(pool);
    stage.delete("karpenter.sh", "nodepools", "batch");
    stage.launched("batch-a", &pool);
    stage.pass(120).await;
    assert_eq!(stage.staying(), ["batch-a"]);
}

/// Which claims go depends on where pods run, and how many on how many there are.
#[tokio::test(start_paused = true)]
async fn st18_while_something_that_counts_cannot_be_watched_no_claim_is_removed() {
    for plural in ["pods", "nodes", "nodeclaims"] {
        let mut stage = with_claims(3, &["batch-a", "batch-b", "batch-c"]);
        blind(&stage, plural);
        stage.pass(1).await;
        stage.scale_pool("batch", 1);
        stage.pass(120).await;
        assert_eq!(stage.staying(), ["batch-a", "batch-b", "batch-c"], "{plural}");
        stage.pass(600).await;
        assert_eq!(stage.staying(), ["batch-c"], "{plural}");
    }
}

#[tokio::test(start_paused = true)]
async fn st19_a_pool_with_as_many_claims_as_it_needs_or_fewer_keeps_them() {
    for replicas in [2, 3] {
        let mut stage = with_claims(replicas, &["batch-a", "batch-b"]);
        stage.pass(120).await;
        assert_eq!(stage.staying(), ["batch-a", "batch-b"]);
    }
}

#[tokio::test(start_paused = true)]
async fn st20_claims_that_are_leaving_or_replaced_do_not_count() {
    let mut stage = with_claims(2, &["batch-a", "batch-b", "batch-c", "batch-d"]);
    stage.delete_claim("batch-a");
    stage.mark_disrupted("batch-b");
    stage.pass(120).await;
    assert_eq!(stage.staying(), ["batch-b", "batch-c", "batch-d"]);
}

#[tokio::test(start_paused = true)]
async fn st21_what_is_too_much_is_removed_and_counted() {
    let mut stage = with_claims(1, &["batch-a", "batch-b", "batch-c"]);
    stage.pass(1).await;
    assert_eq!(stage.staying(), ["batch-c"]);
    let disrupted = stage.series("karpenter_nodeclaims_disrupted_total");
    assert_eq!(disrupted.len(), 1);
    assert!(disrupted[0].contains(r#"reason="overprovisioned""#), "{disrupted:?}");
    assert!(disrupted[0].ends_with(" 2"), "{disrupted:?}");
}

#[tokio::test(start_paused = true)]
async fn st22_a_pool_of_no_nodes_keeps_none() {
    let mut stage = with_claims(2, &["batch-a", "batch-b"]);
    stage.pass(1).await;
    stage.scale_pool("batch", 0);
    stage.pass(1).await;
    assert_eq!(stage.staying(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn st23_a_pool_without_claims_has_none_too_many() {
    let mut stage = with_claims(0, &[]);
    stage.pass(120).await;
    assert_eq!(stage.staying(), [""; 0]);
    assert_eq!(stage.series("karpenter_nodeclaims_disrupted_total"), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn st23_a_deletion_that_fails_is_tried_again() {
    let mut stage = with_claims(1, &["batch-a", "batch-b", "batch-c"]);
    stage.lab.faults().add_script("at 0s joiner: 500 on delete nodeclaims 3 times").unwrap();
    stage.pass(60).await;
    assert_eq!(stage.lab.faults().struck(), 3);
    assert_eq!(stage.staying(), ["batch-c"]);
}

#[tokio::test(start_paused = true)]
async fn st24_claims_without_an_instance_go_first() {
    let mut stage = with_claims(2, &["batch-a", "batch-b"]);
    let pool = serde_json::to_value(stage.pool("batch")).unwrap();
    stage.unlaunched("batch-c", &pool);
    stage.pass(1).await;
    assert_eq!(stage.staying(), ["batch-a", "batch-b"]);
}

/// Nodes with daemons only, with a cheap pod, with a dear one, and with a protected one: two each,
/// named so that the order of names is no help.
async fn mixed() -> Stage {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"].map(|letter| format!("batch-{letter}"));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut stage = with_claims(8, &names);
    let owners = of_daemon_set();
    for (number, node) in names.iter().enumerate() {
        pod_on(&stage, node, &format!("logs-{number}"), &json!({"owners": owners}));
        let more = match number % 4 {
            0 => json!({"annotations": protected()}),
            1 => json!({"annotations": {"controller.kubernetes.io/pod-deletion-cost": "100000"}}),
            2 => json!({}),
            _ => continue,
        };
        pod_on(&stage, node, &format!("app-{number}"), &more);
    }
    stage.pass(1).await;
    stage
}

#[tokio::test(start_paused = true)]
async fn st25_to_st30_from_eight_nodes_daemons_go_first_then_cheap_then_dear_then_protected_ones() {
    let mut stage = mixed().await;
    for (replicas, expected) in [
        (6, &["batch-a", "batch-b", "batch-c", "batch-e", "batch-f", "batch-g"][..]),
        (4, &["batch-a", "batch-b", "batch-e", "batch-f"][..]),
        (2, &["batch-a", "batch-e"][..]),
        (0, &[][..]),
    ] {
        stage.scale_pool("batch", replicas);
        stage.pass(1).await;
        assert_eq!(stage.staying(), expected, "to {replicas}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_protected_daemon_protects_its_node() {
    let mut stage = with_claims(1, &["batch-a", "batch-b"]);
    let daemon = json!({"owners": of_daemon_set(), "annotations": protected()});
    pod_on(&stage, "batch-a", "logs-a", &daemon);
    pod_on(&stage, "batch-b", "logs-b", &json!({"owners": of_daemon_set()}));
    stage.pass(1).await;
    assert_eq!(stage.staying(), ["batch-a"]);
}
