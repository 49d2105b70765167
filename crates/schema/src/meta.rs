//! The rules of `metadata` that hold for objects of every kind.

use serde_json::Value;

use crate::{
    error::{ErrorKind, FieldError},
    names::{self, NameRule},
    text,
};

/// Keys and values of all annotations together, in bytes.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;
/// The longest name of a field manager, in bytes.
const MANAGER_LIMIT: usize = 128;
/// The longest name of a subresource in `managedFields`, in bytes.
const SUBRESOURCE_LIMIT: usize = 256;

/// What is wrong with the metadata of an object that is created. A name has been generated before
/// if one was asked for.
pub fn validate_object_meta(
    metadata: &Value,
    namespaced: bool,
    names: NameRule,
    path: &str,
) -> Vec<FieldError> {
    validate_whole(metadata, None, namespaced, names, path)
}

/// The same for an object of which an earlier version is stored, and so has no faults: most writes
/// change next to nothing in the metadata, and only what they change is looked at.
pub fn validate_changed_object_meta(
    metadata: &Value,
    stored: &Value,
    namespaced: bool,
    names: NameRule,
    path: &str,
) -> Vec<FieldError> {
    validate_whole(metadata, Some(stored), namespaced, names, path)
}

fn validate_whole(
    metadata: &Value,
    stored: Option<&Value>,
    namespaced: bool,
    names: NameRule,
    path: &str,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let is_new = |field: &str| stored.is_none_or(|stored| stored.get(field) != metadata.get(field));
    let generate_name = text_of(metadata, "generateName");
    if !generate_name.is_empty() && is_new("generateName") {
        let field = format!("{path}.generateName");
        let wrong = names.check(generate_name, true);
        errors.extend(
            wrong.into_iter().map(|words| FieldError::invalid(&field, generate_name, words)),
        );
    }
    if is_new("name") {
        let name = text_of(metadata, "name");
        let field = format!("{path}.name");
        if name.is_empty() {
            errors.push(FieldError::required(field, "name or generateName is required"));
        } else {
            let wrong = names.check(name, false);
            errors.extend(wrong.into_iter().map(|words| FieldError::invalid(&field, name, words)));
        }
    }
    if is_new("namespace") {
        let namespace = text_of(metadata, "namespace");
        let field = format!("{path}.namespace");
        match (namespaced, namespace.is_empty()) {
            (true, true) => errors.push(FieldError::required(field, "")),
            (true, false) => errors.extend(
                names::dns1123_label(namespace)
                    .into_iter()
                    .map(|words| FieldError::invalid(&field, namespace, words)),
            ),
            (false, true) => {}
            (false, false) => errors.push(FieldError::forbidden(field, "not allowed on this type")),
        }
    }
    let generation = whole_of(metadata, "generation");
    if generation < 0 {
        let words = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(format!("{path}.generation"), generation, words));
    }
    for (field, check) in [
        ("labels", validate_labels as Check),
        ("annotations", validate_annotations),
        ("ownerReferences", validate_owner_references),
        ("finalizers", validate_finalizers),
        ("managedFields", validate_managed_fields),
    ] {
        errors.extend(validate_part(metadata, stored, field, path, check));
    }
    errors
}

/// What is wrong with the metadata of an object that is updated. The old object is stored and so
/// has no faults: what is as it was is not looked at.
pub fn validate_object_meta_update(new: &Value, old: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if given(old, "deletionTimestamp").is_some() {
        errors.extend(no_new_finalizers(new, old, &format!("{path}.finalizers")));
    }
    if text_of(new, "resourceVersion").is_empty() {
        let field = format!("{path}.resourceVersion");
        errors.push(FieldError::invalid(field, "", "must be specified for an update"));
    }
    let generation = whole_of(new, "generation");
    if generation < whole_of(old, "generation") {
        let field = format!("{path}.generation");
        errors.push(FieldError::invalid(field, generation, "must not be decremented"));
    }
    for field in ["name", "namespace", "uid"] {
        let value = text_of(new, field);
        if value != text_of(old, field) {
            errors.push(FieldError::invalid(format!("{path}.{field}"), value, IMMUTABLE));
        }
    }
    for field in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let value = given(new, field);
        if value != given(old, field) {
            let shown = value.cloned().unwrap_or(Value::Null);
            errors.push(FieldError::invalid(format!("{path}.{field}"), shown, IMMUTABLE));
        }
    }
    for (field, check) in [
        ("labels", validate_labels as Check),
        ("annotations", validate_annotations),
        ("ownerReferences", validate_owner_references),
        ("managedFields", validate_managed_fields),
    ] {
        errors.extend(validate_part(new, Some(old), field, path, check));
    }
    errors
}

