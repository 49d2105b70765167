//! Commands from their beginning to their end.

use joiner_core::disruption::Method;
use joiner_operator::conditions::{Conditioned, INITIALIZED, LAUNCHED};
use serde_json::json;

use super::scene::{Scene, unreal};
use crate::play::{amounts, node};

/// K-07.
#[tokio::test(start_paused = true)]
async fn without_replacements_candidates_go_at_once() {
    let mut scene = Scene::with_instances(&["a", "b", "c"]).await;
    scene.begin(Method::Emptiness, &["a", "b"], 0);
    scene.stage.pass(1).await;
    assert_eq!(scene.claims(), ["c"]);
    assert_eq!(scene.marks("c"), "none");
    assert!(scene.is_idle());
}

/// K-01, K-02, K-05.
#[tokio::test(start_paused = true)]
async fn candidates_are_marked_and_stay_until_their_replacement_is_ready() {
    let mut scene = Scene::with_instances(&["a"]).await;
    let record = scene.begin(Method::SingleNode, &["a"], 1);
    let [replacement] = &record.replacements[..] else { panic!("{record:?}") };
    scene.stage.pass(1).await;
    assert_eq!(scene.marks("a"), "all");
    assert!(scene.stage.claim(replacement).holds(LAUNCHED));
    scene.stage.pass(10 * 60).await;
    assert_eq!(scene.marks("a"), "all", "nothing has failed yet");
    assert!(scene.stays("a"));
    scene.join(replacement).await;
    assert_eq!(scene.claims(), std::slice::from_ref(replacement));
    assert!(!scene.is_in_command(replacement), "it is an instance like any other");
    assert!(scene.is_idle());
    let told = scene.stage.events("NodeClaim", replacement);
    for event in [
        "DisruptionLaunching: Launching NodeClaim: Underutilized",
        "DisruptionWaitingReadiness: Waiting on readiness to continue disruption",
    ] {
        assert!(told.contains(&event.to_owned()), "{told:?}");
    }
    for (kind, text) in [("Node", "Node"), ("NodeClaim", "NodeClaim")] {
        let told = scene.stage.events(kind, "a");
        let event = format!("DisruptionTerminating: Disrupting {text}: Underutilized");
        assert!(told.contains(&event), "{told:?}");
    }
}

/// K-06.
#[tokio::test(start_paused = true)]
async fn all_replacements_have_to_be_ready() {
    let mut scene = Scene::with_instances(&["a", "b"]).await;
    let record = scene.begin(Method::Drift, &["a", "b"], 2);
    scene.stage.pass(1).await;
    scene.join(&record.replacements[0]).await;
    scene.stage.pass(60).await;
    assert!(scene.stays("a") && scene.stays("b"));
    scene.join(&record.replacements[1]).await;
    assert!(!scene.stays("a") && !scene.stays("b"));
}

/// K-08.
#[tokio::test(start_paused = true)]
async fn two_commands_end_independently() {
    let mut scene = Scene::with_instances(&["a", "b"]).await;
    let first = scene.begin(Method::Drift, &["a"], 1);
    let second = scene.begin(Method::Drift, &["b"], 1);
    scene.stage.pass(1).await;
    scene.join(&second.replacements[0]).await;
    assert!(scene.stays("a") && !scene.stays("b"));
    scene.join(&first.replacements[0]).await;
    assert!(!scene.stays("a"));
}

#[tokio::test(start_paused = true)]
async fn an_instance_is_part_of_one_command_only() {
    let scene = Scene::with_instances(&["a"]).await;
    let first = scene.begin(Method::Drift, &["a"], 1);
    let commands = &scene.disruption.commands;
    let begun = commands.get(&first.id).unwrap();
    let found = [("other".to_owned(), begun.record)].map(|(id, mut record)| {
        record.id.0 = id;
        (record.id.clone(), record)
    });
    assert_eq!(commands.adopt(found.into()), []);
    assert_eq!(commands.begun(), [first.id]);
}

/// K-03.
#[tokio::test(start_paused = true)]
async fn a_replacement_that_only_we_know_of_is_waited_for() {
    let mut scene = Scene::with_instances(&["a"]).await;
    let record = scene.begin(Method::SingleNode, &["a"], 1);
    scene.stage.context.cache.wrote(unreal(&record.replacements[0], &record));
    scene.stage.pass(60).await;
    assert_eq!(scene.claims(), ["a"], "the API server knows of no other");
    assert_eq!(scene.marks("a"), "all");
    assert!(!scene.is_idle());
}

/// K-04: a replacement has ten minutes from its registration to be ready.
#[tokio::test(start_paused = true)]
async fn a_replacement_that_is_never_ready_goes_and_the_candidate_stays() {
    let mut scene = Scene::with_instances(&["a"]).await;
    let record = scene.begin(Method::Drift, &["a"], 1);
    let replacement = &record.replacements[0];
    scene.stage.pass(1).await;
    scene.stage.join(node(replacement, replacement));
    scene.stage.report(replacement, false, &amounts());
    scene.stage.pass(10 * 60 - 2).await;
    assert!(!scene.stage.claim(replacement).holds(INITIALIZED));
    assert_eq!(scene.marks("a"), "all");
    scene.stage.pass(5).await;
    assert_eq!(scene.marks("a"), "none");
    assert!(!scene.stays(replacement), "it came for nothing");
    assert!(scene.is_idle());
    let series = r#"karpenter_voluntary_disruption_queue_failures_total{consolidation_type="",decision="replace",reason="drifted"}"#;
    assert!((scene.stage.metric(series) - 1.0).abs() < f64::EPSILON);
}

