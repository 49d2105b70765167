//! EE-07: a pool of a fixed number of nodes in a whole cluster, with the whole engine.

use joiner_apiserver::{DeleteOptions, Key, Resource};
use joiner_lab::{
    Lab, checks,
    cloud::LAB_NODE_CLASS,
    faults::{Rates, Rule},
    process,
};
use serde_json::{Value, json};

use crate::whole::{End, JOINER, create, deployment, end, furnished, pass_with, scale};

const STATIC: &str = "StaticCapacity=true";

async fn pass(lab: &mut Lab, minutes: i64, seed: u64) {
    pass_with(lab, minutes, seed, STATIC).await;
}

/// A pool that keeps so many nodes, within a limit if there is one.
fn create_static(lab: &Lab, replicas: u64, limit: Option<u64>) {
    let mut pool = json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "batch"},
        "spec": {"replicas": replicas, "template": {
            "metadata": {"labels": {"team": "blue"}},
            "spec": {
                "nodeClassRef": {
                    "group": LAB_NODE_CLASS.group, "kind": LAB_NODE_CLASS.kind, "name": "default",
                },
                "requirements": [],
            },
        }},
    });
    if let Some(limit) = limit {
        pool["spec"]["limits"] = json!({"nodes": limit.to_string()});
    }
    create(lab, "karpenter.sh", "nodepools", pool);
}

/// Does what `kubectl scale nodepool` does.
fn scale_static(lab: &Lab, replicas: u64) {
    let (pools, key) = (Resource::new("karpenter.sh", "nodepools"), Key::new("", "batch"));
    let patch = json!({"spec": {"replicas": replicas}});
    lab.caller("user").merge(&pools, &key, Some("scale"), patch).unwrap();
}

/// Has the pool want nodes with another label, so that those there are have drifted.
fn drift(lab: &Lab) {
    let (pools, key) = (Resource::new("karpenter.sh", "nodepools"), Key::new("", "batch"));
    let patch = json!({"spec": {"template": {"metadata": {"labels": {"team": "green"}}}}});
    lab.caller("user").merge(&pools, &key, None, patch).unwrap();
}

/// Whether every node is of the pool's latest will.
fn all_are_green(lab: &Lab) -> bool {
    list(lab, "", "nodes").iter().all(|node| node["metadata"]["labels"]["team"] == "green")
}

/// Asserts that the pool never had more claims than its limit allows, whoever has made them.
fn assert_never_more_than(lab: &Lab, limit: usize) {
    let broken = checks::at_most(lab.history(), "karpenter.sh", "nodeclaims", "limit", |claim| {
        let pool = claim["metadata"]["labels"]["karpenter.sh/nodepool"].as_str()?;
        (pool == "batch").then(|| (pool.to_owned(), limit))
    });
    assert_eq!(broken, []);
}

fn list(lab: &Lab, group: &str, plural: &str) -> Vec<Value> {
    let found = lab.caller("admin").list(&Resource::new(group, plural), None);
    found.iter().map(|object| object.value()).collect()
}

/// How many nodes a pool has that are ready for pods.
fn ready_nodes(lab: &Lab, pool: &str) -> usize {
    let is_ready = |node: &&Value| {
        let labels = &node["metadata"]["labels"];
        labels["karpenter.sh/nodepool"] == pool && labels["karpenter.sh/initialized"] == "true"
    };
    list(lab, "", "nodes").iter().filter(is_ready).count()
}

#[tokio::test(start_paused = true)]
async fn ee07_a_static_pool_has_its_nodes_without_any_pod() {
    let mut lab = furnished(1);
    create_static(&lab, 3, None);
    pass(&mut lab, 5, 1).await;
    assert_eq!(End::of(&lab), end(0, 3));
    assert_eq!(ready_nodes(&lab, "batch"), 3);
    let nodes = list(&lab, "", "nodes");
    assert!(nodes.iter().all(|node| node["metadata"]["labels"]["team"] == "blue"));
    let pools = list(&lab, "karpenter.sh", "nodepools");
    let batch = pools.iter().find(|pool| pool["metadata"]["name"] == "batch").unwrap();
    assert_eq!(batch["status"]["nodes"], 3, "what the scale subresource shows");
}

#[tokio::test(start_paused = true)]
async fn ee07_it_grows_and_shrinks_with_its_replicas_down_to_none() {
    let mut lab = furnished(1);
    create_static(&lab, 1, None);
    pass(&mut lab, 5, 1).await;
    for (replicas, seed) in [(4, 2), (2, 3), (0, 4)] {
        scale_static(&lab, replicas);
        pass(&mut lab, 5, seed).await;
        assert_eq!(End::of(&lab), end(0, replicas as usize), "at {replicas}");
    }
}

#[tokio::test(start_paused = true)]
async fn ee07_its_limit_of_nodes_is_kept_until_it_is_raised() {
    let mut lab = furnished(1);
    create_static(&lab, 4, Some(2));
    pass(&mut lab, 5, 1).await;
    assert_eq!(End::of(&lab), end(0, 2));
    let (pools, key) = (Resource::new("karpenter.sh", "nodepools"), Key::new("", "batch"));
    let raised = json!({"spec": {"limits": {"nodes": "3"}}});
    lab.caller("user").merge(&pools, &key, None, raised).unwrap();
    pass(&mut lab, 5, 2).await;
    assert_eq!(End::of(&lab), end(0, 3));
}

