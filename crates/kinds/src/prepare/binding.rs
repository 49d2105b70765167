//! Placing a pod on a node.

use serde_json::{Value, json};

use super::{World, stamp, status};
use crate::edit::{entries, object_at, text_at};

/// Places a pod as a Binding says; what it returns on refusal is the reason of a conflict.
///
/// `node_labels` are the labels of the node: where it is becomes a label of the pod too.
pub fn bind(
    pod: &mut Value,
    binding: &Value,
    node_labels: &Value,
    world: &dyn World,
) -> Result<(), String> {
    let name = text_at(pod, "/metadata/name").to_owned();
    if pod.pointer("/metadata/deletionTimestamp").is_some() {
        return Err(format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    let node = text_at(pod, "/spec/nodeName");
    if !node.is_empty() {
        return Err(format!("pod {name} is already assigned to node {node:?}"));
    }
    if pod.pointer("/spec/schedulingGates").is_some() {
        return Err(format!("pod {name} has non-empty .spec.schedulingGates"));
    }
    pod["spec"]["nodeName"] = text_at(binding, "/target/name").into();
    for field in ["annotations", "labels"] {
        let given = binding.pointer("/metadata").and_then(|metadata| metadata.get(field));
        for (key, value) in given.and_then(Value::as_object).into_iter().flatten() {
            pod["metadata"][field][key] = value.clone();
        }
    }
    for key in ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"] {
        if let Some(value) = node_labels.get(key) {
            pod["metadata"]["labels"][key] = value.clone();
        }
    }
    mark_scheduled(pod, world);
    Ok(())
}

fn mark_scheduled(pod: &mut Value, world: &dyn World) {
    if object_at(pod, "/status").is_none() {
        pod["status"] = json!({});
    }
    let Some(status) = status(pod) else { return };
    status.remove("nominatedNodeName");
    let now = stamp(world.now());
    let scheduled = entries(status, "conditions").find(|one| one["type"] == "PodScheduled");
    if let Some(condition) = scheduled {
        if condition["status"] != "True" {
            condition.insert("lastTransitionTime".to_owned(), now);
        }
        condition.insert("status".to_owned(), "True".into());
        condition.remove("reason");
        condition.remove("message");
        return;
    }
    let condition = json!({
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": null,
        "lastTransitionTime": now,
    });
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    if let Some(conditions) = conditions.as_array_mut() {
        conditions.push(condition);
    }
}
