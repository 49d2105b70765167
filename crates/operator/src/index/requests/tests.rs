use serde_json::{Value, json};

use super::*;

/// What a pod asks for, without itself.
#[track_caller]
fn check(pod: Value, expected: &str) {
    let pod: Pod = serde_json::from_value(pod).unwrap();
    let requests = of_spec(pod.spec.as_ref().unwrap(), pod.status.as_ref());
    assert_eq!(requests.to_string(), expected);
}

fn container(cpu: &str, memory: &str) -> Value {
    json!({"name": "main", "resources": {"requests": {"cpu": cpu, "memory": memory}}})
}

fn sidecar(cpu: &str, memory: &str) -> Value {
    let mut sidecar = container(cpu, memory);
    sidecar["name"] = json!("sidecar");
    sidecar["restartPolicy"] = json!("Always");
    sidecar
}

#[test]
fn a_pod_counts_as_one_pod() {
    let pod: Pod = serde_json::from_value(json!({})).unwrap();
    assert_eq!(of_pod(&pod).to_string(), "pods 1");
}

#[test]
fn containers_and_sidecars_add_up() {
    check(
        json!({"spec": {"containers": [container("2", "1Gi")], "initContainers": [sidecar("1", "2Gi")]}}),
        "cpu 3, memory 3Gi",
    );
}

#[test]
fn an_init_container_before_a_sidecar_runs_without_it() {
    check(
        json!({"spec": {
            "overhead": {"cpu": "5", "memory": "1Gi"},
            "containers": [container("2", "1Gi")],
            "initContainers": [container("4", "2Gi"), sidecar("3", "3Gi")]}}),
        "cpu 10, memory 5Gi",
    );
}

#[test]
fn an_init_container_after_a_sidecar_runs_beside_it() {
    let after = |init: Value, main: Value, sidecar_memory: &str| json!({"spec": {"containers": [main], "initContainers": [sidecar("4", sidecar_memory), init]}});
    check(after(container("10", "2Gi"), container("2", "1Gi"), "2Gi"), "cpu 14, memory 4Gi");
    check(after(container("1", "1Gi"), container("2", "2Gi"), "2Gi"), "cpu 6, memory 4Gi");
}

#[test]
fn amounts_for_the_whole_pod_replace_those_of_containers() {
    check(
        json!({"spec": {
            "resources": {"requests": {"cpu": "2", "memory": "2Gi", "example.com/gpu": "9"}},
            "containers": [container("1", "1Gi"), {"name": "gpu", "resources": {"requests": {"example.com/gpu": 1}}}]}}),
        "cpu 2, example.com/gpu 1, memory 2Gi",
    );
    check(
        json!({"spec": {
            "resources": {"requests": {"hugepages-2Mi": "4Mi"}},
            "overhead": {"cpu": "100m"},
            "containers": [container("1", "1Gi")]}}),
        "cpu 1100m, hugepages-2Mi 4Mi, memory 1Gi",
    );
}

#[test]
fn limits_are_no_requests() {
    check(
        json!({"spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "1"}}}]}}),
        "",
    );
}

#[test]
fn a_resize_counts_with_the_larger_of_old_and_new() {
    let resizing = |reason: &str| {
        let status = |name: &str| {
            json!({"name": name, "resources": {"requests": {"cpu": "2", "memory": "2Gi"}},
                   "allocatedResources": {"cpu": "3", "memory": "1Gi"}})
        };
        json!({
            "spec": {"containers": [container("4", "1Gi")], "initContainers": [sidecar("1", "1Gi")]},
            "status": {
                "conditions": [{"type": "PodResizePending", "status": "True", "reason": reason}],
                "containerStatuses": [status("main")],
                "initContainerStatuses": [status("sidecar")]}})
    };
    check(resizing("Deferred"), "cpu 7, memory 4Gi");
    check(resizing("Infeasible"), "cpu 6, memory 4Gi");
}

#[test]
fn a_status_without_resources_says_nothing() {
    check(
        json!({
            "spec": {"containers": [container("1", "1Gi")]},
            "status": {"containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "9"}}]}}),
        "cpu 1, memory 1Gi",
    );
}
