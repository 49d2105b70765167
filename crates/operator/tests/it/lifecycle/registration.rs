//! From an instance to its node.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use joiner_cloud::{
    CloudError,
    progress::Progress,
    registration::{JoinedClaim, RegistrationHook},
};
use joiner_core::label::Labels;
use joiner_operator::{lifecycle::Lifecycle, registration_health::RegistrationHealth};
use serde_json::{Value, json};

use super::stage;
use crate::{
    play::{foreign_claim, node, pool_claim, unregistered},
    stage::{Stage, claim},
};

const REGISTERED: &str = "karpenter.sh/registered";

/// A claim with this spec, launched, and its node, joined with this metadata.
async fn joined(spec: Value, metadata: Value) -> Stage {
    let mut stage = stage();
    join(&mut stage, spec, metadata).await;
    stage
}

async fn join(stage: &mut Stage, spec: Value, metadata: Value) {
    let mut claim = claim("web-1");
    claim["metadata"]["labels"] = json!({"example.com/team": "a"});
    claim["metadata"]["annotations"] = json!({"example.com/note": "b"});
    for (field, value) in spec.as_object().unwrap() {
        claim["spec"][field] = value.clone();
    }
    stage.create_claim_as(claim);
    stage.pass(1).await;
    let mut node = node("node-1", "web-1");
    for (field, value) in metadata.as_object().unwrap() {
        node["metadata"][field] = value.clone();
    }
    stage.join(node);
    stage.pass(1).await;
}

fn tainted() -> Value {
    json!({"taints": [{"key": "dedicated", "value": "db", "effect": "NoSchedule"}]})
}

fn startup_tainted() -> Value {
    json!({"startupTaints": [{"key": "cni", "effect": "NoExecute"}]})
}

#[tokio::test(start_paused = true)]
async fn l06_a_claim_is_registered_by_the_node_with_its_provider_id() {
    let mut stage = stage();
    stage.create_claim("web-1");
    stage.create_claim_as(foreign_claim("other-1"));
    let launched = json!({"status": {"providerID": "test://other-1"}});
    stage.merge("karpenter.sh", "nodeclaims", "other-1", Some("status"), launched);
    stage.pass(1).await;
    let expected = ("Unknown", "NodeNotFound", "Node not registered with cluster");
    let (status, reason, message) = stage.condition("web-1", "Registered").unwrap();
    assert_eq!((status.as_str(), reason.as_str(), message.as_str()), expected);

    stage.join(node("node-1", "web-1"));
    stage.join(node("node-2", "other-1"));
    stage.pass(1).await;
    assert_eq!(stage.status_of("web-1", "Registered").as_deref(), Some("True"));
    assert_eq!(stage.claim("web-1").status.unwrap().node_name.as_deref(), Some("node-1"));
    assert_eq!(stage.condition("other-1", "Registered"), None);
    let zone = stage.label_of("node-1", "topology.kubernetes.io/zone").unwrap();
    let counted = format!("{{nodepool=\"\",zone=\"{zone}\"}} 1");
    assert_eq!(stage.series("karpenter_nodes_created_total"), [counted]);
    assert_eq!(stage.events("NodeClaim", "web-1"), [] as [&str; 0]);
    assert_eq!(stage.taints_of("node-2"), ["karpenter.sh/unregistered:NoExecute"]);
}

#[tokio::test(start_paused = true)]
async fn l06_two_nodes_with_one_provider_id_are_nobodys() {
    let mut stage = stage();
    stage.create_claim("web-1");
    stage.pass(1).await;
    stage.join(node("node-1", "web-1"));
    stage.join(node("node-2", "web-1"));
    stage.pass(1).await;
    let (status, reason, message) = stage.condition("web-1", "Registered").unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("False", "MultipleNodesFound"));
    assert_eq!(
        message,
        "2 nodes have this provider ID: node-1, node-2; delete those that are not this instance"
    );
}

