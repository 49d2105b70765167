//! Whose instances are removed: those of this very cluster, and only while it knows of its claims.

use joiner_cloud::{instance::Instance, order::ClaimId};
use joiner_operator::{garbage::GarbageCollection, identity::Identity};
use serde_json::json;

use crate::{
    play::foreign_claim,
    stage::{Stage, claim},
};

const MINUTE: i64 = 60;

fn stage() -> Stage {
    Stage::bare().with_rounds(GarbageCollection::new)
}

/// An instance whose claim the cluster does not have.
fn leave(stage: &Stage, name: &str) -> String {
    let provider_id = format!("test://{name}");
    let claim = Some(ClaimId { name: name.to_owned(), uid: format!("uid-of-{name}") });
    let instance = Instance { provider_id: provider_id.clone(), claim, ..Instance::default() };
    stage.cloud.state().instances.insert(provider_id.clone(), instance);
    provider_id
}

fn leave_some(stage: &Stage, count: usize) {
    for number in 0..count {
        leave(stage, &format!("web-{number}"));
    }
}

fn count(stage: &Stage) -> usize {
    stage.cloud.state().instances.len()
}

/// What is told about an object with this reason.
fn told(stage: &Stage, kind: &str, name: &str, reason: &str) -> Vec<String> {
    let told = stage.events(kind, name).into_iter();
    told.filter(|event| event.starts_with(&format!("{reason}: "))).collect()
}

/// The newest of what is told about the pool.
fn last_told(stage: &Stage) -> String {
    told(stage, "NodePool", "general", "NoNodeClaims").pop().expect("it is told")
}

fn annotate(stage: &Stage, until: &str) {
    let annotations = json!({"joiner.sh/remove-unclaimed-until": until});
    let patch = json!({"metadata": {"annotations": annotations}});
    stage.merge("karpenter.sh", "nodepools", "general", None, patch);
}

#[tokio::test(start_paused = true)]
async fn instances_of_a_cluster_without_any_claim_stay_until_somebody_says_that_they_may_go() {
    let mut stage = stage();
    stage.create_pool("general");
    leave_some(&stage, 3);
    stage.pass(6 * 60 * MINUTE).await;
    assert_eq!(count(&stage), 3);
    let on_class = told(&stage, "TestNodeClass", "default", "NoNodeClaims").pop().unwrap();
    let command = "kubectl annotate --overwrite testnodeclasses.karpenter.test.sh default \
                   joiner.sh/remove-unclaimed-until=2026-01-01T";
    assert!(on_class.contains(command), "{on_class}");
    let on_pool = last_told(&stage);
    let command = "kubectl annotate --overwrite nodepools.karpenter.sh general \
                   joiner.sh/remove-unclaimed-until=";
    let (said, until) = on_pool.split_once(command).unwrap_or_else(|| panic!("{on_pool}"));
    assert!(said.contains("none of its 3 instances is removed"), "{said}");
    annotate(&stage, until);
    stage.pass(3 * MINUTE).await;
    assert_eq!(count(&stage), 0);
}

#[tokio::test(start_paused = true)]
async fn a_leave_is_for_many_as_for_few_and_ends_by_itself() {
    let mut stage = stage();
    stage.create_pool("general");
    annotate(&stage, "2026-01-01T00:30:00Z");
    leave_some(&stage, 9);
    stage.pass(10 * MINUTE).await;
    assert_eq!(count(&stage), 0);
    stage.pass(30 * MINUTE).await;
    leave_some(&stage, 3);
    stage.pass(60 * MINUTE).await;
    assert_eq!(count(&stage), 3, "nobody has said so of these");
}

#[tokio::test(start_paused = true)]
async fn an_annotation_that_makes_no_sense_gives_no_leave_and_is_told() {
    let mut stage = stage();
    stage.create_pool("general");
    leave_some(&stage, 3);
    annotate(&stage, "true");
    stage.pass(20 * MINUTE).await;
    let event = last_told(&stage);
    assert!(event.contains("does not count: \"true\" is no moment"), "{event}");
    annotate(&stage, "2027-01-01T00:00:00Z");
    stage.pass(60 * MINUTE).await;
    let event = last_told(&stage);
    assert!(event.contains("2027-01-01T00:00:00Z is more than a day ahead"), "{event}");
    assert_eq!(count(&stage), 3);
}

#[tokio::test(start_paused = true)]
async fn two_instances_or_a_cluster_with_a_claim_need_no_leave() {
    let mut stage = stage();
    leave_some(&stage, 2);
    stage.pass(10 * MINUTE).await;
    assert_eq!(count(&stage), 0);
    stage.create_claim_as(claim("another"));
    leave_some(&stage, 3);
    stage.pass(10 * MINUTE).await;
    assert_eq!(count(&stage), 0, "five may always go");
}

#[tokio::test(start_paused = true)]
async fn a_claim_of_another_cloud_is_a_claim() {
    let mut stage = stage();
    stage.create_claim_as(foreign_claim("other-1"));
    leave_some(&stage, 3);
    stage.pass(10 * MINUTE).await;
    assert_eq!(count(&stage), 0);
}

#[tokio::test(start_paused = true)]
async fn instances_that_do_not_say_which_cluster_they_are_of_stay_and_are_told_of_once() {
    let mut stage = stage();
    stage.create_pool("general");
    stage.create_claim_as(claim("another"));
    for name in ["web-0", "web-1"] {
        let id = leave(&stage, name);
        stage.cloud.state().instances.get_mut(&id).unwrap().cluster_unproven = true;
    }
    stage.pass(6 * 60 * MINUTE).await;
    assert_eq!(count(&stage), 2);
    let events = told(&stage, "TestNodeClass", "default", "ClusterUnproven");
    let [event] = &events[..] else { panic!("once: {events:?}") };
    assert!(event.contains("2 instances have the name of this cluster"), "{event}");
    assert!(event.ends_with("test://web-0, test://web-1"), "{event}");
    assert_eq!(stage.cloud.calls("adopt"), 0);
    assert_eq!(stage.cloud.calls("delete"), 0);
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_a_claim_names_is_this_clusters() {
    let mut stage = stage();
    let created = stage.create_claim_as(claim("web-0"));
    let uid = created["metadata"]["uid"].as_str().unwrap().to_owned();
    let id = leave(&stage, "web-0");
    {
        let mut state = stage.cloud.state();
        let instance = state.instances.get_mut(&id).unwrap();
        instance.claim = Some(ClaimId { name: "web-0".to_owned(), uid });
        instance.cluster_unproven = true;
    }
    stage.pass(10 * MINUTE).await;
    assert!(!stage.cloud.state().instances[&id].cluster_unproven);
    assert_eq!(stage.cloud.calls("adopt"), 1);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_removed_while_another_clusters_api_server_answers() {
    let mut stage = Stage::bare();
    stage.context.identity = Identity::of("the UID that was read at the start");
    let mut stage = stage.with_rounds(GarbageCollection::new);
    stage.create_claim_as(claim("another"));
    leave_some(&stage, 1);
    stage.pass(60 * MINUTE).await;
    assert_eq!(count(&stage), 1);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_removed_while_the_cluster_does_not_say_which_it_is() {
    let mut stage = stage();
    stage.create_claim_as(claim("another"));
    leave_some(&stage, 1);
    stage.faults("at 0s joiner: 503 on get namespaces 30 times");
    stage.pass(7 * MINUTE).await;
    assert_eq!(count(&stage), 1);
    stage.pass(600 * MINUTE).await;
    assert_eq!(count(&stage), 0);
}
