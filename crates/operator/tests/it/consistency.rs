//! §11.1 C-01 to C-03: nodes that are smaller than was promised.

use joiner_operator::consistency::Consistency;
use serde_json::{Value, json};

use crate::{
    play::{foreign_claim, node},
    stage::{Stage, claim},
};

/// A claim that was promised 4 CPUs and 16 GiB, and whose node has this.
async fn with_node(claim: Value, found: Value) -> Stage {
    let mut stage = Stage::bare().with(Consistency::new);
    let mut claim = claim;
    claim["spec"]["resources"] = json!({"requests": {"cpu": "1", "memory": "1Gi"}});
    stage.create_claim_as(claim);
    let status = json!({"status": {
        "providerID": "test://web-1",
        "capacity": {"cpu": "4", "memory": "16Gi", "pods": "110"},
        "conditions": [{"type": "Initialized", "status": "True",
            "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    }});
    stage.merge("karpenter.sh", "nodeclaims", "web-1", Some("status"), status);
    stage.join(node("node-1", "web-1"));
    stage.report("node-1", true, &found);
    stage.pass(1).await;
    stage
}

fn found(stage: &Stage) -> Option<(String, String, String)> {
    stage.condition("web-1", "ConsistentStateFound")
}

#[tokio::test(start_paused = true)]
async fn c01_a_node_that_has_about_what_was_promised_is_consistent() {
    let close = json!({"cpu": "4", "memory": "15Gi", "pods": "1"});
    let stage = with_node(claim("web-1"), close).await;
    assert_eq!(found(&stage).unwrap().0, "True", "nobody asked for a number of pods");
}

#[tokio::test(start_paused = true)]
async fn c02_a_foreign_claim_is_let_alone() {
    let stage = with_node(foreign_claim("web-1"), json!({"cpu": "1", "memory": "1Gi"})).await;
    assert_eq!(found(&stage), None);
}

#[tokio::test(start_paused = true)]
async fn c03_a_node_that_has_far_less_is_not() {
    let stage = with_node(claim("web-1"), json!({"cpu": "4", "memory": "8Gi"})).await;
    let (status, reason, message) = found(&stage).unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("False", "ConsistencyCheckFailed"));
    let problem = "expected 16Gi of resource memory, but found 8Gi (50.0% of expected)";
    assert_eq!(message, problem);
    assert_eq!(stage.events("NodeClaim", "web-1"), [format!("FailedConsistencyCheck: {problem}")]);
}

#[tokio::test(start_paused = true)]
async fn a_node_is_looked_at_every_ten_minutes() {
    let mut stage = with_node(claim("web-1"), json!({"cpu": "4", "memory": "8Gi"})).await;
    stage.report("node-1", true, &json!({"cpu": "4", "memory": "16Gi"}));
    stage.pass(598).await;
    assert_eq!(found(&stage).unwrap().0, "False");
    stage.pass(2).await;
    assert_eq!(found(&stage).unwrap().0, "True");
}
