//! The end of a claim.

use joiner_api::condition::find;
use joiner_cloud::CloudError;
use joiner_operator::{conditions::Conditioned, world::Key};
use k8s_openapi::api::core::v1::Node;
use serde_json::{Value, json};

use super::stage;
use crate::{
    play::{foreign_claim, node},
    stage::{Stage, claim},
};

const FINALIZER: &str = "karpenter.sh/termination";
const DEADLINE: &str = "karpenter.sh/nodeclaim-termination-timestamp";

/// A claim with an instance.
async fn launched() -> Stage {
    let mut stage = stage();
    stage.create_claim("web-1");
    stage.pass(1).await;
    stage
}

/// A claim with an instance and a node that has joined.
async fn registered() -> Stage {
    let mut stage = launched().await;
    stage.join(node("node-1", "web-1"));
    stage.pass(1).await;
    stage
}

/// The node is drained and let go, as its own controller does it.
fn release_node(stage: &Stage, name: &str) {
    let none = json!({"metadata": {"finalizers": null}});
    stage.merge("", "nodes", name, None, none);
}

#[tokio::test(start_paused = true)]
async fn l58_l59_a_claim_gets_the_finalizer_and_a_foreign_one_does_not() {
    let mut stage = launched().await;
    stage.create_claim_as(foreign_claim("other-1"));
    stage.pass(1).await;
    assert_eq!(stage.claim("web-1").metadata.finalizers.unwrap(), [FINALIZER]);
    assert_eq!(stage.claim("other-1").metadata.finalizers, None);
}

#[tokio::test(start_paused = true)]
async fn l58_no_instance_is_asked_for_before_the_finalizer_is_there() {
    let mut stage = stage();
    stage.lab.faults().add_script("at 0s joiner: 503 on patch nodeclaims 3 times").unwrap();
    stage.create_claim("web-1");
    stage.pass(2).await;
    assert_eq!(stage.cloud.calls("create"), 0);
    stage.pass(10).await;
    assert_eq!(stage.cloud.calls("create"), 1);
}

#[tokio::test(start_paused = true)]
async fn l60_while_a_claim_ends_all_its_conditions_are_about_its_latest_generation() {
    let mut stage = launched().await;
    stage.cloud.state().asks_until_gone = 100;
    stage.delete_claim("web-1");
    stage.pass(1).await;
    let claim = stage.claim("web-1");
    assert!(claim.holds("InstanceTerminating"));
    assert!(claim.metadata.generation > Some(1), "a deletion is a new generation");
    let observed = claim.conditions().iter().map(|condition| condition.observed_generation);
    assert!(observed.clone().all(|observed| observed == claim.metadata.generation), "{claim:?}");
}

#[tokio::test(start_paused = true)]
async fn l62_deleting_a_claim_deletes_its_node_and_then_its_instance() {
    let mut stage = registered().await;
    stage.delete_claim("web-1");
    stage.pass(5).await;
    assert!(stage.find_node("node-1").unwrap().metadata.deletion_timestamp.is_some());
    assert_eq!(stage.cloud.calls("delete"), 0, "the node is drained first");
    release_node(&stage, "node-1");
    stage.pass(10).await;
    assert!(stage.find_claim("web-1").is_none());
    assert!(stage.cloud.state().instances.is_empty());
}

#[tokio::test(start_paused = true)]
async fn l63_a_foreign_claim_is_let_alone() {
    let mut stage = stage();
    let mut foreign = foreign_claim("other-1");
    foreign["metadata"]["finalizers"] = json!([FINALIZER]);
    stage.create_claim_as(foreign);
    stage.delete_claim("other-1");
    stage.pass(60).await;
    assert_eq!(stage.claim("other-1").metadata.finalizers.unwrap(), [FINALIZER]);
    assert_eq!(stage.cloud.calls(""), 0);
}

#[tokio::test(start_paused = true)]
async fn l64_an_instance_that_goes_does_not_make_its_claim_unknown() {
    let mut stage = registered().await;
    assert_eq!(stage.status_of("web-1", "Ready").as_deref(), Some("True"));
    stage.cloud.state().asks_until_gone = 100;
    stage.delete_claim("web-1");
    stage.pass(1).await;
    release_node(&stage, "node-1");
    stage.pass(1).await;
    assert_eq!(stage.status_of("web-1", "InstanceTerminating").as_deref(), Some("True"));
    assert_eq!(stage.status_of("web-1", "Ready").as_deref(), Some("True"));
}

