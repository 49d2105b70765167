//! The scale subresource: a workload seen as a number of replicas.

use joiner_schema::FieldError;
use serde_json::{Value, json};

use crate::{Resource, edit::text_at};

/// The scale of a workload; none if the resource has none.
pub fn scale(resource: &Resource, object: &Value) -> Option<Value> {
    resource.subresource("scale")?;
    let mut metadata = json!({});
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = object.pointer("/metadata").and_then(|metadata| metadata.get(field)) {
            metadata[field] = value.clone();
        }
    }
    let number = |place| object.pointer(place).and_then(Value::as_i64).unwrap_or_default();
    let replicas = number("/spec/replicas");
    let mut scale = json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": {},
        "status": { "replicas": number("/status/replicas") },
    });
    if replicas != 0 {
        scale["spec"]["replicas"] = replicas.into();
    }
    let selector = selector_text(&object["spec"]["selector"]);
    if !selector.is_empty() {
        scale["status"]["selector"] = selector.into();
    }
    Some(scale)
}

/// Gives a workload the number of replicas that a scale asks for.
pub fn set_scale(object: &mut Value, scale: &Value) -> Result<(), FieldError> {
    let replicas = scale.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or_default();
    if replicas < 0 {
        let detail = "must be greater than or equal to 0";
        return Err(FieldError::invalid("spec.replicas", replicas, detail));
    }
    object["spec"]["replicas"] = replicas.into();
    Ok(())
}

/// A selector in the notation of command lines: `app=web,tier in (a,b)`.
fn selector_text(selector: &Value) -> String {
    let strict =
        selector.get("matchLabels").is_some() || selector.get("matchExpressions").is_some();
    let labels = if strict { &selector["matchLabels"] } else { selector };
    let mut terms: Vec<(&str, String)> = Vec::new();
    for (key, value) in labels.as_object().into_iter().flatten() {
        terms.push((key, format!("{key}={}", value.as_str().unwrap_or_default())));
    }
    for expression in selector["matchExpressions"].as_array().into_iter().flatten() {
        let key = text_at(expression, "/key");
        let values = expression["values"].as_array().into_iter().flatten();
        let mut values: Vec<&str> = values.filter_map(Value::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        let term = match text_at(expression, "/operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            _ => format!("!{key}"),
        };
        terms.push((key, term));
    }
    terms.sort_by_key(|(key, _)| *key);
    terms.into_iter().map(|(_, term)| term).collect::<Vec<_>>().join(",")
}
