//! Changing objects by patches.

use joiner_patch::{Endpoint, FieldSet};
use joiner_schema::Schema;
use serde_json::Value;

use crate::{
    Status,
    decode::{self, Origin},
    input::Text,
    operation::{FieldValidation, Outcome, PatchKind},
    rules,
    server::State,
    status::Cause,
    write::{Request, metadata_of, shared_request_value, text},
};

impl State {
    pub(crate) fn patch(
        &mut self,
        request: &Request<'_>,
        kind: PatchKind,
        patch: &Value,
        text: &Text,
    ) -> Result<Outcome, Status> {
        if let PatchKind::Apply { force } = kind {
            return self.apply(request, patch, force);
        }
        let live = self.live(request)?.ok_or_else(|| request.not_found())?;
        let old = shared_request_value(request, &live);
        let mut noticed: Vec<String> = match kind {
            PatchKind::Json => Vec::new(),
            _ => text.duplicates.iter().map(|path| format!("duplicate field {path:?}")).collect(),
        };
        let (mut new, unknown) = patched(request, &old, kind, patch)?;
        noticed.extend(unknown);
        // Only a refusal shows what the patch made, so it is made again rather than kept.
        let shown = || match kind {
            PatchKind::Strategic => go_text(&joiner_patch::strategic_remainder(&old, patch)),
            _ => patched(request, &old, kind, patch)
                .map(|(made, _)| made.to_string())
                .unwrap_or_default(),
        };
        if !request.custom() && is_unversioned(&new) {
            // What is of no version is read as nothing, which has no name either.
            if request.validation == FieldValidation::Warn {
                let fields = new.as_object().into_iter().flatten().map(|(name, _)| name);
                let unknown = fields.filter(|name| *name != "apiVersion" && *name != "kind");
                request.warn(unknown.map(|name| format!("unknown field {name:?}")));
            }
            return rules::match_name(request, &Value::Null).map(|()| Outcome::default());
        }
        let origin = match kind {
            PatchKind::Strategic => Origin::Values,
            _ => Origin::Text,
        };
        decode::read_patched(request, &mut new, origin, shown, noticed)?;
        if is_unversioned(&new) {
            return Err(unversioned());
        }
        rules::match_namespace(request, &mut new)?;
        rules::match_name(request, &new)?;
        track(request, Some(&old), &mut new);
        self.replace(request, &live, &old, new)
    }

    fn apply(
        &mut self,
        request: &Request<'_>,
        applied: &Value,
        force: bool,
    ) -> Result<Outcome, Status> {
        let live = self.live(request)?;
        if live.is_none() && request.subresource.is_some() {
            return Err(request.not_found());
        }
        let old = live.as_ref().map(|live| shared_request_value(request, live));
        let versions = request.versions();
        let reset = reset_fields(request);
        let endpoint = endpoint(request, &versions, &reset);
        let (manager, time) = (request.manager, request.time());
        let result = joiner_patch::apply(&endpoint, old.as_deref(), applied, manager, force, &time)
            .map_err(refused)?;
        let mut new = result.object;
        let managed = new.pointer("/metadata/managedFields").cloned();
        decode::read_applied(request, applied, &mut new)?;
        if let Some(managed) = managed {
            metadata_of(&mut new).insert("managedFields".into(), managed);
        }
        let uid = text(&new, "/metadata/uid");
        if live.is_none() && !uid.is_empty() {
            let resource = &request.kind.resource;
            let why = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object \
                 was found"
            );
            let (group, plural) = (&resource.group, &resource.plural);
            return Err(Status::conflict(group, plural, &request.key.name, &why));
        }
        rules::match_namespace(request, &mut new)?;
        rules::match_name(request, &new)?;
        match (live, old) {
            (Some(live), Some(old)) => self.replace(request, &live, &old, new),
            _ => self.finish_create(request, new, false),
        }
    }
}

/// Whether an object does not say of which version it is.
fn is_unversioned(object: &Value) -> bool {
    let fields = object.as_object();
    fields.is_some_and(|fields| fields.get("apiVersion").is_none_or(|version| version == ""))
}

/// The real server cannot go on with a custom resource that does not say of which version it is.
fn unversioned() -> Status {
    let why = "Object 'apiVersion' is missing in 'object has no apiVersion field'";
    let mut status = Status::plain(500, "InternalError", format!("Internal error occurred: {why}"));
    let cause = Cause { reason: String::new(), message: why.to_owned(), field: String::new() };
    status.details = Some(crate::Details { causes: vec![cause], ..crate::Details::default() });
    status
}

/// Writes down in the managed fields who changed what.
pub(crate) fn track(request: &Request<'_>, old: Option<&Value>, new: &mut Value) {
    let versions = request.versions();
    let reset = reset_fields(request);
    let endpoint = endpoint(request, &versions, &reset);
    joiner_patch::track_update(&endpoint, old, new, request.manager, &request.time());
    decode::settle(request, new);
}

