//! Defaults that depend on other fields.

use serde_json::{Map, Value, json};

use super::pod;
use crate::edit::{entries, is_blank, object_in, set_missing, text};

type Rule = fn(&mut Map<String, Value>);

/// The rules, by the type they are about.
pub(super) const RULES: &[(&str, Rule)] = &[
    ("core.v1.Pod", pod::pod),
    ("core.v1.Container", pod::container),
    ("core.v1.EphemeralContainer", pod::container),
    ("core.v1.Volume", pod::volume),
    ("core.v1.Service", service),
    ("core.v1.NodeStatus", node_status),
    ("core.v1.PersistentVolume", volume),
    ("core.v1.LimitRangeItem", limit_range_item),
    ("core.v1.ReplicationController", replication_controller),
    ("core.v1.Namespace", namespace),
    ("apps.v1.DeploymentStrategy", deployment_strategy),
    ("apps.v1.DaemonSetUpdateStrategy", daemon_set_strategy),
    ("apps.v1.StatefulSetUpdateStrategy", stateful_set_strategy),
    ("batch.v1.Job", job),
    ("rbac.v1.Subject", subject),
    ("networking.v1.NetworkPolicySpec", network_policy),
    ("autoscaling.v2.HorizontalPodAutoscalerSpec", autoscaler),
    ("resource.v1.ExactDeviceRequest", device_request),
    ("resource.v1.DeviceSubRequest", device_request),
    ("apiextensions.v1.CustomResourceDefinition", custom_resource_definition),
];

fn service(service: &mut Map<String, Value>) {
    let Some(spec) = object_in(service, "spec") else { return };
    set_blank(spec, "sessionAffinity", "None");
    match text(spec, "sessionAffinity") {
        "None" => {
            spec.remove("sessionAffinityConfig");
        }
        "ClientIP" => {
            let config = spec.get("sessionAffinityConfig");
            if config.and_then(|config| config.pointer("/clientIP/timeoutSeconds")).is_none() {
                let config = json!({ "clientIP": { "timeoutSeconds": 10800 } });
                spec.insert("sessionAffinityConfig".to_owned(), config);
            }
        }
        _ => {}
    }
    set_blank(spec, "type", "ClusterIP");
    for port in entries(spec, "ports") {
        if port.get("targetPort").is_none_or(is_blank) {
            let number = port.get("port").cloned().unwrap_or_default();
            port.insert("targetPort".to_owned(), number);
        }
    }
    let kind = text(spec, "type").to_owned();
    let external = matches!(kind.as_str(), "NodePort" | "LoadBalancer")
        || kind == "ClusterIP"
            && spec.get("externalIPs").and_then(Value::as_array).is_some_and(|ips| !ips.is_empty());
    if external {
        set_blank(spec, "externalTrafficPolicy", "Cluster");
    }
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer" | "ClusterIP") {
        set_missing(spec, "internalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        set_missing(spec, "allocateLoadBalancerNodePorts", true);
        let status = object_in(service, "status").and_then(|s| object_in(s, "loadBalancer"));
        for ingress in status.into_iter().flat_map(|balancer| entries(balancer, "ingress")) {
            if !text(ingress, "ip").is_empty() {
                set_missing(ingress, "ipMode", "VIP");
            }
        }
    }
}

fn set_blank(object: &mut Map<String, Value>, field: &str, value: &str) {
    if object.get(field).is_none_or(is_blank) {
        object.insert(field.to_owned(), value.into());
    }
}

/// Volumes that are written in place, as in a `VolumeAttachment`, are not treated so.
fn volume(volume: &mut Map<String, Value>) {
    if let Some(spec) = object_in(volume, "spec") {
        set_blank(spec, "persistentVolumeReclaimPolicy", "Retain");
        set_missing(spec, "volumeMode", "Filesystem");
    }
}

/// COMPAT: an empty `allocatable` is taken for none.
fn node_status(status: &mut Map<String, Value>) {
    if let Some(capacity) = status.get("capacity").cloned() {
        set_missing(status, "allocatable", capacity);
    }
}

/// For containers, each of maximum, default limit and default request stands in for the next, and
/// the minimum for the last.
fn limit_range_item(item: &mut Map<String, Value>) {
    if text(item, "type") != "Container" {
        return;
    }
    for (from, to) in [("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")]
    {
        let Some(Value::Object(given)) = item.get(from).cloned() else { continue };
        let target = item.entry(to).or_insert_with(|| json!({}));
        for (name, amount) in given {
            if target.get(&name).is_none() {
                target[name] = amount;
            }
        }
    }
}

fn replication_controller(controller: &mut Map<String, Value>) {
    let Some(labels) = template_labels(controller) else { return };
    if let Some(spec) = object_in(controller, "spec") {
        set_missing(spec, "selector", labels.clone());
    }
    if let Some(metadata) = object_in(controller, "metadata") {
        set_missing(metadata, "labels", labels);
    }
}

fn template_labels(object: &Map<String, Value>) -> Option<Value> {
    object.get("spec")?.pointer("/template/metadata/labels").cloned()
}

