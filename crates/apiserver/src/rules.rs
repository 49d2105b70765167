//! What objects must be like to be stored, beyond what their kinds say for themselves.

use joiner_kinds as kinds;
use joiner_schema::{FieldError, meta, names::NameRule};
use serde_json::{Map, Value};

use crate::{
    Status,
    custom::{self, CustomVersion},
    object::Object,
    registry::Rules,
    write::{Request, metadata_of, text},
};

/// Objects belong into the namespace of the request; those of the cluster into none.
pub(crate) fn match_namespace(request: &Request<'_>, object: &mut Value) -> Result<(), Status> {
    let given = text(object, "/metadata/namespace");
    let expected = &*request.key.namespace;
    if given == expected {
        return Ok(());
    }
    if expected.is_empty() {
        metadata_of(object).remove("namespace");
        return Ok(());
    }
    if given.is_empty() {
        metadata_of(object).insert("namespace".into(), expected.into());
        return Ok(());
    }
    Err(Status::bad_request(
        "the namespace of the provided object does not match the namespace sent on the request",
    ))
}

/// An update names the object that the path names.
pub(crate) fn match_name(request: &Request<'_>, object: &Value) -> Result<(), Status> {
    let (given, expected) = (text(object, "/metadata/name"), &*request.key.name);
    if given == expected {
        return Ok(());
    }
    if given.is_empty() {
        return Err(Status::bad_request(format!(
            "the name of the object ({expected} based on URL) was undeterminable: name must be \
             provided"
        )));
    }
    Err(Status::bad_request(format!(
        "the name of the object ({given}) does not match the name on the URL ({expected})"
    )))
}

/// The version that an object says it has; zero if it says nothing.
pub(crate) fn parse_version(given: &str) -> Result<u64, Status> {
    if given.is_empty() {
        return Ok(0);
    }
    given.parse().map_err(|_| {
        let message = format!("strconv.ParseUint: parsing {given:?}: invalid syntax");
        Status::plain(500, "", message)
    })
}

/// An update that says which version it saw must have seen the newest.
pub(crate) fn check_version(
    request: &Request<'_>,
    live: &Object,
    new: &Value,
) -> Result<(), Status> {
    let resource = &request.kind.resource;
    let given = text(new, "/metadata/resourceVersion");
    let version = parse_version(given)?;
    if version == live.version || (version == 0 && updates_unconditionally(request)) {
        return Ok(());
    }
    if version == 0 {
        let path = "metadata.resourceVersion";
        let error = FieldError::invalid(path, 0, "must be specified for an update");
        let (group, plural) = (&resource.group, &resource.plural);
        return Err(Status::invalid(group, plural, &request.key.name, &[error]));
    }
    Err(Status::modified(&resource.group, &resource.plural, &request.key.name))
}

/// Kinds whose objects a replacement creates when they are not there.
pub(crate) fn creates_on_update(request: &Request<'_>) -> bool {
    matches!(request.version.rules, Rules::BuiltIn(_))
        && matches!(
            (&*request.kind.resource.group, &*request.kind.kind),
            ("" | "events.k8s.io", "Event")
                | ("", "Endpoints" | "LimitRange" | "Service")
                | ("coordination.k8s.io", "Lease")
                | ("node.k8s.io", "RuntimeClass")
                | ("rbac.authorization.k8s.io", _)
        )
}

/// Kinds whose objects may be replaced without saying which version was seen.
fn updates_unconditionally(request: &Request<'_>) -> bool {
    match &request.version.rules {
        Rules::Custom(_) => false,
        Rules::BuiltIn(_) => !matches!(
            (&*request.kind.resource.group, &*request.kind.kind),
            (
                "admissionregistration.k8s.io"
                    | "apiextensions.k8s.io"
                    | "apiregistration.k8s.io"
                    | "coordination.k8s.io"
                    | "node.k8s.io",
                _
            ) | ("policy", "PodDisruptionBudget")
                | (
                    "storage.k8s.io",
                    "CSIDriver" | "CSINode" | "CSIStorageCapacity" | "VolumeAttachment"
                )
        ),
    }
}

/// A replacement that names a uid means the object with that uid.
pub(crate) fn check_identity(request: &Request<'_>, live: &str, new: &Value) -> Result<(), Status> {
    let uid = text(new, "/metadata/uid");
    if uid.is_empty() || uid == live {
        return Ok(());
    }
    let resource = &request.kind.resource;
    // What only tries does not get as far as the store's own folder.
    let folder = if request.dry_run { "/" } else { "/registry/" };
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {folder}{}, ResourceVersion: 0, \
         AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
        storage_path(request),
        live
    );
    Err(Status::conflict(&resource.group, &resource.plural, &request.key.name, &why))
}

