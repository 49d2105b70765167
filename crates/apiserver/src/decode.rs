//! From the body of a request to an object that the rules can look at.

use joiner_kinds as kinds;
use joiner_schema::{FieldError, apply_defaults, prune};
use serde_json::Value;

use crate::{
    Status,
    operation::FieldValidation,
    registry::{Kind, Rules, Version},
};

/// What reading an object noticed.
#[derive(Debug, Default)]
pub(crate) struct Noticed {
    /// Fields that were given twice; found when the text was read.
    pub(crate) duplicates: Vec<String>,
    /// Fields that the kind does not have.
    pub(crate) unknown: Vec<String>,
}

/// Reads an object in one version of its kind: checks its type, drops what the kind does not have
/// and fills in what was not given.
pub(crate) fn decode(
    kind: &Kind,
    version: &Version,
    object: &mut Value,
    noticed: &mut Noticed,
) -> Result<(), Status> {
    match &version.rules {
        Rules::BuiltIn(resource) => {
            check_built_in_type(kind, version, object)?;
            let decoded = kinds::normalize(resource, object)
                .map_err(|error| Status::bad_request(error.refusal(resource)))?;
            noticed.unknown.extend(decoded.unknown);
            kinds::default(resource, object);
        }
        Rules::Custom(custom) => {
            check_custom_type(kind, version, object)?;
            noticed.unknown.extend(prune(object, &version.schema));
            normalize_metadata(kind, version, object)?;
            apply_defaults(object, &custom.schema);
        }
    }
    object["apiVersion"] = Value::from(&*version.api_version);
    object["kind"] = Value::from(&*kind.kind);
    Ok(())
}

/// Warns about or refuses what was noticed, as the caller wants it.
pub(crate) fn report(
    kind: &Kind,
    version: &Version,
    noticed: Noticed,
    validation: FieldValidation,
) -> Result<Vec<String>, Status> {
    let duplicate = noticed.duplicates.iter().map(|path| format!("duplicate field {path:?}"));
    let unknown = noticed.unknown.iter().map(|path| format!("unknown field {path:?}"));
    let warnings: Vec<String> = duplicate.chain(unknown).collect();
    match validation {
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Strict if !warnings.is_empty() => {
            let why = format!("strict decoding error: {}", warnings.join(", "));
            Err(cannot_handle(kind, version, &why))
        }
        FieldValidation::Strict | FieldValidation::Warn => Ok(warnings),
    }
}

fn cannot_handle(kind: &Kind, version: &Version, why: &str) -> Status {
    let (kind, version) = (&kind.kind, &version.name);
    let message = format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}");
    Status::bad_request(message)
}

fn check_built_in_type(kind: &Kind, version: &Version, object: &Value) -> Result<(), Status> {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let (given_kind, given_version) = (text("kind"), text("apiVersion"));
    let kind_differs = !given_kind.is_empty() && given_kind != &*kind.kind;
    let version_differs = !given_version.is_empty() && given_version != &*version.api_version;
    if !kind_differs && !version_differs {
        return Ok(());
    }
    let as_kind = if given_kind.is_empty() { &*kind.kind } else { given_kind };
    let as_version = if given_version.is_empty() { &*version.api_version } else { given_version };
    let (group, name) = as_version.split_once('/').unwrap_or(("", as_version));
    let why = match kinds::find_kind(group, name, as_kind) {
        Some(_) => format!(
            "converting ({}) to ({}.{}): unknown conversion",
            go_type(group, name, as_kind),
            package(&kind.resource.group),
            kind.kind,
        ),
        None => format!(
            "no kind {as_kind:?} is registered for version {as_version:?} in scheme \
             \"pkg/runtime/scheme.go:111\""
        ),
    };
    let message =
        format!("{as_kind} in version {name:?} cannot be handled as a {}: {why}", kind.kind);
    Err(Status::bad_request(message))
}

/// The package of a group's internal types in Kubernetes' source, which its errors name.
fn package(group: &str) -> &str {
    match group.split('.').next().unwrap_or_default() {
        "" => "core",
        first => first,
    }
}

fn go_type(_group: &str, version: &str, kind: &str) -> String {
    format!("{version}.{kind}")
}

fn check_custom_type(kind: &Kind, version: &Version, object: &Value) -> Result<(), Status> {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    if text("kind").is_empty() || text("apiVersion").is_empty() {
        let what = if text("kind").is_empty() { "Kind" } else { "apiVersion" };
        let words = match what {
            "Kind" => format!("Object 'Kind' is missing in '{object}'"),
            _ => "no apiVersion".to_owned(),
        };
        let message = format!(
            "the object provided is unrecognized (must be of type {}): {words} ({object})",
            kind.kind
        );
        return Err(Status::bad_request(message));
    }
    let given = text("apiVersion");
    if given != &*version.api_version {
        let message = format!(
            "the API version in the data ({given}) does not match the expected API version ({})",
            version.api_version
        );
        return Err(Status::bad_request(message));
    }
    let given = text("kind");
    if given != &*kind.kind {
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let error = FieldError::invalid("kind", given, format!("must be {}", kind.kind));
        return Err(Status::invalid(&kind.resource.group, given, name, &[error]));
    }
    Ok(())
}

/// Metadata has the same shape in every kind, and is read as strictly.
fn normalize_metadata(kind: &Kind, version: &Version, object: &mut Value) -> Result<(), Status> {
    let Some(fields) = object.as_object_mut() else {
        return Err(cannot_handle(kind, version, "not an object"));
    };
    let metadata =
        fields.entry("metadata").or_insert_with(|| Value::Object(serde_json::Map::new()));
    kinds::normalize_kind("meta.k8s.io", "v1", "ObjectMeta", metadata)
        .map_err(|error| cannot_handle(kind, version, &error.to_string()))?;
    Ok(())
}