fn namespace(namespace: &mut Map<String, Value>) {
    let Some(metadata) = object_in(namespace, "metadata") else { return };
    let name = text(metadata, "name").to_owned();
    if !name.is_empty() {
        let labels = metadata.entry("labels").or_insert_with(|| json!({}));
        labels["kubernetes.io/metadata.name"] = name.into();
    }
}

fn deployment_strategy(strategy: &mut Map<String, Value>) {
    rolling_update(strategy, json!("25%"), json!("25%"));
}

fn daemon_set_strategy(strategy: &mut Map<String, Value>) {
    rolling_update(strategy, json!(1), json!(0));
}

fn rolling_update(strategy: &mut Map<String, Value>, max_unavailable: Value, max_surge: Value) {
    let rolling = text(strategy, "type") == "RollingUpdate";
    if rolling {
        set_missing(strategy, "rollingUpdate", json!({}));
    }
    // Numbers that mean nothing are zero.
    let [max_unavailable, max_surge] =
        [max_unavailable, max_surge].map(|number| if rolling { number } else { json!(0) });
    if let Some(update) = object_in(strategy, "rollingUpdate") {
        set_missing(update, "maxUnavailable", max_unavailable);
        set_missing(update, "maxSurge", max_surge);
    }
}

fn stateful_set_strategy(strategy: &mut Map<String, Value>) {
    if text(strategy, "type").is_empty() {
        strategy.insert("type".to_owned(), "RollingUpdate".into());
        set_missing(strategy, "rollingUpdate", json!({}));
    }
    if let Some(update) = object_in(strategy, "rollingUpdate") {
        set_missing(update, "partition", 0);
    }
}

fn job(job: &mut Map<String, Value>) {
    let labels = template_labels(job);
    if let (Some(labels), Some(metadata)) = (labels, object_in(job, "metadata")) {
        set_missing(metadata, "labels", labels);
    }
    let Some(spec) = object_in(job, "spec") else { return };
    if !spec.contains_key("completions") && !spec.contains_key("parallelism") {
        spec.insert("completions".to_owned(), 1.into());
    }
    set_missing(spec, "parallelism", 1);
    let backoff = if spec.contains_key("backoffLimitPerIndex") { i32::MAX } else { 6 };
    set_missing(spec, "backoffLimit", backoff);
    set_missing(spec, "completionMode", "NonIndexed");
    set_missing(spec, "suspend", false);
    let replaced =
        if spec.contains_key("podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
    set_missing(spec, "podReplacementPolicy", replaced);
    set_missing(spec, "manualSelector", false);
}

fn subject(subject: &mut Map<String, Value>) {
    if matches!(text(subject, "kind"), "User" | "Group") {
        set_blank(subject, "apiGroup", "rbac.authorization.k8s.io");
    }
}

fn network_policy(spec: &mut Map<String, Value>) {
    if !spec.contains_key("policyTypes") {
        let types = if spec.contains_key("egress") {
            json!(["Ingress", "Egress"])
        } else {
            json!(["Ingress"])
        };
        spec.insert("policyTypes".to_owned(), types);
    }
}

fn autoscaler(spec: &mut Map<String, Value>) {
    if !spec.contains_key("metrics") {
        let target = json!({ "type": "Utilization", "averageUtilization": 80 });
        let metric = json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } });
        spec.insert("metrics".to_owned(), json!([metric]));
    }
    let Some(behavior) = object_in(spec, "behavior") else { return };
    let percent = json!({ "type": "Percent", "value": 100, "periodSeconds": 15 });
    let pods = json!({ "type": "Pods", "value": 4, "periodSeconds": 15 });
    for (direction, policies) in
        [("scaleUp", json!([pods, percent.clone()])), ("scaleDown", json!([percent]))]
    {
        set_missing(behavior, direction, json!({}));
        if let Some(rules) = object_in(behavior, direction) {
            set_missing(rules, "selectPolicy", "Max");
            set_missing(rules, "policies", policies);
            if direction == "scaleUp" {
                set_missing(rules, "stabilizationWindowSeconds", 0);
            }
        }
    }
}

fn device_request(request: &mut Map<String, Value>) {
    set_blank(request, "allocationMode", "ExactCount");
    if text(request, "allocationMode") == "ExactCount" && request.get("count").is_none_or(is_blank)
    {
        request.insert("count".to_owned(), 1.into());
    }
}

fn custom_resource_definition(definition: &mut Map<String, Value>) {
    let Some(spec) = object_in(definition, "spec") else { return };
    if let Some(names) = object_in(spec, "names") {
        let kind = text(names, "kind").to_owned();
        set_blank(names, "singular", &kind.to_lowercase());
        if !kind.is_empty() {
            set_blank(names, "listKind", &format!("{kind}List"));
        }
    }
    let stored = entries(spec, "versions")
        .find(|version| version.get("storage") == Some(&Value::Bool(true)))
        .and_then(|version| version.get("name").cloned());
    let Some(status) = object_in(definition, "status") else { return };
    let versions = status.get("storedVersions").and_then(Value::as_array);
    if let (Some(stored), true) = (stored, versions.is_none_or(Vec::is_empty)) {
        status.insert("storedVersions".to_owned(), json!([stored]));
    }
}