/// Where etcd would have the object, which some refusals name.
fn storage_path(request: &Request<'_>) -> String {
    let resource = &request.kind.resource;
    let folder = match (&*resource.group, &*resource.plural) {
        ("", "nodes") => "minions".to_owned(),
        ("", "services") => "services/specs".to_owned(),
        ("", "endpoints") => "services/endpoints".to_owned(),
        ("", "replicationcontrollers") => "controllers".to_owned(),
        ("networking.k8s.io", "ingresses") => "ingress".to_owned(),
        (group, plural)
            if request.custom()
                || matches!(group, "apiextensions.k8s.io" | "apiregistration.k8s.io") =>
        {
            format!("{group}/{plural}")
        }
        (_, plural) => plural.to_owned(),
    };
    format!("{folder}/{}", request.key)
}

/// What an update cannot change in the metadata is taken from the old object.
pub(crate) fn keep_system_metadata(new: &mut Value, old: &Value) {
    let metadata = metadata_of(new);
    for (field, if_absent) in [
        ("uid", true),
        ("creationTimestamp", false),
        ("deletionTimestamp", false),
        ("deletionGracePeriodSeconds", true),
    ] {
        let given = metadata.get(field).is_some_and(|value| !value.is_null());
        if let Some(value) = old["metadata"].get(field)
            && !(given && if_absent)
        {
            metadata.insert(field.into(), value.clone());
        }
    }
}

pub(crate) fn prepare_custom_update(request: &Request<'_>, new: &mut Value, old: &Value) {
    let status_apart = request.version.has_status();
    let Some(fields) = new.as_object_mut() else { return };
    if request.subresource == Some("status") {
        // Everything but the status stays, and of the metadata only managed fields move.
        let managed = fields.get("metadata").and_then(|m| m.get("managedFields")).cloned();
        let status = fields.remove("status");
        let mut kept = old.clone();
        if let Some(kept) = kept.as_object_mut() {
            match status {
                Some(status) => kept.insert("status".into(), status),
                None => kept.remove("status"),
            };
        }
        *new = kept;
        match managed {
            Some(managed) => metadata_of(new).insert("managedFields".into(), managed),
            None => metadata_of(new).remove("managedFields"),
        };
        return;
    }
    if status_apart {
        match old.get("status") {
            Some(status) => fields.insert("status".into(), status.clone()),
            None => fields.remove("status"),
        };
    }
    let changed = differ(new, old, status_apart);
    let generation = old.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0);
    let generation = generation + i64::from(changed);
    metadata_of(new).insert("generation".into(), generation.into());
}

/// Whether anything but metadata (and status, where that is apart) differs.
fn differ(new: &Value, old: &Value, status_apart: bool) -> bool {
    let relevant = |object: &Value| -> Map<String, Value> {
        let fields = object.as_object().into_iter().flatten();
        fields
            .filter(|(name, _)| *name != "metadata" && !(status_apart && *name == "status"))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    };
    relevant(new) != relevant(old)
}

/// What is wrong with a new object.
pub(crate) fn validate_create(request: &Request<'_>, object: &Value) -> Vec<FieldError> {
    let metadata = &object["metadata"];
    let namespaced = request.kind.namespaced;
    let errors = match &request.version.rules {
        Rules::BuiltIn(resource) => {
            let unallocated = kinds::validate::allocation(resource, object, None, request.dry_run);
            if !unallocated.is_empty() {
                return unallocated;
            }
            let (group, kind) = (resource.group, resource.kind);
            let mut errors = kinds::validate::metadata(group, kind, namespaced, object);
            errors.extend(kinds::validate::create(group, kind, object));
            errors.extend(custom::check_definition(request.kind, object));
            errors
        }
        Rules::Custom(custom) => {
            let wrong_type = check_type(request, object);
            if !wrong_type.is_empty() {
                return custom.validator.validate_parts_after(wrong_type, object, None);
            }
            let rule = NameRule::DnsSubdomain;
            let errors = meta::validate_object_meta(metadata, namespaced, rule, "metadata");
            let mut errors = custom.validator.validate_after(errors, object, None);
            errors.extend(custom::check_scale_spec(custom, object));
            errors.extend(custom::check_scale_status(custom, object));
            errors
        }
    };
    if errors.is_empty() {
        // Checked last, so that kinds can say it in words of their own.
        let rule = NameRule::PathSegment;
        return meta::validate_object_meta(metadata, namespaced, rule, "metadata");
    }
    errors
}

