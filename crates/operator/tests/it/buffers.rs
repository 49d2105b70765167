//! §6.6 and EE-09: room that is kept free.

mod resolution;
mod story;

use serde_json::{Value, json};

/// A buffer of the default namespace with this spec.
fn buffer(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "autoscaling.x-k8s.io/v1beta1",
        "kind": "CapacityBuffer",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    })
}

/// A template of a pod that asks for this much CPU.
fn template(name: &str, cpu: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": name, "namespace": "default"},
        "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [{
                "name": "app",
                "image": "registry.example/app:1",
                "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}},
            }]},
        },
    })
}

/// A condition of a buffer: status, reason and message.
fn condition(buffer: &Value, type_: &str) -> String {
    let conditions = buffer["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.iter().find(|condition| condition["type"] == type_);
    let text = |condition: &Value, field: &str| condition[field].as_str().unwrap().to_owned();
    found.map_or("nothing said".to_owned(), |found| {
        format!("{} {}: {}", text(found, "status"), text(found, "reason"), text(found, "message"))
    })
}
