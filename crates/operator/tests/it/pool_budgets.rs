//! Budgets that cannot be read, or hardly mean what their authors expect; and what else pools say of disruption.

use joiner_api::condition::find;
use joiner_operator::{
    conditions::{BUDGETS_VALID, Conditioned, VALIDATION_SUCCEEDED},
    pools::PoolValidation,
};
use serde_json::{Value, json};

use crate::stage::{Stage, pool};

async fn with_budgets(budgets: Value) -> Stage {
    let mut stage = Stage::bare().with(PoolValidation);
    stage.create_class("default");
    for (name, budgets) in [("general", budgets), ("other", json!([{"nodes": "10%"}]))] {
        let mut pool = pool(name);
        pool["spec"]["disruption"] = json!({"budgets": budgets});
        stage.create("karpenter.sh", "nodepools", pool);
    }
    stage.pass(1).await;
    stage
}

/// What is said of budgets of a pool that cannot be read. Instances can be made of it all the same.
fn unreadable(stage: &Stage, pool: &str) -> Option<String> {
    let pool = stage.pool(pool);
    assert!(pool.holds(VALIDATION_SUCCEEDED));
    let condition = find(pool.conditions(), BUDGETS_VALID)?;
    assert_eq!((&*condition.status, &*condition.reason), ("False", "BudgetUnreadable"));
    Some(condition.message.clone())
}

/// §12.11: the definition's pattern is not anchored, so that garbage passes the API server.
#[tokio::test(start_paused = true)]
async fn a_schedule_that_cannot_be_read_is_told_of_its_pool_and_of_no_other() {
    let garbage = json!({"nodes": "1", "schedule": "every day at nine o'clock", "duration": "1h"});
    let mut stage = with_budgets(json!([{"nodes": "10%"}, garbage])).await;
    let message = unreadable(&stage, "general").unwrap();
    let start = "spec.disruption.budgets[1].schedule \"every day at nine o'clock\": ";
    assert!(message.starts_with(start), "{message}");
    assert_eq!(unreadable(&stage, "other"), None);
    let mended = json!({"spec": {"disruption": {"budgets": [{"nodes": "10%"}]}}});
    stage.merge("karpenter.sh", "nodepools", "general", None, mended);
    stage.pass(1).await;
    assert_eq!(unreadable(&stage, "general"), None);
}

#[tokio::test(start_paused = true)]
async fn a_schedule_without_a_companion_is_told_once_for_each_change() {
    let at_night = |reasons: &[&str]| {
        let times = ("0 22 * * *", "8h");
        json!([{"nodes": "20%", "reasons": reasons, "schedule": times.0, "duration": times.1}])
    };
    let mut stage = with_budgets(at_night(&["Drifted", "Empty"])).await;
    assert_eq!(unreadable(&stage, "general"), None, "it can be used");
    stage.pass(3600).await;
    let told = stage.events("NodePool", "general");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("QuestionableNodePool: NodePool \"general\": "), "{told:?}");
    let other = json!({"spec": {"disruption": {"budgets": at_night(&["Drifted"])}}});
    stage.merge("karpenter.sh", "nodepools", "general", None, other);
    stage.pass(1).await;
    assert_eq!(stage.events("NodePool", "general").len(), 2);
    assert_eq!(stage.events("NodePool", "other"), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_budget_about_no_reason_is_told() {
    let stage = with_budgets(json!([{"nodes": "1", "reasons": []}])).await;
    let told = stage.events("NodePool", "general");
    assert!(told[0].contains("budgets[0].reasons is empty"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_score_that_makes_no_sense_is_told() {
    let mut stage = with_budgets(json!([{"nodes": "10%"}])).await;
    let asks = |score: &str| json!({"metadata": {"annotations": {"joiner.sh/consolidation-min-score": score}}});
    stage.merge("karpenter.sh", "nodepools", "general", None, asks("0.8"));
    stage.pass(1).await;
    assert_eq!(stage.events("NodePool", "general"), [""; 0]);
    stage.merge("karpenter.sh", "nodepools", "general", None, asks("80%"));
    stage.pass(1).await;
    let told = "QuestionableNodePool: NodePool \"general\": annotation \
                joiner.sh/consolidation-min-score is \"80%\", which is no number above 0, such as \
                0.5: until it is corrected or removed, no instance of the pool that holds pods is \
                consolidated";
    assert_eq!(stage.events("NodePool", "general"), [told]);
}