/// What checks a part of the metadata.
type Check = fn(Option<&Value>, &str) -> Vec<FieldError>;

/// What is wrong with a part of the metadata, if it is there and not as it is stored.
fn validate_part(
    metadata: &Value,
    stored: Option<&Value>,
    field: &str,
    path: &str,
    check: Check,
) -> Vec<FieldError> {
    match metadata.get(field) {
        None => Vec::new(),
        part if stored.is_some_and(|stored| stored.get(field) == part) => Vec::new(),
        part => check(part, &format!("{path}.{field}")),
    }
}

const IMMUTABLE: &str = "field is immutable";

/// What is wrong with labels.
pub fn validate_labels(labels: Option<&Value>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in entries(labels, path, &mut errors) {
        let wrong = names::qualified_name(key);
        errors.extend(wrong.into_iter().map(|words| FieldError::invalid(path, key, words)));
        let wrong = names::label_value(value);
        errors.extend(wrong.into_iter().map(|words| FieldError::invalid(path, value, words)));
    }
    errors
}

/// What is wrong with annotations.
pub fn validate_annotations(annotations: Option<&Value>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let entries = entries(annotations, path, &mut errors);
    for (key, _) in &entries {
        let wrong = names::qualified_name(&key.to_lowercase());
        errors.extend(wrong.into_iter().map(|words| FieldError::invalid(path, *key, words)));
    }
    let size: usize = entries.iter().map(|(key, value)| key.len() + value.len()).sum();
    if size > ANNOTATIONS_LIMIT {
        errors.push(FieldError::too_long(path, ANNOTATIONS_LIMIT as u64));
    }
    errors
}

/// What is wrong with owner references.
pub fn validate_owner_references(owners: Option<&Value>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut controller: Option<String> = None;
    for owner in list(owners, path, &mut errors) {
        let (api_version, kind) = (text_of(owner, "apiVersion"), text_of(owner, "kind"));
        if version_of(api_version).is_empty() {
            let field = format!("{path}.apiVersion");
            errors.push(FieldError::invalid(field, api_version, "version must not be empty"));
        }
        for field in ["kind", "name", "uid"] {
            if text_of(owner, field).is_empty() {
                errors.push(FieldError::invalid(
                    format!("{path}.{field}"),
                    "",
                    "must not be empty",
                ));
            }
        }
        if (api_version, kind) == ("v1", "Event") {
            let words = "/v1, Kind=Event is disallowed from being an owner";
            errors.push(refused_owners(path, &shown_owner(owner), words));
        }
        if given(owner, "controller") == Some(&Value::Bool(true)) {
            let this = format!("{kind}/{}", text_of(owner, "name"));
            if let Some(first) = &controller {
                let words = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in \
                     references for {first} and {this}"
                );
                let all: Vec<String> =
                    list(owners, path, &mut Vec::new()).into_iter().map(shown_owner).collect();
                errors.push(refused_owners(path, &format!("[{}]", all.join(",")), &words));
            } else {
                controller = Some(this);
            }
        }
    }
    errors
}

/// An owner reference with its fields in the order in which the API server writes them.
fn shown_owner(owner: &Value) -> String {
    let fields = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    let given = fields.into_iter().filter_map(|name| Some((name, given(owner, name)?)));
    let shown: Vec<String> =
        given.map(|(name, value)| format!("\"{name}\":{}", text::json(value))).collect();
    format!("{{{}}}", shown.join(","))
}

/// An error about owners. JSON values have no order, hence the owners are part of the detail.
fn refused_owners(path: &str, shown: &str, words: &str) -> FieldError {
    FieldError::new(ErrorKind::Invalid, path, None, format!("{shown}: {words}"))
}

/// What is wrong with finalizers.
pub fn validate_finalizers(finalizers: Option<&Value>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let finalizers = texts(finalizers, path, &mut errors);
    for finalizer in &finalizers {
        let wrong = names::qualified_name(finalizer);
        errors.extend(wrong.into_iter().map(|words| FieldError::invalid(path, *finalizer, words)));
    }
    if finalizers.contains(&"orphan") && finalizers.contains(&"foregroundDeletion") {
        let words = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid(path, finalizers, words));
    }
    errors
}

