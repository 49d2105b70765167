//! How an object was changed, in lines that can be read.

use joiner_kinds::{
    Resource, admit_create, default, find_kind, normalize, prepare_create, prepare_update,
};
use serde_json::{Value, json};

use crate::world::Fixed;

/// The resource of an object.
pub(crate) fn resource_of(object: &Value) -> &'static Resource {
    let api_version = object["apiVersion"].as_str().expect("an apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = object["kind"].as_str().expect("a kind");
    find_kind(group, version, kind).expect("a built-in kind")
}

/// An object of a kind, with some fields.
pub(crate) fn object(api_version: &str, kind: &str, fields: Value) -> Value {
    let mut object =
        json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": "one" } });
    let target = object.as_object_mut().expect("an object");
    target.extend(fields.as_object().expect("fields").clone());
    object
}

/// What the server stores for a new object, or why it refuses it.
pub(crate) fn create(object: &Value) -> Result<Value, String> {
    let resource = resource_of(object);
    let mut stored = object.clone();
    normalize(resource, &mut stored).map_err(|error| error.to_string())?;
    stored["metadata"]["uid"] = "u-1".into();
    default(resource, &mut stored);
    admit_create(resource, &mut stored, &Fixed).map_err(|error| error.to_string())?;
    prepare_create(resource, &mut stored, &Fixed);
    stored["metadata"].as_object_mut().expect("metadata").remove("uid");
    Ok(stored)
}

/// What creating an object adds to it, drops and changes.
pub(crate) fn created(object: &Value) -> String {
    match create(object) {
        Ok(stored) => changes(object, &stored),
        Err(refusal) => refusal,
    }
}

/// What is stored after a stored object was changed, compared with what it was before.
pub(crate) fn updated(
    old: &Value,
    subresource: Option<&str>,
    change: impl FnOnce(&mut Value),
) -> String {
    let resource = resource_of(old);
    let old = create(old).expect("an object that can be created");
    let mut new = old.clone();
    change(&mut new);
    normalize(resource, &mut new).expect("an object that can be decoded");
    default(resource, &mut new);
    prepare_update(resource, subresource, &mut new, &old, &Fixed);
    changes(&old, &new)
}

/// One line per value that was added, dropped or changed.
pub(crate) fn changes(before: &Value, after: &Value) -> String {
    let mut lines = Vec::new();
    compare("", before, after, &mut lines);
    lines.iter().map(|line| line.clone() + "\n").collect()
}

fn compare(path: &str, before: &Value, after: &Value, lines: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
            names.sort();
            names.dedup();
            for name in names {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match (before.get(name), after.get(name)) {
                    (Some(before), Some(after)) => compare(&path, before, after, lines),
                    (Some(value), None) => lines.push(format!("- {path}: {value}")),
                    (None, Some(value)) => lines.push(format!("+ {path}: {value}")),
                    (None, None) => {}
                }
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (index, (before, after)) in before.iter().zip(after).enumerate() {
                compare(&format!("{path}[{index}]"), before, after, lines);
            }
        }
        _ if before == after => {}
        _ => lines.push(format!("~ {path}: {before} -> {after}")),
    }
}