/// What is wrong with a new version of an object.
pub(crate) fn validate_update(request: &Request<'_>, new: &Value, old: &Value) -> Vec<FieldError> {
    let (new_meta, old_meta) = (&new["metadata"], &old["metadata"]);
    let namespaced = request.kind.namespaced;
    let mut errors = Vec::new();
    if let (Rules::BuiltIn(resource), None) = (&request.version.rules, request.subresource) {
        errors.extend(kinds::validate::allocation(resource, new, Some(old), request.dry_run));
        if !errors.is_empty() {
            return errors;
        }
    }
    // Most writes change nothing in the metadata but who owns what.
    let rule = NameRule::PathSegment;
    errors.extend(meta::validate_changed_object_meta(
        new_meta, old_meta, namespaced, rule, "metadata",
    ));
    errors.extend(meta::validate_object_meta_update(new_meta, old_meta, "metadata"));
    match &request.version.rules {
        Rules::BuiltIn(resource) => {
            let part = request.subresource;
            let sent = &request.as_sent(new);
            let change = kinds::validate::Change { new, old, sent };
            errors.extend(kinds::validate::update(resource, part, change));
            let schemas = custom::check_definition(request.kind, new);
            // The spec comes before the status.
            let of_rest = |error: &FieldError| {
                error.field.starts_with("status") || error.field == "spec.preserveUnknownFields"
            };
            let place = errors.iter().position(of_rest).unwrap_or(errors.len());
            errors.splice(place..place, schemas);
        }
        Rules::Custom(custom) => errors.extend(validate_custom_update(request, custom, new, old)),
    }
    errors
}

fn validate_custom_update(
    request: &Request<'_>,
    custom: &CustomVersion,
    new: &Value,
    old: &Value,
) -> Vec<FieldError> {
    let mut errors = check_type(request, new);
    if !errors.is_empty() {
        return custom.validator.validate_parts_after(errors, new, Some(old));
    }
    errors.extend(meta::validate_object_meta_update(
        &new["metadata"],
        &old["metadata"],
        "metadata",
    ));
    if request.subresource == Some("status") {
        // The status is checked by itself here, so errors speak of its fields only.
        let found = custom.validator.validate_status(new, old);
        errors.extend(found.into_iter().map(without_status));
    } else {
        errors.extend(custom.validator.validate(new, Some(old)));
        errors.extend(custom::check_scale_spec(custom, new));
    }
    errors.extend(custom::check_scale_status(custom, new));
    errors
}

fn without_status(mut error: FieldError) -> FieldError {
    if error.field == "status"
        && let Some(rest) = error.detail.strip_prefix("status in body")
    {
        error.detail = format!(" in body{rest}");
    }
    if error.detail.contains("status.") {
        error.detail = error.detail.replacen("status.", "", 1);
        if error.field == "<nil>" {
            "status".clone_into(&mut error.field);
        }
    }
    error
}

/// A custom resource must say what it is.
fn check_type(request: &Request<'_>, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (field, must) in
        [("kind", &request.kind.kind), ("apiVersion", &request.version.api_version)]
    {
        let given = object.get(field).and_then(Value::as_str).unwrap_or_default();
        if given != &**must {
            errors.push(FieldError::invalid(field, given, format!("must be {must}")));
        }
    }
    errors
}

/// What the caller should know about an object that is about to be stored.
pub(crate) fn warnings(request: &Request<'_>, new: &Value, old: Option<&Value>) -> Vec<String> {
    match &request.version.rules {
        Rules::BuiltIn(_) if request.subresource.is_some() => Vec::new(),
        // Pods are changed too often to look for warnings each time.
        Rules::BuiltIn(_) if old.is_some() && request.kind.is("", "Pod") => Vec::new(),
        Rules::BuiltIn(_)
            if request.kind.is("storage.k8s.io", "CSIDriver")
                && old.is_some_and(|old| asks_for_same_tokens(&old["spec"], &new["spec"])) =>
        {
            Vec::new()
        }
        Rules::BuiltIn(resource) => kinds::validate::warnings(resource.group, resource.kind, new),
        Rules::Custom(_) => finalizer_warnings(new, old),
    }
}

/// Whether nothing changes in what a storage driver gets of the tokens of pods.
fn asks_for_same_tokens(old: &Value, new: &Value) -> bool {
    ["tokenRequests", "serviceAccountTokenInSecrets"]
        .iter()
        .all(|field| old.get(field) == new.get(field))
}

/// Finalizers without a domain may conflict with those of other programs.
fn finalizer_warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let names = |object: &Value| -> Vec<String> {
        let list = object["metadata"]["finalizers"].as_array().into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let before = old.map(names).unwrap_or_default();
    let mut added = names(new);
    added.retain(|finalizer| !before.contains(finalizer));
    added.sort_unstable();
    added.dedup();
    let mut warnings = Vec::new();
    for finalizer in added {
        let told = |words: &str| format!("metadata.finalizers: {finalizer:?}: {words}");
        let wrong = joiner_schema::names::qualified_name(&finalizer);
        warnings.extend(wrong.iter().map(|words| told(words)));
        let standard = matches!(&*finalizer, "orphan" | "foregroundDeletion" | "kubernetes");
        if !finalizer.contains('/') && !standard {
            let with_path = if finalizer.contains('.') { " including a path (/)" } else { "" };
            warnings.push(told(&format!(
                "prefer a domain-qualified finalizer name{with_path} to avoid accidental conflicts \
                 with other finalizer writers"
            )));
        }
    }
    warnings
}