fn no_new_finalizers(new: &Value, old: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let before = texts(old.get("finalizers"), path, &mut Vec::new());
    let mut added = texts(new.get("finalizers"), path, &mut errors);
    added.retain(|finalizer| !before.contains(finalizer));
    added.sort_unstable();
    added.dedup();
    if !added.is_empty() {
        let shown: Vec<String> = added.into_iter().map(text::quote).collect();
        errors.push(FieldError::forbidden(
            path,
            format!(
                "no new finalizers can be added if the object is being deleted, found new \
                 finalizers []string{{{}}}",
                shown.join(", ")
            ),
        ));
    }
    errors
}

/// What is wrong with `managedFields`.
pub fn validate_managed_fields(managed: Option<&Value>, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (i, entry) in list(managed, path, &mut errors).into_iter().enumerate() {
        // Every write has these checked, and next to none of them finds anything.
        let field = |name: &str| format!("{path}[{i}].{name}");
        let operation = text_of(entry, "operation");
        if operation != "Apply" && operation != "Update" {
            let words = "must be `Apply` or `Update`";
            errors.push(FieldError::invalid(field("operation"), operation, words));
        }
        let fields_type = text_of(entry, "fieldsType");
        if !fields_type.is_empty() && fields_type != "FieldsV1" {
            let words = "must be `FieldsV1`";
            errors.push(FieldError::invalid(field("fieldsType"), fields_type, words));
        }
        let manager = text_of(entry, "manager");
        errors.extend(manager_faults(manager, || field("manager")));
        if text_of(entry, "subresource").len() > SUBRESOURCE_LIMIT {
            errors.push(FieldError::too_long(field("subresource"), SUBRESOURCE_LIMIT as u64));
        }
    }
    errors
}

/// What is wrong with the name of a field manager.
pub fn validate_field_manager(manager: &str, path: &str) -> Vec<FieldError> {
    manager_faults(manager, || path.to_owned())
}

fn manager_faults(manager: &str, path: impl Fn() -> String) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if manager.len() > MANAGER_LIMIT {
        errors.push(FieldError::too_long(path(), MANAGER_LIMIT as u64));
    }
    for (i, c) in manager.char_indices().filter(|(_, c)| !text::printable(*c)) {
        let words = format!("invalid character U+{:04X} (at position {i})", u32::from(c));
        errors.push(FieldError::invalid(path(), manager, words));
    }
    errors
}

/// The version in an `apiVersion`; empty when it has none or too many slashes.
fn version_of(api_version: &str) -> &str {
    match api_version.split('/').collect::<Vec<_>>()[..] {
        [version] | [_, version] => version,
        _ => "",
    }
}

fn given<'v>(object: &'v Value, field: &str) -> Option<&'v Value> {
    object.get(field).filter(|value| !value.is_null())
}

fn text_of<'v>(object: &'v Value, field: &str) -> &'v str {
    object.get(field).and_then(Value::as_str).unwrap_or("")
}

fn whole_of(object: &Value, field: &str) -> i64 {
    object.get(field).and_then(Value::as_i64).unwrap_or(0)
}

/// The entries of a map from strings to strings, by key; what is no such thing is an error.
fn entries<'v>(
    map: Option<&'v Value>,
    path: &str,
    errors: &mut Vec<FieldError>,
) -> Vec<(&'v str, &'v str)> {
    match map {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Object(map)) => {
            let mut entries: Vec<(&str, &str)> = Vec::with_capacity(map.len());
            for (key, value) in map {
                match value.as_str() {
                    Some(text) => entries.push((key, text)),
                    None => errors.push(FieldError::type_invalid(
                        format!("{path}.{key}"),
                        value.clone(),
                        "must be a string",
                    )),
                }
            }
            entries.sort_unstable();
            entries
        }
        Some(other) => {
            let words = "must be a map of strings";
            errors.push(FieldError::type_invalid(path, other.clone(), words));
            Vec::new()
        }
    }
}

fn list<'v>(value: Option<&'v Value>, path: &str, errors: &mut Vec<FieldError>) -> Vec<&'v Value> {
    match value {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items.iter().collect(),
        Some(other) => {
            errors.push(FieldError::type_invalid(path, other.clone(), "must be a list"));
            Vec::new()
        }
    }
}

fn texts<'v>(value: Option<&'v Value>, path: &str, errors: &mut Vec<FieldError>) -> Vec<&'v str> {
    let mut found = Vec::new();
    for (i, item) in list(value, path, errors).into_iter().enumerate() {
        match item.as_str() {
            Some(text) => found.push(text),
            None => errors.push(FieldError::type_invalid(
                format!("{path}[{i}]"),
                item.clone(),
                "must be a string",
            )),
        }
    }
    found
}
