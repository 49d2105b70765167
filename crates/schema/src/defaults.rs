//! Filling in what was not given.

use serde_json::Value;

use crate::schema::Schema;

/// Fills in the defaults of `schema`, everywhere in `value`.
///
/// A `null` that the schema does not allow counts as not given: it becomes the default, or is
/// dropped where there is none.
pub fn apply_defaults(value: &mut Value, schema: &Schema) {
    drop_nulls(value, Some(schema));
    fill(value, Some(schema));
}

/// Fills in defaults and leaves every `null` that has none.
pub fn fill_defaults(value: &mut Value, schema: &Schema) {
    fill(value, Some(schema));
}

/// The schema of a field, by its own name or as one of a map's values.
fn field_schema<'s>(schema: &'s Schema, key: &str) -> Option<&'s Schema> {
    let property = schema.properties.get(key).or_else(|| schema.additional_schema());
    property.map(AsRef::as_ref)
}

fn drop_nulls(value: &mut Value, schema: Option<&Schema>) {
    match value {
        Value::Object(fields) => {
            let inner = |key: &str| schema.and_then(|schema| field_schema(schema, key));
            fields.retain(|key, value| {
                !(value.is_null()
                    && inner(key).is_some_and(|field| !field.nullable && field.default.is_none()))
            });
            for (key, value) in fields.iter_mut() {
                let field = schema.and_then(|schema| field_schema(schema, key));
                drop_nulls(value, field);
            }
        }
        Value::Array(items) => {
            let inner = schema.and_then(|schema| schema.items.as_deref());
            for item in items {
                drop_nulls(item, inner);
            }
        }
        _ => {}
    }
}

fn fill(value: &mut Value, schema: Option<&Schema>) {
    let Some(schema) = schema else { return };
    match value {
        Value::Object(fields) => {
            for (key, property) in &schema.properties {
                let Some(default) = &property.default else { continue };
                let missing = match fields.get(key) {
                    None => true,
                    Some(value) => value.is_null() && !property.nullable,
                };
                if missing {
                    fields.insert(key.clone(), default.clone());
                }
            }
            for (key, value) in fields.iter_mut() {
                let field = field_schema(schema, key);
                if !schema.properties.contains_key(key) {
                    replace_null(value, field);
                }
                fill(value, field);
            }
        }
        Value::Array(items) => {
            let inner = schema.items.as_deref();
            for item in items {
                replace_null(item, inner);
                fill(item, inner);
            }
        }
        _ => {}
    }
}

fn replace_null(value: &mut Value, schema: Option<&Schema>) {
    if let Some(schema) = schema
        && value.is_null()
        && !schema.nullable
        && let Some(default) = &schema.default
    {
        *value = default.clone();
    }
}
