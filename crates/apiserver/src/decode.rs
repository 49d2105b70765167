//! From the body of a request to an object that the rules can look at.

use joiner_kinds as kinds;
use joiner_schema::{apply_defaults, fill_defaults, prune};
use serde_json::Value;

use crate::{
    Status,
    input::Text,
    json,
    operation::FieldValidation,
    registry::{Kind, Rules, Version},
    write::Request,
};

/// What an object is read from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Text from a request or from a patch of text.
    Text,
    /// Values, which a strategic or an applied patch made.
    Values,
}

/// Reads the object of a create or an update: checks its type, drops what the kind does not have
/// and fills in what was not given. What was dropped is told as the caller wants it.
pub(crate) fn read(request: &Request<'_>, object: &mut Value, text: &Text) -> Result<(), Status> {
    let (kind, version) = (request.kind, request.version);
    let given = self::text(object, "apiVersion").to_owned();
    if !request.custom() && is_former_version(&given, &kind.kind) {
        return Err(wrong_version(&given, version));
    }
    let unknown = decode(request, object, Origin::Text)
        .map_err(|fault| Status::bad_request(fault.refusal(kind, version)))?;
    let findings = findings(request, text, &unknown);
    judge(request, findings).map_err(|why| {
        let fault = Fault { kind: None, version: None, why };
        Status::bad_request(fault.refusal(kind, version))
    })?;
    check_custom_version(version, object)
}

/// Reads the object that a patch made. What is wrong with it is told together with what the patch
/// made, or with the patch.
pub(crate) fn read_patched(
    request: &Request<'_>,
    object: &mut Value,
    origin: Origin,
    shown: impl Fn() -> String,
    noticed: Vec<String>,
) -> Result<(), Status> {
    if origin == Origin::Text {
        check_patched_type(request, object).map_err(|why| unfit_patch(&shown(), why))?;
    }
    let unknown =
        decode(request, object, origin).map_err(|fault| unfit_patch(&shown(), fault.why))?;
    let mut findings = noticed;
    findings.extend(unknown.iter().map(|path| format!("unknown field {path:?}")));
    judge(request, findings).map_err(|why| unfit_patch(&shown(), why))
}

/// Warns about fields that are unknown or there twice, or refuses them, as the caller wants it.
fn judge(request: &Request<'_>, findings: Vec<String>) -> Result<(), String> {
    match request.validation {
        FieldValidation::Strict if !findings.is_empty() => {
            return Err(format!("strict decoding error: {}", findings.join(", ")));
        }
        FieldValidation::Warn => request.warn(findings),
        FieldValidation::Ignore | FieldValidation::Strict => {}
    }
    Ok(())
}

/// A patch makes something that is no object of the kind.
pub(crate) fn unfit_patch(shown: &str, why: String) -> Status {
    let error = joiner_schema::FieldError::invalid("patch", shown, why);
    Status::invalid("", "", "", &[error])
}

/// What a patch makes must say what it is.
fn check_patched_type(request: &Request<'_>, object: &Value) -> Result<(), String> {
    if !object.is_object() {
        return Err(crate::input::not_an_object(object));
    }
    let head = json::Head::of(object);
    if let Some(wrong) = head.wrong {
        return Err(format!("couldn't get version/kind; json parse error: {wrong}"));
    }
    if request.custom() && head.kind.unwrap_or_default().is_empty() {
        return Err(format!("Object 'Kind' is missing in '{object}'"));
    }
    Ok(())
}

/// Reads the object that an apply made. Fields that the kind does not have were refused before.
pub(crate) fn read_applied(
    request: &Request<'_>,
    applied: &Value,
    object: &mut Value,
) -> Result<(), Status> {
    let (kind, version) = (request.kind, request.version);
    match &version.rules {
        Rules::BuiltIn(resource) => {
            let name = text(&applied["metadata"], "name");
            let namespace = text(&applied["metadata"], "namespace");
            decode(request, object, Origin::Values).map_err(|fault| {
                let slash = if resource.group.is_empty() { "/" } else { "" };
                let kind = format!("{slash}{}, Kind={}", version.api_version, kind.kind);
                let message = format!(
                    "failed to convert new object ({namespace}/{name}; {kind}) to proper version: \
                     unable to convert unstructured object to {kind}: {}",
                    fault.why
                );
                Status::plain(500, "", message)
            })?;
            settle(request, object);
        }
        Rules::Custom(custom) => {
            read_applied_metadata(request, object)?;
            if let Some(fields) = object.as_object_mut() {
                // A status that is taken away is not looked at.
                fields.retain(|name, value| name != "status" || !value.is_null());
            }
            prune(object, &version.schema);
            // Unlike one that is sent, an applied `null` stays and is refused.
            fill_defaults(object, &custom.schema);
        }
    }
    Ok(())
}

