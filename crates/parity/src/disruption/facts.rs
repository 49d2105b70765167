//! What objects say, as far as instances and their pods are concerned.

use serde_json::Value;

pub(super) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// `namespace/name`.
pub(super) fn key(object: &Value) -> String {
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default");
    format!("{namespace}/{}", name(object))
}

pub(super) fn label<'o>(object: &'o Value, key: &str) -> &'o str {
    object["metadata"]["labels"][key].as_str().unwrap_or_default()
}

pub(super) fn annotation<'o>(object: &'o Value, key: &str) -> Option<&'o str> {
    object["metadata"]["annotations"][key].as_str()
}

/// Whether a condition is true.
pub(super) fn holds(object: &Value, condition: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|it| it["type"] == condition && it["status"] == "True")
}

fn is_owned_by(pod: &Value, kind: &str) -> bool {
    let owners = pod["metadata"]["ownerReferences"].as_array();
    owners.into_iter().flatten().any(|owner| owner["kind"] == kind)
}

/// Whether a pod runs and is to go on.
pub(super) fn is_active(pod: &Value) -> bool {
    pod["metadata"]["deletionTimestamp"].is_null()
        && pod["status"]["phase"] != "Succeeded"
        && pod["status"]["phase"] != "Failed"
}

/// Whether a pod needs another place when its node goes.
pub(super) fn is_reschedulable(pod: &Value) -> bool {
    is_active(pod) && !is_owned_by(pod, "DaemonSet") && !is_owned_by(pod, "Node")
}

/// Whether a selector of labels, of those that are generated, selects an object.
pub(super) fn selects(selector: &Value, object: &Value) -> bool {
    let labels = selector["matchLabels"].as_object();
    labels.is_some_and(|labels| {
        labels.iter().all(|(key, value)| object["metadata"]["labels"][key] == *value)
    })
}
