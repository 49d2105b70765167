//! Dropping what a schema does not know.

use serde_json::{Map, Value};

use crate::schema::{Additional, Schema};

/// The fields that every resource has, whatever its schema says.
pub(crate) const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The fields of `metadata`.
const OBJECT_META: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];
const OWNER_REFERENCE: [&str; 6] =
    ["apiVersion", "blockOwnerDeletion", "controller", "kind", "name", "uid"];
const MANAGED_FIELDS: [&str; 7] =
    ["apiVersion", "fieldsType", "fieldsV1", "manager", "operation", "subresource", "time"];

/// Drops the fields of a resource that its schema does not know, and returns their paths, sorted:
/// `spec.foo`, `spec.list[0].bar`. They are what a strict request is refused for.
///
/// A resource keeps `apiVersion`, `kind` and `metadata`, and of `metadata` what every object has.
pub fn prune(object: &mut Value, schema: &Schema) -> Vec<String> {
    let mut pruner = Pruner { path: Vec::new(), dropped: Vec::new() };
    pruner.prune(object, Some(schema), true);
    pruner.dropped.sort_unstable();
    pruner.dropped
}

/// Drops what is unknown in a value that is no resource: in a default, say.
pub(crate) fn prune_value(value: &mut Value, schema: &Schema) {
    let mut pruner = Pruner { path: Vec::new(), dropped: Vec::new() };
    pruner.prune(value, Some(schema), schema.embedded_resource);
}

struct Pruner {
    /// Names with their dots, and indices in brackets.
    path: Vec<String>,
    dropped: Vec<String>,
}

impl Pruner {
    fn push_key(&mut self, key: &str) {
        let dot = if self.path.is_empty() { "" } else { "." };
        self.path.push(format!("{dot}{key}"));
    }

    fn drop_field(&mut self, key: &str) {
        self.push_key(key);
        self.dropped.push(self.path.concat());
        self.path.pop();
    }

    fn prune(&mut self, value: &mut Value, schema: Option<&Schema>, resource: bool) {
        let preserve = schema.is_some_and(|schema| schema.preserve_unknown_fields);
        match value {
            Value::Object(fields) => self.prune_fields(fields, schema, resource, preserve),
            Value::Array(items) => {
                let inner = schema.and_then(|schema| schema.items.as_deref());
                if preserve && inner.is_none() {
                    return;
                }
                for (i, item) in items.iter_mut().enumerate() {
                    self.path.push(format!("[{i}]"));
                    if preserve {
                        self.prune_preserved(item, inner);
                    } else {
                        self.prune(item, inner, is_resource(inner));
                    }
                    self.path.pop();
                }
            }
            _ => {}
        }
    }

    /// An entry of an array whose unknown fields are kept: so are those of the entry.
    fn prune_preserved(&mut self, value: &mut Value, schema: Option<&Schema>) {
        let Some(schema) = schema else { return };
        match value {
            Value::Object(fields) => {
                self.prune_fields(fields, Some(schema), schema.embedded_resource, true);
            }
            Value::Array(items) => {
                for (i, item) in items.iter_mut().enumerate() {
                    self.path.push(format!("[{i}]"));
                    self.prune_preserved(item, schema.items.as_deref());
                    self.path.pop();
                }
            }
            _ => {}
        }
    }

    fn prune_fields(
        &mut self,
        fields: &mut Map<String, Value>,
        schema: Option<&Schema>,
        resource: bool,
        preserve: bool,
    ) {
        let mut unknown = Vec::new();
        for (key, value) in fields.iter_mut() {
            if resource && META_FIELDS.contains(&key.as_str()) {
                if key == "metadata" {
                    self.prune_metadata(value);
                }
                continue;
            }
            let inner = schema.and_then(|schema| {
                let property = schema.properties.get(key).map(|property| Some(property.as_ref()));
                property.or_else(|| match &schema.additional {
                    None => None,
                    Some(Additional::Allowed(_)) => Some(None),
                    Some(Additional::Schema(values)) => Some(Some(values.as_ref())),
                })
            });
            match inner {
                Some(inner) => {
                    self.push_key(key);
                    self.prune(value, inner, is_resource(inner));
                    self.path.pop();
                }
                None if preserve => {}
                None => unknown.push(key.clone()),
            }
        }
        for key in unknown {
            self.drop_field(&key);
            fields.remove(&key);
        }
    }

    fn prune_metadata(&mut self, metadata: &mut Value) {
        let Value::Object(fields) = metadata else { return };
        if fields.get("creationTimestamp") == Some(&Value::Null) {
            fields.remove("creationTimestamp");
        }
        self.push_key("metadata");
        self.keep(fields, &OBJECT_META);
        for (list, known) in
            [("ownerReferences", &OWNER_REFERENCE[..]), ("managedFields", &MANAGED_FIELDS[..])]
        {
            let Some(Value::Array(items)) = fields.get_mut(list) else { continue };
            for (i, item) in items.iter_mut().enumerate() {
                if let Value::Object(fields) = item {
                    self.path.push(format!(".{list}[{i}]"));
                    self.keep(fields, known);
                    self.path.pop();
                }
            }
        }
        self.path.pop();
    }

    fn keep(&mut self, fields: &mut Map<String, Value>, known: &[&str]) {
        let unknown: Vec<String> =
            fields.keys().filter(|key| !known.contains(&key.as_str())).cloned().collect();
        for key in unknown {
            self.drop_field(&key);
            fields.remove(&key);
        }
    }
}

fn is_resource(schema: Option<&Schema>) -> bool {
    schema.is_some_and(|schema| schema.embedded_resource)
}