/// Reads the metadata of an applied custom resource. A time that is none is not there, unless the
/// object has to be converted; what is empty there is written all the same.
fn read_applied_metadata(request: &Request<'_>, object: &mut Value) -> Result<(), Status> {
    let given = object.clone();
    let mut read = read_metadata(object);
    if let Err(fault) = &read
        && fault.why.starts_with("parsing time")
    {
        if !request.version.stored {
            return Err(Status::plain(500, "", fault.why.clone()));
        }
        object.clone_from(&given);
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|name, _| !name.ends_with("Timestamp"));
        }
        read = read_metadata(object);
    }
    let decoded =
        read.map_err(|fault| Status::bad_request(fault.refusal(request.kind, request.version)))?;
    // A map that was taken away as a whole leaves a `null` behind.
    let nulls = given["metadata"].as_object().into_iter().flatten();
    let nulls = nulls.filter(|(_, value)| value.is_null());
    let nulls = nulls.map(|(name, _)| (format!("/{name}"), Value::Null));
    let placed = nulls.chain(decoded.empty);
    let placed = placed.map(|(pointer, value)| (format!("/metadata{pointer}"), value));
    request.empty.replace(placed.collect());
    Ok(())
}

/// Takes away what only counted for who owns it.
pub(crate) fn settle(request: &Request<'_>, object: &mut Value) {
    if let Rules::BuiltIn(resource) = &request.version.rules
        && request.unsettled.take()
    {
        // Everything is of the right type: it was read before.
        let _ = kinds::normalize(resource, object);
    }
}

/// Why an object cannot be read.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The type that the object says it has, where it is another one.
    kind: Option<String>,
    version: Option<String>,
    why: String,
}

impl Fault {
    fn new(why: impl Into<String>) -> Self {
        Self { kind: None, version: None, why: why.into() }
    }

    fn refusal(&self, kind: &Kind, version: &Version) -> String {
        let given_kind = self.kind.as_deref().unwrap_or(&kind.kind);
        let given_version = self.version.as_deref().unwrap_or(&version.name);
        let Kind { kind, .. } = kind;
        format!(
            "{given_kind} in version {given_version:?} cannot be handled as a {kind}: {}",
            self.why
        )
    }
}

/// Reads an object in one version of its kind. Returns the fields that the kind does not have.
fn decode(request: &Request<'_>, object: &mut Value, origin: Origin) -> Result<Vec<String>, Fault> {
    let (kind, version) = (request.kind, request.version);
    let managed = object.get("metadata").and_then(|metadata| metadata.get("managedFields"));
    let cleared = !request.custom() && managed.is_some_and(is_empty_list);
    let unknown = decode_by_rules(request, kind, version, object, origin)?;
    if cleared {
        // Unlike all others, this empty list has a meaning: it removes all field managers.
        object["metadata"]["managedFields"] = Value::Array(Vec::new());
    }
    Ok(unknown)
}

fn is_empty_list(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty)
}

fn decode_by_rules(
    request: &Request<'_>,
    kind: &Kind,
    version: &Version,
    object: &mut Value,
    origin: Origin,
) -> Result<Vec<String>, Fault> {
    match &version.rules {
        Rules::BuiltIn(resource) => {
            check_built_in_type(kind, version, object)?;
            let decoded = match origin {
                Origin::Text => kinds::normalize_sent(resource, object),
                Origin::Values => kinds::normalize_merged(resource, object),
            };
            let decoded = decoded.map_err(|error| Fault::new(error.to_string()))?;
            request.unsettled.set(decoded.unsettled);
            request.empty.replace(decoded.empty);
            kinds::default(resource, object);
            object["apiVersion"] = Value::from(&*version.api_version);
            object["kind"] = Value::from(&*kind.kind);
            Ok(decoded.unknown)
        }
        Rules::Custom(custom) => {
            if object.get("apiVersion").is_some_and(Value::is_null) {
                let why = ".apiVersion accessor error: <nil> is of the type <nil>, expected string";
                return Err(Fault { version: Some(String::new()), ..Fault::new(why) });
            }
            let mut unknown = normalize_metadata(object)?;
            let of_version = text(object, "apiVersion") == &*version.api_version;
            if text(object, "kind") != &*kind.kind || !of_version {
                return Ok(unknown);
            }
            unknown.extend(prune(object, &version.schema));
            apply_defaults(object, &custom.schema);
            Ok(unknown)
        }
    }
}

