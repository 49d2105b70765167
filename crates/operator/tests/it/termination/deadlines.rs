//! Claims with a termination grace period: nothing protects a pod for ever.

use serde_json::{Value, json};

use crate::leaving::{DO_NOT_DISRUPT, Leaving};

/// A node that has so many seconds, and is deleted once the test has put its pods there.
fn leaving(seconds: i64) -> Leaving {
    let leaving = Leaving::new();
    leaving.node("node-1");
    leaving.set_deadline("node-1", seconds);
    leaving
}

fn protected(grace_seconds: i64) -> Value {
    json!({
        "metadata": {"annotations": {DO_NOT_DISRUPT: "true"}},
        "spec": {"terminationGracePeriodSeconds": grace_seconds},
    })
}

#[tokio::test(start_paused = true)]
async fn t22_a_protected_pod_is_deleted_in_time_to_end_before_the_deadline() {
    let mut leaving = leaving(300);
    leaving.pod("web", protected(300));
    leaving.delete_node("node-1");
    leaving.pass(1).await;
    assert!(leaving.is_leaving("web"));
    assert!((298..=300).contains(&leaving.grace("web").unwrap()));
    let told = "TerminationGracePeriodExpiring: All pods will be deleted by 2026-01-01T00:05:00Z";
    assert!(leaving.stage.events("Node", "node-1").contains(&told.to_owned()));
}

#[tokio::test(start_paused = true)]
async fn t22_a_pod_that_would_take_longer_than_the_node_has_is_deleted_at_once() {
    let mut leaving = leaving(60);
    leaving.pod("web", json!({"spec": {"terminationGracePeriodSeconds": 3600}}));
    leaving.delete_node("node-1");
    leaving.pass(1).await;
    assert_eq!(leaving.asked("web"), ["delete 200"]);
    assert!((58..=60).contains(&leaving.grace("web").unwrap()));
}

#[tokio::test(start_paused = true)]
async fn t23_a_critical_pod_whose_time_is_over_does_not_wait_for_its_turn() {
    let mut leaving = leaving(60);
    leaving.pod("web", json!({"spec": {"terminationGracePeriodSeconds": 10}}));
    leaving.budget("web", "web", 0);
    leaving.pod(
        "critical",
        json!({"spec": {
            "priorityClassName": "system-cluster-critical", "terminationGracePeriodSeconds": 120,
        }}),
    );
    leaving.delete_node("node-1");
    leaving.pass(1).await;
    assert_eq!(leaving.leaving(&["web", "critical"]), ["critical"]);
}

#[tokio::test(start_paused = true)]
async fn t24_a_pod_that_can_end_in_time_is_left_alone_until_then() {
    let mut leaving = leaving(300);
    leaving.pod("protected", protected(60));
    leaving.pod("budgeted", json!({"spec": {"terminationGracePeriodSeconds": 60}}));
    leaving.budget("budgeted", "budgeted", 0);
    leaving.delete_node("node-1");
    leaving.pass(238).await;
    assert_eq!(leaving.leaving(&["protected", "budgeted"]), [] as [&str; 0]);
    leaving.pass(4).await;
    assert_eq!(leaving.leaving(&["protected", "budgeted"]), ["protected", "budgeted"]);
    assert_eq!(leaving.grace("protected"), Some(60));
    assert_eq!(leaving.grace("budgeted"), Some(60));
}

#[tokio::test(start_paused = true)]
async fn t25_a_pod_that_takes_too_long_to_end_gets_what_is_left() {
    let mut leaving = leaving(300);
    leaving.pod("web", json!({"spec": {"terminationGracePeriodSeconds": 6000}}));
    leaving.delete_pod("web", 6000);
    leaving.pass(90).await;
    leaving.delete_node("node-1");
    leaving.pass(1).await;
    assert!((208..=210).contains(&leaving.grace("web").unwrap()), "{:?}", leaving.grace("web"));
}

#[tokio::test(start_paused = true)]
async fn a_node_that_has_no_time_gives_its_pods_a_second_and_asks_once() {
    let mut leaving = leaving(0);
    leaving.pod("web", protected(300));
    leaving.delete_node("node-1");
    leaving.pass(30).await;
    assert_eq!(leaving.grace("web"), Some(1));
    assert_eq!(leaving.asked("web"), ["delete 200"]);
}