#[tokio::test(start_paused = true)]
async fn l07_the_claim_owns_the_node_once() {
    let stage = joined(json!({}), json!({})).await;
    let claim = stage.claim("web-1");
    let owners = stage.find_node("node-1").unwrap().metadata.owner_references.unwrap();
    let [owner] = owners.as_slice() else { panic!("one owner, not {owners:?}") };
    assert_eq!((owner.api_version.as_str(), owner.kind.as_str()), ("karpenter.sh/v1", "NodeClaim"));
    assert_eq!(Some(&owner.uid), claim.metadata.uid.as_ref());
    assert_eq!((owner.block_owner_deletion, owner.controller), (Some(true), None));
}

#[tokio::test(start_paused = true)]
async fn l07_an_owner_that_is_there_already_is_not_added_again() {
    let mut stage = stage();
    stage.create_claim("web-1");
    stage.pass(1).await;
    let claim = stage.claim("web-1");
    let mut node = node("node-1", "web-1");
    node["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "name": "web-1",
        "uid": claim.metadata.uid,
    }]);
    stage.join(node);
    stage.pass(1).await;
    assert_eq!(stage.status_of("web-1", "Registered").as_deref(), Some("True"));
    assert_eq!(stage.find_node("node-1").unwrap().metadata.owner_references.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn l08_a_registered_node_has_the_label_the_finalizer_and_no_taint() {
    let stage = joined(json!({}), json!({})).await;
    assert_eq!(stage.label_of("node-1", REGISTERED).as_deref(), Some("true"));
    assert_eq!(stage.taints_of("node-1"), [] as [&str; 0]);
    let finalizers = stage.find_node("node-1").unwrap().metadata.finalizers.unwrap();
    assert_eq!(finalizers, ["karpenter.sh/termination"]);
}

#[tokio::test(start_paused = true)]
async fn l09_a_node_that_came_without_the_taint_is_registered_all_the_same() {
    let mut stage = stage();
    stage.create_claim("web-1");
    stage.pass(1).await;
    let mut node = node("node-1", "web-1");
    node["spec"]["taints"] = json!([]);
    stage.join(node);
    stage.pass(1).await;
    assert_eq!(stage.status_of("web-1", "Registered").as_deref(), Some("True"));
    let told = "UnregisteredTaintMissing: Missing karpenter.sh/unregistered taint which prevents \
                registration related race conditions on Karpenter-managed nodes";
    assert_eq!(stage.events("NodeClaim", "web-1"), [told]);
}

#[tokio::test(start_paused = true)]
async fn l10_l11_labels_and_annotations_of_the_claim_reach_the_node() {
    let own = json!({
        "labels": {"example.com/team": "b", "example.com/own": "c"},
        "annotations": {"example.com/own": "d"},
    });
    let stage = joined(json!({}), own).await;
    let metadata = stage.find_node("node-1").unwrap().metadata;
    let (labels, annotations) = (metadata.labels.unwrap(), metadata.annotations.unwrap());
    assert_eq!(labels["example.com/team"], "a", "the claim knows better");
    assert_eq!(labels["example.com/own"], "c");
    assert!(labels.contains_key("node.kubernetes.io/instance-type"));
    assert_eq!(annotations["example.com/note"], "b");
    assert_eq!(annotations["example.com/own"], "d");
}

#[tokio::test(start_paused = true)]
async fn l12_taints_of_the_claim_reach_the_node() {
    let stage = joined(tainted(), json!({})).await;
    assert_eq!(stage.taints_of("node-1"), ["dedicated:NoSchedule"]);
}

#[tokio::test(start_paused = true)]
async fn l13_taints_reach_a_node_whose_label_says_anything_but_true() {
    let label = json!({"labels": {"karpenter.sh/do-not-sync-taints": "false"}});
    let stage = joined(tainted(), label).await;
    assert_eq!(stage.taints_of("node-1"), ["dedicated:NoSchedule"]);
}

#[tokio::test(start_paused = true)]
async fn l14_a_node_that_keeps_its_taints_loses_only_the_one_for_registration() {
    let label = json!({"labels": {"karpenter.sh/do-not-sync-taints": "true"}});
    let stage = joined(tainted(), label).await;
    assert_eq!(stage.taints_of("node-1"), [] as [&str; 0]);
    assert_eq!(stage.status_of("web-1", "Registered").as_deref(), Some("True"));
}

#[tokio::test(start_paused = true)]
async fn l15_startup_taints_of_the_claim_reach_the_node() {
    let stage = joined(startup_tainted(), json!({})).await;
    assert_eq!(stage.taints_of("node-1"), ["cni:NoExecute"]);
}

#[tokio::test(start_paused = true)]
async fn l16_startup_taints_reach_a_node_whose_label_says_anything_but_true() {
    let label = json!({"labels": {"karpenter.sh/do-not-sync-taints": "yes"}});
    let stage = joined(startup_tainted(), label).await;
    assert_eq!(stage.taints_of("node-1"), ["cni:NoExecute"]);
}

#[tokio::test(start_paused = true)]
async fn l17_startup_taints_do_not_reach_a_node_that_keeps_its_taints() {
    let label = json!({"labels": {"karpenter.sh/do-not-sync-taints": "true"}});
    let stage = joined(startup_tainted(), label).await;
    assert_eq!(stage.taints_of("node-1"), [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn l18_startup_taints_that_were_taken_off_do_not_come_back() {
    let mut stage = joined(startup_tainted(), json!({})).await;
    stage.taint("node-1", &json!([]));
    stage.pass(60).await;
    stage.merge("", "nodes", "node-1", None, json!({"metadata": {"labels": {"x": "y"}}}));
    stage.pass(60).await;
    assert_eq!(stage.taints_of("node-1"), [] as [&str; 0]);
}

/// A pool whose health is said to be so, and a claim of it whose node joins.
async fn joined_in_pool(status: Option<&str>) -> Stage {
    let mut stage = stage();
    let pool = stage.create_pool("general");
    if let Some(status) = status {
        let observed = json!({"status": {"nodeClassObservedGeneration": 1, "conditions": [{
            "type": "NodeRegistrationHealthy", "status": status, "reason": "Before",
            "message": "", "observedGeneration": 1,
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]}});
        stage.merge("karpenter.sh", "nodepools", "general", Some("status"), observed);
    }
    stage.create_claim_as(pool_claim("web-1", &pool));
    stage.pass(1).await;
    stage.join(node("node-1", "web-1"));
    stage.pass(1).await;
    stage
}

#[tokio::test(start_paused = true)]
async fn l19_a_node_that_joined_makes_its_pool_healthy() {
    let stage = joined_in_pool(None).await;
    let healthy = ("True".to_owned(), "NodeRegistrationHealthy".to_owned());
    assert_eq!(stage.health_of("general"), Some(healthy));
}

#[tokio::test(start_paused = true)]
async fn l20_a_pool_with_two_failures_stays_unhealthy_when_a_node_joins() {
    let stage = joined_in_pool(Some("False")).await;
    assert_eq!(stage.status_of("web-1", "Registered").as_deref(), Some("True"));
    assert_eq!(stage.health_of("general"), Some(("False".to_owned(), "Before".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn l21_a_claim_whose_pool_is_gone_registers_without_it() {
    let mut stage = stage();
    let pool = stage.create_pool("general");
    stage.create_claim_as(pool_claim("web-1", &pool));
    stage.pass(1).await;
    stage.delete("karpenter.sh", "nodepools", "general");
    stage.join(node("node-1", "web-1"));
    stage.pass(1).await;
    assert_eq!(stage.status_of("web-1", "Registered").as_deref(), Some("True"));
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_changed_by_others_meanwhile_is_tried_again() {
    let mut stage = stage();
    stage.lab.faults().add_script("at 0s joiner: conflict on patch nodes 2 times").unwrap();
    join(&mut stage, tainted(), json!({})).await;
    assert_eq!(stage.taints_of("node-1"), ["karpenter.sh/unregistered:NoExecute"]);
    stage.pass(5).await;
    assert_eq!(stage.taints_of("node-1"), ["dedicated:NoSchedule"]);
    assert_eq!(stage.status_of("web-1", "Registered").as_deref(), Some("True"));
}

/// A hook that answers what it is told to.
#[derive(Debug, Clone)]
struct TestHook {
    name: &'static str,
    answers: Arc<Mutex<Vec<Result<Progress, String>>>>,
}

impl TestHook {
    /// Answers these in turn, and the last one for ever.
    fn new(name: &'static str, answers: impl Into<Vec<Result<Progress, String>>>) -> Self {
        let mut answers = answers.into();
        answers.reverse();
        Self { name, answers: Arc::new(Mutex::new(answers)) }
    }

    fn passing(name: &'static str) -> Self {
        Self::new(name, [Ok(Progress::Done(Labels::new()))])
    }

    fn deferring(name: &'static str) -> Self {
        Self::new(name, [Ok(Progress::NotYet(Duration::from_secs(5)))])
    }

    fn failing(name: &'static str) -> Self {
        Self::new(name, [Err("the load balancer does not answer".to_owned())])
    }
}

#[async_trait]
impl RegistrationHook for TestHook {
    fn name(&self) -> &str {
        self.name
    }

    async fn registered(&self, joined: &JoinedClaim) -> Result<Progress, CloudError> {
        assert_eq!((&*joined.claim.name, &*joined.node), ("web-1", "node-1"));
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.len() > 1 { answers.pop() } else { answers.last().cloned() };
        answer.unwrap().map_err(CloudError::Unknown)
    }
}

/// A claim whose node has joined, with these hooks.
async fn hooked(hooks: impl IntoIterator<Item = TestHook>) -> Stage {
    let hooks: Vec<Arc<dyn RegistrationHook>> =
        hooks.into_iter().map(|hook| Arc::new(hook) as Arc<dyn RegistrationHook>).collect();
    let mut stage =
        Stage::bare().with(|context| Lifecycle::new(context, RegistrationHealth::default()));
    stage.cloud.state().hooks = hooks;
    join(&mut stage, tainted(), json!({})).await;
    stage
}

/// What the claim says while it waits for hooks: their names.
fn pending(stage: &Stage) -> Option<String> {
    let (status, reason, message) = stage.condition("web-1", "Registered").unwrap();
    (status == "Unknown" && reason == "RegistrationHookPending").then_some(message)
}

fn is_registered(stage: &Stage) -> bool {
    stage.status_of("web-1", "Registered").as_deref() == Some("True")
        && stage.taints_of("node-1") == ["dedicated:NoSchedule"]
}

#[tokio::test(start_paused = true)]
async fn l22_a_hook_that_is_done_lets_the_node_register() {
    assert!(is_registered(&hooked([TestHook::passing("lb")]).await));
}

#[tokio::test(start_paused = true)]
async fn l23_while_a_hook_is_not_done_the_node_has_everything_but_may_not_be_used() {
    let stage = hooked([TestHook::deferring("lb")]).await;
    assert_eq!(pending(&stage).as_deref(), Some("lb"));
    let both = ["karpenter.sh/unregistered:NoExecute", "dedicated:NoSchedule"];
    assert_eq!(stage.taints_of("node-1"), both);
    assert_eq!(stage.label_of("node-1", "example.com/team").as_deref(), Some("a"));
    assert_eq!(stage.label_of("node-1", REGISTERED), None);
}

#[tokio::test(start_paused = true)]
async fn l24_a_hook_that_fails_is_waited_for_and_tried_again() {
    let done = Ok(Progress::Done(Labels::new()));
    let failing = Err("the load balancer does not answer".to_owned());
    let mut stage = hooked([TestHook::new("lb", [failing.clone(), failing, done])]).await;
    assert_eq!(pending(&stage).as_deref(), Some("lb"));
    stage.pass(5).await;
    assert!(is_registered(&stage));
}

#[tokio::test(start_paused = true)]
async fn l25_one_hook_of_two_that_is_not_done_is_enough_to_wait() {
    let stage = hooked([TestHook::passing("lb"), TestHook::deferring("dns")]).await;
    assert_eq!(pending(&stage).as_deref(), Some("dns"));
}

#[tokio::test(start_paused = true)]
async fn l26_when_all_hooks_are_done_the_node_registers() {
    assert!(is_registered(&hooked([TestHook::passing("lb"), TestHook::passing("dns")]).await));
}

#[tokio::test(start_paused = true)]
async fn l27_all_hooks_are_asked_and_all_that_are_not_done_are_named() {
    let hooks = [TestHook::deferring("lb"), TestHook::failing("dns"), TestHook::passing("a")];
    let stage = hooked(hooks).await;
    assert_eq!(pending(&stage).as_deref(), Some("lb, dns"));
}

#[tokio::test(start_paused = true)]
async fn l28_a_hook_is_asked_again_when_it_said() {
    let hook = TestHook::new("lb", [Ok(Progress::NotYet(Duration::from_secs(30)))]);
    let mut stage = hooked([hook.clone()]).await;
    *hook.answers.lock().unwrap() = vec![Ok(Progress::Done(Labels::new()))];
    stage.pass(25).await;
    assert_eq!(pending(&stage).as_deref(), Some("lb"));
    stage.pass(10).await;
    assert!(is_registered(&stage));
}

#[tokio::test(start_paused = true)]
async fn l29_l30_without_hooks_nothing_is_waited_for() {
    assert!(is_registered(&hooked([]).await));
    assert!(is_registered(&joined(tainted(), json!({})).await));
}

#[tokio::test(start_paused = true)]
async fn l31_labels_of_a_hook_end_up_on_node_and_claim() {
    let labels = Labels::from([("example.com/rack".to_owned(), "7".to_owned())]);
    let stage = hooked([TestHook::new("lb", [Ok(Progress::Done(labels))])]).await;
    assert!(is_registered(&stage));
    assert_eq!(stage.label_of("node-1", "example.com/rack").as_deref(), Some("7"));
    assert_eq!(stage.claim("web-1").metadata.labels.unwrap()["example.com/rack"], "7");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_about_to_be_gone_does_not_register() {
    let mut stage = stage();
    stage.create_claim("web-1");
    stage.pass(1).await;
    let mut node = node("node-1", "web-1");
    node["metadata"]["finalizers"] = json!(["example.com/slow"]);
    node["spec"]["taints"] = json!([unregistered()]);
    stage.join(node);
    stage.delete("", "nodes", "node-1");
    stage.pass(1).await;
    let (status, reason, message) = stage.condition("web-1", "Registered").unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("Unknown", "NodeNotFound"));
    assert_eq!(message, "Node \"node-1\" is being deleted");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_says_another_zone_than_its_claim_is_told_of() {
    let mut stage = stage();
    let mut claim = claim("web-1");
    claim["metadata"]["labels"] = json!({"topology.kubernetes.io/zone": "test-zone-a"});
    stage.create_claim_as(claim);
    stage.pass(1).await;
    let mut elsewhere = node("node-1", "web-1");
    elsewhere["metadata"]["labels"] = json!({"topology.kubernetes.io/zone": "test-zone-b"});
    stage.join(elsewhere);
    stage.pass(1).await;
    let told = stage.events("NodeClaim", "web-1");
    let start = "ZoneMismatch: The node says that it is in zone \"test-zone-b\"";
    assert!(told.iter().any(|event| event.starts_with(start)), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_node_is_found_by_any_form_of_its_id_and_its_claim_takes_that_form_over() {
    let mut stage = stage();
    stage.create_claim("web-1");
    stage.pass(1).await;
    let mut node = node("node-1", "web-1");
    node["spec"] = json!({"providerID": "TEST://WEB-1", "taints": [unregistered()]});
    stage.join(node);
    stage.pass(1).await;
    assert_eq!(stage.status_of("web-1", "Registered").as_deref(), Some("True"));
    let id = stage.claim("web-1").status.unwrap().provider_id;
    assert_eq!(id.as_deref(), Some("TEST://WEB-1"));
}
