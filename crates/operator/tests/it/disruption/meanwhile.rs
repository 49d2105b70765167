//! Things that happen while a command is carried out.

use joiner_core::disruption::Method;
use joiner_lab::faults::{Aim, Fault, Rule};
use serde_json::json;

use super::scene::{NAMESPACE, Scene};

/// The next calls of this kind get this instead.
pub(super) fn instead(scene: &Scene, verb: &str, plural: &str, fault: Fault, times: u32) {
    instead_after(scene, 0, verb, plural, fault, times);
}

/// The same after some calls of this kind.
fn instead_after(scene: &Scene, skip: u32, verb: &str, plural: &str, fault: Fault, times: u32) {
    scene.stage.lab.faults().add(Rule {
        fault,
        aim: Aim { client: "joiner".into(), verb: verb.into(), plural: plural.into() },
        from: jiff::SignedDuration::ZERO,
        skip,
        times: Some(times),
    });
}

/// No claim can be deleted for now.
pub(super) fn refuse_deletions(scene: &Scene) {
    refuse_deletions_after(scene, 0);
}

/// Some claims can be deleted, and no more for now.
fn refuse_deletions_after(scene: &Scene, allowed: u32) {
    instead_after(scene, allowed, "delete", "nodeclaims", Fault::Unavailable, 1000);
}

#[tokio::test(start_paused = true)]
async fn a_replacement_that_is_deleted_frees_the_candidate() {
    let mut scene = Scene::with_instances(&["a"]).await;
    let record = scene.begin(Method::SingleNode, &["a"], 1);
    scene.stage.pass(1).await;
    scene.stage.delete_claim(&record.replacements[0]);
    scene.stage.pass(5).await;
    assert_eq!(scene.claims(), ["a"]);
    assert_eq!(scene.marks("a"), "none");
    assert_eq!(scene.counted_as_leaving(), [""; 0]);
    let lost = format!(
        "stays for now: replacement NodeClaim {} was deleted before its node was ready; its events \
         and the cloud say why",
        record.replacements[0]
    );
    for kind in ["Node", "NodeClaim"] {
        let told = scene.stage.events(kind, "a");
        let event = format!("DisruptionTakenBack: {kind} {lost}");
        assert!(told.contains(&event), "{told:#?}");
    }
}

