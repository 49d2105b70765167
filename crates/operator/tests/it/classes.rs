//! What becomes of classes: what is said of them, what instances were made from, and their end.

use joiner_cloud::{
    class::{ClassCondition, SpecHash},
    testing::TEST_NODE_CLASS,
};
use joiner_core::label::Labels;
use joiner_operator::{
    classes::{ClassHashing, ClassResolution, ClassTermination},
    disruption_conditions::DisruptionConditions,
    pod_events::LastPodEvents,
};
use serde_json::{Value, json};

use crate::{
    play::pool_claim,
    stage::{Stage, claim},
};

const FINALIZER: &str = "karpenter.test.sh/termination";
const HASH: &str = "karpenter.test.sh/testnodeclass-hash";
const HASH_VERSION: &str = "karpenter.test.sh/testnodeclass-hash-version";

impl Stage {
    /// A class as it is now.
    pub(crate) fn class(&self, name: &str) -> Value {
        self.find(TEST_NODE_CLASS.group, TEST_NODE_CLASS.plural, name).unwrap()
    }

    /// A condition of a class: status, reason and message.
    pub(crate) fn class_condition(&self, name: &str, type_: &str) -> String {
        let class = self.class(name);
        let conditions = class["status"]["conditions"].as_array().into_iter().flatten();
        let found = conditions.clone().find(|condition| condition["type"] == type_);
        let text = |field: &str| found.unwrap_or(&Value::Null)[field].as_str().unwrap_or_default();
        format!("{} {} {}", text("status"), text("reason"), text("message")).trim_end().to_owned()
    }
}

fn with_finalizer() -> Stage {
    let stage = Stage::bare().with(ClassTermination);
    stage.cloud.state().class_finalizer = Some(FINALIZER);
    stage
}

fn delete_class(stage: &Stage) {
    stage.delete(TEST_NODE_CLASS.group, TEST_NODE_CLASS.plural, "default");
}

