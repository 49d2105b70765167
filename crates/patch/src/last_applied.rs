//! The annotation in which `kubectl apply` keeps what it applied when it does so on the client's
//! side. After a move to server-side apply, kubectl keeps the applied fields without a conflict. The
//! annotation stays correct for a move back.

use serde_json::Value;

use crate::{fields::FieldSet, go, typed, update::Endpoint};

/// The manager for which all of this happens.
pub(crate) const KUBECTL: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// More than this in all annotations together is refused.
const MOST_ANNOTATION_BYTES: usize = 256 * 1024;

/// The fields that are in the live object as they were last applied on the client's side; none if
/// nothing was.
pub(crate) fn unchanged_since(endpoint: &Endpoint<'_>, live: &Value) -> Option<FieldSet> {
    let text = annotation(live)?;
    let last: Value = serde_json::from_str(text).ok()?;
    if last.get("apiVersion").and_then(Value::as_str) != Some(endpoint.api_version) {
        return None;
    }
    let shape = endpoint.shape();
    if !typed::validate(&last, shape).is_empty() {
        return None;
    }
    let comparison = endpoint.compare((&last, false), (live, true)).ok()?;
    let set = typed::field_set(&last, shape);
    Some(set.difference(&comparison.changed).difference(&comparison.removed))
}

/// Brings the annotation up to date if the object has it.
pub(crate) fn renew(object: &mut Value, applied: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let mut applied = applied.clone();
    let annotations = applied.get_mut("metadata").and_then(|m| m.get_mut("annotations"));
    if let Some(Value::Object(annotations)) = annotations {
        annotations.remove(ANNOTATION);
    }
    // The encoder of the API server ends documents with a newline.
    let text = format!("{}\n", go::json(&applied));
    let annotations = object.get_mut("metadata").and_then(|m| m.get_mut("annotations"));
    let Some(Value::Object(annotations)) = annotations else { return };
    annotations.insert(ANNOTATION.to_owned(), Value::String(text));
    let size: usize = annotations
        .iter()
        .map(|(name, value)| name.len() + value.as_str().map_or(0, str::len))
        .sum();
    if size > MOST_ANNOTATION_BYTES {
        annotations.remove(ANNOTATION);
    }
}

fn annotation(object: &Value) -> Option<&str> {
    let annotations = object.get("metadata")?.get("annotations")?;
    annotations.get(ANNOTATION)?.as_str().filter(|text| !text.is_empty())
}
