//! §8.1: what is said of overlays.

use joiner_api::node_overlay::NodeOverlay;
use joiner_operator::{
    conditions::Conditioned, lifecycle::Lifecycle, overlays::Overlays,
    registration_health::RegistrationHealth,
};
use serde_json::{Value, json};

use crate::{play::pool_claim, stage::Stage};

fn stage() -> Stage {
    let stage = Stage::bare().set(|settings| settings.planner.gates.node_overlay = true);
    let stage =
        stage.with(Overlays).with(|context| Lifecycle::new(context, RegistrationHealth::default()));
    stage.create_pool("general");
    stage
}

fn create(stage: &Stage, name: &str, spec: &Value) {
    let overlay = json!({
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "NodeOverlay",
        "metadata": {"name": name},
        "spec": spec,
    });
    stage.create("karpenter.sh", "nodeoverlays", overlay);
}

fn of_type(instance_type: &str, more: Value) -> Value {
    let mut spec = more;
    spec["requirements"] = json!([
        {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": [instance_type]},
    ]);
    spec
}

/// What is said of an overlay: each condition with status, reason and message.
fn said(stage: &Stage, name: &str) -> Vec<String> {
    let overlay: NodeOverlay = stage.find("karpenter.sh", "nodeoverlays", name).unwrap();
    let conditions = overlay.conditions().iter();
    let said = conditions.map(|condition| {
        let joiner_api::condition::Condition { type_, status, reason, message, .. } = condition;
        format!("{type_}={status} {reason} {message}").trim_end().to_owned()
    });
    said.collect()
}

const GOOD: [&str; 2] = ["ValidationSucceeded=True ValidationSucceeded", "Ready=True Ready"];

#[tokio::test(start_paused = true)]
async fn overlays_that_do_not_meet_are_both_used() {
    let mut stage = stage();
    create(&stage, "cheap", &of_type("test-2x", json!({"price": "0.01"})));
    create(&stage, "dear", &of_type("test-4x", json!({"priceAdjustment": "+10%"})));
    stage.pass(1).await;
    assert_eq!(said(&stage, "cheap"), GOOD);
    assert_eq!(said(&stage, "dear"), GOOD);
}

#[tokio::test(start_paused = true)]
async fn of_two_that_correct_the_same_with_one_weight_the_later_name_counts() {
    let mut stage = stage();
    create(&stage, "a", &of_type("test-2x", json!({"price": "0.01"})));
    create(&stage, "b", &of_type("test-2x", json!({"price": "0.02"})));
    stage.pass(1).await;
    assert_eq!(said(&stage, "b"), GOOD);
    assert_eq!(
        said(&stage, "a"),
        [
            "ValidationSucceeded=False Conflict conflict with another overlay: b has the same weight \
             and corrects the same thing, so that this one has no effect. Give one of them another \
             weight, or let their requirements exclude each other",
            "Ready=False UnhealthyDependents ValidationSucceeded=False",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_conflict_ends_with_another_weight_or_with_the_other_overlay() {
    let mut stage = stage();
    create(&stage, "a", &of_type("test-2x", json!({"price": "0.01"})));
    create(&stage, "b", &of_type("test-2x", json!({"price": "0.02"})));
    stage.pass(1).await;
    let heavier = json!({"spec": {"weight": 10}});
    stage.merge("karpenter.sh", "nodeoverlays", "a", None, heavier);
    stage.pass(1).await;
    assert_eq!(said(&stage, "a"), GOOD);
    let as_heavy = json!({"spec": {"weight": 10}});
    stage.merge("karpenter.sh", "nodeoverlays", "b", None, as_heavy);
    stage.pass(1).await;
    assert!(said(&stage, "a")[0].starts_with("ValidationSucceeded=False Conflict"));
    stage.delete("karpenter.sh", "nodeoverlays", "b");
    stage.pass(1).await;
    assert_eq!(said(&stage, "a"), GOOD);
}

#[tokio::test(start_paused = true)]
async fn an_overlay_that_breaks_a_rule_says_which() {
    let mut stage = stage();
    let requirements = json!([
        {"key": "example.com/rack", "operator": "In", "values": ["no such value!"]},
    ]);
    create(&stage, "wrong", &json!({"requirements": requirements, "price": "1"}));
    stage.pass(1).await;
    let said = said(&stage, "wrong");
    assert!(said[0].starts_with("ValidationSucceeded=False RuntimeValidation "), "{said:?}");
    assert!(said[0].contains("no such value!"), "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_comes_later_may_bring_a_conflict() {
    let mut stage = stage();
    let of_pool = |price: &str| {
        json!({"price": price, "requirements": [
            {"key": "karpenter.sh/nodepool", "operator": "In", "values": ["later"]},
        ]})
    };
    create(&stage, "a", &of_pool("0.01"));
    create(&stage, "b", &of_pool("0.02"));
    stage.pass(1).await;
    assert_eq!(said(&stage, "a"), GOOD);
    stage.create_pool("later");
    stage.pass(1).await;
    assert!(said(&stage, "a")[0].starts_with("ValidationSucceeded=False Conflict"));
}

#[tokio::test(start_paused = true)]
async fn a_pool_without_its_class_does_not_keep_others_from_being_looked_at() {
    let mut stage = stage();
    let mut lost = crate::stage::pool("lost");
    lost["spec"]["template"]["spec"]["nodeClassRef"]["name"] = "gone".into();
    stage.create("karpenter.sh", "nodepools", lost);
    create(&stage, "cheap", &of_type("test-2x", json!({"price": "0.01"})));
    stage.pass(1).await;
    assert_eq!(said(&stage, "cheap"), GOOD);
}

#[tokio::test(start_paused = true)]
async fn a_conflict_of_writes_is_settled_by_looking_again() {
    let mut stage = stage();
    stage.lab.faults().add_script("at 0s joiner: conflict on patch nodeoverlays 3 times").unwrap();
    create(&stage, "cheap", &of_type("test-2x", json!({"price": "0.01"})));
    stage.pass(5).await;
    assert_eq!(stage.lab.faults().struck(), 3);
    assert_eq!(said(&stage, "cheap"), GOOD);
}

const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";

/// A claim of the pool that may become one of these types, and asks for this.
fn create_claim(stage: &Stage, types: &[&str], requests: &Value) {
    let pool = serde_json::to_value(stage.pool("general")).unwrap();
    let mut claim = pool_claim("web-1", &pool);
    claim["spec"]["requirements"] =
        json!([{"key": INSTANCE_TYPE, "operator": "In", "values": types}]);
    claim["spec"]["resources"] = json!({"requests": requests});
    stage.create_claim_as(claim);
}

/// The cloud knows nothing of what an overlay promises; the plan that the claim came of did.
#[tokio::test(start_paused = true)]
async fn an_instance_is_made_that_has_what_an_overlay_says_and_is_counted_with_it() {
    let mut stage = stage();
    let requests = json!({"cpu": "1", "example.com/widget": "2"});
    create(
        &stage,
        "widgets",
        &of_type("test-4x", json!({"capacity": {"example.com/widget": "2"}})),
    );
    stage.pass(1).await;
    create_claim(&stage, &["test-4x"], &requests);
    stage.pass(1).await;
    assert_eq!(stage.status_of("web-1", "Launched").as_deref(), Some("True"));
    let status = stage.claim("web-1").status.unwrap();
    for amounts in [status.capacity, status.allocatable] {
        assert_eq!(amounts["example.com/widget"].0, "2");
        assert!(amounts.contains_key("cpu"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_instance_is_not_made_that_an_overlay_has_made_dear() {
    for (price, made) in [("0.000001", "test-2x"), ("1000", "test-4x")] {
        let mut stage = stage();
        create(&stage, "corrected", &of_type("test-2x", json!({"price": price})));
        stage.pass(1).await;
        create_claim(&stage, &["test-2x", "test-4x"], &json!({}));
        stage.pass(1).await;
        assert_eq!(stage.claim("web-1").metadata.labels.unwrap()[INSTANCE_TYPE], made, "{price}");
    }
}
