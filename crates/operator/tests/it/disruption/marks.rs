//! Marks of candidates, and marks that nobody is responsible for.

use joiner_core::disruption::Method;
use joiner_lab::faults::Fault;
use serde_json::json;

use super::{meanwhile::instead, scene::Scene};

const NODE: &str = "karpenter.sh/disrupted:NoSchedule";

/// M-05.
#[tokio::test(start_paused = true)]
async fn marks_that_no_command_accounts_for_are_taken_off() {
    let mut scene = Scene::with_instances(&["a", "b"]).await.restarted();
    let (key, effect) = NODE.split_once(':').unwrap();
    scene.stage.taint(
        "a",
        &json!([{"key": key, "effect": effect}, {"key": "own", "effect": "NoSchedule"}]),
    );
    let mut conditions =
        serde_json::to_value(scene.stage.claim("a")).unwrap()["status"]["conditions"].take();
    conditions.as_array_mut().unwrap().push(json!({
        "type": "DisruptionReason", "status": "True", "reason": "Drifted", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }));
    scene.stage.merge(
        "karpenter.sh",
        "nodeclaims",
        "a",
        Some("status"),
        json!({"status": {"conditions": conditions}}),
    );
    assert_eq!(scene.marks("a"), "some");
    scene.stage.pass(5).await;
    assert_eq!(scene.marks("a"), "none");
    assert_eq!(scene.stage.taints_of("a"), ["own:NoSchedule"], "what others say stays");
}

/// Karpenter 1.15 has begun it, for the reason that the claim says.
#[tokio::test(start_paused = true)]
async fn the_reason_of_a_reboot_stays_until_it_is_over() {
    let mut scene = Scene::with_instances(&["a"]).await.restarted();
    let mut conditions =
        serde_json::to_value(scene.stage.claim("a")).unwrap()["status"]["conditions"].take();
    for type_ in ["DisruptionReason", "Rebooting"] {
        conditions.as_array_mut().unwrap().push(json!({
            "type": type_, "status": "True", "reason": "Unhealthy", "message": "",
            "lastTransitionTime": scene.stage.context.now().to_string(),
        }));
    }
    let status = json!({"status": {"conditions": conditions}});
    scene.stage.merge("karpenter.sh", "nodeclaims", "a", Some("status"), status);
    scene.stage.pass(60).await;
    assert_eq!(scene.marks("a"), "some");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_leaves_keeps_its_taint() {
    let scene = Scene::with_instances(&["a"]).await;
    scene.stage.delete_claim("a");
    scene.stage.taint("a", &json!([{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]));
    let mut scene = scene.restarted();
    scene.stage.pass(5).await;
    assert!(scene.stage.taints_of("a").contains(&NODE.to_owned()));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_no_command() {
    let mut scene = Scene::with_instances(&["a"]).await;
    let patch = json!({"metadata": {"annotations": {"joiner.sh/disruption-command": "soon"}}});
    scene.stage.merge("karpenter.sh", "nodeclaims", "a", None, patch);
    scene = scene.restarted();
    scene.stage.pass(5).await;
    assert_eq!(scene.marks("a"), "none");
    assert!(scene.stays("a"));
}

/// M-06.
#[tokio::test(start_paused = true)]
async fn marks_are_set_at_the_start_and_taken_off_on_failure() {
    let mut scene = Scene::with_instances(&["a", "b"]).await;
    let record = scene.begin(Method::MultiNode, &["a", "b"], 1);
    scene.stage.pass(1).await;
    assert_eq!([scene.marks("a"), scene.marks("b")], ["all", "all"]);
    let (status, reason, message) = scene.stage.condition("a", "DisruptionReason").unwrap();
    assert_eq!((&*status, &*reason), ("True", "Underutilized"));
    assert_eq!(message, "written by hand", "the sentence of the command is told to people");
    scene.stage.delete_claim(&record.replacements[0]);
    scene.stage.pass(1).await;
    assert_eq!([scene.marks("a"), scene.marks("b")], ["none", "none"]);
}

/// The labels and taints of a node are written by others all the time.
#[tokio::test(start_paused = true)]
async fn somebody_who_writes_at_the_same_time_loses_nothing() {
    let mut scene = Scene::with_instances(&["a"]).await;
    scene.begin(Method::SingleNode, &["a"], 1);
    scene.stage.taint("a", &json!([{"key": "theirs", "effect": "NoSchedule"}]));
    scene.stage.pass(1).await;
    assert_eq!(scene.stage.taints_of("a"), ["theirs:NoSchedule", NODE]);
}

/// A replacement carries its command, its node does not.
#[tokio::test(start_paused = true)]
async fn the_command_is_written_on_claims_alone() {
    let mut scene = Scene::with_instances(&["a"]).await;
    let record = scene.begin(Method::SingleNode, &["a"], 2);
    scene.stage.pass(1).await;
    let replacement = &record.replacements[0];
    assert!(scene.is_in_command(replacement));
    scene.join(replacement).await;
    let node = scene.stage.find_node(replacement).unwrap();
    let annotations = node.metadata.annotations.unwrap_or_default();
    assert!(!annotations.contains_key("joiner.sh/disruption-command"), "{annotations:?}");
}

/// A mark of ours that nobody accounts for.
fn taint(scene: &Scene, node: &str) {
    let (key, effect) = NODE.split_once(':').unwrap();
    scene.stage.taint(node, &json!([{"key": key, "effect": effect}]));
}

/// Whoever does not know what may be removed still knows what was begun.
#[tokio::test(start_paused = true)]
async fn marks_are_taken_off_although_something_else_cannot_be_read() {
    let mut scene = Scene::new_on(|stage| {
        stage.allow_anything("nodepools.karpenter.sh");
        stage
    })
    .await;
    scene.instance("a").await;
    scene.stage.create_unreadable_pool("odd");
    let mut scene = scene.restarted();
    taint(&scene, "a");
    scene.stage.pass(5).await;
    assert_eq!(scene.marks("a"), "none");
}

#[tokio::test(start_paused = true)]
async fn marks_are_taken_off_although_something_else_cannot_be_watched() {
    let mut scene = Scene::with_instances(&["a"]).await.restarted();
    scene.stage.pass(1).await;
    scene.stage.hide("poddisruptionbudgets");
    scene.stage.pass(600).await;
    taint(&scene, "a");
    scene.stage.pass(600).await;
    assert_eq!(scene.marks("a"), "none");
}

#[tokio::test(start_paused = true)]
async fn a_mark_that_cannot_be_taken_off_keeps_no_other_instance() {
    let mut scene = Scene::looked_after().await;
    scene.allow("0");
    scene.instance("a").await;
    scene.instance("b").await;
    instead(&scene, "patch", "nodes", Fault::Unavailable, 1000);
    taint(&scene, "a");
    scene.allow("100%");
    scene.stage.pass(5).await;
    assert_eq!(scene.stage.taints_of("a"), [NODE]);
    let proposed = scene.proposed();
    let mut going = proposed.iter().flat_map(|command| &command.candidates);
    assert!(going.any(|candidate| candidate.node == "b"), "{proposed:?}");
}
