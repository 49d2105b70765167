//! A process that ends at any moment, and one that goes on from what it finds.

use joiner_core::disruption::Method;
use joiner_operator::marks::DISRUPTION_COMMAND;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;

use super::scene::Scene;

#[tokio::test(start_paused = true)]
async fn before_anything_was_written_nothing_has_happened() {
    let scene = Scene::with_instances(&["a"]).await;
    scene.begin(Method::SingleNode, &["a"], 1);
    let mut scene = scene.restarted();
    scene.stage.pass(60).await;
    assert_eq!(scene.claims(), ["a"]);
    assert_eq!(scene.marks("a"), "none");
}

/// The candidates are marked; the replacement was not made.
#[tokio::test(start_paused = true)]
async fn without_its_replacement_a_command_is_taken_back() {
    let mut scene = Scene::with_instances(&["a", "b"]).await;
    let record = scene.begin(Method::MultiNode, &["a", "b"], 1);
    scene.stage.pass(1).await;
    let mut scene = scene.restarted();
    // As if the process had ended before it made the replacement.
    scene.stage.delete_claim(&record.replacements[0]);
    scene.stage.cloud.state().instances.retain(|name, _| !name.contains(&record.replacements[0]));
    scene.stage.pass(60).await;
    assert_eq!(scene.claims(), ["a", "b"]);
    assert_eq!([scene.marks("a"), scene.marks("b")], ["none", "none"]);
    assert!(scene.is_idle());
}

#[tokio::test(start_paused = true)]
async fn with_its_replacement_a_command_is_carried_on() {
    let mut scene = Scene::with_instances(&["a", "b"]).await;
    let record = scene.begin(Method::MultiNode, &["a", "b"], 1);
    scene.stage.pass(1).await;
    let mut scene = scene.restarted();
    scene.stage.pass(60).await;
    assert_eq!([scene.marks("a"), scene.marks("b")], ["all", "all"]);
    assert_eq!(scene.counted_as_leaving(), ["a", "b"], "also for the new process");
    scene.join(&record.replacements[0]).await;
    scene.stage.pass(5).await;
    assert_eq!(scene.claims(), record.replacements);
    assert!(!scene.is_in_command(&record.replacements[0]));
    assert!(scene.is_idle());
}

#[tokio::test(start_paused = true)]
async fn the_time_that_passes_between_processes_counts() {
    let mut scene = Scene::with_instances(&["a"]).await;
    let record = scene.begin(Method::Drift, &["a"], 1);
    scene.stage.pass(1).await;
    let mut scene = scene.restarted();
    // Nobody acts for an hour.
    scene.stage.lab.pass(jiff::SignedDuration::from_hours(1)).await;
    scene.stage.pass(5).await;
    assert!(!scene.stays(&record.replacements[0]));
    assert_eq!(scene.marks("a"), "none");
}

/// One of two candidates was deleted when the process ended.
#[tokio::test(start_paused = true)]
async fn what_was_being_deleted_is_deleted_to_the_end() {
    let mut scene = Scene::with_instances(&["a", "b"]).await;
    let record = scene.begin(Method::MultiNode, &["a", "b"], 1);
    scene.stage.pass(1).await;
    let mut scene = scene.restarted();
    scene.stage.delete_claim("a");
    scene.join(&record.replacements[0]).await;
    scene.stage.pass(5).await;
    assert_eq!(scene.claims(), record.replacements);
}

/// Nobody knows any more whether pods had other places.
#[tokio::test(start_paused = true)]
async fn a_command_without_replacements_is_proposed_anew() {
    let mut scene = Scene::with_instances(&["a", "b"]).await;
    super::meanwhile::refuse_deletions(&scene);
    scene.begin(Method::Emptiness, &["a", "b"], 0);
    scene.stage.pass(1).await;
    assert_eq!([scene.marks("a"), scene.marks("b")], ["all", "all"]);
    let mut scene = scene.restarted();
    scene.stage.pass(5).await;
    assert_eq!(scene.claims(), ["a", "b"]);
    assert_eq!([scene.marks("a"), scene.marks("b")], ["none", "none"]);
}

/// The command is done; only its last trace is left.
#[tokio::test(start_paused = true)]
async fn a_replacement_whose_command_is_done_becomes_an_instance_like_any_other() {
    let mut scene = Scene::with_instances(&["a"]).await;
    let record = scene.begin(Method::SingleNode, &["a"], 1);
    scene.stage.pass(1).await;
    scene.stage.delete_claim("a");
    let mut scene = scene.restarted();
    scene.join(&record.replacements[0]).await;
    scene.stage.pass(5).await;
    assert!(scene.stays(&record.replacements[0]));
    assert!(!scene.is_in_command(&record.replacements[0]));
    assert!(scene.is_idle());
}

/// Pods have come and gone since, and nobody has looked whether those of today have a place.
#[tokio::test(start_paused = true)]
async fn what_was_prepared_too_long_ago_is_taken_back() {
    let mut scene = Scene::with_instances(&["a"]).await;
    super::meanwhile::refuse_deletions(&scene);
    let record = scene.begin(Method::Drift, &["a"], 1);
    scene.stage.pass(1).await;
    scene.join(&record.replacements[0]).await;
    let mut scene = scene.restarted();
    scene.stage.lab.pass(jiff::SignedDuration::from_hours(1)).await;
    scene.stage.pass(5).await;
    assert_eq!(scene.marks("a"), "none");
    assert!(scene.stays(&record.replacements[0]), "the next command may move the pods there");
}

/// Anybody may write on a claim.
#[tokio::test(start_paused = true)]
async fn a_command_that_was_begun_at_the_end_of_time_is_carried_on() {
    let mut scene = Scene::with_instances(&["a"]).await;
    let mut record = scene.begin(Method::SingleNode, &["a"], 1);
    scene.stage.pass(1).await;
    record.begun = Time("9999-12-30T22:00:00Z".parse().unwrap());
    for claim in ["a", &*record.replacements[0]] {
        let command = json!({"metadata": {"annotations": {DISRUPTION_COMMAND: record.text()}}});
        scene.stage.merge("karpenter.sh", "nodeclaims", claim, None, command);
    }
    let mut scene = scene.restarted();
    scene.stage.pass(60).await;
    assert_eq!(scene.marks("a"), "all");
    scene.join(&record.replacements[0]).await;
    assert_eq!(scene.claims(), record.replacements);
    assert!(scene.is_idle());
}
