//! EE-02: what keeps drifted nodes, and what is no drift.

use joiner_apiserver::{DeleteOptions, Key, Resource};
use joiner_core::label::{NODE_POOL_HASH, NODE_POOL_HASH_VERSION};
use joiner_lab::{Lab, cloud::LAB_NODE_CLASS};
use serde_json::{Value, json};

use super::{
    all_are_new, assert_untouched, claim_changes, claims, create_budget, keep_apart, list, made,
    merge, running_pods, want_others, workload,
};
use crate::whole::{End, change_pool, create, end, furnished, pass};

/// A cluster of two instances with a pod each.
async fn two_instances() -> Lab {
    let mut lab = furnished(1);
    create(&lab, "apps", "deployments", workload("web", 2, keep_apart));
    pass(&mut lab, 5, 1).await;
    assert_eq!(End::of(&lab), end(2, 2));
    lab
}

/// Sets how long instances take for something from now on; none for as long as usual.
fn delay(lab: &Lab, what: &str, duration: Option<&str>) {
    let spec = json!({"spec": {what: duration}});
    merge(lab, LAB_NODE_CLASS.group, LAB_NODE_CLASS.plural, &Key::new("", "default"), spec);
}

/// Whether all claims say that they have drifted.
fn all_have_drifted(lab: &Lab) -> bool {
    list(lab, "karpenter.sh", "nodeclaims").iter().all(says_drifted)
}

fn says_drifted(claim: &Value) -> bool {
    let conditions = claim["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|it| it["type"] == "Drifted" && it["status"] == "True")
}

/// The hashes that the pool and its claims carry, with their versions.
fn hashes(lab: &Lab) -> Vec<(Value, Value)> {
    let pools = list(lab, "karpenter.sh", "nodepools");
    let objects = pools.into_iter().chain(list(lab, "karpenter.sh", "nodeclaims"));
    let hash = |object: Value| {
        let annotations = &object["metadata"]["annotations"];
        (annotations[NODE_POOL_HASH].clone(), annotations[NODE_POOL_HASH_VERSION].clone())
    };
    objects.map(hash).collect()
}

/// Annotations of a hash that was made in another way.
fn hashed(hash: &str, version: &str) -> Value {
    let annotations = json!({NODE_POOL_HASH: hash, NODE_POOL_HASH_VERSION: version});
    json!({"metadata": {"annotations": annotations}})
}

#[tokio::test(start_paused = true)]
async fn ee02_another_way_of_hashing_is_no_drift() {
    // An upgrade from another release, and one from a release whose own upgrade was cut short.
    for of_claims in [hashed("1", "v0"), hashed("2", "v1")] {
        let mut lab = two_instances().await;
        let (old, current) = (claims(&lab), hashes(&lab));
        merge(&lab, "karpenter.sh", "nodepools", &Key::new("", "default"), hashed("1", "v0"));
        for claim in &old {
            merge(&lab, "karpenter.sh", "nodeclaims", &Key::new("", claim), of_claims.clone());
        }
        pass(&mut lab, 15, 2).await;
        assert_untouched(&lab, &old);
        assert_eq!(End::of(&lab), end(2, 2));
        assert_eq!(hashes(&lab), current);
        let changes = claim_changes(&lab);
        let drifted = changes.iter().map(|change| change.object.value()).filter(says_drifted);
        assert_eq!(drifted.count(), 0, "not for a moment");
    }
}

#[tokio::test(start_paused = true)]
async fn ee02_budgets_that_allow_nothing_keep_drifted_nodes() {
    for budgets in [
        json!([{"nodes": "0"}]),
        json!([{"nodes": "0%"}]),
        json!([{"nodes": "100%"}, {"nodes": "0", "reasons": ["Drifted"]}]),
    ] {
        let mut lab = two_instances().await;
        let old = claims(&lab);
        change_pool(&lab, &json!({"disruption": {"budgets": budgets}}));
        want_others(&lab);
        pass(&mut lab, 20, 2).await;
        assert_untouched(&lab, &old);
        assert_eq!(End::of(&lab), end(2, 2), "{budgets}");
        assert!(all_have_drifted(&lab), "{budgets}");
    }
}

#[tokio::test(start_paused = true)]
async fn ee02_a_budget_with_a_schedule_keeps_drifted_nodes_until_its_time_is_over() {
    let mut lab = two_instances().await;
    let old = claims(&lab);
    // Laboratories begin at midnight.
    let night = json!({"nodes": "0", "schedule": "0 0 * * *", "duration": "30m"});
    change_pool(&lab, &json!({"disruption": {"budgets": [{"nodes": "100%"}, night]}}));
    want_others(&lab);
    pass(&mut lab, 24, 2).await;
    assert_untouched(&lab, &old);
    assert!(all_have_drifted(&lab));
    // The same process is there when the time is over.
    pass(&mut lab, 10, 3).await;
    assert_eq!(End::of(&lab), end(2, 2));
    assert!(all_are_new(&lab));
}

#[tokio::test(start_paused = true)]
async fn ee02_drifted_nodes_stay_for_as_long_as_their_replacements_are_of_no_use() {
    // The first never registers, the second registers and is never ready.
    for what in ["bootDelay", "readyDelay"] {
        let mut lab = two_instances().await;
        let (old, pods) = (claims(&lab), running_pods(&lab));
        delay(&lab, what, Some("24h"));
        want_others(&lab);
        pass(&mut lab, 60, 2).await;
        assert_untouched(&lab, &old);
        let tries = made(&lab) - old.len();
        assert!((1..=12).contains(&tries), "{what}: {tries} replacements in an hour");
        assert_eq!(running_pods(&lab), pods, "{what}");
        assert_eq!(End::of(&lab).broken, [""; 0], "{what}");
        delay(&lab, what, None);
        pass(&mut lab, 45, 3).await;
        assert_eq!(End::of(&lab), end(2, 2), "{what}");
        assert!(all_are_new(&lab), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn ee02_drifted_nodes_stay_where_too_few_pods_of_a_budget_are_well() {
    let mut lab = furnished(1);
    let never_ready = |template: &mut Value| {
        keep_apart(template);
        template["metadata"]["annotations"] = json!({"lab.joiner.dev/never-ready": "true"});
    };
    create(&lab, "apps", "deployments", workload("web", 2, never_ready));
    create_budget(&lab, "web", json!({"minAvailable": 1}));
    pass(&mut lab, 5, 1).await;
    assert_eq!(End::of(&lab), end(2, 2));
    let (old, pods) = (claims(&lab), running_pods(&lab));
    want_others(&lab);
    pass(&mut lab, 20, 2).await;
    assert_untouched(&lab, &old);
    assert_eq!(End::of(&lab), end(2, 2));
    assert_eq!(running_pods(&lab), pods);
    assert!(all_have_drifted(&lab));
    let (budgets, key) =
        (Resource::new("policy", "poddisruptionbudgets"), Key::new("default", "web"));
    lab.caller("user").delete(&budgets, &key, DeleteOptions::default()).unwrap();
    pass(&mut lab, 10, 3).await;
    assert_eq!(End::of(&lab), end(2, 2));
    assert!(all_are_new(&lab), "nothing else has kept them");
}