/// What strict reading finds, in the order in which the real server tells it.
fn findings(request: &Request<'_>, text: &Text, unknown: &[String]) -> Vec<String> {
    let known = |duplicate: &&String| {
        !unknown.iter().any(|path| {
            duplicate.strip_prefix(path.as_str()).is_some_and(|rest| {
                rest.is_empty() || rest.starts_with('.') || rest.starts_with('[')
            })
        })
    };
    let told_duplicate = |path: &String| format!("duplicate field {path:?}");
    let told_unknown = |path: &String| format!("unknown field {path:?}");
    if matches!(request.version.rules, Rules::Custom(_)) {
        let duplicates = text.duplicates.iter().map(told_duplicate);
        return duplicates.chain(unknown.iter().map(told_unknown)).collect();
    }
    let kind = &*request.kind.kind;
    let mut duplicates =
        text.duplicates.iter().filter(known).filter(|path| !is_raw(kind, path)).peekable();
    if duplicates.peek().is_none() && unknown.len() < 2 {
        return unknown.iter().map(told_unknown).collect();
    }
    let order = json::fields_in_order(&text.json);
    let place = |path: &str, nth: usize| {
        let mut found = order.iter().enumerate().filter(|(_, field)| *field == path);
        found.nth(nth).map_or(usize::MAX, |(at, _)| at)
    };
    let mut told: Vec<(usize, String)> = Vec::new();
    told.extend(unknown.iter().map(|path| (place(path, 0), told_unknown(path))));
    told.extend(duplicates.map(|path| (place(path, 1), told_duplicate(path))));
    told.sort_by_key(|(at, _)| *at);
    let mut words: Vec<String> = told.into_iter().map(|(_, words)| words).collect();
    words.dedup();
    words
}

/// Whether a path leads into a field that the real server keeps as text, so that it finds no duplicates there.
fn is_raw(kind: &str, path: &str) -> bool {
    (kind == "ControllerRevision" && path.starts_with("data."))
        || path.contains(".opaque.parameters.")
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn check_built_in_type(kind: &Kind, version: &Version, object: &Value) -> Result<(), Fault> {
    let (given_kind, given_version) = (text(object, "kind"), text(object, "apiVersion"));
    let kind_differs = !given_kind.is_empty() && given_kind != &*kind.kind;
    let version_differs = !given_version.is_empty()
        && given_version != &*version.api_version
        && !is_former_version(given_version, &kind.kind);
    if !kind_differs && !version_differs {
        return Ok(());
    }
    let as_kind = if given_kind.is_empty() { &*kind.kind } else { given_kind };
    let as_version = if given_version.is_empty() { &*version.api_version } else { given_version };
    let (group, name) = as_version.split_once('/').unwrap_or(("", as_version));
    let of_list = as_kind.strip_suffix("List").unwrap_or(as_kind);
    let known = kinds::find_kind(group, name, as_kind);
    let why = match known.or_else(|| kinds::find_kind(group, name, of_list)) {
        Some(_) => format!(
            "converting ({name}.{as_kind}) to ({}.{}): unknown conversion",
            package(&kind.resource.group),
            kind.kind,
        ),
        None => format!(
            "no kind {as_kind:?} is registered for version {as_version:?} in scheme \
             \"pkg/runtime/scheme.go:111\""
        ),
    };
    Err(Fault { kind: Some(as_kind.to_owned()), version: Some(name.to_owned()), why })
}

/// The package of a group's internal types in Kubernetes' source, which its errors name.
pub(crate) fn package(group: &str) -> &str {
    match group.split('.').next().unwrap_or_default() {
        "" | "events" => "core",
        first => first,
    }
}

fn check_custom_version(version: &Version, object: &Value) -> Result<(), Status> {
    let given = text(object, "apiVersion");
    if matches!(version.rules, Rules::BuiltIn(_)) || given == &*version.api_version {
        return Ok(());
    }
    Err(wrong_version(given, version))
}

fn wrong_version(given: &str, version: &Version) -> Status {
    Status::bad_request(format!(
        "the API version in the data ({given}) does not match the expected API version ({})",
        version.api_version
    ))
}

/// Whether a kind had a version that is not served any more but can still be read, for it looks the
/// same.
fn is_former_version(version: &str, kind: &str) -> bool {
    match version {
        "apps/v1beta1" => matches!(kind, "ControllerRevision" | "Deployment" | "StatefulSet"),
        "apps/v1beta2" => {
            matches!(
                kind,
                "ControllerRevision" | "DaemonSet" | "Deployment" | "ReplicaSet" | "StatefulSet"
            )
        }
        _ => false,
    }
}

/// Metadata has the same shape in every kind, and is read as strictly. Returns the unknown fields.
fn normalize_metadata(object: &mut Value) -> Result<Vec<String>, Fault> {
    let decoded = read_metadata(object)?;
    Ok(decoded.unknown.into_iter().map(|path| format!("metadata.{path}")).collect())
}

fn read_metadata(object: &mut Value) -> Result<kinds::Decoded, Fault> {
    let Some(fields) = object.as_object_mut() else {
        return Err(Fault::new("not an object"));
    };
    let metadata =
        fields.entry("metadata").or_insert_with(|| Value::Object(serde_json::Map::new()));
    if metadata.is_null() {
        *metadata = Value::Object(serde_json::Map::new());
    }
    kinds::normalize_kind("meta.k8s.io", "v1", "ObjectMeta", metadata)
        .map_err(|error| Fault::new(error.to_string()))
}