#[tokio::test(start_paused = true)]
async fn ee07_pods_use_static_nodes_first_and_dynamic_pools_serve_the_rest() {
    let mut lab = furnished(1);
    create_static(&lab, 2, None);
    pass(&mut lab, 5, 1).await;
    create(&lab, "apps", "deployments", deployment("web", 1));
    pass(&mut lab, 5, 2).await;
    assert_eq!(End::of(&lab), end(1, 2), "there was room");
    scale(&lab, "web", 40);
    pass(&mut lab, 10, 3).await;
    let found = End::of(&lab);
    assert_eq!(found, end(40, found.instances));
    assert_eq!(ready_nodes(&lab, "batch"), 2);
    assert!(ready_nodes(&lab, "default") > 0);
}

#[tokio::test(start_paused = true)]
async fn ee07_pods_of_nodes_that_go_are_evicted_and_find_another_place() {
    let mut lab = furnished(1);
    create_static(&lab, 3, None);
    pass(&mut lab, 5, 1).await;
    create(&lab, "apps", "deployments", deployment("web", 3));
    pass(&mut lab, 5, 2).await;
    scale_static(&lab, 0);
    pass(&mut lab, 10, 3).await;
    let found = End::of(&lab);
    assert_eq!(found, end(3, found.instances));
    assert_eq!(ready_nodes(&lab, "batch"), 0);
}

#[tokio::test(start_paused = true)]
async fn ee07_a_pool_that_is_deleted_takes_its_nodes_with_it() {
    let mut lab = furnished(1);
    create_static(&lab, 3, None);
    pass(&mut lab, 5, 1).await;
    let (pools, key) = (Resource::new("karpenter.sh", "nodepools"), Key::new("", "batch"));
    lab.caller("user").delete(&pools, &key, DeleteOptions::default()).unwrap();
    pass(&mut lab, 10, 2).await;
    assert_eq!(End::of(&lab), end(0, 0));
}

#[tokio::test(start_paused = true)]
async fn ee07_drifted_nodes_are_replaced_one_by_one_where_the_limit_has_room_for_one() {
    let mut lab = furnished(1);
    create_static(&lab, 3, Some(4));
    pass(&mut lab, 5, 1).await;
    drift(&lab);
    pass(&mut lab, 20, 2).await;
    assert_eq!(End::of(&lab), end(0, 3));
    assert!(all_are_green(&lab));
    assert_never_more_than(&lab, 4);
}

#[tokio::test(start_paused = true)]
async fn ee07_drifted_nodes_stay_where_the_limit_has_no_room() {
    let mut lab = furnished(1);
    create_static(&lab, 2, Some(2));
    pass(&mut lab, 5, 1).await;
    drift(&lab);
    pass(&mut lab, 10, 2).await;
    assert_eq!(End::of(&lab), end(0, 2));
    assert!(!all_are_green(&lab));
    assert_never_more_than(&lab, 2);
}

/// Replacements of drifted nodes and nodes that are missing are decided on by different parts, which
/// know of each other's before the API server does.
#[tokio::test(start_paused = true)]
async fn ee07_drift_and_growth_in_the_same_moment_stay_within_the_limit_together() {
    for seed in 1..=6 {
        let mut lab = furnished(seed);
        create_static(&lab, 2, Some(4));
        pass(&mut lab, 5, seed).await;
        let (pools, key) = (Resource::new("karpenter.sh", "nodepools"), Key::new("", "batch"));
        let budgets = json!({"spec": {"disruption": {"budgets": [{"nodes": "100%"}]}}});
        lab.caller("user").merge(&pools, &key, None, budgets).unwrap();
        drift(&lab);
        scale_static(&lab, 4);
        lab.faults().add_chance(lab.chance("network"), Rates::bad_day());
        pass(&mut lab, 5, seed + 1).await;
        lab.faults().calm();
        pass(&mut lab, 15, seed + 2).await;
        assert_eq!(End::of(&lab), end(0, 4), "seed {seed}");
        assert_never_more_than(&lab, 4);
    }
}

/// A pool that grows and is then made smaller, with one kill added when calls are to be counted.
async fn grow_and_shrink(kill: Rule) -> Lab {
    let mut lab = furnished(1);
    create_static(&lab, 2, Some(2));
    lab.faults().add(kill);
    pass(&mut lab, 2, 1).await;
    scale_static(&lab, 1);
    pass(&mut lab, 2, 2).await;
    lab
}

#[tokio::test(start_paused = true)]
async fn ee07_killed_at_every_call_it_ends_with_the_same_number() {
    let kills = process::sweep(JOINER, grow_and_shrink, End::of)
        .await
        .unwrap_or_else(|interrupted| panic!("{interrupted}"));
    println!("static pool: {kills} of {kills} kills end the same");
    assert!(kills > 30, "{kills}");
}

#[tokio::test(start_paused = true)]
async fn ee07_after_a_bad_day_it_has_the_nodes_it_is_to_have() {
    for seed in 1..=4 {
        let mut lab = furnished(seed);
        let mut chance = lab.chance("story");
        create_static(&lab, 2 + chance.below(4), None);
        lab.faults().add_chance(lab.chance("network"), Rates::bad_day());
        pass(&mut lab, 5, seed).await;
        let replicas = chance.below(6);
        scale_static(&lab, replicas);
        pass(&mut lab, 5, seed + 1).await;
        lab.faults().calm();
        pass(&mut lab, 20, seed + 2).await;
        assert_eq!(End::of(&lab), end(0, replicas as usize), "seed {seed}");
    }
}
