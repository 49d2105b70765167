//! EE-07, EE-09: pools of a fixed number of nodes that may never have one more.

use std::collections::BTreeSet;

use joiner_apiserver::Key;
use joiner_core::label::NODE_POOL;
use joiner_lab::{Lab, checks};
use joiner_operator::marks::{DELETE_FIRST, STATIC_DRIFT};
use serde_json::{Value, json};

use super::{claims, create_budget, keep_apart, list, made, merge, name, workload};
use crate::whole::{End, create, end, furnished, pass_with};

const NODES: usize = 2;

async fn pass(lab: &mut Lab, minutes: i64, seed: u64) {
    pass_with(lab, minutes, seed, "StaticCapacity=true").await;
}

/// A cluster with a static pool as the usual one is otherwise, but for what is changed.
async fn two_static_nodes(change: impl FnOnce(&mut Value)) -> Lab {
    let mut lab = furnished(1);
    let mut pool = list(&lab, "karpenter.sh", "nodepools").remove(0);
    pool["metadata"] = json!({"name": "batch"});
    pool["status"] = Value::Null;
    pool["spec"]["replicas"] = NODES.into();
    pool["spec"]["limits"] = json!({"nodes": NODES.to_string()});
    change(&mut pool);
    create(&lab, "karpenter.sh", "nodepools", pool);
    pass(&mut lab, 5, 1).await;
    assert_eq!(End::of(&lab), end(0, NODES));
    lab
}

/// Asserts that all nodes are others than before, and that there were never too many.
#[track_caller]
fn assert_renewed(lab: &Lab, old: &BTreeSet<String>) {
    assert!(claims(lab).is_disjoint(old));
    assert_eq!(made(lab), 2 * NODES, "each is made again once");
    let limit = |_: &Value| Some(("batch".to_owned(), NODES));
    let broken = checks::at_most(lab.history(), "karpenter.sh", "nodeclaims", "limit", limit);
    assert_eq!(broken, []);
}

#[tokio::test(start_paused = true)]
async fn ee07_drifted_nodes_go_first_where_their_pool_says_so_and_pods_wait_for_others() {
    let mut lab = two_static_nodes(|pool| {
        pool["metadata"]["annotations"] = json!({STATIC_DRIFT: DELETE_FIRST});
    })
    .await;
    let stay_in_pool = |template: &mut Value| {
        keep_apart(template);
        template["spec"]["nodeSelector"] = json!({NODE_POOL: "batch"});
    };
    create(&lab, "apps", "deployments", workload("web", NODES as u64, stay_in_pool));
    create_budget(&lab, "web", json!({"maxUnavailable": 1}));
    pass(&mut lab, 5, 2).await;
    assert_eq!(End::of(&lab), end(NODES, NODES));
    let old = claims(&lab);
    let other = json!({"spec": {"template": {"metadata": {"labels": {"team": "green"}}}}});
    merge(&lab, "karpenter.sh", "nodepools", &Key::new("", "batch"), other);
    pass(&mut lab, 15, 3).await;
    assert_eq!(End::of(&lab), end(NODES, NODES));
    assert_renewed(&lab, &old);
    for node in list(&lab, "", "nodes") {
        assert_eq!(node["metadata"]["labels"]["team"], "green", "{}", name(&node));
    }
}

#[tokio::test(start_paused = true)]
async fn ee09_a_static_node_that_expires_is_made_again() {
    let mut lab = two_static_nodes(|pool| {
        pool["spec"]["template"]["spec"]["expireAfter"] = "15m".into();
    })
    .await;
    let old = claims(&lab);
    pass(&mut lab, 15, 2).await;
    assert_eq!(End::of(&lab), end(0, NODES));
    assert_renewed(&lab, &old);
}
