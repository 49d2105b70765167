//! Lists that are sets or maps have no entry twice.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::{
    error::FieldError,
    path::Path,
    schema::{ListType, Schema},
};

/// Finds entries that are there twice, in `value` and below.
pub(super) fn validate(
    schema: &Schema,
    value: &Value,
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    match value {
        Value::Object(fields) => {
            if let Some(values) = schema.additional_schema() {
                for (key, field) in fields {
                    validate(values, field, &path.key(key), errors);
                }
            }
            for (key, field) in fields {
                if let Some(property) = schema.properties.get(key) {
                    validate(property, field, &path.field(key), errors);
                }
            }
        }
        Value::Array(items) => {
            match schema.list_type {
                Some(ListType::Set) => {
                    for i in repeated(items.iter()) {
                        errors.push(FieldError::duplicate(path.index(i).show(), items[i].clone()));
                    }
                }
                Some(ListType::Map) => validate_map(schema, items, path, errors),
                Some(ListType::Atomic) | None => {}
            }
            if let Some(inner) = &schema.items {
                for (i, item) in items.iter().enumerate() {
                    validate(inner, item, &path.index(i), errors);
                }
            }
        }
        _ => {}
    }
}

/// The places at which values stand for the second time; third times are not told.
fn repeated<'v>(values: impl Iterator<Item = &'v Value>) -> Vec<usize> {
    let mut seen: HashMap<String, u32> = HashMap::new();
    let mut places = Vec::new();
    for (i, value) in values.enumerate() {
        let times = seen.entry(value.to_string()).or_default();
        *times += 1;
        if *times == 2 {
            places.push(i);
        }
    }
    places
}

fn validate_map(schema: &Schema, items: &[Value], path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if let Some((i, item)) =
        items.iter().enumerate().find(|(_, item)| !item.is_object() && !item.is_null())
    {
        let words = "must be an object for an array of list-type map";
        errors.push(FieldError::invalid(path.index(i).show(), item.clone(), words));
        return;
    }
    let keys: Vec<Value> = items
        .iter()
        .map(|item| {
            let key = |name: &String| Some((name.clone(), item.get(name)?.clone()));
            Value::Object(schema.list_map_keys.iter().filter_map(key).collect::<Map<_, _>>())
        })
        .collect();
    for i in repeated(keys.iter()) {
        errors.push(FieldError::duplicate(path.index(i).show(), keys[i].clone()));
    }
}
