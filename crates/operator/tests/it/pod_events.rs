//! §11.1 E-01 to E-05: when a pod last came to a node or left it.

use joiner_apiserver::Key;
use joiner_operator::{
    pod_events::{LastPodEvents, PodEvents},
    world,
};
use serde_json::{Value, json};

use crate::{play::node, stage::Stage};

/// A claim with a node.
fn stage(last: &LastPodEvents) -> Stage {
    let stage = Stage::bare().with(|context| PodEvents::new(context, last.clone()));
    stage.create_claim("web-1");
    let launched = json!({"status": {"providerID": "test://web-1"}});
    stage.merge("karpenter.sh", "nodeclaims", "web-1", Some("status"), launched);
    stage.join(node("node-1", "web-1"));
    stage.create("", "namespaces", json!({"metadata": {"name": "shop"}}));
    stage
}

fn pod(name: &str, node: Option<&str>) -> Value {
    let mut pod = json!({
        "metadata": {"namespace": "shop", "name": name},
        "spec": {"containers": [{"name": "main", "image": "i"}]},
    });
    if let Some(node) = node {
        pod["spec"]["nodeName"] = node.into();
    }
    pod
}

/// What the claim says, as seconds since the start.
fn shown(stage: &Stage) -> Option<i64> {
    let time = stage.claim("web-1").status?.last_pod_event_time?;
    Some(
        time.0.as_second() - "2026-01-01T00:00:00Z".parse::<jiff::Timestamp>().unwrap().as_second(),
    )
}

#[tokio::test(start_paused = true)]
async fn e01_a_pod_that_is_bound_ends_or_leaves_is_an_event() {
    let mut stage = stage(&LastPodEvents::default());
    stage.create("", "pods", pod("a", None));
    stage.pass(20).await;
    assert_eq!(shown(&stage), None, "it has no node yet");
    stage.lab.caller("scheduler").bind(&Key::new("shop", "a"), "node-1").unwrap();
    stage.pass(20).await;
    assert_eq!(shown(&stage), Some(20));
    stage.merge("", "pods", "shop/a", Some("status"), json!({"status": {"phase": "Running"}}));
    stage.pass(20).await;
    assert_eq!(shown(&stage), Some(20), "that it runs is nothing new");
    stage.merge("", "pods", "shop/a", Some("status"), json!({"status": {"phase": "Succeeded"}}));
    stage.pass(20).await;
    assert_eq!(shown(&stage), Some(60));
    stage.delete("", "pods", "shop/a");
    stage.pass(20).await;
    assert_eq!(shown(&stage), Some(80));
}

#[tokio::test(start_paused = true)]
async fn e01_daemons_come_and_go_with_their_nodes() {
    let mut stage = stage(&LastPodEvents::default());
    stage.pass(1).await;
    let mut daemon = pod("a", Some("node-1"));
    daemon["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u"}]);
    stage.create("", "pods", daemon);
    stage.pass(20).await;
    assert_eq!(shown(&stage), None);
}

#[tokio::test(start_paused = true)]
async fn e02_e03_a_pod_without_a_node_or_a_claim_is_nobodys_event() {
    let mut stage = stage(&LastPodEvents::default());
    stage.create("", "nodes", json!({"metadata": {"name": "stranger"}}));
    stage.pass(1).await;
    stage.create("", "pods", pod("a", Some("nowhere")));
    stage.create("", "pods", pod("b", Some("stranger")));
    stage.create("", "pods", pod("c", Some("node-1")));
    stage.pass(20).await;
    assert_eq!(shown(&stage), Some(1), "the others are not held up");
}

#[tokio::test(start_paused = true)]
async fn e04_e05_a_claim_is_written_again_only_after_ten_seconds() {
    let last = LastPodEvents::default();
    let mut stage = stage(&last);
    stage.pass(100).await;
    stage.create("", "pods", pod("a", Some("node-1")));
    stage.pass(9).await;
    stage.create("", "pods", pod("b", Some("node-1")));
    stage.pass(1).await;
    assert_eq!(shown(&stage), Some(100));
    let exact = last.on(&world::Key::cluster("node-1")).unwrap();
    assert_eq!(exact.to_string()[..19], *"2026-01-01T00:01:49", "memory is exact");
    stage.create("", "pods", pod("c", Some("node-1")));
    stage.pass(1).await;
    assert_eq!(shown(&stage), Some(110));
}

/// A pod that was there before the controller, with this status.
async fn found_at_start(status: Value, after: i64) -> Stage {
    let mut stage = stage(&LastPodEvents::default());
    stage.create("", "pods", pod("a", Some("node-1")));
    stage.merge("", "pods", "shop/a", Some("status"), json!({"status": status}));
    stage.lab.pass(jiff::SignedDuration::from_secs(after)).await;
    stage.pass(1).await;
    stage
}

fn scheduled(second: u32) -> Value {
    json!([{"type": "PodScheduled", "status": "True",
        "lastTransitionTime": format!("2026-01-01T00:00:{second:02}Z")}])
}

#[tokio::test(start_paused = true)]
async fn pods_that_are_found_at_the_start_say_when_they_came() {
    let stage = found_at_start(json!({"conditions": scheduled(7)}), 3600).await;
    assert_eq!(shown(&stage), Some(7));
}

#[tokio::test(start_paused = true)]
async fn pods_that_are_found_at_the_start_say_when_they_ended() {
    let status = json!({
        "phase": "Failed", "conditions": scheduled(7),
        "containerStatuses": [{
            "name": "main", "image": "i", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"terminated": {"exitCode": 1, "finishedAt": "2026-01-01T00:00:42Z"}},
        }],
    });
    assert_eq!(shown(&found_at_start(status, 3600).await), Some(42));
}

#[tokio::test(start_paused = true)]
async fn pods_that_are_found_at_the_start_say_when_they_began_to_leave() {
    let mut stage = stage(&LastPodEvents::default());
    let mut pod = pod("a", Some("node-1"));
    pod["metadata"]["finalizers"] = json!(["example.com/keep"]);
    pod["spec"]["terminationGracePeriodSeconds"] = 60.into();
    stage.create("", "pods", pod);
    stage.lab.pass(jiff::SignedDuration::from_secs(30)).await;
    stage.delete("", "pods", "shop/a");
    stage.lab.pass(jiff::SignedDuration::from_secs(3600)).await;
    stage.pass(1).await;
    assert_eq!(shown(&stage), Some(30), "not when they are to be gone");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_gone_is_forgotten_although_its_last_pods_go_after_it() {
    let last = LastPodEvents::default();
    let mut stage = stage(&last);
    stage.pass(1).await;
    stage.create("", "pods", pod("a", Some("node-1")));
    stage.pass(1).await;
    let node = world::Key::cluster("node-1");
    assert!(last.on(&node).is_some());
    stage.delete("", "nodes", "node-1");
    stage.pass(1).await;
    stage.delete("", "pods", "shop/a");
    stage.pass(1).await;
    assert_eq!(last.on(&node), None);
}
