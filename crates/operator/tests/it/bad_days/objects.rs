//! Pools and classes are missing, unfit or odd.

use expect_test::expect;
use joiner_api::{condition::find, node_pool::NodePool};
use joiner_operator::conditions::Conditioned;
use serde_json::{Value, json};

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
    expect!["False UnhealthyDependents: Valid=False"]
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
async fn a_pool_that_cannot_be_read_is_told_from_an_api_server_that_is_away() {
    let mut running = Running::prepared();
    let (group, plural, name) =
        ("apiextensions.k8s.io", "customresourcedefinitions", "nodepools.karpenter.sh");
    running.stage.delete(group, plural, name);
    let is_it = |definition: &Value| definition["metadata"]["name"] == name;
    let all = joiner_api::crd::crds().into_iter();
    let mut lax = all.map(|crd| serde_json::to_value(crd).unwrap()).find(is_it).unwrap();
    lax["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] =
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    running.stage.create(group, plural, lax);
    running.stage.create_class("default");
    let mut odd = pool("general");
    odd["spec"]["weight"] = "high".into();
    running.stage.create("karpenter.sh", "nodepools", odd);
    running.create_pod("web");
    running.start();
    running.pass(60).await;
    let why_not = running.readiness.why_not();
    let about: Vec<&str> = why_not.lines().filter(|line| line.contains("nodepools")).collect();
    expect![[r#"caches: one of nodepools.karpenter.sh cannot be read (invalid type: string "high", expected i32 at line 1 column 779): look for that value with kubectl get nodepools.karpenter.sh -A -o yaml and correct it, then let joiner crds | kubectl apply -f - keep such values out"#]].assert_eq(&about.join("\n"));
    let sound = json!({"spec": {"weight": 10}});
    running.stage.merge("karpenter.sh", "nodepools", "general", None, sound);
    running.pass(180).await;
    assert_eq!(running.readiness.why_not(), "");
    running.expect_running("web");
}
