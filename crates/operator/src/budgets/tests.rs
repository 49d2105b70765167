use serde_json::{Value, json};

use super::*;

fn pod(ready: Option<&str>) -> Pod {
    let conditions: Vec<Value> =
        ready.iter().map(|status| json!({"type": "Ready", "status": status})).collect();
    serde_json::from_value(json!({
        "metadata": {"name": "p", "namespace": "shop", "labels": {"app": "web"}},
        "spec": {"containers": []},
        "status": {"phase": "Running", "conditions": conditions},
    }))
    .unwrap()
}

/// A budget called `b` of the pod's namespace that is about it, unless `spec` says otherwise.
fn budget(spec: Value, allowed: i32) -> Value {
    let mut all = json!({"selector": {"matchLabels": {"app": "web"}}});
    all.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    json!({
        "metadata": {"name": "b", "namespace": "shop"}, "spec": all,
        "status": {
            "disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1,
            "expectedPods": 1,
        },
    })
}

fn budgets(all: &[Value]) -> Budgets {
    let read = |budget: &Value| Arc::new(serde_json::from_value(budget.clone()).unwrap());
    let all: Vec<Arc<PodDisruptionBudget>> = all.iter().map(read).collect();
    Budgets::new(&all)
}

fn keeping(all: &[Value], pod: &Pod) -> Vec<String> {
    budgets(all).keeping(pod).into_iter().map(ToString::to_string).collect()
}

#[test]
fn pd01_a_budget_may_spare_only_healthy_pods() {
    let policy = json!({"maxUnavailable": 0, "unhealthyPodEvictionPolicy": "AlwaysAllow"});
    let budget = [budget(policy, 0)];
    for (ready, is_kept) in [(Some("False"), false), (Some("True"), true), (None, true)] {
        assert_eq!(!keeping(&budget, &pod(ready)).is_empty(), is_kept, "ready: {ready:?}");
        assert_eq!(budgets(&budget).keep_for_good(&pod(ready)), is_kept, "ready: {ready:?}");
    }
}

#[test]
fn pd02_by_default_a_budget_keeps_pods_that_are_not_ready_too() {
    for policy in [json!({}), json!({"unhealthyPodEvictionPolicy": "IfHealthyBudget"})] {
        let budget = [budget(policy, 0)];
        assert_eq!(keeping(&budget, &pod(Some("False"))), ["shop/b"]);
    }
}

#[test]
fn pd03_budgets_of_others_keep_nothing() {
    let other_label = budget(json!({"selector": {"matchLabels": {"app": "db"}}}), 0);
    let no_selector = budget(json!({"selector": null, "maxUnavailable": 0}), 0);
    let mut other_namespace = budget(json!({"maxUnavailable": 0}), 0);
    other_namespace["metadata"]["namespace"] = "default".into();
    let all = [other_label, no_selector, other_namespace];
    assert_eq!(keeping(&all, &pod(None)), [] as [&str; 0]);
    assert!(!budgets(&all).keep_for_good(&pod(None)));
}

#[test]
fn pd04_a_budget_that_is_spent_keeps_its_pods_and_names_itself() {
    assert_eq!(keeping(&[budget(json!({}), 0)], &pod(None)), ["shop/b"]);
    assert_eq!(keeping(&[budget(json!({}), 1)], &pod(None)), [] as [&str; 0]);
    let everything = json!({"selector": {}});
    assert_eq!(keeping(&[budget(everything, 0)], &pod(None)), ["shop/b"]);
}

#[test]
fn pd04_two_budgets_keep_a_pod_whatever_they_allow() {
    let open = budget(json!({"maxUnavailable": 1}), 1);
    let both = [open.clone(), open];
    assert_eq!(keeping(&both, &pod(None)).len(), 2);
    assert!(budgets(&both).keep_for_good(&pod(None)));
}

#[test]
fn pd05_a_budget_that_is_always_closed_keeps_a_pod_for_good() {
    for (spec, is_kept) in [
        (json!({"maxUnavailable": 0}), true),
        (json!({"maxUnavailable": "0%"}), true),
        (json!({"minAvailable": "100%"}), true),
        (json!({"maxUnavailable": 1}), false),
        (json!({"maxUnavailable": "10%"}), false),
        (json!({"minAvailable": 1}), false),
        (json!({"minAvailable": "0%"}), false),
    ] {
        let budgets = budgets(&[budget(spec.clone(), 0)]);
        assert_eq!(budgets.keep_for_good(&pod(None)), is_kept, "{spec}");
    }
}

#[test]
fn pd05_a_pod_that_puts_up_with_leaving_nodes_is_kept_by_nothing() {
    let mut tolerant = pod(None);
    let tolerations = json!([{"operator": "Exists"}]);
    tolerant.spec.as_mut().unwrap().tolerations = serde_json::from_value(tolerations).unwrap();
    let closed = [budget(json!({"maxUnavailable": 0}), 0)];
    assert_eq!(keeping(&closed, &tolerant), [] as [&str; 0]);
    assert!(!budgets(&closed).keep_for_good(&tolerant));
}
