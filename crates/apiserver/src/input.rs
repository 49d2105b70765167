//! What a request brings along: its body and its options, read in the order in which the real
//! server reads them, because that decides which of several mistakes is told.

use std::fmt::Write;

use bytes::Bytes;
use http::{HeaderMap, header};
use joiner_schema::FieldError;
use serde_json::{Value, json};

use crate::{
    Status,
    answer::Exchange,
    json,
    negotiate::OFFERED,
    operation::{DeleteOptions, FieldValidation, PatchKind, Propagation},
    options,
    write::text,
};

/// The longest body that is read.
const BODY_MAX: usize = 3 * 1024 * 1024;

/// The patches that custom resources know; built-in kinds know a further one.
const CUSTOM_PATCHES: [&str; 3] =
    ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];
const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";

/// An object or a patch that was sent.
pub(crate) struct Given {
    pub(crate) value: Value,
    pub(crate) text: Text,
}

/// What is remembered of the text of a body, for what is to be told about it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text {
    /// The text, if it is JSON.
    pub(crate) json: Bytes,
    /// Fields that were given twice.
    pub(crate) duplicates: Vec<String>,
}

/// How to delete, and whether the old option was used to ask for cascading.
pub(crate) struct Deletion {
    pub(crate) options: DeleteOptions,
    pub(crate) cascades: bool,
}

