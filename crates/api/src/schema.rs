//! Common parts of the JSON schemas in our CRDs.
//!
//! The rules are Karpenter's. Patterns and CEL rules are repeated exactly, because both must accept the same
//! objects. They are attached to the types with `#[schemars(extend(…))]`. A keyword extended with `null` is removed
//! again by `tidy`.

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema};
use serde_json::{Map, Value, json};

/// A label key: a name with an optional DNS domain in front.
pub(crate) const QUALIFIED_NAME: &str = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$";
/// A label value, which may be empty.
pub(crate) const LABEL_VALUE: &str = "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$";
/// A Kubernetes quantity.
pub const QUANTITY: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

/// A CEL rule, with the message of the API server for objects that break it.
pub(crate) struct Rule {
    pub(crate) message: &'static str,
    pub(crate) rule: &'static str,
}

/// The value of `x-kubernetes-validations`.
pub(crate) fn validations(rules: &[&Rule]) -> Value {
    rules.iter().map(|rule| json!({ "message": rule.message, "rule": rule.rule })).collect()
}

/// Amounts by resource name.
pub fn resource_list(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": {
            "anyOf": [{ "type": "integer" }, { "type": "string" }],
            "pattern": QUANTITY,
            "x-kubernetes-int-or-string": true,
        },
    })
}

/// Taints of a node. The schema is explicit, because that of the Kubernetes type is too permissive.
pub(crate) fn taints(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "atomic",
        "items": {
            "description": "Keeps pods away that do not tolerate it.",
            "type": "object",
            "required": ["effect", "key"],
            "properties": {
                "effect": {
                    "description": "What happens to pods that do not tolerate the taint.",
                    "type": "string",
                    "enum": ["NoSchedule", "PreferNoSchedule", "NoExecute"],
                },
                "key": {
                    "description": "What the taint is about, written like a label's key.",
                    "type": "string",
                    "minLength": 1,
                    "pattern": QUALIFIED_NAME,
                },
                "timeAdded": {
                    "description": "When the taint was put on the node.",
                    "type": "string",
                    "format": "date-time",
                },
                "value": {
                    "description": "Compared with the value of a toleration.",
                    "type": "string",
                    "pattern": QUALIFIED_NAME,
                },
            },
        },
    })
}

/// The schema of a custom resource, in the form that CRDs require.
pub fn of<K: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<K>().to_value();
    tidy(&mut schema);
    schema
}

/// Removes the parts that schemars derives from Rust types and that have no meaning in the API.
///
/// The API server removes nulls itself, so no type includes null. An empty default only means that deserialization
/// is lenient.
fn tidy(schema: &mut Value) {
    let Value::Object(keywords) = schema else { return };
    keywords.remove("title");
    keywords.retain(|keyword, value| match keyword.as_str() {
        "default" => !is_empty(value),
        _ => !value.is_null(),
    });
    if let Some(Value::String(description)) = keywords.get_mut("description") {
        *description = unwrapped(description);
    }
    if let Some(Value::Array(types)) = keywords.get_mut("type") {
        types.retain(|name| name != "null");
        if let [single] = types.as_slice() {
            let single = single.clone();
            keywords.insert("type".to_owned(), single);
        }
    }
    for keyword in ["items", "additionalProperties"] {
        keywords.get_mut(keyword).into_iter().for_each(tidy);
    }
    let properties = keywords.get_mut("properties").and_then(Value::as_object_mut);
    properties.into_iter().flat_map(Map::values_mut).for_each(tidy);
}

/// A doc comment as flowing text: its paragraphs, without the line breaks of the source.
fn unwrapped(comment: &str) -> String {
    let paragraphs: Vec<String> =
        comment.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect();
    paragraphs.join("\n\n")
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}
