//! The stories.

use std::time::Duration;

use serde_json::{Value, json};

use super::site::{Site, claim_path, condition, name, node_path};

/// The one object that is there.
fn only(objects: Vec<Value>) -> Value {
    let [one] = <[Value; 1]>::try_from(objects).expect("there is one");
    one
}

/// Opens a site with so many pods that run, all of them on one node.
async fn with_pods(site: &Site, replicas: u64) -> (Value, Value) {
    site.open("default").await;
    site.deploy(replicas, "500m").await;
    site.until_running(replicas as usize).await;
    let initialized = async || {
        let claims = site.claims().await;
        let is_done = |claim: &Value| condition(claim, "Initialized")["status"] == "True";
        (!claims.is_empty() && claims.iter().all(is_done)).then_some(claims)
    };
    let claim = only(site.until("the claim is initialized", initialized).await);
    (claim, only(site.nodes().await))
}

async fn until_all_is_gone(site: &Site) {
    let gone = async || site.claims().await.is_empty() && site.nodes().await.is_empty();
    site.until_true("claims and nodes are gone", gone).await;
}

pub(super) async fn pods_that_wait_get_a_node_and_run(site: Site) {
    let (claim, node) = with_pods(&site, 3).await;
    for step in ["Launched", "Registered", "Initialized", "Ready"] {
        assert_eq!(condition(&claim, step)["status"], "True", "{step}: {claim}");
    }
    assert_eq!(claim["status"]["nodeName"], name(&node));
    assert_eq!(claim["status"]["providerID"], node["spec"]["providerID"]);
    let labels = &node["metadata"]["labels"];
    assert_eq!(labels["karpenter.sh/registered"], "true");
    assert_eq!(labels["karpenter.sh/initialized"], "true");
    let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
    let is_unregistered = |taint: &Value| taint["key"] == "karpenter.sh/unregistered";
    assert!(!taints.iter().any(is_unregistered), "{taints:?}");
    assert_eq!(node["metadata"]["finalizers"], json!(["karpenter.sh/termination"]));
    assert_eq!(node["metadata"]["ownerReferences"][0]["name"], name(&claim));
    site.close().await;
    until_all_is_gone(&site).await;
}

pub(super) async fn a_claim_that_is_deleted_waits_for_its_pods_budget(site: Site) {
    let (claim, node) = with_pods(&site, 2).await;
    let budgets = format!("/apis/policy/v1/namespaces/{}/poddisruptionbudgets", site.name);
    let selector = json!({"matchLabels": {"app": site.name}});
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "all"},
        "spec": {"minAvailable": 2, "selector": selector},
    });
    site.create(&budgets, budget).await;
    let budget = format!("{budgets}/all");
    let is_known = async || site.get(&budget).await?["status"]["currentHealthy"].as_u64();
    site.until("the budget knows its pods", is_known).await;

    let before: Vec<Value> = site.pods().await;
    site.delete(&claim_path(&claim)).await;
    let is_marked = async || {
        let node = site.get(&node_path(&node)).await?;
        let taints = node["spec"]["taints"].as_array()?;
        taints.iter().any(|taint| taint["key"] == "karpenter.sh/disrupted").then_some(())
    };
    site.until("the node takes no more pods", is_marked).await;
    site.pass(Duration::from_secs(8)).await;
    let after = site.pods().await;
    let uid = |pod: &Value| pod["metadata"]["uid"].clone();
    let uids = |pods: &[Value]| pods.iter().map(uid).collect::<Vec<Value>>();
    assert_eq!(uids(&after), uids(&before), "the budget allows nothing");
    let waiting = site.get(&claim_path(&claim)).await.expect("it waits for its pods");
    assert_ne!(condition(&waiting, "Drained")["status"], "True", "{waiting}");
    let refusal = async || {
        let said = site.said_of_node(&node).await;
        said.into_iter().find(|said| said.contains("evicting pod violates a PDB"))
    };
    let refusal = site.until("the node is told what keeps its pods", refusal).await;
    let named = format!("PodDisruptionBudget {}/all allows no eviction now", site.name);
    assert!(refusal.starts_with("FailedDraining: ") && refusal.contains(&named), "{refusal}");

    site.delete(&budget).await;
    let is_gone = async || {
        site.get(&claim_path(&claim)).await.is_none() && site.get(&node_path(&node)).await.is_none()
    };
    site.until_true("claim and node are gone", is_gone).await;
    site.until_running(2).await;
    site.close().await;
    until_all_is_gone(&site).await;
}

pub(super) async fn a_node_that_is_deleted_takes_its_claim_with_it(site: Site) {
    let (claim, node) = with_pods(&site, 2).await;
    site.delete(&node_path(&node)).await;
    let is_gone = async || {
        site.get(&claim_path(&claim)).await.is_none() && site.get(&node_path(&node)).await.is_none()
    };
    site.until_true("claim and node are gone", is_gone).await;
    site.until_running(2).await;
    let moved = site.pods().await;
    assert!(moved.iter().all(|pod| pod["spec"]["nodeName"] != name(&node)), "{moved:?}");
    site.close().await;
    until_all_is_gone(&site).await;
}

pub(super) async fn a_pool_that_is_deleted_takes_its_instances_with_it(site: Site) {
    with_pods(&site, 2).await;
    site.close().await;
    until_all_is_gone(&site).await;
    let is_gone = async || site.get(&site.pool_path()).await.is_none();
    site.until_true("the pool is gone", is_gone).await;
}

pub(super) async fn a_claim_whose_instance_is_gone_is_deleted(site: Site) {
    let (claim, node) = with_pods(&site, 1).await;
    // An instance of KWOK's is its node, and without finalizers nobody is asked.
    site.patch(&node_path(&node), json!({"metadata": {"finalizers": null}})).await;
    site.delete(&node_path(&node)).await;
    let is_gone = async || site.get(&claim_path(&claim)).await.is_none();
    site.until_true("the claim is gone", is_gone).await;
    site.until_running(1).await;
    site.close().await;
    until_all_is_gone(&site).await;
}

pub(super) async fn a_pool_whose_class_is_missing_says_so_until_it_comes(site: Site) {
    let class = format!("{}-class", site.name);
    site.open(&class).await;
    site.deploy(1, "500m").await;
    let refused = async || {
        let pool = site.get(&site.pool_path()).await?;
        let found = condition(&pool, "NodeClassReady").clone();
        (found["status"] == "False").then_some((found, pool))
    };
    let (found, pool) = site.until("the pool misses its class", refused).await;
    assert_eq!(found["reason"], "NodeClassNotFound");
    assert_ne!(condition(&pool, "Ready")["status"], "True", "{pool}");
    assert_eq!(site.claims().await, Vec::<Value>::new());
    site.create_class(&class).await;
    let is_ready = async || {
        let pool = site.get(&site.pool_path()).await.unwrap_or_default();
        condition(&pool, "Ready")["status"] == "True"
    };
    site.until_true("the pool is ready", is_ready).await;
    site.until_running(1).await;
    site.close().await;
    until_all_is_gone(&site).await;
}

pub(super) async fn a_pod_that_fits_nowhere_is_told_why(site: Site) {
    site.open("default").await;
    site.deploy(1, "100000").await;
    let told = async || {
        let said = site.said().await;
        said.into_iter().find(|said| said.contains("has enough resources"))
    };
    let said = site.until("the pod is told", told).await;
    assert!(said.starts_with("FailedScheduling: Failed to schedule pod, "), "{said}");
    assert_eq!(site.claims().await, Vec::<Value>::new());
    site.close().await;
    until_all_is_gone(&site).await;
}