impl Exchange<'_> {
    pub(crate) fn check_body_size(&self) -> Result<(), Status> {
        if self.request.body().len() <= BODY_MAX {
            return Ok(());
        }
        let message = format!("Request entity too large: limit is {BODY_MAX}");
        Err(Status::plain(413, "RequestEntityTooLarge", message))
    }

    pub(crate) fn check_body_type(&self) -> Result<(), Status> {
        let kind = media_type(self.request.headers());
        if kind.is_empty() || OFFERED.contains(&kind) {
            return Ok(());
        }
        Err(unknown_format(&OFFERED))
    }

    /// Refuses patches that the endpoint does not know, as the endpoint says it.
    pub(crate) fn check_patch_type(&self) -> Result<(), Status> {
        let kind = media_type(self.request.headers());
        if CUSTOM_PATCHES.contains(&kind) || (kind == STRATEGIC_PATCH && !self.is_custom()) {
            return Ok(());
        }
        if self.is_custom() {
            return Err(unknown_format(&CUSTOM_PATCHES));
        }
        let details = Some(crate::Details::default());
        let status = Status::plain(415, "UnsupportedMediaType", "415: Unsupported Media Type");
        Err(Status { details, ..status })
    }

    pub(crate) fn patch_kind(&self) -> Result<PatchKind, Status> {
        Ok(match media_type(self.request.headers()) {
            "application/json-patch+json" => PatchKind::Json,
            "application/merge-patch+json" => PatchKind::Merge,
            STRATEGIC_PATCH => PatchKind::Strategic,
            "application/apply-patch+yaml" => PatchKind::Apply { force: self.query.is_on("force") },
            _ => return Err(unknown_format(&CUSTOM_PATCHES)),
        })
    }

    /// What all writes may say in their query: whether nothing is to be stored, and what happens
    /// to fields that the kind does not have.
    pub(crate) fn write_options(&self, kind: &str) -> Result<(bool, FieldValidation), Status> {
        self.checked_options(kind, Vec::new())
    }

    pub(crate) fn patch_options(&self, kind: PatchKind) -> Result<(bool, FieldValidation), Status> {
        let apply = matches!(kind, PatchKind::Apply { .. });
        let mut errors = Vec::new();
        if apply && self.query.get("fieldManager").is_none() {
            errors.push(FieldError::required("fieldManager", "is required for apply patch"));
        } else if !apply && self.query.all("force").next().is_some() {
            let detail = "may not be specified for non-apply patch";
            errors.push(FieldError::forbidden("force", detail));
        }
        self.checked_options("PatchOptions", errors)
    }

    fn checked_options(
        &self,
        kind: &str,
        mut errors: Vec<FieldError>,
    ) -> Result<(bool, FieldValidation), Status> {
        if let Some(manager) = self.query.get("fieldManager") {
            errors.extend(joiner_schema::meta::validate_field_manager(manager, "fieldManager"));
        }
        let values: Vec<&str> = self.query.all("dryRun").collect();
        errors.extend(options::dry_run_error(&values));
        match self.query.field_validation() {
            Ok(validation) if errors.is_empty() => return Ok((!values.is_empty(), validation)),
            Ok(_) => {}
            Err(error) => errors.push(error),
        }
        Err(options::invalid_options(kind, &errors))
    }

    /// Reads a patch. An object that is not there is told before a patch that cannot be read,
    /// except where the patch could create the object.
    pub(crate) fn parse_patch(
        &self,
        kind: PatchKind,
        validation: FieldValidation,
    ) -> Result<Given, Status> {
        let body = self.request.body();
        let parsed = match kind {
            PatchKind::Apply { .. } => {
                read_yaml(body).map_err(|why| format!("error decoding YAML: {why}"))
            }
            PatchKind::Strategic => json::parse(body),
            PatchKind::Merge if validation == FieldValidation::Ignore => {
                json::parse(body).map_err(|_| "Invalid JSON Patch".to_owned())
            }
            PatchKind::Json if validation == FieldValidation::Ignore => json::parse(body),
            PatchKind::Json | PatchKind::Merge => {
                json::parse(body).map_err(|why| format!("error decoding patch: {why}"))
            }
        };
        match parsed {
            Ok(parsed) => Ok(Given::new(parsed, body)),
            Err(why) => {
                let creates =
                    matches!(kind, PatchKind::Apply { .. }) && self.route.subresource.is_none();
                if !creates {
                    self.get_object(&self.key())?;
                }
                Err(Status::bad_request(why))
            }
        }
    }

    /// Reads the body of a create or an update.
    pub(crate) fn parse_body(&self, validation: FieldValidation) -> Result<Given, Status> {
        let body = self.request.body();
        let refuse = |why: String| {
            let kind =
                match self.route.subresource.and_then(|name| self.version().subresource(name)) {
                    Some(subresource) => &subresource.kind,
                    None => &self.kind.kind,
                };
            Status::bad_request(format!(
                "the object provided is unrecognized (must be of type {kind}): {why} ({})",
                summary(body)
            ))
        };
        let mut parsed = self.read_object(self.is_custom()).map_err(refuse)?;
        let stands_alone = self.route.subresource.is_none_or(|name| name == "status");
        if self.is_custom() && stands_alone {
            if text(&parsed.value, "/kind").is_empty() {
                let shown = String::from_utf8_lossy(body);
                let why = format!("Object 'Kind' is missing in '{shown}'");
                if validation == FieldValidation::Ignore {
                    let (kind, version) = (&self.kind.kind, &self.version().name);
                    return Err(Status::bad_request(format!(
                        "{kind} in version {version:?} cannot be handled as a {kind}: {why}"
                    )));
                }
                return Err(refuse(why));
            }
        } else if let Some(fields) = parsed.value.as_object_mut() {
            // The type is found in any case of its fields; fields with wrong case then count as
            // unknown.
            for (name, found) in
                [("apiVersion", &parsed.head.api_version), ("kind", &parsed.head.kind)]
            {
                if let Some(found) = found {
                    fields.insert(name.into(), found.clone().into());
                }
            }
        }
        Ok(Given::new(parsed, body))
    }

    /// Reads a body that has a type. The error is what the real server says after its preface.
    fn read_object(&self, custom: bool) -> Result<json::Parsed, String> {
        let body = self.request.body();
        let mut parsed = match media_type(self.request.headers()) {
            "application/yaml" => read_yaml(body)?,
            "application/vnd.kubernetes.protobuf" if !custom => {
                let value = joiner_kinds::from_protobuf(body)
                    .map_err(|why| format!("the protobuf {why}"))?;
                json::Parsed { value, ..json::Parsed::default() }
            }
            _ => json::parse(body)
                .map_err(|why| format!("couldn't get version/kind; json parse error: {why}"))?,
        };
        match &parsed.value {
            Value::Object(_) => {}
            Value::Null => parsed.value = json!({}),
            other => return Err(not_an_object(other)),
        }
        if let Some(wrong) = &parsed.head.wrong {
            return Err(format!("couldn't get version/kind; json parse error: {wrong}"));
        }
        let version = parsed.head.api_version.as_deref().unwrap_or_default();
        if version.matches('/').count() > 1 {
            return Err(format!("unexpected GroupVersion string: {version}"));
        }
        Ok(parsed)
    }

    /// How to delete: what the body says, or the query if there is no body.
    pub(crate) fn delete_options(&self) -> Result<(Deletion, bool), Status> {
        self.check_body_size()?;
        let value = if self.request.body().is_empty() {
            self.delete_query()?
        } else {
            self.check_body_type()?;
            let mut value = self.read_object(false).map_err(Status::bad_request)?.value;
            check_options_type(&value)?;
            joiner_kinds::normalize_kind("meta.k8s.io", "v1", "DeleteOptions", &mut value)
                .map_err(|error| Status::bad_request(error.to_string()))?;
            value
        };
        let mut errors = Vec::new();
        let policy = value.get("propagationPolicy").and_then(Value::as_str);
        let orphan = value.get("orphanDependents").and_then(Value::as_bool);
        if let (Some(policy), Some(_)) = (policy, orphan) {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            errors.push(FieldError::invalid("propagationPolicy", policy, detail));
        }
        let propagation = match (policy, orphan) {
            (Some("Foreground"), _) => Some(Propagation::Foreground),
            // The objects in a namespace are deleted before it, unless they are to be orphaned.
            (None, Some(false)) if self.kind.is("", "Namespace") => Some(Propagation::Foreground),
            (Some("Orphan"), _) | (None, Some(true)) => Some(Propagation::Orphan),
            (Some("Background"), _) | (None, Some(false)) => Some(Propagation::Background),
            (None, None) => None,
            (Some(other), _) => {
                let known = ["Foreground", "Background", "Orphan", "nil"];
                errors.push(FieldError::not_supported("propagationPolicy", other, &known));
                None
            }
        };
        let dry_run: Vec<&str> =
            value["dryRun"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        errors.extend(options::dry_run_error(&dry_run));
        if !errors.is_empty() {
            return Err(options::invalid_options("DeleteOptions", &errors));
        }
        let precondition = |field: &str| value["preconditions"][field].as_str().map(Into::into);
        let options = DeleteOptions {
            grace_period_seconds: value["gracePeriodSeconds"].as_i64(),
            uid: precondition("uid"),
            resource_version: precondition("resourceVersion"),
            propagation,
        };
        Ok((Deletion { options, cascades: orphan == Some(false) }, !dry_run.is_empty()))
    }

    /// The same options as a query has them.
    fn delete_query(&self) -> Result<Value, Status> {
        let mut value = json!({});
        if let Some(grace) = self.query.integer("gracePeriodSeconds")? {
            value["gracePeriodSeconds"] = grace.into();
        }
        if self.query.all("orphanDependents").next().is_some() {
            value["orphanDependents"] = self.query.is_on("orphanDependents").into();
        }
        if let Some(policy) = self.query.all("propagationPolicy").next() {
            value["propagationPolicy"] = policy.into();
        }
        let dry_run: Vec<&str> = self.query.all("dryRun").collect();
        value["dryRun"] = dry_run.into();
        Ok(value)
    }
}

