//! Taking over from Karpenter 1.15 while it reboots a node.

use serde_json::{Value, json};

use super::{given_up, stage};
use crate::{
    play::node,
    stage::{Stage, claim},
};

const MINUTE: i64 = 60;
const FENCE: &str = "karpenter.sh/rebooting";

/// Adds to the claim's conditions, or replaces those that are there.
fn say(stage: &Stage, conditions: &[Value]) {
    let mut all =
        serde_json::to_value(stage.claim("web-1")).unwrap()["status"]["conditions"].take();
    let all = all.as_array_mut().unwrap();
    all.retain(|old| !conditions.iter().any(|new| new["type"] == old["type"]));
    all.extend(conditions.iter().cloned());
    let status = json!({"status": {"conditions": all}});
    stage.merge("karpenter.sh", "nodeclaims", "web-1", Some("status"), status);
}

fn condition(stage: &Stage, type_: &str, status: &str, reason: &str) -> Value {
    json!({
        "type": type_, "status": status, "reason": reason, "message": "rebooting for Ready/Hung",
        "lastTransitionTime": stage.context.now().to_string(),
    })
}

/// A node that Karpenter reboots: the call was made, and the kubelet is not back yet.
async fn rebooting(timeout: Option<&str>) -> Stage {
    let mut stage = stage();
    let mut object = claim("web-1");
    if let Some(timeout) = timeout {
        stage.create_pool("general");
        let patch =
            json!({"metadata": {"annotations": {"joiner.sh/initialization-timeout": timeout}}});
        stage.merge("karpenter.sh", "nodepools", "general", None, patch);
        object["metadata"]["labels"] = json!({"karpenter.sh/nodepool": "general"});
    }
    stage.create_claim_as(object);
    stage.pass(1).await;
    stage.join(node("node-1", "web-1"));
    stage.pass(60 * MINUTE).await;
    assert_eq!(stage.status_of("web-1", "Initialized").as_deref(), Some("True"));
    let before = json!({"metadata": {"annotations": {"karpenter.sh/reboot-pre-boot-id": "one"}}});
    stage.merge("karpenter.sh", "nodeclaims", "web-1", None, before);
    stage.taint("node-1", &json!([{"key": FENCE, "effect": "NoSchedule"}]));
    say(
        &stage,
        &[
            condition(&stage, "Rebooting", "True", "RebootIssued"),
            condition(&stage, "Initialized", "Unknown", "Rebooting"),
        ],
    );
    stage
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_rebooted_is_let_alone_for_25_minutes() {
    let mut stage = rebooting(None).await;
    stage.pass(25 * MINUTE - 1).await;
    let (status, reason, _) = stage.condition("web-1", "Initialized").unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("Unknown", "Rebooting"));
    assert_eq!(stage.status_of("web-1", "Rebooting").as_deref(), Some("True"));
    assert_eq!(stage.taints_of("node-1"), [format!("{FENCE}:NoSchedule")]);
}

#[tokio::test(start_paused = true)]
async fn a_reboot_that_nobody_finishes_is_ended_and_told() {
    let mut stage = rebooting(None).await;
    stage.pass(25 * MINUTE + 1).await;
    let (status, reason, message) = stage.condition("web-1", "Rebooting").unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("False", "RebootFailed"));
    assert!(message.contains("not finished within 25 minutes"), "{message}");
    assert_eq!(stage.taints_of("node-1"), [""; 0]);
    assert_eq!(stage.status_of("web-1", "Initialized").as_deref(), Some("True"));
    let annotations = stage.claim("web-1").metadata.annotations.unwrap_or_default();
    assert!(!annotations.contains_key("karpenter.sh/reboot-pre-boot-id"), "{annotations:?}");
    let told = stage.events("NodeClaim", "web-1");
    assert!(told.iter().any(|event| event.starts_with("RebootFailed: The reboot")), "{told:?}");
}

/// The node registered an hour ago; its second initialization has just begun.
#[tokio::test(start_paused = true)]
async fn a_reboot_takes_nothing_from_the_time_for_initialization() {
    let mut stage = rebooting(Some("10m")).await;
    stage.report("node-1", false, &crate::play::amounts());
    stage.pass(34 * MINUTE).await;
    assert_eq!(given_up(&stage), [""; 0]);
    stage.pass(2 * MINUTE).await;
    assert_eq!(given_up(&stage), ["initialization_timeout"]);
}