/// Others of the same command are ready: the next command moves the pods there.
#[tokio::test(start_paused = true)]
async fn replacements_that_are_ready_stay_and_are_kept_for_the_next_try() {
    let mut scene = Scene::with_instances(&["a"]).await;
    let record = scene.begin(Method::Drift, &["a"], 2);
    let [ready, lost] = &record.replacements[..] else { panic!("{record:?}") };
    scene.stage.pass(1).await;
    scene.join(ready).await;
    scene.stage.delete_claim(lost);
    scene.stage.pass(5).await;
    assert!(scene.stays(ready));
    assert!(!scene.is_in_command(ready));
    let context = &scene.stage.context;
    let kept = context.cache.read(|world| world.intended.nominated(context.now()));
    assert!(kept.contains_key(ready), "{kept:?}");
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_somebody_deletes_does_not_stop_the_others() {
    let mut scene = Scene::with_instances(&["a", "b"]).await;
    let record = scene.begin(Method::MultiNode, &["a", "b"], 1);
    scene.stage.pass(1).await;
    scene.stage.delete_claim("a");
    scene.stage.pass(5).await;
    assert_eq!(scene.marks("b"), "all");
    scene.join(&record.replacements[0]).await;
    assert_eq!(scene.claims(), record.replacements);
}

/// The pods of a candidate that somebody deletes need the replacement.
#[tokio::test(start_paused = true)]
async fn when_all_candidates_are_deleted_the_replacement_stays() {
    let mut scene = Scene::with_instances(&["a"]).await;
    let record = scene.begin(Method::SingleNode, &["a"], 1);
    scene.stage.pass(1).await;
    scene.stage.delete_claim("a");
    scene.stage.pass(5).await;
    assert!(scene.is_idle());
    assert_eq!(scene.claims(), record.replacements);
    assert!(!scene.is_in_command(&record.replacements[0]));
}

#[tokio::test(start_paused = true)]
async fn whoever_pauses_a_pool_stops_its_commands() {
    let mut scene = Scene::with_instances(&["a"]).await;
    let record = scene.begin(Method::SingleNode, &["a"], 1);
    scene.stage.pass(1).await;
    scene.stage.pause("nodepools", "general", Some("ops: freeze until Monday"));
    scene.stage.pass(1).await;
    assert_eq!(scene.marks("a"), "none");
    assert!(!scene.stays(&record.replacements[0]));
    assert!(scene.is_idle());
}

#[tokio::test(start_paused = true)]
async fn whoever_pauses_everything_stops_all_commands() {
    let mut scene = Scene::with_instances(&["a"]).await;
    scene.stage.create("", "namespaces", json!({"metadata": {"name": "other"}}));
    scene.begin(Method::SingleNode, &["a"], 1);
    scene.stage.pass(1).await;
    scene.stage.pause("namespaces", "other", Some("not the lease's namespace"));
    scene.stage.pass(1).await;
    assert_eq!(scene.marks("a"), "all");
    scene.stage.pause("namespaces", NAMESPACE, Some("ops: freeze"));
    scene.stage.pass(1).await;
    assert_eq!(scene.marks("a"), "none");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_lost_makes_no_second_replacement() {
    let mut scene = Scene::with_instances(&["a"]).await;
    instead(&scene, "create", "nodeclaims", Fault::CutAfter, 1);
    let record = scene.begin(Method::SingleNode, &["a"], 1);
    scene.stage.pass(40).await;
    assert_eq!(scene.claims(), ["a".to_owned(), record.replacements[0].clone()]);
    scene.join(&record.replacements[0]).await;
    assert_eq!(scene.claims(), record.replacements);
}

#[tokio::test(start_paused = true)]
async fn writes_that_fail_for_a_while_are_tried_again() {
    for (verb, plural) in [
        ("patch", "nodes"),
        ("patch", "nodeclaims"),
        ("create", "nodeclaims"),
        ("delete", "nodeclaims"),
    ] {
        let mut scene = Scene::with_instances(&["a"]).await;
        instead(&scene, verb, plural, Fault::Unavailable, 3);
        let record = scene.begin(Method::SingleNode, &["a"], 1);
        scene.stage.pass(10).await;
        assert_eq!(scene.marks("a"), "all", "{verb} {plural}");
        scene.join(&record.replacements[0]).await;
        scene.stage.pass(10).await;
        assert_eq!(scene.claims(), record.replacements, "{verb} {plural}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_started_within_a_minute_is_taken_back() {
    let mut scene = Scene::with_instances(&["a", "b"]).await;
    instead(&scene, "patch", "nodes", Fault::Unavailable, 30);
    scene.begin(Method::Emptiness, &["a", "b"], 0);
    scene.stage.pass(10 * 60).await;
    assert_eq!(scene.claims(), ["a", "b"]);
    assert_eq!([scene.marks("a"), scene.marks("b")], ["none", "none"]);
    assert!(scene.is_idle());
}

#[tokio::test(start_paused = true)]
async fn a_replacement_whose_name_is_taken_frees_the_candidate_at_once() {
    let mut scene = Scene::with_instances(&["a"]).await;
    let record = scene.begin(Method::SingleNode, &["a"], 1);
    let theirs = &record.replacements[0];
    scene.stage.create_claim(theirs);
    scene.stage.pass(1).await;
    assert_eq!(scene.claims(), ["a", theirs], "it is somebody else's, and stays");
    assert_eq!(scene.marks("a"), "none");
    assert!(scene.is_idle());
}

#[tokio::test(start_paused = true)]
async fn instances_that_cannot_be_deleted_are_free_again_after_a_while() {
    let mut scene = Scene::with_instances(&["a"]).await;
    refuse_deletions(&scene);
    scene.begin(Method::Emptiness, &["a"], 0);
    scene.stage.pass(110).await;
    assert_eq!(scene.marks("a"), "all");
    scene.stage.pass(30).await;
    assert_eq!(scene.marks("a"), "none");
    assert!(scene.is_idle());
    assert_eq!(scene.counted_as_leaving(), [""; 0]);
    let told = scene.stage.events("Node", "a");
    assert!(told.iter().any(|event| event.starts_with(NOT_DELETED)), "{told:#?}");
}

/// What is told of a node whose claim could not be deleted.
const NOT_DELETED: &str =
    "DisruptionTakenBack: Node stays for now: the NodeClaim could not be deleted in time";

#[tokio::test(start_paused = true)]
async fn an_instance_that_cannot_be_deleted_is_free_again_although_others_have_left() {
    let mut scene = Scene::with_instances(&["a", "b"]).await;
    refuse_deletions_after(&scene, 1);
    scene.begin(Method::Emptiness, &["a", "b"], 0);
    scene.stage.pass(110).await;
    assert_eq!(scene.claims(), ["b"]);
    assert_eq!(scene.marks("b"), "all");
    scene.stage.pass(30).await;
    assert_eq!(scene.marks("b"), "none");
    assert!(scene.is_idle());
    let told = scene.stage.events("Node", "b");
    assert!(told.iter().any(|event| event.starts_with(NOT_DELETED)), "{told:#?}");
    let told = scene.stage.events("Node", "a");
    assert!(!told.iter().any(|event| event.starts_with("DisruptionTakenBack")), "{told:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_pause_is_heard_while_nothing_could_be_deleted_yet() {
    let mut scene = Scene::with_instances(&["a"]).await;
    refuse_deletions(&scene);
    scene.begin(Method::Emptiness, &["a"], 0);
    scene.stage.pass(1).await;
    assert_eq!(scene.marks("a"), "all");
    scene.stage.pause("nodepools", "general", Some("ops: freeze until Monday"));
    scene.stage.pass(11).await;
    assert_eq!(scene.marks("a"), "none");
    assert!(scene.is_idle());
}

/// What was begun is not broken off half done.
#[tokio::test(start_paused = true)]
async fn a_pause_comes_too_late_for_what_is_being_deleted() {
    let mut scene = Scene::with_instances(&["a", "b"]).await;
    instead_after(&scene, 1, "delete", "nodeclaims", Fault::Unavailable, 5);
    scene.begin(Method::Emptiness, &["a", "b"], 0);
    scene.stage.pass(1).await;
    assert_eq!(scene.claims(), ["b"]);
    scene.stage.pause("nodepools", "general", Some("ops: freeze until Monday"));
    scene.stage.pass(30).await;
    assert_eq!(scene.claims(), [""; 0]);
}

/// Somebody may have asked for a pause.
#[tokio::test(start_paused = true)]
async fn nothing_is_deleted_while_a_pause_would_not_be_known() {
    for hidden in ["nodepools", "namespaces"] {
        let mut scene = Scene::with_instances(&["a"]).await;
        scene.stage.hide(hidden);
        scene.stage.pass(600).await;
        scene.begin(Method::Emptiness, &["a"], 0);
        scene.stage.pass(60).await;
        assert!(scene.stays("a"), "{hidden}");
        scene.stage.pass(80).await;
        assert!(scene.stays("a"), "{hidden}");
        assert_eq!(scene.marks("a"), "none", "{hidden}");
        assert!(scene.is_idle());
    }
}

#[tokio::test(start_paused = true)]
async fn a_replacement_that_cannot_be_deleted_keeps_no_candidate() {
    let mut scene = Scene::with_instances(&["a"]).await;
    let record = scene.begin(Method::SingleNode, &["a"], 1);
    scene.stage.pass(1).await;
    instead(&scene, "delete", "nodeclaims", Fault::Unavailable, 8);
    scene.stage.pause("nodepools", "general", Some("ops: freeze until Monday"));
    scene.stage.pass(2).await;
    assert!(scene.stays(&record.replacements[0]));
    assert_eq!(scene.marks("a"), "none");
    assert_eq!(scene.counted_as_leaving(), [""; 0]);
    assert!(scene.disruption.commands.going().is_empty(), "it may be part of another command");
    scene.stage.pass(60).await;
    assert!(!scene.stays(&record.replacements[0]), "it is tried until it works");
    assert!(scene.is_idle());
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_cannot_be_unmarked_keeps_no_replacement() {
    let mut scene = Scene::with_instances(&["a"]).await;
    let record = scene.begin(Method::SingleNode, &["a"], 1);
    scene.stage.pass(1).await;
    instead(&scene, "patch", "nodes", Fault::Unavailable, 8);
    scene.stage.pause("nodepools", "general", Some("ops: freeze until Monday"));
    scene.stage.pass(2).await;
    assert!(!scene.stays(&record.replacements[0]));
    assert!(!scene.is_idle());
    scene.stage.pass(60).await;
    assert_eq!(scene.marks("a"), "none");
    assert!(scene.is_idle());
}
