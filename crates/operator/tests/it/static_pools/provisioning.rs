//! ST-01 to ST-15: claims that a static pool lacks are made.

use std::collections::BTreeSet;

use joiner_operator::static_pools::{Reservations, StaticProvisioning};
use serde_json::json;

use super::{gated, static_pool};
use crate::stage::{Stage, pool};

fn stage() -> Stage {
    let provisioning = |context| StaticProvisioning::new(context, Reservations::default());
    gated(Stage::bare()).with(provisioning)
}

/// After its first list, nothing can be learned of a kind for about three minutes.
pub(super) fn blind(stage: &Stage, plural: &str) {
    let script = format!(
        "at 0s joiner: 503 on watch {plural} once
         at 0s joiner: 503 on list {plural} after 1 calls 10 times"
    );
    stage.lab.faults().add_script(&script).unwrap();
}

#[tokio::test(start_paused = true)]
async fn st01_an_error_is_tried_again_and_makes_no_claim_too_many() {
    let mut stage = stage();
    stage.lab.faults().add_script("at 0s joiner: 500 on create nodeclaims 2 times").unwrap();
    stage.create_ready_pool(static_pool("batch", 3));
    stage.pass(60).await;
    assert_eq!(stage.lab.faults().struck(), 2);
    assert_eq!(stage.staying().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn st01_a_claim_whose_answer_was_lost_is_not_made_again() {
    let mut stage = stage();
    stage.lab.faults().add_script("at 0s joiner: cut after on create nodeclaims 2 times").unwrap();
    stage.create_ready_pool(static_pool("batch", 3));
    stage.pass(180).await;
    assert_eq!(stage.lab.faults().struck(), 2);
    assert_eq!(stage.staying().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn st02_a_pool_of_another_provider_is_let_alone() {
    let mut stage = stage();
    let mut foreign = static_pool("batch", 3);
    foreign["spec"]["template"]["spec"]["nodeClassRef"]["kind"] = "OtherNodeClass".into();
    stage.create_ready_pool(foreign);
    stage.pass(120).await;
    assert_eq!(stage.staying(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn st03_st15_a_pool_that_is_not_ready_waits_until_it_is() {
    let mut stage = stage();
    stage.create_ready_pool(static_pool("batch", 3));
    stage.say_ready("batch", false);
    stage.pass(120).await;
    assert_eq!(stage.staying(), [""; 0]);
    stage.say_ready("batch", true);
    stage.pass(1).await;
    assert_eq!(stage.staying().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn st04_a_pool_that_is_being_deleted_gets_no_claims() {
    let mut stage = stage();
    let mut pool = static_pool("batch", 3);
    pool["metadata"]["finalizers"] = json!(["example.com/keep"]);
    stage.create_ready_pool(pool);
    stage.delete("karpenter.sh", "nodepools", "batch");
    stage.pass(120).await;
    assert_eq!(stage.staying(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn st05_a_pool_without_replicas_gets_no_claims() {
    let mut stage = stage();
    stage.create_ready_pool(pool("general"));
    stage.pass(120).await;
    assert_eq!(stage.staying(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn st06_a_pool_with_more_claims_than_it_needs_gets_none() {
    let mut stage = stage();
    let pool = stage.create_ready_pool(static_pool("batch", 2));
    for name in ["batch-a", "batch-b", "batch-c"] {
        stage.launched(name, &pool);
    }
    stage.pass(120).await;
    assert_eq!(stage.staying(), ["batch-a", "batch-b", "batch-c"]);
}

#[tokio::test(start_paused = true)]
async fn st07_all_claims_are_made() {
    let mut stage = stage();
    stage.create_ready_pool(static_pool("batch", 5));
    stage.pass(1).await;
    assert_eq!(stage.staying().len(), 5);
    assert!(stage.metric("karpenter_nodeclaims_created_total") > 4.5);
}

#[tokio::test(start_paused = true)]
async fn st08_st09_only_claims_that_are_missing_are_made() {
    let mut stage = stage();
    let pool = stage.create_ready_pool(static_pool("batch", 3));
    stage.launched("batch-a", &pool);
    stage.pass(1).await;
    assert_eq!(stage.staying().len(), 3);
    stage.pass(600).await;
    assert_eq!(stage.staying().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn st09_a_claim_that_is_being_replaced_is_not_missing() {
    let mut stage = stage();
    let pool = stage.create_ready_pool(static_pool("batch", 4));
    stage.launched("batch-a", &pool);
    stage.launched("batch-b", &pool);
    stage.mark_disrupted("batch-a");
    stage.pass(1).await;
    assert_eq!(stage.staying().len(), 4, "its successor comes from the command that replaces it");
}

#[tokio::test(start_paused = true)]
async fn st10_the_limit_is_kept_also_against_claims_that_are_leaving() {
    let mut stage = stage();
    let mut limited = static_pool("batch", 5);
    limited["spec"]["limits"] = json!({"nodes": "3"});
    let pool = stage.create_ready_pool(limited);
    stage.launched("batch-a", &pool);
    stage.delete_claim("batch-a");
    stage.pass(120).await;
    assert_eq!(stage.staying().len(), 2);
    let gone = json!({"metadata": {"finalizers": []}});
    stage.merge("karpenter.sh", "nodeclaims", "batch-a", None, gone);
    stage.pass(1).await;
    assert_eq!(stage.staying().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn st10_a_limit_that_is_raised_counts_at_once() {
    let mut stage = stage();
    let mut limited = static_pool("batch", 5);
    limited["spec"]["limits"] = json!({"nodes": "3"});
    stage.create_ready_pool(limited);
    stage.pass(10).await;
    assert_eq!(stage.staying().len(), 3);
    let raised = json!({"spec": {"limits": {"nodes": "4"}}});
    stage.merge("karpenter.sh", "nodepools", "batch", None, raised);
    stage.pass(1).await;
    assert_eq!(stage.staying().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn st11_room_that_was_reserved_is_given_back_after_success_and_failure() {
    let reservations = Reservations::default();
    let reserving = reservations.clone();
    let mut stage =
        gated(Stage::bare()).with(|context| StaticProvisioning::new(context, reserving));
    stage.lab.faults().add_script("at 0s joiner: 500 on create nodeclaims 3 times").unwrap();
    let mut limited = static_pool("batch", 3);
    limited["spec"]["limits"] = json!({"nodes": "3"});
    stage.create_ready_pool(limited);
    stage.pass(120).await;
    assert_eq!(stage.staying().len(), 3);
    assert_eq!(reservations.reserve("batch", 9, Some(9), || 3).len(), 6);
}

#[tokio::test(start_paused = true)]
async fn st12_a_pool_of_no_nodes_gets_none() {
    let mut stage = stage();
    stage.create_ready_pool(static_pool("batch", 0));
    stage.pass(120).await;
    assert_eq!(stage.staying(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn st13_claims_say_what_the_template_says() {
    let mut stage = stage();
    let mut pool = static_pool("batch", 1);
    pool["spec"]["template"] = json!({
        "metadata": {"labels": {"team": "blue"}, "annotations": {"note": "kept"}},
        "spec": {
            "nodeClassRef": crate::stage::class_reference(),
            "requirements": [
                {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["test-zone-a"]},
            ],
            "taints": [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}],
            "startupTaints": [{"key": "starting", "effect": "NoExecute"}],
            "expireAfter": "48h",
            "terminationGracePeriod": "5m",
        },
    });
    stage.create_ready_pool(pool);
    stage.pass(1).await;
    let [claim] = stage.all_claims().try_into().unwrap();
    let metadata = &claim.metadata;
    assert!(metadata.name.as_deref().is_some_and(|name| name.starts_with("batch-")));
    assert_eq!(metadata.labels.as_ref().unwrap()["team"], "blue");
    assert_eq!(metadata.labels.as_ref().unwrap()["karpenter.sh/nodepool"], "batch");
    let annotations = metadata.annotations.as_ref().unwrap();
    assert_eq!(annotations["note"], "kept");
    assert!(annotations.contains_key("karpenter.sh/nodepool-hash"));
    assert!(!annotations.contains_key("karpenter.sh/nodeclaim-min-values-relaxed"));
    assert_eq!(metadata.owner_references.as_ref().unwrap()[0].name, "batch");
    let keys: BTreeSet<&str> =
        claim.spec.requirements.iter().map(|requirement| requirement.key.as_str()).collect();
    assert!(keys.contains("topology.kubernetes.io/zone"));
    assert!(!keys.contains("node.kubernetes.io/instance-type"), "the provider picks the type");
    assert_eq!(claim.spec.resources, None);
    assert_eq!(claim.spec.taints[0].key, "dedicated");
    assert_eq!(claim.spec.startup_taints[0].key, "starting");
    assert_eq!(claim.spec.expire_after.unwrap().as_str(), "48h");
    assert_eq!(claim.spec.termination_grace_period.unwrap().as_str(), "5m");
}

#[tokio::test(start_paused = true)]
async fn st14_many_claims_are_made_at_one_go() {
    let mut stage = stage();
    stage.create_ready_pool(static_pool("batch", 250));
    stage.pass(1).await;
    assert_eq!(stage.staying().len(), 250);
}

/// Everybody wants ten, and knows of the others' room but not of their wishes: room beyond that is
/// used too. The engine has one who makes claims, and one who removes what is too much.
#[tokio::test(start_paused = true)]
async fn st14_who_makes_claims_at_the_same_time_stays_within_the_limit() {
    for limit in [10, 12] {
        let reservations = Reservations::default();
        let mut stage = gated(Stage::bare());
        for _ in 0..3 {
            let shared = reservations.clone();
            stage = stage.with(|context| StaticProvisioning::new(context, shared));
        }
        let mut limited = static_pool("batch", 10);
        limited["spec"]["limits"] = json!({"nodes": limit.to_string()});
        stage.create_ready_pool(limited);
        stage.pass(120).await;
        assert_eq!(stage.staying().len(), limit, "{:?}", stage.staying());
    }
}

#[tokio::test(start_paused = true)]
async fn st15_while_claims_cannot_be_watched_none_is_made() {
    let mut stage = stage();
    blind(&stage, "nodeclaims");
    stage.pass(1).await;
    stage.create_ready_pool(static_pool("batch", 3));
    stage.pass(120).await;
    assert_eq!(stage.staying(), [""; 0], "there may be as many as are wanted");
    stage.pass(600).await;
    assert_eq!(stage.staying().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn st15_a_change_of_replicas_or_the_end_of_a_claim_counts_at_once() {
    let mut stage = stage();
    stage.create_ready_pool(static_pool("batch", 1));
    stage.pass(1).await;
    stage.scale_pool("batch", 3);
    stage.pass(1).await;
    let claims = stage.staying();
    assert_eq!(claims.len(), 3);
    stage.delete_claim(&claims[0]);
    stage.pass(1).await;
    assert_eq!(stage.staying().len(), 3);
    assert!(!stage.staying().contains(&claims[0]));
}

#[tokio::test(start_paused = true)]
async fn without_the_gate_the_pool_is_told_that_nothing_is_done() {
    let provisioning = |context| StaticProvisioning::new(context, Reservations::default());
    let mut stage = Stage::bare().with(provisioning);
    stage.create_ready_pool(static_pool("batch", 3));
    stage.pass(10).await;
    assert_eq!(stage.staying(), [""; 0]);
    assert_eq!(
        stage.events("NodePool", "batch"),
        [
            "StaticCapacityOff: spec.replicas is set, but the feature gate StaticCapacity is off, so \
          that no nodes are made or removed: start Joiner with --feature-gates StaticCapacity=true"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn drift_that_has_no_room_is_told_on_the_pool() {
    let mut stage = stage();
    let mut limited = static_pool("batch", 1);
    limited["spec"]["limits"] = json!({"nodes": "1"});
    let pool = stage.create_ready_pool(limited);
    stage.launched("batch-a", &pool);
    let drifted = json!({"status": {"conditions": [{
        "type": "Drifted", "status": "True", "reason": "NodePoolDrifted", "message": "",
        "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]}});
    stage.merge("karpenter.sh", "nodeclaims", "batch-a", Some("status"), drifted);
    stage.pass(90).await;
    assert_eq!(
        stage.events("NodePool", "batch"),
        [
            "StaticDriftBlocked: 1 drifted node(s) cannot be replaced: a replacement comes first, and \
          limits.nodes (1) has no room beyond replicas (1). Raise limits.nodes to 2, or set the \
          annotation joiner.sh/static-drift: delete-first"
        ]
    );
}
