//! §11.1 X-01 to X-09: claims that have become too old.

use jiff::SignedDuration;
use joiner_operator::{context::Context, disruption::pause::Pause, expiration::Expiration};
use serde_json::json;

use crate::{
    play::{foreign_claim, pool_claim},
    stage::{Stage, claim},
};

const HOUR: i64 = 3600;

fn expiration(context: Context) -> Expiration {
    Expiration::new(context, Pause::by("kube-system"))
}

/// A stage with a claim that may become this old. A finalizer keeps it, so that its end can be seen.
fn stage(expire_after: Option<&str>) -> Stage {
    let stage = Stage::bare().with(expiration);
    let mut claim = claim("web-1");
    claim["metadata"]["finalizers"] = json!(["example.com/keep"]);
    if let Some(expire_after) = expire_after {
        claim["spec"]["expireAfter"] = expire_after.into();
    }
    stage.create_claim_as(claim);
    stage
}

fn is_deleted(stage: &Stage, claim: &str) -> bool {
    stage.claim(claim).metadata.deletion_timestamp.is_some()
}

#[tokio::test(start_paused = true)]
async fn x01_a_claim_that_is_too_old_is_deleted() {
    let mut stage = stage(Some("1h"));
    stage.pass(HOUR).await;
    assert!(is_deleted(&stage, "web-1"));
    stage.pass(1).await;
    let why = "Expired at 2026-01-01T01:00:00Z, as its expireAfter says";
    let told = stage.events("NodeClaim", "web-1");
    assert!(
        told.contains(&format!("DisruptionTerminating: Disrupting NodeClaim: {why}")),
        "{told:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn x01_a_claim_that_says_nothing_may_become_thirty_days_old() {
    let mut stage = stage(None);
    stage.pass(720 * HOUR - 1).await;
    assert!(!is_deleted(&stage, "web-1"));
    stage.pass(1).await;
    assert!(is_deleted(&stage, "web-1"));
}

/// The clock is set, and something happens to the claim. The API server is on the same computer, and
/// answers soon after: a process that acts renews a lease every few seconds.
async fn jump(stage: &mut Stage, hours: i64) {
    stage.context.clock.jump(SignedDuration::from_hours(hours));
    stage.context.cluster.client().apiserver_version().await.unwrap();
    let change = json!({"metadata": {"annotations": {"example.com/hours": hours.to_string()}}});
    stage.merge("karpenter.sh", "nodeclaims", "web-1", None, change);
    stage.pass(60).await;
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_forward_expires_nothing_until_it_is_set_back() {
    let mut stage = stage(Some("2h"));
    stage.pass(HOUR).await;
    jump(&mut stage, 24).await;
    assert!(!is_deleted(&stage, "web-1"));
    let told = stage.events("NodeClaim", "web-1");
    let why = "goes once clocks agree: the wall clock was set forward by 24h";
    assert!(told.iter().any(|event| event.contains(why)), "{told:?}");
    jump(&mut stage, -24).await;
    stage.pass(HOUR - 180).await;
    assert!(!is_deleted(&stage, "web-1"), "it is not two hours old");
    stage.pass(180).await;
    assert!(is_deleted(&stage, "web-1"));
}

/// A computer that was suspended is never set back.
#[tokio::test(start_paused = true)]
async fn a_clock_that_stays_set_forward_expires_nothing_for_an_hour() {
    let mut stage = stage(Some("2h"));
    stage.pass(1).await;
    jump(&mut stage, 24).await;
    stage.pass(58 * 60).await;
    assert!(!is_deleted(&stage, "web-1"));
    stage.pass(3 * 60).await;
    assert!(is_deleted(&stage, "web-1"));
}

/// Instances that were made together, as after the first start of a cluster.
#[tokio::test(start_paused = true)]
async fn of_the_instances_of_a_pool_that_expire_together_a_tenth_goes_in_a_minute() {
    let mut stage = Stage::bare().with(expiration);
    for (pool, count) in [("large", 25), ("small", 4)] {
        let owner = stage.create_pool(pool);
        for number in 1..=count {
            let mut claim = pool_claim(&format!("{pool}-{number}"), &owner);
            claim["metadata"]["labels"] = json!({"karpenter.sh/nodepool": pool});
            claim["metadata"]["finalizers"] = json!(["example.com/keep"]);
            claim["spec"]["expireAfter"] = "1h".into();
            stage.create_claim_as(claim);
        }
    }
    let expired = |stage: &Stage| {
        [("large", 25), ("small", 4)].map(|(pool, count)| {
            let names = (1..=count).map(|number| format!("{pool}-{number}"));
            names.filter(|name| is_deleted(stage, name)).count()
        })
    };
    stage.pass(HOUR).await;
    for minute in 0..5 {
        assert_eq!(expired(&stage), [2 + 2 * minute, 4.min(1 + minute)], "{minute}");
        stage.pass(60).await;
    }
    stage.pass(10 * 60).await;
    assert_eq!(expired(&stage), [25, 4]);
}

#[tokio::test(start_paused = true)]
async fn x02_a_foreign_claim_is_let_alone() {
    let mut stage = Stage::bare().with(expiration);
    let mut foreign = foreign_claim("other-1");
    foreign["spec"]["expireAfter"] = "1h".into();
    stage.create_claim_as(foreign);
    stage.pass(2 * HOUR).await;
    assert!(!is_deleted(&stage, "other-1"));
}

#[tokio::test(start_paused = true)]
async fn x03_never_is_never() {
    let mut stage = stage(Some("Never"));
    stage.pass(2000 * HOUR).await;
    assert!(!is_deleted(&stage, "web-1"));
}

#[tokio::test(start_paused = true)]
async fn x04_x06_a_claim_is_looked_at_again_at_the_very_moment() {
    let mut stage = stage(Some("1h"));
    stage.pass(HOUR - 1).await;
    assert!(!is_deleted(&stage, "web-1"));
    stage.pass(1).await;
    assert!(is_deleted(&stage, "web-1"));
    let deleted = stage.claim("web-1").metadata.deletion_timestamp.unwrap().0;
    assert_eq!(deleted.to_string(), "2026-01-01T01:00:00Z");
}

#[tokio::test(start_paused = true)]
async fn x05_the_claims_age_counts_and_not_its_nodes() {
    let mut stage = stage(Some("1h"));
    let launched = json!({"status": {"providerID": "test://web-1"}});
    stage.merge("karpenter.sh", "nodeclaims", "web-1", Some("status"), launched);
    stage.pass(HOUR - 60).await;
    stage.join(crate::play::node("node-1", "web-1"));
    stage.pass(60).await;
    assert!(is_deleted(&stage, "web-1"));
}

#[tokio::test(start_paused = true)]
async fn x07_a_claim_is_deleted_once() {
    let mut stage = stage(Some("1h"));
    stage.pass(HOUR).await;
    let before = stage.claim("web-1").metadata.resource_version;
    stage.merge(
        "karpenter.sh",
        "nodeclaims",
        "web-1",
        None,
        json!({"metadata": {"labels": {"a": "b"}}}),
    );
    let after = stage.claim("web-1").metadata.resource_version;
    stage.pass(HOUR).await;
    assert_ne!(before, after);
    assert_eq!(stage.claim("web-1").metadata.resource_version, after);
}

#[tokio::test(start_paused = true)]
async fn x08_x09_an_expired_claim_and_the_pods_that_have_to_move_are_counted() {
    let mut stage = stage(Some("1h"));
    let launched = json!({"status": {"providerID": "test://web-1", "nodeName": "node-1"}});
    stage.merge("karpenter.sh", "nodeclaims", "web-1", Some("status"), launched);
    stage.join(crate::play::node("node-1", "web-1"));
    stage.create("", "namespaces", json!({"metadata": {"name": "shop"}}));
    for (name, owner, phase) in [
        ("web", "ReplicaSet", "Running"),
        ("database", "StatefulSet", "Running"),
        ("daemon", "DaemonSet", "Running"),
        ("job", "ReplicaSet", "Succeeded"),
    ] {
        stage.create(
            "",
            "pods",
            json!({
                "metadata": {"namespace": "shop", "name": name, "ownerReferences": [
                    {"apiVersion": "apps/v1", "kind": owner, "name": "o", "uid": "u"},
                ]},
                "spec": {"nodeName": "node-1", "containers": [{"name": "main", "image": "i"}]},
            }),
        );
        let status = json!({"status": {"phase": phase}});
        stage.merge("", "pods", &format!("shop/{name}"), Some("status"), status);
    }
    stage.pass(2 * HOUR).await;
    let labels = r#"{capacity_type="",consolidation_policy="",nodepool="",reason="expired",termination_mode="graceful"}"#;
    assert_eq!(stage.series("karpenter_nodeclaims_disrupted_total"), [format!("{labels} 1")]);
    assert_eq!(stage.series("karpenter_pods_disruption_initiated_total"), [format!("{labels} 2")]);
}

#[tokio::test(start_paused = true)]
async fn while_disruption_is_paused_a_claim_that_is_too_old_stays() {
    let mut stage = stage(Some("1h"));
    stage.pause("namespaces", "kube-system", Some("storage team, disks are being moved"));
    stage.pass(2 * HOUR).await;
    assert!(!is_deleted(&stage, "web-1"));
    let told = stage.events("NodeClaim", "web-1");
    assert!(told.iter().any(|event| event.contains("paused by storage team, disks")), "{told:?}");
    stage.pause("namespaces", "kube-system", None);
    stage.pass(90).await;
    assert!(is_deleted(&stage, "web-1"));
}

/// Somebody may have asked for a pause.
#[tokio::test(start_paused = true)]
async fn while_a_pause_would_not_be_known_a_claim_that_is_too_old_stays() {
    for plural in ["nodepools", "namespaces"] {
        let mut stage = stage(Some("1h"));
        stage.pass(1).await;
        stage.hide(plural);
        stage.pass(2 * HOUR).await;
        assert!(!is_deleted(&stage, "web-1"), "{plural}");
    }
}
