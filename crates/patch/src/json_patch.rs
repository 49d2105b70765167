//! JSON patch (RFC 6902), with the departures of the library that the API server uses: a `replace`
//! adds what is not there, a `copy` of what is not there copies `null`, a `test` of what is not
//! there passes when it expects `null`, negative indices count from the end.

use serde_json::{Map, Value};

use crate::error::PatchError;

/// More operations are refused before any of them is tried.
const MOST_OPERATIONS: usize = 10_000;

/// What a JSON patch made.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPatched {
    /// The patched document.
    pub document: Value,
    /// Unknown fields of operations: warnings, or errors when the client asked for strict validation.
    pub unknown_fields: Vec<String>,
}

/// Applies a JSON patch to a document.
pub fn json_patch(document: &Value, patch: &Value) -> Result<JsonPatched, PatchError> {
    let operations = match patch {
        Value::Null => &[],
        Value::Array(operations) => operations.as_slice(),
        other => return Err(undecodable(other, "value of type []handlers.jsonPatchOp")),
    };
    let unknown_fields = check_types(operations)?;
    if operations.len() > MOST_OPERATIONS {
        return Err(PatchError::new(
            413,
            "RequestEntityTooLarge",
            format!(
                "Request entity too large: The allowed maximum operations in a JSON patch is \
                 {MOST_OPERATIONS}, got {}",
                operations.len()
            ),
        ));
    }
    let mut document = document.clone();
    for operation in operations {
        operate(&mut document, operation).map_err(PatchError::unprocessable)?;
    }
    Ok(JsonPatched { document, unknown_fields })
}

fn undecodable(value: &Value, target: &str) -> PatchError {
    let word = joiner_schema::go_word(value);
    PatchError::bad_request(format!(
        "error decoding patch: json: cannot unmarshal {word} into Go {target}"
    ))
}

/// Refuses operations of the wrong JSON types and lists unknown fields.
fn check_types(operations: &[Value]) -> Result<Vec<String>, PatchError> {
    let mut unknown = Vec::new();
    for (index, operation) in operations.iter().enumerate() {
        let fields = match operation {
            Value::Null => continue,
            Value::Object(fields) => fields,
            other => return Err(undecodable(other, "value of type handlers.jsonPatchOp")),
        };
        for (name, value) in fields {
            match name.as_str() {
                "op" | "path" | "from" => {
                    if !value.is_string() && !value.is_null() {
                        let target = format!("struct field jsonPatchOp.{name} of type string");
                        return Err(undecodable(value, &target));
                    }
                }
                "value" => {}
                _ => unknown.push(format!("json patch unknown field \"[{index}].{name}\"")),
            }
        }
    }
    Ok(unknown)
}

fn operate(document: &mut Value, operation: &Value) -> Result<(), String> {
    let text = |name: &str| operation.get(name).and_then(Value::as_str);
    let kind = text("op").unwrap_or("unknown");
    let path =
        || text("path").ok_or_else(|| format!("the operation {kind} has no path; give it one"));
    let from =
        || text("from").ok_or_else(|| format!("the operation {kind} has no from; give it one"));
    let value = || operation.get("value").cloned().unwrap_or(Value::Null);
    match kind {
        "add" => add(document, path()?, value()),
        "remove" => remove(document, path()?).map(drop),
        "replace" => replace(document, path()?, value()),
        "move" => {
            let moved = remove(document, from()?)?;
            add(document, path()?, moved)
        }
        "copy" => {
            let copied = read(document, from()?)?.cloned().unwrap_or(Value::Null);
            add(document, path()?, copied)
        }
        "test" => test(document, path()?, &value()),
        other => Err(format!(
            "the operation {other} is none of add, remove, replace, move, copy and test"
        )),
    }
}

/// An object or array with the name of the place in it that a path ends at.
enum Place<'a> {
    Field(&'a mut Map<String, Value>, String),
    Entry(&'a mut Vec<Value>, String),
}

/// Walks a path to the container of its last part.
fn find<'a>(document: &'a mut Value, path: &str) -> Result<Place<'a>, String> {
    let missing = || format!("{path:?} does not lead into an object or array that is there");
    let mut parts = path.split('/').map(unescape);
    // What stands before the first slash is ignored, as the API server does.
    parts.next();
    let mut part = parts.next().ok_or_else(missing)?;
    let mut container = document;
    for next in parts {
        container = match container {
            Value::Object(fields) => fields.get_mut(&part).ok_or_else(missing)?,
            Value::Array(entries) => {
                let index = index_in(&part, entries.len())?;
                &mut entries[index]
            }
            _ => return Err(missing()),
        };
        part = next;
    }
    match container {
        Value::Object(fields) => Ok(Place::Field(fields, part)),
        Value::Array(entries) => Ok(Place::Entry(entries, part)),
        _ => Err(missing()),
    }
}

fn unescape(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

/// The position of an entry in an array with `length` entries; negative ones count from the end.
fn index_in(part: &str, length: usize) -> Result<usize, String> {
    let index: i64 = part.parse().map_err(|_| format!("{part:?} is no position in an array"))?;
    let position = if index < 0 { index + length as i64 } else { index };
    usize::try_from(position)
        .ok()
        .filter(|position| *position < length)
        .ok_or_else(|| format!("position {index} is none of the {length} that are possible"))
}

fn add(document: &mut Value, path: &str, value: Value) -> Result<(), String> {
    match find(document, path)? {
        Place::Field(fields, name) => {
            fields.insert(name, value);
        }
        Place::Entry(entries, part) if part == "-" => entries.push(value),
        Place::Entry(entries, part) => {
            let index = index_in(&part, entries.len() + 1)?;
            entries.insert(index, value);
        }
    }
    Ok(())
}

fn remove(document: &mut Value, path: &str) -> Result<Value, String> {
    match find(document, path)? {
        Place::Field(fields, name) => fields
            .remove(&name)
            .ok_or_else(|| format!("there is no {name:?} to remove at {path:?}")),
        Place::Entry(entries, part) => {
            let index = index_in(&part, entries.len())?;
            Ok(entries.remove(index))
        }
    }
}

fn replace(document: &mut Value, path: &str, value: Value) -> Result<(), String> {
    if path.is_empty() {
        if !value.is_object() && !value.is_array() {
            return Err("a whole document can only be replaced by an object or an array".to_owned());
        }
        *document = value;
        return Ok(());
    }
    match find(document, path)? {
        Place::Field(fields, name) => {
            fields.insert(name, value);
        }
        Place::Entry(entries, part) => {
            let index = index_in(&part, entries.len())?;
            entries[index] = value;
        }
    }
    Ok(())
}

/// The value at a path; none where an object does not have the last field of it.
fn read<'a>(document: &'a mut Value, path: &str) -> Result<Option<&'a Value>, String> {
    match find(document, path)? {
        Place::Field(fields, name) => Ok(fields.get(&name)),
        Place::Entry(entries, part) => {
            let index = index_in(&part, entries.len())?;
            Ok(entries.get(index))
        }
    }
}

fn test(document: &mut Value, path: &str, expected: &Value) -> Result<(), String> {
    let found = if path.is_empty() { Some(&*document) } else { read(document, path)? };
    if found.unwrap_or(&Value::Null) == expected {
        Ok(())
    } else {
        Err(format!("the value at {path:?} is not {expected}"))
    }
}
