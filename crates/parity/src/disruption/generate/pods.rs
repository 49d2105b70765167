//! What pods want, and who speaks for them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::some;
use crate::{disruption::cluster::wait, generate::owner, rng::Rng, scenario::Scenario};

/// Gives a pod somebody who would make it again.
pub(super) fn own(pod: &mut Value) {
    let app = pod["metadata"]["labels"]["app"].as_str().unwrap_or("app").to_owned();
    pod["metadata"]["ownerReferences"] = owner("ReplicaSet", &app);
}

/// So many times the same pods, in turns, so that those of a workload come apart.
pub(super) fn multiply(pods: &[Value], times: usize) -> Vec<Value> {
    let copy = |turn: usize, pod: &Value| {
        let mut pod = pod.clone();
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        pod["metadata"]["name"] = json!(format!("{name}-{turn}"));
        pod
    };
    (0..times).flat_map(|turn| pods.iter().map(move |pod| copy(turn, pod))).collect()
}

/// Whether a pod is one of a workload's, and not a daemon's.
fn is_workload(pod: &Value) -> bool {
    pod["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet"
}

pub(super) fn scale_in(scenario: &mut Scenario, rng: &mut Rng) {
    let share = rng.between(20, 80);
    scenario
        .objects
        .retain(|object| object["kind"] != "Pod" || !is_workload(object) || !rng.chance(share));
}

/// Budgets for some of the workloads. A few workloads have two, which forbids everything.
pub(super) fn budgets(scenario: &mut Scenario, rng: &mut Rng) {
    let apps: BTreeSet<(String, String)> = scenario
        .of_kind("Pod")
        .filter(|pod| is_workload(pod))
        .map(|pod| {
            let text = |value: &Value| value.as_str().unwrap_or("default").to_owned();
            (text(&pod["metadata"]["namespace"]), text(&pod["metadata"]["labels"]["app"]))
        })
        .collect();
    for (namespace, app) in apps {
        let count = match rng.below(20) {
            0..8 => 0,
            8..19 => 1,
            _ => 2,
        };
        for index in 0..count {
            let allowed = rng.below(4);
            let mut spec = json!({"selector": {"matchLabels": {"app": app}}});
            // A budget that allows nothing may do so for good, or for the moment.
            match rng.below(3) {
                0 if allowed == 0 => spec["maxUnavailable"] = json!(0),
                1 => spec["minAvailable"] = json!(1),
                _ => spec["maxUnavailable"] = json!(1 + allowed),
            }
            scenario.objects.push(json!({
                "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                "metadata": {"name": format!("{app}-{index}"), "namespace": namespace},
                "spec": spec,
                "status": {
                    "disruptionsAllowed": allowed, "currentHealthy": 3, "desiredHealthy": 1,
                    "expectedPods": 3,
                },
            }));
        }
    }
}

pub(super) fn keep(scenario: &mut Scenario, rng: &mut Rng) {
    for pod in some(scenario, "Pod", 8, rng) {
        // A day has long passed since any pod started.
        let how = *rng.pick(&["true", "true", "true", "24h", "false"]);
        pod["metadata"]["annotations"]["karpenter.sh/do-not-disrupt"] = json!(how);
    }
}

pub(super) fn eviction_costs(scenario: &mut Scenario, rng: &mut Rng) {
    for pod in some(scenario, "Pod", 40, rng) {
        if rng.chance(50) {
            pod["spec"]["priority"] = json!(rng.between(0, 20) * 10_000_000);
        } else {
            let cost = (rng.between(0, 20) * 20_000_000) as i64 - 100_000_000;
            pod["metadata"]["annotations"]["controller.kubernetes.io/pod-deletion-cost"] =
                json!(cost.to_string());
        }
    }
}

/// Pods that are too large for any instance.
pub(super) fn waiting(scenario: &mut Scenario, rng: &mut Rng) {
    for index in 0..rng.between(1, 3) {
        let requests = json!({"cpu": "500", "memory": "1Gi"});
        let container = json!({
            "name": "main", "image": "example.com/app", "resources": {"requests": requests},
        });
        let mut pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": format!("huge-{index}"), "namespace": "default", "labels": {"app": "huge"},
                "creationTimestamp": "2026-02-01T00:00:00Z",
            },
            "spec": {"containers": [container]},
        });
        own(&mut pod);
        wait(&mut pod);
        scenario.objects.push(pod);
    }
}