#[tokio::test(start_paused = true)]
async fn l65_a_claim_whose_amounts_are_written_in_an_odd_way_can_end() {
    let mut stage = stage();
    let mut odd = claim("web-1");
    odd["spec"]["resources"] = json!({"requests": {"cpu": "0.5", "memory": "1024Mi"}});
    stage.create_claim_as(odd);
    stage.pass(1).await;
    stage.delete_claim("web-1");
    stage.pass(10).await;
    assert!(stage.find_claim("web-1").is_none());
}

#[tokio::test(start_paused = true)]
async fn l66_a_cloud_that_fails_to_delete_is_asked_again() {
    let mut stage = launched().await;
    let error = CloudError::Unknown("the session has ended".to_owned());
    stage.cloud.state().next_delete.extend([Some(error.clone()), Some(error)]);
    stage.delete_claim("web-1");
    stage.pass(2).await;
    assert!(stage.find_claim("web-1").is_some());
    stage.pass(20).await;
    assert!(stage.find_claim("web-1").is_none());
    assert!(stage.cloud.state().instances.is_empty());
}

#[tokio::test(start_paused = true)]
async fn l67_a_claim_stays_until_its_instance_is_gone() {
    let mut stage = launched().await;
    stage.cloud.state().asks_until_gone = 10;
    stage.delete_claim("web-1");
    stage.pass(30).await;
    assert_eq!(stage.claim("web-1").metadata.finalizers.unwrap(), [FINALIZER]);
    let condition = find(stage.claim("web-1").conditions(), "InstanceTerminating").cloned();
    assert_eq!(condition.unwrap().status, "True");
    stage.pass(60).await;
    assert!(stage.find_claim("web-1").is_none());
    assert_eq!(stage.series("karpenter_nodeclaims_terminated_total").len(), 1);
    for took in ["termination", "instance_termination"] {
        let sum = stage.metric(&format!("karpenter_nodeclaims_{took}_duration_seconds_sum"));
        assert!((54.5..55.5).contains(&sum), "{took} took eleven times five seconds, not {sum}");
    }
    assert_eq!(stage.cloud.calls("delete"), 12, "every five seconds, until nothing was there");
}

#[tokio::test(start_paused = true)]
async fn l68_l69_all_nodes_with_the_provider_id_go_before_the_instance() {
    let mut stage = registered().await;
    let mut twin = node("node-2", "web-1");
    twin["metadata"]["finalizers"] = json!([FINALIZER]);
    stage.join(twin);
    stage.pass(1).await;
    stage.delete_claim("web-1");
    stage.pass(1).await;
    for name in ["node-1", "node-2"] {
        assert!(stage.find_node(name).unwrap().metadata.deletion_timestamp.is_some(), "{name}");
    }
    release_node(&stage, "node-1");
    stage.pass(60).await;
    assert!(stage.find_claim("web-1").is_some());
    assert_eq!(stage.cloud.calls("delete"), 0);
    release_node(&stage, "node-2");
    stage.pass(10).await;
    assert!(stage.find_claim("web-1").is_none());
}

/// It came beside the one that has registered: the instance was renamed, say, and its pods run there.
#[tokio::test(start_paused = true)]
async fn l68_a_node_without_finalizer_gets_one_so_that_it_is_drained() {
    let mut stage = registered().await;
    stage.join(node("renamed", "web-1"));
    stage.pass(1).await;
    assert_eq!(stage.find_node("renamed").unwrap().metadata.finalizers, None);
    stage.delete_claim("web-1");
    stage.pass(1).await;
    let renamed = stage.find_node("renamed").unwrap();
    assert!(renamed.metadata.deletion_timestamp.is_some());
    assert_eq!(renamed.metadata.finalizers.unwrap(), [FINALIZER]);
    let class = stage.label_of("renamed", "karpenter.test.sh/testnodeclass");
    assert_eq!(class.as_deref(), Some("default"), "who drains knows that it is ours");
    release_node(&stage, "node-1");
    stage.pass(60).await;
    assert_eq!(stage.cloud.calls("delete"), 0, "its pods may still run");
    release_node(&stage, "renamed");
    stage.pass(10).await;
    assert!(stage.find_claim("web-1").is_none());
}

#[tokio::test(start_paused = true)]
async fn l70_a_claim_that_never_had_an_instance_ends_at_once() {
    let mut stage = stage();
    // Its class is not there, so nothing was ever asked for.
    stage.create("karpenter.sh", "nodeclaims", claim("web-1"));
    stage.pass(1).await;
    stage.delete_claim("web-1");
    stage.pass(1).await;
    assert!(stage.find_claim("web-1").is_none());
    assert_eq!(stage.cloud.calls("create"), 0);
}