impl Given {
    fn new(parsed: json::Parsed, body: &Bytes) -> Self {
        let json = if body.first() == Some(&b'{') { body.clone() } else { Bytes::new() };
        Self { value: parsed.value, text: Text { json, duplicates: parsed.duplicates } }
    }
}

/// Options may name the type they are of, and then it must be theirs.
fn check_options_type(value: &Value) -> Result<(), Status> {
    let kind = text(value, "/kind");
    if matches!(kind, "" | "DeleteOptions") {
        return Ok(());
    }
    let version = text(value, "/apiVersion");
    let version = if version.is_empty() { "meta.k8s.io/v1" } else { version };
    Err(Status::bad_request(format!(
        "no kind {kind:?} is registered for version {version:?} in scheme \
         \"pkg/runtime/scheme.go:111\""
    )))
}

fn unknown_format(accepted: &[&str]) -> Status {
    let message = format!(
        "the body of the request was in an unknown format - accepted media types include: {}",
        accepted.join(", ")
    );
    Status::plain(415, "UnsupportedMediaType", message)
}

/// The media type of a body without its parameters.
fn media_type(headers: &HeaderMap) -> &str {
    let full = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    full.unwrap_or_default().split(';').next().unwrap_or_default().trim()
}

fn read_yaml(text: &[u8]) -> Result<json::Parsed, String> {
    if let Ok(parsed) = json::parse(text) {
        return Ok(parsed);
    }
    let words = std::str::from_utf8(text).map_err(|error| format!("yaml: {error}"))?;
    if words.lines().any(|line| line.starts_with('\t')) {
        return Err("yaml: found character that cannot start any token".to_owned());
    }
    // As in JSON, the last of several fields of one name counts.
    let options = serde_saphyr::options! {
        duplicate_keys: serde_saphyr::options::DuplicateKeyPolicy::LastWins,
    };
    let value: Value = serde_saphyr::from_str_with_options(words, options)
        .map_err(|error| format!("yaml: {error}"))?;
    json::parse(value.to_string().as_bytes())
}

/// The beginning of a body, as refusals quote it.
fn summary(body: &[u8]) -> String {
    const QUOTED_MAX: usize = 30;
    let cut = &body[..body.len().min(QUOTED_MAX)];
    let more = if body.len() > QUOTED_MAX { " ..." } else { "" };
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(cut)),
        Some(_) => {
            let mut hex = String::with_capacity(2 * cut.len());
            for byte in cut {
                let _infallible = write!(hex, "{byte:02x}");
            }
            format!("{hex}{more}")
        }
    }
}

pub(crate) fn not_an_object(value: &Value) -> String {
    let what = joiner_schema::go_word(value);
    format!(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {what} into Go value \
         of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \
         \"json:\\\"kind,omitempty\\\"\" }}"
    )
}
