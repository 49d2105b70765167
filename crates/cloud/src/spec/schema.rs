//! Schemas of fields whose Rust types say too little, and rules for whole definitions.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

/// The keyword for CEL rules.
pub const RULES: &str = "x-kubernetes-validations";
/// The most entries of a list where a rule reads each of them. Far more than users write.
pub const LIST_MAX: u32 = 100;
/// The most entries of a map in such a list.
pub const MAP_MAX: u32 = 32;

/// A whole number, also as a string.
pub fn int_or_string(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": true,
    })
}

/// Any number, also as a string. OpenAPI schemas cannot say this, so the reader checks it.
pub fn number_or_string(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"x-kubernetes-preserve-unknown-fields": true})
}

/// Amounts by name.
pub fn quantities(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "x-kubernetes-int-or-string": true,
        },
    })
}

/// Removes `required` at any depth, for a kind whose upstream has no required fields.
pub fn without_required(schema: &mut Value) {
    let Value::Object(keywords) = schema else { return };
    keywords.remove("required");
    for keyword in ["items", "additionalProperties"] {
        keywords.get_mut(keyword).into_iter().for_each(without_required);
    }
    let properties = keywords.get_mut("properties").and_then(Value::as_object_mut);
    properties.into_iter().flat_map(Map::values_mut).for_each(without_required);
}

/// Bounds lists whose entries are looked at by rules: an API server
/// refuses a definition whose rules might take too long, and by its estimate those of a list
/// without an end would.
pub fn bound_lists_with_rules(schema: &mut Value) {
    let Value::Object(keywords) = schema else { return };
    if let Some(items) = keywords.get_mut("items")
        && bound_maps_with_rules(items)
    {
        keywords.insert("maxItems".to_owned(), json!(LIST_MAX));
    }
    let properties = keywords.get_mut("properties").and_then(Value::as_object_mut);
    properties.into_iter().flat_map(Map::values_mut).for_each(bound_lists_with_rules);
}

/// Bounds what has rules, at any depth. Says whether there is anything of the kind.
fn bound_maps_with_rules(schema: &mut Value) -> bool {
    let Value::Object(keywords) = schema else { return false };
    let mut has_rules = keywords.contains_key(RULES);
    if has_rules {
        keywords.insert("maxProperties".to_owned(), json!(MAP_MAX));
    }
    let properties = keywords.get_mut("properties").and_then(Value::as_object_mut);
    for field in properties.into_iter().flat_map(Map::values_mut) {
        has_rules |= bound_maps_with_rules(field);
    }
    has_rules
}