#[tokio::test(start_paused = true)]
async fn l70_an_instance_that_a_killed_process_made_and_never_wrote_down_goes_with_its_claim() {
    let mut stage = launched().await;
    // As the predecessor left it: the finalizer, the instance, and not a word about it.
    stage.create_class("gone");
    let mut other = claim("web-2");
    other["metadata"]["finalizers"] = json!([FINALIZER]);
    other["spec"]["nodeClassRef"]["name"] = "missing".into();
    let other = stage.create("karpenter.sh", "nodeclaims", other);
    let mut instance = stage.cloud.state().instances["test://web-1"].clone();
    instance.provider_id = "test://web-2".to_owned();
    let identity = instance.claim.as_mut().unwrap();
    "web-2".clone_into(&mut identity.name);
    other["metadata"]["uid"].as_str().unwrap().clone_into(&mut identity.uid);
    stage.cloud.state().instances.insert(instance.provider_id.clone(), instance);
    stage.delete_claim("web-2");
    stage.pass(10).await;
    assert!(stage.find_claim("web-2").is_none());
    let left: Vec<String> = stage.cloud.state().instances.keys().cloned().collect();
    assert_eq!(left, ["test://web-1"]);
}

#[tokio::test(start_paused = true)]
async fn l71_nodes_without_a_provider_id_are_not_touched() {
    let mut stage = stage();
    stage.create("", "nodes", json!({"metadata": {"name": "stranger"}}));
    stage.create("karpenter.sh", "nodeclaims", claim("web-1"));
    stage.pass(1).await;
    stage.delete_claim("web-1");
    stage.pass(10).await;
    assert!(stage.find_claim("web-1").is_none());
    assert!(stage.find_node("stranger").unwrap().metadata.deletion_timestamp.is_none());
}

/// A claim with this spec and annotations, deleted, and its node still there.
async fn ending(grace: Option<&str>, annotations: Value) -> Stage {
    let mut stage = stage();
    let mut claim = claim("web-1");
    claim["metadata"]["annotations"] = annotations;
    if let Some(grace) = grace {
        claim["spec"]["terminationGracePeriod"] = grace.into();
    }
    stage.create_claim_as(claim);
    stage.pass(1).await;
    stage.join(node("node-1", "web-1"));
    stage.pass(1).await;
    stage.delete_claim("web-1");
    stage.pass(1).await;
    stage
}

fn deadline(stage: &Stage) -> Option<String> {
    stage.claim("web-1").metadata.annotations?.remove(DEADLINE)
}

#[tokio::test(start_paused = true)]
async fn l72_without_a_grace_period_there_is_no_deadline() {
    assert_eq!(deadline(&ending(None, json!({})).await), None);
}

#[tokio::test(start_paused = true)]
async fn l73_the_deadline_is_the_grace_period_after_the_deletion() {
    let stage = ending(Some("1h30m"), json!({})).await;
    let deleted = stage.claim("web-1").metadata.deletion_timestamp.unwrap().0;
    let expected = deleted + jiff::SignedDuration::from_mins(90);
    assert_eq!(deadline(&stage), Some(expected.to_string()));
    let told = format!("TerminationGracePeriodExpiring: All pods will be deleted by {expected}");
    assert_eq!(stage.events("NodeClaim", "web-1"), [told]);
}

#[tokio::test(start_paused = true)]
async fn l74_a_deadline_that_is_there_stays() {
    let set = "2030-01-01T00:00:00Z";
    let stage = ending(Some("1h"), json!({DEADLINE: set})).await;
    assert_eq!(deadline(&stage).as_deref(), Some(set));
}

#[tokio::test(start_paused = true)]
async fn l75_nodes_of_a_claim_that_never_registered_are_not_deleted() {
    let mut stage = launched().await;
    stage.join(node("node-1", "web-1"));
    stage.join(node("node-2", "web-1"));
    stage.pass(1).await;
    assert_eq!(stage.status_of("web-1", "Registered").as_deref(), Some("False"));
    stage.delete_claim("web-1");
    stage.pass(10).await;
    assert!(stage.find_claim("web-1").is_none());
    for name in ["node-1", "node-2"] {
        assert!(stage.find_node(name).unwrap().metadata.deletion_timestamp.is_none(), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_the_cache_has_lost_is_not_taken_for_gone() {
    let mut stage = registered().await;
    // A watch that missed everything: the cache believes that the node is gone.
    stage.context.cache.gone::<Node>(&Key::cluster("node-1"));
    stage.delete_claim("web-1");
    stage.pass(1).await;
    assert!(stage.find_node("node-1").unwrap().metadata.deletion_timestamp.is_some());
    assert_eq!(stage.cloud.calls("delete"), 0, "the node is drained first");
    release_node(&stage, "node-1");
    stage.pass(20).await;
    assert!(stage.find_claim("web-1").is_none());
}
