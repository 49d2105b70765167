//! §11.4 N-25 to N-30: when what is known of a pool's instances begins anew, and that a pool whose instances do not join
//! gets another chance.

use joiner_operator::registration_health::{PoolRegistrationHealth, RegistrationHealth};
use serde_json::json;

use crate::stage::{Stage, pool};

fn stage() -> Stage {
    Stage::bare()
        .with(|context| PoolRegistrationHealth::new(context, RegistrationHealth::default()))
}

/// A pool of which this was said, of its first generation and its class's first.
async fn with_pool(status: &str) -> Stage {
    let mut stage = stage();
    stage.create_pool("general");
    let said = json!({"status": {"nodeClassObservedGeneration": 1, "conditions": [{
        "type": "NodeRegistrationHealthy", "status": status, "reason": "Said", "message": "",
        "observedGeneration": 1, "lastTransitionTime": format!("{:.0}", stage.context.now()),
    }]}});
    stage.merge("karpenter.sh", "nodepools", "general", Some("status"), said);
    stage.pass(1).await;
    stage
}

fn says(stage: &Stage, status: &str, reason: &str) -> bool {
    stage.health_of("general") == Some((status.to_owned(), reason.to_owned()))
}

#[tokio::test(start_paused = true)]
async fn n25_a_pool_of_another_provider_is_let_alone() {
    let mut stage = stage();
    stage.create_class("default");
    let mut foreign = pool("general");
    foreign["spec"]["template"]["spec"]["nodeClassRef"]["kind"] = "OtherNodeClass".into();
    stage.create("karpenter.sh", "nodepools", foreign);
    stage.pass(1).await;
    assert_eq!(stage.health_of("general"), None);
}

#[tokio::test(start_paused = true)]
async fn n26_of_a_pool_without_its_class_nothing_is_said() {
    let mut stage = stage();
    stage.create("karpenter.sh", "nodepools", pool("general"));
    stage.pass(1).await;
    assert_eq!(stage.health_of("general"), None);
    stage.create_class("default");
    stage.pass(1).await;
    assert!(says(&stage, "Unknown", "AwaitingReconciliation"));
}

#[tokio::test(start_paused = true)]
async fn n27_a_class_that_changes_begins_anew() {
    let mut stage = with_pool("False").await;
    assert!(says(&stage, "False", "Said"));
    let other = json!({"spec": {"template": "other"}});
    stage.merge("karpenter.test.sh", "testnodeclasses", "default", None, other);
    stage.pass(1).await;
    assert!(says(&stage, "Unknown", "AwaitingReconciliation"));
    assert_eq!(stage.pool("general").status.unwrap().node_class_observed_generation, Some(2));
}

#[tokio::test(start_paused = true)]
async fn n28_a_pool_that_changes_begins_anew() {
    let mut stage = with_pool("True").await;
    stage.merge("karpenter.sh", "nodepools", "general", None, json!({"spec": {"weight": 5}}));
    stage.pass(1).await;
    assert!(says(&stage, "Unknown", "AwaitingReconciliation"));
}

#[tokio::test(start_paused = true)]
async fn n29_n30_what_was_said_of_the_pool_as_it_is_stays() {
    assert_eq!(with_pool("True").await.health_of("general").unwrap().0, "True");
    assert!(says(&with_pool("False").await, "False", "Said"));
}

#[tokio::test(start_paused = true)]
async fn a_pool_whose_instances_do_not_join_is_like_any_other_after_an_hour() {
    let mut stage = with_pool("False").await;
    stage.pass(59 * 60).await;
    assert!(says(&stage, "False", "Said"));
    stage.pass(2 * 60).await;
    assert!(says(&stage, "Unknown", "AwaitingReconciliation"));
}

#[tokio::test(start_paused = true)]
async fn a_pool_whose_instances_join_stays_healthy() {
    let mut stage = with_pool("True").await;
    stage.pass(61 * 60).await;
    assert_eq!(stage.health_of("general").unwrap().0, "True");
}