#[tokio::test(start_paused = true)]
async fn a_class_stays_until_its_last_claim_is_gone_and_says_whom_it_waits_for() {
    let mut stage = with_finalizer();
    stage.create_class("default");
    for number in 1..=7 {
        stage.create("karpenter.sh", "nodeclaims", claim(&format!("web-{number}")));
    }
    stage.pass(1).await;
    assert_eq!(stage.class("default")["metadata"]["finalizers"], json!([FINALIZER]));
    delete_class(&stage);
    stage.pass(1).await;
    let told = "WaitingOnNodeClaimTermination: Waiting on NodeClaim termination for web-1, web-2, \
                web-3, web-4, web-5 and 2 other(s)";
    assert_eq!(stage.events(TEST_NODE_CLASS.kind, "default"), [told]);
    for number in 1..=7 {
        assert!(!stage.class("default").is_null(), "claims are left");
        stage.delete("karpenter.sh", "nodeclaims", &format!("web-{number}"));
        stage.pass(1).await;
    }
    let left: Option<Value> = stage.find(TEST_NODE_CLASS.group, TEST_NODE_CLASS.plural, "default");
    assert_eq!(left, None);
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_of_somebody_else_is_left_alone() {
    let mut stage = with_finalizer();
    stage.create_class("default");
    let own = json!({"metadata": {"finalizers": ["example.com/keep"]}});
    stage.merge(TEST_NODE_CLASS.group, TEST_NODE_CLASS.plural, "default", None, own);
    stage.lab.faults().add_script("at 0s joiner: conflict on patch testnodeclasses once").unwrap();
    stage.pass(1).await;
    let finalizers = json!(["example.com/keep", FINALIZER]);
    assert_eq!(stage.class("default")["metadata"]["finalizers"], finalizers);
    delete_class(&stage);
    stage.pass(1).await;
    assert_eq!(stage.class("default")["metadata"]["finalizers"], json!(["example.com/keep"]));
}

#[tokio::test(start_paused = true)]
async fn a_class_of_a_cloud_without_a_finalizer_goes_as_it_likes() {
    let mut stage = Stage::bare().with(ClassTermination);
    stage.create_claim("web-1");
    stage.pass(1).await;
    assert_eq!(stage.class("default")["metadata"]["finalizers"], Value::Null);
}

fn hash(hash: &str, version: &'static str) -> SpecHash {
    SpecHash::of_drift(HASH, HASH_VERSION, version, hash)
}

fn annotations_of(object: &Value) -> [String; 2] {
    [HASH, HASH_VERSION]
        .map(|key| object["metadata"]["annotations"][key].as_str().unwrap_or_default().to_owned())
}

/// A claim that was made before, with these annotations.
fn claim_with(name: &str, marks: &Labels) -> Value {
    let mut claim = claim(name);
    claim["metadata"]["annotations"] = json!(marks);
    claim
}

#[tokio::test(start_paused = true)]
async fn a_new_way_of_hashing_drifts_no_instance() {
    let mut stage = Stage::bare().with(ClassHashing);
    stage.cloud.state().hashes = vec![hash("22", "v2")];
    stage.create_class("default");
    let old = hash("11", "v1").annotations();
    let marks = json!({"metadata": {"annotations": old}});
    stage.merge(TEST_NODE_CLASS.group, TEST_NODE_CLASS.plural, "default", None, marks);
    stage.create("karpenter.sh", "nodeclaims", claim_with("web-1", &old));
    stage.create("karpenter.sh", "nodeclaims", claim("web-2"));
    stage.create("karpenter.sh", "nodeclaims", claim_with("web-3", &old));
    let drifted = json!({"status": {"conditions": [{
        "type": "Drifted", "status": "True", "reason": "NodeClassDrift", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]}});
    stage.merge("karpenter.sh", "nodeclaims", "web-3", Some("status"), drifted);
    stage.pass(1).await;
    let of = |name: &str| -> [String; 2] {
        annotations_of(&stage.find("karpenter.sh", "nodeclaims", name).unwrap())
    };
    assert_eq!(annotations_of(&stage.class("default")), ["22", "v2"]);
    assert_eq!(of("web-1"), ["22", "v2"]);
    assert_eq!(of("web-2"), ["22", "v2"], "the predecessor never wrote any");
    assert_eq!(of("web-3"), ["11", "v2"], "it has drifted, whatever hashes say");
}

#[tokio::test(start_paused = true)]
async fn a_class_that_has_changed_keeps_what_its_claims_were_made_from() {
    let mut stage = Stage::bare().with(ClassHashing);
    stage.cloud.state().hashes = vec![hash("23", "v2")];
    stage.create_class("default");
    let before = hash("22", "v2").annotations();
    let marks = json!({"metadata": {"annotations": before}});
    stage.merge(TEST_NODE_CLASS.group, TEST_NODE_CLASS.plural, "default", None, marks);
    stage.create("karpenter.sh", "nodeclaims", claim_with("web-1", &before));
    stage.pass(1).await;
    assert_eq!(annotations_of(&stage.class("default")), ["23", "v2"]);
    let claim: Value = stage.find("karpenter.sh", "nodeclaims", "web-1").unwrap();
    assert_eq!(annotations_of(&claim), ["22", "v2"]);
}

#[tokio::test(start_paused = true)]
async fn an_instance_is_marked_with_what_it_was_made_from_and_drifts_when_that_changes() {
    let mut stage = crate::lifecycle::with_lifecycle(Stage::bare())
        .with(ClassHashing)
        .with(|context| DisruptionConditions::new(context, LastPodEvents::default()));
    stage.cloud.state().hashes = vec![hash("22", "v2")];
    let pool = stage.create_pool("general");
    stage.create_claim_as(pool_claim("web-1", &pool));
    stage.pass(1).await;
    let claim: Value = stage.find("karpenter.sh", "nodeclaims", "web-1").unwrap();
    assert_eq!(annotations_of(&claim), ["22", "v2"]);
    assert_eq!(stage.condition("web-1", "Drifted"), None);
    stage.cloud.state().hashes = vec![hash("23", "v2")];
    let change = json!({"spec": {"size": 2}});
    stage.merge(TEST_NODE_CLASS.group, TEST_NODE_CLASS.plural, "default", None, change);
    stage.pass(1).await;
    let (status, reason, _) = stage.condition("web-1", "Drifted").unwrap();
    assert_eq!((&*status, &*reason), ("True", "NodeClassDrift"));
}

fn not_valid() -> ClassCondition {
    ClassCondition {
        type_: "Valid",
        holds: Some(false),
        blocks: true,
        reason: "TemplateMissing".to_owned(),
        message: "there is no template \"a\"; upload it".to_owned(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_class_can_be_used_although_something_is_told_of_it() {
    let mut stage = Stage::bare().with(ClassResolution::new);
    stage.cloud.state().class = ClassCondition { blocks: false, ..not_valid() };
    stage.create_class("default");
    stage.pass(1).await;
    assert!(stage.class_condition("default", "Valid").starts_with("False TemplateMissing"));
    assert!(stage.class_condition("default", "Ready").starts_with("True "));
}

#[tokio::test(start_paused = true)]
async fn a_healthy_class_is_looked_at_every_five_minutes() {
    let mut stage = Stage::bare().with(ClassResolution::new);
    stage.create_class("default");
    stage.pass(10).await;
    assert_eq!(stage.cloud.state().judgements, 1, "its own status is no reason to look again");
    stage.pass(300).await;
    assert_eq!(stage.cloud.state().judgements, 2);
    let change = json!({"spec": {"size": 2}});
    stage.merge(TEST_NODE_CLASS.group, TEST_NODE_CLASS.plural, "default", None, change);
    stage.pass(1).await;
    assert_eq!(stage.cloud.state().judgements, 3);
}

#[tokio::test(start_paused = true)]
async fn a_class_that_cannot_be_used_is_looked_at_soon_and_then_later_each_time() {
    let mut stage = Stage::bare().with(ClassResolution::new);
    stage.cloud.state().class = not_valid();
    stage.create_class("default");
    let mut looks = Vec::new();
    stage.pass(1).await;
    for seconds in [30, 60, 120, 240, 300, 300] {
        stage.pass(seconds - 2).await;
        let before = stage.cloud.state().judgements;
        stage.pass(2).await;
        looks.push(stage.cloud.state().judgements - before);
    }
    assert_eq!(looks, [1; 6]);
    assert_eq!(stage.cloud.state().judgements, 7);
}

#[tokio::test(start_paused = true)]
async fn a_condition_that_turns_false_is_told_once() {
    let mut stage = Stage::bare().with(ClassResolution::new);
    stage.cloud.state().class = not_valid();
    stage.create_class("default");
    stage.pass(600).await;
    let said = "False TemplateMissing there is no template \"a\"; upload it";
    assert_eq!(stage.class_condition("default", "Valid"), said);
    let told = "TemplateMissing: Valid: there is no template \"a\"; upload it";
    assert_eq!(stage.events(TEST_NODE_CLASS.kind, "default"), [told]);
}
