//! The answer of a request that was refused: a `Status` object, worded as Kubernetes words it.

use joiner_schema::FieldError;
use serde_json::{Map, Value, json};

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    /// The HTTP status code.
    pub code: u16,
    /// The machine-readable reason, such as `NotFound`; empty where Kubernetes gives none.
    pub reason: &'static str,
    /// The sentence for people.
    pub message: String,
    /// What it is about.
    pub details: Option<Details>,
    /// What the caller was warned of before it was refused; goes into headers.
    pub warnings: Vec<String>,
}

/// What a refusal is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// The object's name.
    pub name: String,
    /// Its API group.
    pub group: String,
    /// Its kind, or the plural name of its resource, as Kubernetes happens to have it.
    pub kind: String,
    /// Its uid, where the refusal is about identity.
    pub uid: String,
    /// The fields at fault.
    pub causes: Vec<Cause>,
    /// How long the caller should wait before it tries again.
    pub retry_after_seconds: u32,
}

/// One fault of a refused object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cause {
    /// The machine-readable sort of fault.
    pub reason: String,
    /// What is wrong.
    pub message: String,
    /// The field at fault.
    pub field: String,
}

/// An object's group and resource (or kind), the way messages name it: `deployments.apps`.
fn qualified(group: &str, resource: &str) -> String {
    if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") }
}

impl Status {
    /// A refusal without details.
    pub fn plain(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None, warnings: Vec::new() }
    }

    fn about(
        code: u16,
        reason: &'static str,
        (group, resource, name): (&str, &str, &str),
        message: String,
    ) -> Self {
        let details = Details {
            name: name.to_owned(),
            group: group.to_owned(),
            kind: resource.to_owned(),
            ..Details::default()
        };
        Self { details: Some(details), ..Self::plain(code, reason, message) }
    }

    /// The object does not exist.
    pub fn not_found(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} {name:?} not found", qualified(group, resource));
        Self::about(404, "NotFound", (group, resource, name), message)
    }

    /// The path leads nowhere.
    pub fn no_such_resource() -> Self {
        let message = "the server could not find the requested resource";
        Self { details: Some(Details::default()), ..Self::plain(404, "NotFound", message) }
    }

    /// An object of this name exists.
    pub fn already_exists(group: &str, resource: &str, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", qualified(group, resource));
        Self::about(409, "AlreadyExists", (group, resource, name), message)
    }

    /// The object is not in the state that the caller believes it to be in.
    pub fn conflict(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let resource_name = qualified(group, resource);
        let message = format!("Operation cannot be fulfilled on {resource_name} {name:?}: {why}");
        Self::about(409, "Conflict", (group, resource, name), message)
    }

    /// The object was changed since the caller read it.
    pub fn modified(group: &str, resource: &str, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version \
                   and try again";
        Self::conflict(group, resource, name, why)
    }

    /// The object breaks rules; every broken one is a cause.
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        // Kubernetes says an error that several checks found only once in the sentence, and lists
        // it as often as it was found.
        let mut sentences: Vec<String> = Vec::new();
        for error in errors {
            let sentence = error.to_string();
            if !sentences.contains(&sentence) {
                sentences.push(sentence);
            }
        }
        let list = match sentences.as_slice() {
            [] => String::new(),
            [one] => format!(": {one}"),
            many => format!(": [{}]", many.join(", ")),
        };
        let message = format!("{} {name:?} is invalid{list}", qualified(group, kind));
        let mut status = Self::about(422, "Invalid", (group, kind, name), message);
        if let Some(details) = &mut status.details {
            details.causes = errors
                .iter()
                .map(|error| Cause {
                    reason: error.kind.reason().to_owned(),
                    message: error.body(),
                    field: error.field.clone(),
                })
                .collect();
        }
        status
    }

    /// The caller may not do this.
    pub fn forbidden(group: &str, resource: &str, name: &str, why: &str) -> Self {
        let message = match (resource, name) {
            ("", _) => format!("forbidden: {why}"),
            (_, "") => format!("{} is forbidden: {why}", qualified(group, resource)),
            _ => format!("{} {name:?} is forbidden: {why}", qualified(group, resource)),
        };
        Self::about(403, "Forbidden", (group, resource, name), message)
    }

    /// The request itself makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::plain(400, "BadRequest", message)
    }

    /// The resource does not know this verb.
    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self { details: Some(Details::default()), ..Self::plain(405, "MethodNotAllowed", message) }
    }

    /// The resource does not know this verb, as endpoints of custom resources say it.
    pub fn method_not_supported(group: &str, resource: &str, verb: &str) -> Self {
        let kind = qualified(group, resource);
        let message = format!("{verb} is not supported on resources of kind {kind:?}");
        Self::about(405, "MethodNotAllowed", (group, resource, ""), message)
    }

    /// The version asked for is no longer kept.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::plain(410, "Expired", message)
    }

    /// The server failed.
    pub fn internal(message: impl Into<String>) -> Self {
        let cause = message.into();
        let mut status =
            Self::plain(500, "InternalError", format!("Internal error occurred: {cause}"));
        let causes = vec![Cause { message: cause, ..Cause::default() }];
        status.details = Some(Details { causes, ..Details::default() });
        status
    }

    /// The caller should slow down.
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        let details = Details { retry_after_seconds, ..Details::default() };
        let status = Self::plain(429, "TooManyRequests", message);
        Self { details: Some(details), ..status }
    }

    /// Whether the request was refused before its object was examined: by its path, method or media
    /// types.
    pub(crate) fn is_about_nothing(&self) -> bool {
        matches!(self.code, 404..=406 | 415) && self.details == Some(Details::default())
    }

    /// The object as it goes over the wire.
    pub fn to_json(&self) -> Value {
        let mut status = json!({
            "apiVersion": "v1",
            "kind": "Status",
            "metadata": {},
            "status": "Failure",
            "code": self.code,
        });
        let fields = status.as_object_mut().expect("made as an object above");
        if !self.message.is_empty() {
            fields.insert("message".into(), self.message.clone().into());
        }
        if !self.reason.is_empty() {
            fields.insert("reason".into(), self.reason.into());
        }
        if let Some(details) = &self.details {
            fields.insert("details".into(), details.to_json());
        }
        status
    }
}

impl Details {
    fn to_json(&self) -> Value {
        let mut fields = Map::new();
        for (key, value) in
            [("name", &self.name), ("group", &self.group), ("kind", &self.kind), ("uid", &self.uid)]
        {
            if !value.is_empty() {
                fields.insert(key.into(), value.clone().into());
            }
        }
        if !self.causes.is_empty() {
            let causes = self.causes.iter().map(Cause::to_json).collect();
            fields.insert("causes".into(), Value::Array(causes));
        }
        if self.retry_after_seconds > 0 {
            fields.insert("retryAfterSeconds".into(), self.retry_after_seconds.into());
        }
        Value::Object(fields)
    }
}

impl Cause {
    fn to_json(&self) -> Value {
        let mut fields = Map::new();
        for (key, value) in
            [("reason", &self.reason), ("message", &self.message), ("field", &self.field)]
        {
            if !value.is_empty() {
                fields.insert(key.into(), value.clone().into());
            }
        }
        Value::Object(fields)
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.message)
    }
}

impl std::error::Error for Status {}