impl Request<'_> {
    /// All versions of the kind's API, as objects carry them, with their schemas.
    fn versions(&self) -> Vec<(&str, &Schema)> {
        let versions = self.kind.versions.iter();
        versions.map(|version| (&*version.api_version, &*version.schema)).collect()
    }
}

fn endpoint<'a>(
    request: &'a Request<'_>,
    versions: &'a [(&'a str, &'a Schema)],
    reset_fields: &'a FieldSet,
) -> Endpoint<'a> {
    Endpoint {
        schema: &request.version.schema,
        kind: &request.kind.kind,
        api_version: &request.version.api_version,
        versions,
        subresource: request.subresource.unwrap_or_default(),
        reset_fields,
        empty: Some(&request.version.empty),
        custom: request.custom(),
    }
}

/// Whether a merge patch is no object, so that it takes the place of everything.
fn is_plain(patch: &Value) -> bool {
    !patch.is_object() && !patch.is_null()
}

/// A value as Go prints maps and lists.
pub(crate) fn go_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(entries) => {
            let entries: Vec<String> = entries.iter().map(go_text).collect();
            format!("[{}]", entries.join(" "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name}:{}", go_text(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
        other => other.to_string(),
    }
}

/// The fields that an endpoint takes from the stored object, regardless of the request.
fn reset_fields(request: &Request<'_>) -> FieldSet {
    let fields: &[&[&str]] = match (&*request.kind.kind, request.subresource) {
        (_, None) if !request.version.has_status() => &[],
        _ if request.custom() => match request.subresource {
            None => &[&["status"]],
            Some("status") => &[&["spec"], &["metadata"]],
            Some(_) => &[],
        },
        ("CertificateSigningRequest", None) => &[&["spec"], &["status"]],
        ("CertificateSigningRequest", Some("status")) => &[&["spec"], &["status", "conditions"]],
        ("CertificateSigningRequest", _) => &[&["spec"], &["status", "certificate"]],
        (_, None) | ("Namespace", Some("finalize")) => &[&["status"]],
        ("Deployment", Some("status")) => &[&["spec"], &["metadata", "labels"]],
        ("Pod", Some("status")) => {
            &[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]]
        }
        (
            "FlowSchema"
            | "PriorityLevelConfiguration"
            | "ResourceClaim"
            | "ServiceCIDR"
            | "ValidatingAdmissionPolicy"
            | "VolumeAttachment",
            Some("status"),
        ) => &[&["spec"], &["metadata"]],
        (_, Some("status")) => &[&["spec"]],
        (_, Some(_)) => &[],
    };
    FieldSet::of_fields(fields.iter().copied())
}

pub(crate) fn refused(error: joiner_patch::PatchError) -> Status {
    let mut status = Status::plain(error.code, error.reason, error.message);
    if !error.causes.is_empty() || error.code == 422 {
        let causes = error.causes.into_iter().map(|cause| Cause {
            reason: cause.reason.to_owned(),
            message: cause.message,
            field: cause.field,
        });
        let details = crate::Details { causes: causes.collect(), ..crate::Details::default() };
        status.details = Some(details);
    }
    status
}

/// The patched object, and the unknown fields of the patch.
fn patched(
    request: &Request<'_>,
    old: &Value,
    kind: PatchKind,
    patch: &Value,
) -> Result<(Value, Vec<String>), Status> {
    let made = match kind {
        PatchKind::Json if request.validation == FieldValidation::Ignore && !patch.is_array() => {
            return Err(Status::bad_request(format!(
                "json: cannot unmarshal {} into Go value of type jsonpatch.Patch",
                joiner_schema::go_word(patch)
            )));
        }
        PatchKind::Json => {
            let patched = joiner_patch::json_patch(old, patch).map_err(refused)?;
            return Ok((patched.document, patched.unknown_fields));
        }
        PatchKind::Merge if request.validation == FieldValidation::Ignore && is_plain(patch) => {
            patch.clone()
        }
        PatchKind::Merge => joiner_patch::merge_patch(old, patch).map_err(refused)?,
        PatchKind::Strategic | PatchKind::Apply { .. } => {
            let mut merged = joiner_patch::strategic_merge(old, patch, &request.version.schema)
                .map_err(refused)?;
            // The type in such a patch is ignored, if it is a text.
            let (version, kind) = (&request.version.api_version, &request.kind.kind);
            for (field, own) in [("apiVersion", version), ("kind", kind)] {
                if merged.get(field).is_none_or(|given| given.is_null() || given.is_string()) {
                    merged[field] = Value::from(&**own);
                }
            }
            merged
        }
    };
    Ok((made, Vec::new()))
}
