//! Environment variables of a container and what they refer to.

use serde_json::Value;

use crate::{
    fields::Fields,
    validate::{
        errors::{Errors, Path},
        formats, resources,
        volume_sources::no_backsteps,
    },
};

/// Fields of a pod that an environment variable can show.
const FIELDS_IN_ENV: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// Fields of a pod that a file can show.
pub(super) const FIELDS_IN_FILES: [&str; 5] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];

/// Fields of a pod that can be named at all.
const KNOWN_FIELDS: [&str; 14] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// `env` of a container.
pub(super) fn variables(errors: &mut Errors, path: &Path<'_>, container: &Value) {
    for (index, variable) in container.list("env").iter().enumerate() {
        let path = path.index(index);
        let name = variable.text("name");
        if name.is_empty() {
            errors.required(&path.child("name"), "");
        } else {
            errors.invalid_each(&path.child("name"), name, formats::env_name(name));
        }
        if let Some(source) = variable.field("valueFrom") {
            value_source(errors, &path.child("valueFrom"), source, variable.text("value"));
        }
    }
}

fn value_source(errors: &mut Errors, path: &Path<'_>, source: &Value, value: &str) {
    let mut given = 0;
    if let Some(reference) = source.field("fieldRef") {
        given += 1;
        field_reference(errors, &path.child("fieldRef"), reference, &FIELDS_IN_ENV);
    }
    if let Some(reference) = source.field("resourceFieldRef") {
        given += 1;
        resource_reference(errors, &path.child("resourceFieldRef"), reference, false);
    }
    for kind in ["configMapKeyRef", "secretKeyRef"] {
        if let Some(reference) = source.field(kind) {
            given += 1;
            key_reference(errors, &path.child(kind), reference);
        }
    }
    if let Some(reference) = source.field("fileKeyRef") {
        given += 1;
        file_key_reference(errors, &path.child("fileKeyRef"), reference);
    }
    if given == 0 {
        let detail = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, \
             `secretKeyRef` or `fileKeyRef`";
        errors.invalid(path, "", detail);
    } else if !value.is_empty() {
        errors.invalid(path, "", "may not be specified when `value` is not empty");
    } else if given > 1 {
        errors.invalid(path, "", "may not have more than one field specified at a time");
    }
}

/// `metadata.labels['key']` as its path and key.
fn subscripted(path: &str) -> Option<(&str, &str)> {
    path.strip_suffix("']")?.split_once("['")
}

/// A reference to a field of the pod itself.
pub(super) fn field_reference(
    errors: &mut Errors,
    path: &Path<'_>,
    reference: &Value,
    allowed: &[&str],
) {
    let (version, field) = (reference.text("apiVersion"), reference.text("fieldPath"));
    if version.is_empty() {
        errors.required(&path.child("apiVersion"), "");
        return;
    }
    let at = path.child("fieldPath");
    if field.is_empty() {
        errors.required(&at, "");
        return;
    }
    let subscript = subscripted(field);
    let problem = match subscript {
        _ if version != "v1" => Some(format!("unsupported pod version: {version}")),
        Some(("metadata.annotations" | "metadata.labels", _)) => None,
        Some(_) => Some(format!("field label does not support subscript: {field}")),
        None if field == "spec.host" || KNOWN_FIELDS.contains(&field) => None,
        None => Some(format!("field label not supported: {field}")),
    };
    if let Some(problem) = problem {
        errors.invalid(&at, field, format!("error converting fieldPath: {problem}"));
        return;
    }
    match subscript {
        Some((of, key)) => {
            let key =
                if of == "metadata.annotations" { key.to_lowercase() } else { key.to_owned() };
            errors.invalid_each(path, &key, formats::qualified_name(&key));
        }
        None => {
            let field = if field == "spec.host" { "spec.nodeName" } else { field };
            errors.supported(&at, field, allowed);
        }
    }
}

/// A reference to what a container requests or is limited to.
pub(super) fn resource_reference(
    errors: &mut Errors,
    path: &Path<'_>,
    reference: &Value,
    in_file: bool,
) {
    let resource = reference.text("resource");
    let pages =
        resource.starts_with("requests.hugepages-") || resource.starts_with("limits.hugepages-");
    if in_file && reference.text("containerName").is_empty() {
        errors.required(&path.child("containerName"), "");
    } else if resource.is_empty() {
        errors.required(&path.child("resource"), "");
    } else if !pages {
        errors.supported(&path.child("resource"), resource, &RESOURCES);
    }
    let divisor = reference.part("divisor");
    if resources::quantity(divisor).nanos() == 0 {
        return;
    }
    let text = resources::quantity_text(divisor);
    let powers = || {
        let suffix = text.strip_prefix('1').unwrap_or("none");
        ["", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].contains(&suffix)
    };
    let (fits, what) = match resource {
        "limits.cpu" | "requests.cpu" => (text == "1" || text == "1m", "cpu"),
        "limits.memory" | "requests.memory" => (powers(), "memory"),
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => {
            (powers(), "local ephemeral storage")
        }
        _ => (!pages || powers(), "hugepages"),
    };
    if !fits {
        let values = if what == "cpu" {
            "1m and 1"
        } else {
            "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"
        };
        let detail =
            format!("only divisor's values {values} are supported with the {what} resource");
        errors.invalid(&path.child("divisor"), resource, detail);
    }
}

/// A reference to a key of a ConfigMap or Secret.
fn key_reference(errors: &mut Errors, path: &Path<'_>, reference: &Value) {
    let (name, key) = (reference.text("name"), reference.text("key"));
    errors.invalid_each(&path.child("name"), name, formats::dns_subdomain(name));
    if key.is_empty() {
        errors.required(&path.child("key"), "");
    } else {
        errors.invalid_each(&path.child("key"), key, formats::config_key(key));
    }
}

fn file_key_reference(errors: &mut Errors, path: &Path<'_>, reference: &Value) {
    let (key, volume) = (reference.text("key"), reference.text("volumeName"));
    if key.is_empty() {
        errors.required(&path.child("key"), "");
    } else {
        errors.invalid_each(&path.child("key"), key, formats::env_name(key));
    }
    if volume.is_empty() {
        errors.required(&path.child("volumeName"), "");
    } else {
        errors.invalid_each(&path.child("volumeName"), volume, formats::dns_label(volume));
    }
    if reference.text("path").is_empty() {
        errors.required(&path.child("path"), "");
    } else {
        no_backsteps(errors, &path.child("path"), reference.text("path"));
    }
}

/// `envFrom` of a container.
pub(super) fn sources(errors: &mut Errors, path: &Path<'_>, container: &Value) {
    for (index, source) in container.list("envFrom").iter().enumerate() {
        let at = path.index(index);
        let prefix = source.text("prefix");
        if !prefix.is_empty() {
            errors.invalid_each(&at.child("prefix"), prefix, formats::env_name(prefix));
        }
        let mut given = 0;
        for kind in ["configMapRef", "secretRef"] {
            let Some(reference) = source.field(kind) else { continue };
            given += 1;
            let (name, at) = (reference.text("name"), at.child(kind));
            if name.is_empty() {
                errors.required(&at.child("name"), "");
            } else {
                errors.invalid_each(&at.child("name"), name, formats::dns_subdomain(name));
            }
        }
        if given == 0 {
            errors.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`");
        } else if given > 1 {
            errors.invalid(path, "", "may not have more than one field specified at a time");
        }
    }
}
