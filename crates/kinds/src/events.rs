//! Events have two faces: `v1` and `events.k8s.io/v1`. They are stored as the former.

use serde_json::{Map, Value};

use crate::decode::normalize_type;

/// Names of fields in `v1` and in `events.k8s.io/v1`, where they differ.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// An event of `events.k8s.io/v1` as one of `v1`.
pub fn event_to_core(event: &Value) -> Value {
    renamed(event, "v1", "core.v1.Event", |name| {
        NAMES.iter().find(|(_, new)| *new == name).map(|(old, _)| *old)
    })
}

/// An event of `v1` as one of `events.k8s.io/v1`.
pub fn event_from_core(event: &Value) -> Value {
    renamed(event, "events.k8s.io/v1", "events.v1.Event", |name| {
        NAMES.iter().find(|(old, _)| *old == name).map(|(_, new)| *new)
    })
}

fn renamed(
    event: &Value,
    api_version: &str,
    type_name: &str,
    other_name: impl Fn(&str) -> Option<&'static str>,
) -> Value {
    let fields = event.as_object().into_iter().flatten();
    let mut renamed: Map<String, Value> = fields
        .map(|(name, value)| (other_name(name).unwrap_or(name).to_owned(), value.clone()))
        .collect();
    renamed.insert("apiVersion".to_owned(), api_version.into());
    let mut event = Value::Object(renamed);
    // Only empty fields are added or dropped: the event was decoded before.
    let decoded = normalize_type(type_name, &mut event);
    debug_assert!(decoded.is_ok_and(|decoded| decoded.unknown.is_empty()), "{event}");
    event
}