/// A clone that takes long leaves the same time for initialization.
#[tokio::test(start_paused = true)]
async fn a_replacement_that_registers_late_has_as_long_to_be_ready() {
    let mut scene = Scene::with_instances(&["a"]).await;
    let record = scene.begin(Method::Drift, &["a"], 1);
    let replacement = &record.replacements[0];
    scene.stage.pass(14 * 60).await;
    scene.stage.join(node(replacement, replacement));
    scene.stage.report(replacement, false, &amounts());
    scene.stage.pass(10 * 60 - 2).await;
    assert_eq!(scene.marks("a"), "all");
    scene.stage.pass(5).await;
    assert_eq!(scene.marks("a"), "none");
    assert!(!scene.stays(replacement));
}

/// K-09: how many instances there are does not matter, what their pool says does.
#[tokio::test(start_paused = true)]
async fn the_deadline_is_what_the_pool_allows_its_instances() {
    for (initialization, minutes) in [("5m", 5), ("1h", 60)] {
        let mut scene = Scene::with_instances(&["a"]).await;
        scene.annotate_pool(&json!({"joiner.sh/initialization-timeout": initialization}));
        // Liveness would delete the claim a moment before: it counts from when the node joined.
        let record = scene.begin(Method::Drift, &["a"], 1);
        let replacement = &record.replacements[0];
        scene.stage.pass(1).await;
        scene.stage.join(node(replacement, replacement));
        scene.stage.report(replacement, false, &amounts());
        let seen = scene.stage.claim(replacement);
        assert!(!seen.holds(INITIALIZED));
        scene.stage.pass(minutes * 60 - 2).await;
        assert_eq!(scene.marks("a"), "all", "{initialization}");
        scene.stage.pass(5).await;
        assert_eq!(scene.marks("a"), "none", "{initialization}");
        assert!(!scene.stays(replacement));
    }
}

/// EE-02: a replacement that never registers leaves the old node.
#[tokio::test(start_paused = true)]
async fn a_replacement_that_never_registers_leaves_the_candidate() {
    let mut scene = Scene::with_instances(&["a"]).await;
    let record = scene.begin(Method::Drift, &["a"], 1);
    scene.stage.pass(16 * 60).await;
    assert!(!scene.stays(&record.replacements[0]), "it took too long to register");
    assert_eq!(scene.marks("a"), "none");
    assert!(scene.is_idle());
    assert_eq!(scene.counted_as_leaving(), [""; 0]);
}

/// §3.9.5: before its replacements are there, a plan would make them a second time.
#[tokio::test(start_paused = true)]
async fn candidates_count_as_leaving_once_their_replacements_are_there() {
    let mut scene = Scene::with_instances(&["a", "b"]).await;
    scene.begin(Method::Drift, &["a"], 1);
    assert_eq!(scene.counted_as_leaving(), [""; 0]);
    scene.stage.pass(1).await;
    assert_eq!(scene.counted_as_leaving(), ["a"]);
    scene.begin(Method::Emptiness, &["b"], 0);
    scene.stage.pass(1).await;
    assert!(!scene.stays("b"));
    assert_eq!(scene.counted_as_leaving(), ["a"], "b says itself that it leaves");
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_cannot_be_used_any_more_takes_the_command_back() {
    let mut scene = Scene::with_instances(&["a"]).await;
    let limits = json!({"spec": {"limits": {"cpu": "1"}}});
    scene.stage.merge("karpenter.sh", "nodepools", "general", None, limits);
    let used = json!({"status": {"resources": {"cpu": "4"}}});
    scene.stage.merge("karpenter.sh", "nodepools", "general", Some("status"), used);
    scene.stage.pass(1).await;
    scene.begin(Method::Drift, &["a"], 1);
    scene.stage.pass(1).await;
    assert_eq!(scene.claims(), ["a"]);
    assert_eq!(scene.marks("a"), "none");
    assert!(scene.is_idle());
}

/// M-04, O-85, §3.10.1: the replacement is where the pods go, and pods that wait with them.
#[tokio::test(start_paused = true)]
async fn plans_make_no_instance_a_second_time() {
    let mut scene = Scene::with_instances(&["a"]).await;
    scene.pod("web-1", "a");
    let record = scene.begin(Method::Drift, &["a"], 1);
    scene.stage.pass(1).await;
    scene.provision().await;
    scene.waiting_pod("web-2");
    scene.stage.pass(1).await;
    scene.provision().await;
    assert_eq!(scene.claims(), ["a".to_owned(), record.replacements[0].clone()]);
    scene.stage.pass(1).await;
    let told = scene.stage.events("Pod", "web-2");
    let place = format!("nodeclaim/{}", record.replacements[0]);
    assert!(told.iter().any(|event| event.contains(&place)), "{told:?}");
}

/// Without the command the same pods would need an instance of their own.
#[tokio::test(start_paused = true)]
async fn pods_that_wait_are_not_put_on_instances_that_leave() {
    let mut scene = Scene::with_instances(&["a"]).await;
    super::meanwhile::refuse_deletions(&scene);
    scene.begin(Method::Emptiness, &["a"], 0);
    scene.stage.pass(1).await;
    assert_eq!(scene.marks("a"), "all");
    scene.waiting_pod("web-1");
    scene.stage.pass(1).await;
    scene.provision().await;
    assert_eq!(scene.claims().len(), 2, "{:?}", scene.claims());
}
