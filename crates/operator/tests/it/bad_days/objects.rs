//! Pools and classes are missing, unfit or odd.

use expect_test::expect;
use joiner_api::{condition::find, node_pool::NodePool};
use joiner_operator::conditions::Conditioned;
use serde_json::json;

use super::running::Running;
use crate::stage::pool;

/// What a pool says of itself: a condition's status, reason and message.
fn condition(running: &Running, type_: &str) -> String {
    let pool: NodePool = running.stage.pool("general");
    let found = find(pool.conditions(), type_).expect("somebody has looked at it");
    format!("{} {}: {}", found.status, found.reason, found.message)
}

#[tokio::test(start_paused = true)]
async fn a_class_that_is_missing_is_named_and_waited_for() {
    let mut running = Running::prepared();
    running.stage.create("karpenter.sh", "nodepools", pool("general"));
    running.create_pod("web");
    running.start();
    running.pass(60).await;
    expect!["False NodeClassNotFound: NodeClass not found on cluster"]
        .assert_eq(&condition(&running, "NodeClassReady"));
    assert_eq!(running.claims(), [""; 0]);
    running.stage.create_class("default");
    running.pass(180).await;
    running.expect_running("web");
}

#[tokio::test(start_paused = true)]
async fn a_class_that_is_not_ready_says_why_and_is_waited_for() {
    let mut running = Running::prepared();
    let set = |holds: bool| {
        let class = &mut running.stage.cloud.state().class;
        class.holds = Some(holds);
        "NoSuchNetwork".clone_into(&mut class.reason);
        "spec.network \"blue\" is not there: create it or name another"
            .clone_into(&mut class.message);
    };
    set(false);
    running.stage.create_pool("general");
    running.create_pod("web");
    running.start();
    running.pass(60).await;
    expect![[r#"False UnhealthyDependents: Valid=False: spec.network "blue" is not there: create it or name another"#]]
        .assert_eq(&condition(&running, "NodeClassReady"));
    assert_eq!(running.claims(), [""; 0]);
    running.stage.cloud.state().class.holds = Some(true);
    // Clouds are asked every five minutes.
    running.pass(600).await;
    running.expect_running("web");
}

#[tokio::test(start_paused = true)]
async fn a_pool_with_unknown_fields_works_as_if_it_had_none() {
    let mut running = Running::prepared();
    running.stage.create_class("default");
    let mut odd = pool("general");
    odd["spec"]["template"]["spec"]["kubelet"] = json!({"maxPods": 20});
    odd["spec"]["colour"] = "blue".into();
    running.stage.create("karpenter.sh", "nodepools", odd);
    running.create_pod("web");
    running.start();
    running.pass(180).await;
    running.expect_running("web");
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_makes_no_sense_is_left_out_and_says_why() {
    let mut running = Running::prepared();
    running.stage.create_class("default");
    let mut odd = pool("general");
    let taint = json!({"key": "example.com/tier", "value": "db", "effect": "NoSchedule"});
    odd["spec"]["template"]["spec"]["taints"] = json!([taint]);
    odd["spec"]["template"]["spec"]["startupTaints"] = json!([taint]);
    running.stage.create("karpenter.sh", "nodepools", odd);
    running.create_pod("web");
    running.start();
    running.pass(60).await;
    expect!["False NodePoolValidationFailed: startupTaints: example.com/tier=db:NoSchedule is there twice; remove one"].assert_eq(&condition(&running, "ValidationSucceeded"));
    assert_eq!(running.claims(), [""; 0]);
    let sound = json!({"spec": {"template": {"spec": {"taints": [], "startupTaints": []}}}});
    running.stage.merge("karpenter.sh", "nodepools", "general", None, sound);
    running.pass(180).await;
    running.expect_running("web");
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_cannot_be_read_is_named_and_the_others_go_on() {
    let mut running = Running::prepared();
    running.stage.allow_anything("nodepools.karpenter.sh");
    running.stage.create_class("default");
    running.stage.create_unreadable_pool("odd");
    running.stage.create("karpenter.sh", "nodepools", pool("general"));
    running.create_pod("web");
    running.start();
    running.pass(180).await;
    running.expect_running("web");
    assert_eq!(running.readiness.why_not(), "");
    let note = r#"NodePool odd cannot be read (spec.weight: invalid type: string "high", expected i32): correct it with kubectl edit nodepools.karpenter.sh odd; until then nothing that depends on it is removed"#;
    assert_eq!(running.readiness.notes(), format!("note: {note}\n"));
    assert_eq!(running.said("cannot be read").len(), 1, "once, and not with every list");
    assert_eq!(running.said(note).len(), 1);
    let counted = |running: &Running| running.metric("joiner_unreadable_objects{") as u64;
    assert_eq!(counted(&running), 1);
    running.stage.merge("karpenter.sh", "nodepools", "odd", None, json!({"spec": {"weight": 10}}));
    running.pass(10).await;
    assert_eq!(running.readiness.notes(), "");
    assert_eq!(counted(&running), 0);
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_becomes_unreadable_is_what_it_was_until_it_is_gone() {
    let mut running = Running::prepared();
    running.stage.allow_anything("nodepools.karpenter.sh");
    running.stage.create_pool("general");
    running.start();
    running.pass(10).await;
    let odd = json!({"spec": {"weight": "high"}});
    running.stage.merge("karpenter.sh", "nodepools", "general", None, odd);
    running.create_pod("web");
    running.pass(180).await;
    running.expect_running("web");
    assert!(running.readiness.notes().starts_with("note: NodePool general cannot be read"));
    running.stage.delete("karpenter.sh", "nodepools", "general");
    running.pass(10).await;
    assert_eq!(running.readiness.notes(), "");
}

/// An engine that was started anew after the claim of a pod that runs has become unreadable.
async fn with_an_unreadable_claim() -> (Running, String) {
    let mut running = Running::prepared();
    running.stage.allow_anything("nodeclaims.karpenter.sh");
    running.stage.create_pool("general");
    running.start();
    running.create_pod("web");
    running.pass(180).await;
    running.expect_running("web");
    let [claim] = running.claims().try_into().unwrap();
    let odd = json!({"spec": {"requirements": "none"}});
    running.stage.merge("karpenter.sh", "nodeclaims", &claim, None, odd);
    running.kill();
    running.start();
    (running, claim)
}

fn mend(running: &Running, claim: &str) {
    let sound = json!({"spec": {"requirements": []}});
    running.stage.merge("karpenter.sh", "nodeclaims", claim, None, sound);
}

#[tokio::test(start_paused = true)]
async fn the_instance_of_a_claim_that_cannot_be_read_is_nobodys_garbage() {
    let (mut running, claim) = with_an_unreadable_claim().await;
    running.pass(3600).await;
    assert_eq!(running.instances(), 1, "an hour is ten times what garbage collection waits");
    running.expect_running("web");
    assert!(!running.said("garbage collection: NodeClaim").is_empty(), "it says why it holds back");
    mend(&running, &claim);
    running.pass(600).await;
    assert_eq!(running.instances(), 1);
    assert_eq!(running.readiness.notes(), "");
}

#[tokio::test(start_paused = true)]
async fn a_node_whose_claim_cannot_be_read_is_not_let_go_before_its_instance() {
    let (mut running, claim) = with_an_unreadable_claim().await;
    running.pass(60).await;
    let name = claim.clone();
    running.stage.delete("", "nodes", &name);
    running.pass(600).await;
    assert!(running.stage.find_node(&name).is_some(), "nobody knows what else is to be done");
    assert_eq!(running.instances(), 1);
    mend(&running, &claim);
    running.pass(600).await;
    assert!(running.stage.find_node(&name).is_none());
    assert_eq!(running.instances(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_cannot_be_read_takes_over_a_new_way_of_hashing_before_its_pool_does() {
    let (mut running, claim) = with_an_unreadable_claim().await;
    running.kill();
    let version = "karpenter.sh/nodepool-hash-version";
    let old =
        json!({"metadata": {"annotations": {version: "v1", "karpenter.sh/nodepool-hash": "7"}}});
    running.stage.merge("karpenter.sh", "nodepools", "general", None, old.clone());
    running.stage.merge("karpenter.sh", "nodeclaims", &claim, None, old);
    let marked = |running: &Running| {
        let annotations = running.stage.pool("general").metadata.annotations.unwrap();
        annotations[version].clone()
    };
    running.start();
    running.pass(120).await;
    assert_eq!(marked(&running), "v1", "the claim would count as made in the old way for ever");
    mend(&running, &claim);
    running.pass(600).await;
    let annotations = running.stage.pool("general").metadata.annotations.unwrap();
    let own = running.stage.claim(&claim).metadata.annotations.unwrap();
    assert_ne!(annotations[version], "v1");
    for key in [version, "karpenter.sh/nodepool-hash"] {
        assert_eq!(own[key], annotations[key], "{key}");
    }
}
