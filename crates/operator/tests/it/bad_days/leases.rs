//! Somebody else acts, or takes over in the middle of something.

use std::time::Duration;

use expect_test::expect;
use jiff::SignedDuration;
use joiner_api::node_claim::NodeClaim;
use joiner_lab::faults::{Aim, Fault, Rule};
use joiner_operator::conditions::{Conditioned, LAUNCHED};
use serde_json::{Value, json};

use super::running::{CLIENT, Running};

const GROUP: &str = "coordination.k8s.io";
const NAME: &str = "karpenter-leader-election";

fn lease(holder: &str, running: &Running) -> Value {
    let now = format!("{:.6}", running.stage.context.now());
    json!({
        "metadata": {"name": NAME, "namespace": "default"},
        "spec": {
            "holderIdentity": holder, "leaseDurationSeconds": 15,
            "acquireTime": now, "renewTime": now, "leaseTransitions": 1,
        },
    })
}

/// Somebody says that they are still there, or take over.
fn renew(holder: &str, running: &Running) {
    let spec = json!({"spec": lease(holder, running)["spec"]});
    running.stage.merge(GROUP, "leases", &format!("default/{NAME}"), None, spec);
}

/// The next call of this kind, after some that get through, takes longer than a lease lasts.
fn delay(running: &Running, verb: &str, skip: u32) {
    running.stage.lab.faults().add(Rule {
        fault: Fault::Slow(Duration::from_mins(1)),
        aim: Aim { client: CLIENT.into(), verb: verb.into(), plural: "nodeclaims".into() },
        from: SignedDuration::ZERO,
        skip,
        times: Some(1),
    });
}

#[tokio::test(start_paused = true)]
async fn another_karpenter_that_is_running_is_named_and_waited_for() {
    let mut running = Running::prepared();
    running.stage.create_pool("general");
    running.create_pod("web");
    running.stage.create(GROUP, "leases", lease("karpenter-6f7c_1", &running));
    running.start();
    for _ in 0..12 {
        running.pass(10).await;
        renew("karpenter-6f7c_1", &running);
    }
    assert_eq!(running.claims(), [""; 0], "it acts on nothing");
    assert_eq!(running.readiness.why_not(), "", "waiting is what it is there for");
    expect!["another controller named karpenter-6f7c_1 holds lease default/karpenter-leader-election since 2026-01-01T00:00:00Z: Joiner waits and acts on nothing"].assert_eq(&running.said("holds lease")[0]);
    // It is uninstalled, and does not come back.
    running.pass(180).await;
    running.expect_running("web");
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_lost_while_an_instance_is_made_leaves_one_instance() {
    let mut running = Running::at_work().await;
    // The instance is made; writing that down takes longer than the lease lasts.
    delay(&running, "patch", 1);
    running.create_pod("web");
    running.stage.pass(5).await;
    assert_eq!(running.instances(), 1);
    let claims = running.claims();
    assert!(!launched(&running, &claims[0]), "nothing is written down yet");
    renew("somebody-else", &running);
    running.stage.pass(10).await;
    expect![[r#"lease default/karpenter-leader-election was taken over by "somebody-else": another controller may act now, so this one ends"#]].assert_eq(&running.ended().await);
    running.start();
    running.pass(180).await;
    assert_eq!(running.claims(), claims);
    assert!(launched(&running, &claims[0]));
    assert_eq!(running.instances(), 1);
    running.expect_running("web");
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_lost_while_a_claim_is_created_leaves_one_claim() {
    let mut running = Running::at_work().await;
    delay(&running, "create", 0);
    running.create_pod("web");
    running.stage.pass(5).await;
    renew("somebody-else", &running);
    running.stage.pass(10).await;
    expect![[r#"lease default/karpenter-leader-election was taken over by "somebody-else": another controller may act now, so this one ends"#]].assert_eq(&running.ended().await);
    running.start();
    running.pass(240).await;
    assert_eq!(running.claims().len(), 1);
    assert_eq!(running.instances(), 1);
    running.expect_running("web");
}

/// An instance that is not as it should be has a replacement on its way when somebody else takes over.
#[tokio::test(start_paused = true)]
async fn a_lease_that_is_lost_while_a_replacement_is_waited_for_leaves_one_instance() {
    let mut running = Running::at_work().await;
    running.create_pod("web");
    running.pass(120).await;
    let [old] = &running.claims()[..] else { panic!("{:?}", running.claims()) };
    let old = old.clone();
    running.expect_running("web");
    running.stage.cloud.state().drift = Some("ImageDrift".to_owned());
    // The provider is asked every five minutes.
    for _ in 0..60 {
        running.stage.pass(10).await;
        if running.claims().len() == 2 {
            break;
        }
    }
    let both = running.claims();
    assert_eq!(both.len(), 2, "{both:?}");
    running.stage.cloud.state().drift = None;
    renew("somebody-else", &running);
    running.stage.pass(10).await;
    expect![[r#"lease default/karpenter-leader-election was taken over by "somebody-else": another controller may act now, so this one ends"#]].assert_eq(&running.ended().await);
    running.start();
    // Nobody makes the pod again, so that the replacement is of no use either in the end.
    for _ in 0..60 {
        running.pass(5).await;
        if !running.claims().contains(&old) {
            break;
        }
    }
    let left: Vec<String> = both.into_iter().filter(|name| *name != old).collect();
    assert_eq!(running.claims(), left, "the replacement it found is the one that stays");
    assert_eq!(running.instances(), 1);
}

fn launched(running: &Running, claim: &str) -> bool {
    let claim: NodeClaim = running.stage.claim(claim);
    claim.holds(LAUNCHED)
}
