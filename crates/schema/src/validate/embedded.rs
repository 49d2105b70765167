//! Resources within resources: they have a version, a kind and metadata of their own.

use serde_json::{Map, Value};

use crate::{
    error::FieldError,
    meta,
    names::{self, NameRule},
    path::Path,
    schema::Schema,
};

/// Checks the resources in `value`, and itself if it is one.
pub(super) fn validate(
    schema: &Schema,
    value: &Value,
    path: &Path<'_>,
    resource: bool,
    errors: &mut Vec<FieldError>,
) {
    match value {
        Value::Object(fields) => {
            if resource {
                validate_resource(fields, path, errors);
            }
            for (key, field) in fields {
                if let Some(property) = schema.properties.get(key) {
                    let resource = property.embedded_resource;
                    validate(property, field, &path.field(key), resource, errors);
                } else if let Some(values) = schema.additional_schema() {
                    let resource = values.embedded_resource;
                    validate(values, field, &path.key(key), resource, errors);
                }
            }
        }
        Value::Array(items) => {
            if let Some(inner) = &schema.items {
                for (i, item) in items.iter().enumerate() {
                    validate(inner, item, &path.index(i), inner.embedded_resource, errors);
                }
            }
        }
        _ => {}
    }
}

fn validate_resource(fields: &Map<String, Value>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    for name in ["apiVersion", "kind"] {
        if !fields.contains_key(name) {
            errors.push(FieldError::required(path.field(name).show(), ""));
        }
    }
    if let Some(value) = fields.get("apiVersion") {
        let wrong = match value.as_str() {
            None => Some("must be a string".to_owned()),
            Some("") => Some("must not be empty".to_owned()),
            Some(version) if version.matches('/').count() > 1 => {
                Some(format!("unexpected GroupVersion string: {version}"))
            }
            Some(_) => None,
        };
        let refuse =
            |words| FieldError::invalid(path.field("apiVersion").show(), value.clone(), words);
        errors.extend(wrong.map(refuse));
    }
    if let Some(value) = fields.get("kind") {
        let wrong = match value.as_str() {
            None => Some("must be a string".to_owned()),
            Some("") => Some("must not be empty".to_owned()),
            Some(kind) => {
                let wrong = names::dns1035_label(&kind.to_lowercase());
                (!wrong.is_empty()).then(|| {
                    let wrong = wrong.join(",");
                    format!("may have mixed case, but should otherwise match: {wrong}")
                })
            }
        };
        let refuse = |words| FieldError::invalid(path.field("kind").show(), value.clone(), words);
        errors.extend(wrong.map(refuse));
    }
    match fields.get("metadata") {
        None => {}
        Some(Value::Object(metadata)) => {
            let mut metadata = metadata.clone();
            if metadata.get("name").and_then(Value::as_str).unwrap_or_default().is_empty() {
                // A name is not required here, but the rules for it are the same.
                metadata.insert("name".to_owned(), Value::from("fakename"));
            }
            let namespaced = metadata
                .get("namespace")
                .and_then(Value::as_str)
                .is_some_and(|namespace| !namespace.is_empty());
            errors.extend(meta::validate_object_meta(
                &Value::Object(metadata),
                namespaced,
                NameRule::PathSegment,
                &path.field("metadata").show(),
            ));
        }
        Some(other) => {
            let found = match other {
                Value::String(_) => "string",
                Value::Array(_) => "array",
                Value::Bool(_) => "bool",
                Value::Number(_) => "number",
                Value::Null | Value::Object(_) => return,
            };
            let words =
                format!("json: cannot unmarshal {found} into Go value of type v1.ObjectMeta");
            let field = path.field("metadata").show();
            errors.push(FieldError::invalid(field, other.clone(), words));
        }
    }
}
