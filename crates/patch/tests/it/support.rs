//! Schemas for tests, read from the form in which OpenAPI has them.

use std::{collections::BTreeMap, sync::Arc, sync::LazyLock};

use joiner_patch::{Endpoint, FieldSet, PatchError};
use joiner_schema::{Additional, ListType, Patch, Schema, Type};
use serde_json::{Map, Value, json};

/// What the API server publishes about some built-in types, cut down to what the tests use.
static BUILT_IN: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("schemas/builtin.json")).expect("the file is JSON")
});

/// The schema of a Deployment.
pub(crate) static DEPLOYMENT: LazyLock<Arc<Schema>> =
    LazyLock::new(|| built_in("io.k8s.api.apps.v1.Deployment"));

/// The schema of a custom resource with everything that matters to merging.
pub(crate) static WIDGET: LazyLock<Arc<Schema>> = LazyLock::new(|| {
    read(&serde_json::from_str(include_str!("schemas/widget.json")).expect("the file is JSON"))
});

fn built_in(name: &str) -> Arc<Schema> {
    read(&json!({"$ref": name}))
}

/// Reads a schema; `$ref` names a built-in type.
pub(crate) fn read(value: &Value) -> Arc<Schema> {
    if let Some(name) = value.get("$ref").and_then(Value::as_str) {
        let mut schema = Schema::clone(&read(&BUILT_IN[name]));
        schema.name = Some(name.into());
        schema.default = value.get("default").cloned();
        schema.patch = patch(value);
        return Arc::new(schema);
    }
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let flag = |name: &str| value.get(name) == Some(&json!(true));
    let texts = |name: &str| -> Vec<String> {
        let list = value.get(name).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(|v| v.as_str().map(str::to_owned)).collect()
    };
    let properties = value.get("properties").and_then(Value::as_object);
    let properties: BTreeMap<String, Arc<Schema>> =
        properties.into_iter().flatten().map(|(name, field)| (name.clone(), read(field))).collect();
    Arc::new(Schema {
        kind: text("type").map(|kind| match kind {
            "object" => Type::Object,
            "array" => Type::Array,
            "string" => Type::String,
            "integer" => Type::Integer,
            "number" => Type::Number,
            _ => Type::Boolean,
        }),
        int_or_string: flag("x-kubernetes-int-or-string"),
        preserve_unknown_fields: flag("x-kubernetes-preserve-unknown-fields"),
        properties,
        additional: value.get("additionalProperties").map(|additional| match additional {
            Value::Bool(allowed) => Additional::Allowed(*allowed),
            schema => Additional::Schema(read(schema)),
        }),
        items: value.get("items").map(read),
        required: texts("required"),
        default: value.get("default").cloned(),
        list_type: text("x-kubernetes-list-type").map(|kind| match kind {
            "atomic" => ListType::Atomic,
            "set" => ListType::Set,
            _ => ListType::Map,
        }),
        list_map_keys: texts("x-kubernetes-list-map-keys"),
        atomic_map: text("x-kubernetes-map-type") == Some("atomic"),
        patch: patch(value),
        format: text("format").map(str::to_owned),
        ..Schema::default()
    })
}

fn patch(value: &Value) -> Option<Patch> {
    let strategy = value.get("x-kubernetes-patch-strategy")?.as_str()?;
    Some(Patch {
        merge: strategy.contains("merge"),
        retain_keys: strategy.contains("retainKeys"),
        merge_key: value
            .get("x-kubernetes-patch-merge-key")
            .and_then(Value::as_str)
            .map(str::to_owned),
    })
}

static STATUS: LazyLock<FieldSet> = LazyLock::new(|| FieldSet::of_fields([&["status"][..]]));
static ALL_BUT_STATUS: LazyLock<FieldSet> =
    LazyLock::new(|| FieldSet::of_fields([&["spec"][..], &["metadata", "labels"]]));

/// The endpoint of Deployments, or that of one of their subresources.
pub(crate) fn deployments(subresource: &'static str) -> Endpoint<'static> {
    Endpoint {
        schema: &DEPLOYMENT,
        kind: "Deployment",
        api_version: "apps/v1",
        versions: &[],
        subresource,
        reset_fields: if subresource == "status" { &ALL_BUT_STATUS } else { &STATUS },
        custom: false,
        empty: None,
    }
}

/// Two lines of a table: a patch, and what came of it.
pub(crate) fn row(patch: &Value, outcome: Result<String, PatchError>) -> String {
    let outcome =
        outcome.unwrap_or_else(|error| format!("{} {} {error}", error.code, error.reason));
    format!("{patch}\n    {outcome}\n")
}

/// A line per manager: its name, how it came to own fields, when, and which.
pub(crate) fn owners(object: &Value) -> String {
    let entries = object["metadata"]["managedFields"].as_array();
    let lines = entries.into_iter().flatten().map(|entry| {
        let text = |name: &str| entry[name].as_str().unwrap_or("-");
        let (manager, operation, time) = (text("manager"), text("operation"), text("time"));
        let subresource = match entry["subresource"].as_str() {
            Some(subresource) => format!("/{subresource}"),
            None => String::new(),
        };
        format!("{manager} {operation}{subresource} {time} {}\n", entry["fieldsV1"])
    });
    lines.collect::<Vec<_>>().concat()
}
