//! Merge patch (RFC 7386), with one departure of the library that the API server uses: where the
//! patch brings something new, `null` also disappears from objects inside of arrays.

use serde_json::{Map, Value};

use crate::error::PatchError;

/// Applies a merge patch to an object.
pub fn merge_patch(object: &Value, patch: &Value) -> Result<Value, PatchError> {
    let patch = match patch {
        Value::Object(fields) => fields,
        Value::Null => return Err(PatchError::bad_request("Invalid JSON Patch")),
        other => {
            return Err(PatchError::bad_request(format!(
                "error decoding patch: json: cannot unmarshal {} into Go value of type \
                 map[string]interface {{}}",
                joiner_schema::go_word(other)
            )));
        }
    };
    let mut merged = object.clone();
    match &mut merged {
        Value::Object(fields) => merge(fields, patch),
        other => *other = without_nulls(&Value::Object(patch.clone())),
    }
    Ok(merged)
}

fn merge(fields: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (name, value) in patch {
        if value.is_null() {
            fields.remove(name);
            continue;
        }
        match (fields.get_mut(name), value) {
            (Some(Value::Object(current)), Value::Object(patch)) => merge(current, patch),
            (Some(current @ Value::Object(_)), value) => *current = value.clone(),
            (Some(current), value) => *current = without_nulls(value),
            (None, value) => {
                fields.insert(name.clone(), without_nulls(value));
            }
        }
    }
}

/// The value without those fields of objects that are `null`, at any depth. Entries of arrays stay.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.clone(), without_nulls(value)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(entries) => entries.iter().map(without_nulls).collect::<Vec<_>>().into(),
        other => other.clone(),
    }
}
