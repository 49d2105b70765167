//! EE-01: somebody puts a taint on every new node, so that instances are made of which pods have
//! nothing. There is no end to that, but it must not get out of hand.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::{Caller, Key, Resource};
use joiner_lab::Lab;
use serde_json::{Value, json};

use super::{made, name};
use crate::whole::{broken_rules, change_pool, create, deployment, furnished, work_beside};

/// How many nodes are too many in five minutes, for a single pod.
const TOO_MANY: usize = 35;
const FIVE_MINUTES: SignedDuration = SignedDuration::from_mins(5);

/// Puts the taint on nodes that are so old and have none.
fn taint_nodes(somebody: &Caller, age: SignedDuration, now: Timestamp) {
    let taint = json!({"key": "example.com/surprise", "value": "true", "effect": "NoExecute"});
    let nodes = Resource::new("", "nodes");
    for node in somebody.list(&nodes, None).iter().map(|node| node.value()) {
        let created: Timestamp =
            node["metadata"]["creationTimestamp"].as_str().unwrap().parse().unwrap();
        let mut taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
        let is_tainted = taints.iter().any(|own| own["key"] == taint["key"]);
        if is_tainted || now.duration_since(created) < age {
            continue;
        }
        taints.push(taint.clone());
        let patch = json!({"spec": {"taints": taints}});
        somebody.merge(&nodes, &Key::new("", &name(&node)), None, patch).unwrap();
    }
}

/// Five minutes in which one pod wants to run, in a pool with this disruption, and every node that
/// has become so old gets a taint.
async fn surprised(disruption: &Value, age: SignedDuration) -> Lab {
    let mut lab = furnished(1);
    change_pool(&lab, &json!({"disruption": disruption}));
    create(&lab, "apps", "deployments", deployment("web", 1));
    let (somebody, clock) = (lab.caller("somebody"), lab.server().clock().clone());
    let end = clock.now() + FIVE_MINUTES;
    let story = async move {
        while clock.now() < end {
            taint_nodes(&somebody, age, clock.now());
            clock.sleep(Duration::from_secs(1)).await;
        }
    };
    work_beside(&mut lab, 1, "", story).await;
    lab
}

/// Tells the story with nodes that are tainted before a pod comes, and with ones that lose it again.
async fn assert_within_bounds(disruption: Value) {
    for seconds in [0, 20] {
        let lab = surprised(&disruption, SignedDuration::from_secs(seconds)).await;
        let made = made(&lab);
        assert!((2..TOO_MANY).contains(&made), "tainted after {seconds} s: {made} instances");
        assert_eq!(broken_rules(&lab), []);
    }
}

#[tokio::test(start_paused = true)]
async fn ee01_nodes_that_nobody_can_use_are_no_runaway_where_instances_are_consolidated() {
    assert_within_bounds(
        json!({"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "0s"}),
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn ee01_nodes_that_nobody_can_use_are_no_runaway_where_empty_instances_go() {
    assert_within_bounds(json!({"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s"}))
        .await;
}
