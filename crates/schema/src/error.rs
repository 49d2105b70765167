//! Errors about one field, as the API server words them.

use std::fmt;

use serde_json::Value;

use crate::text;

/// One thing that is wrong with one field of an object.
///
/// Printed as the API server prints it in `Status.message`; [`FieldError::body`] is what a cause in
/// `Status.details.causes` carries.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// What sort of error it is; decides the reason of the cause.
    pub kind: ErrorKind,
    /// The path of the field, for example `spec.containers[0].name`.
    pub field: String,
    /// The value that was refused, where the kind of error shows one.
    pub value: Option<Value>,
    /// What is wrong with it; may be empty.
    pub detail: String,
}

/// The sorts of field errors that Kubernetes tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The value refers to something that does not exist.
    NotFound,
    /// A field that must be given is not.
    Required,
    /// A value that must be unique is there twice.
    Duplicate,
    /// The value breaks a rule.
    Invalid,
    /// The value is none of those that are supported.
    NotSupported,
    /// The field must not be given here.
    Forbidden,
    /// The value is too long.
    TooLong,
    /// The list has too many entries.
    TooMany,
    /// The value has the wrong JSON type.
    TypeInvalid,
    /// The server could not decide.
    Internal,
}

impl ErrorKind {
    /// The reason that a cause in a Status carries.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Internal => "InternalError",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::Internal => "Internal error",
        }
    }

    fn shows_value(self) -> bool {
        !matches!(self, Self::Required | Self::Forbidden | Self::TooLong | Self::Internal)
    }
}

impl FieldError {
    /// An error of any kind.
    pub fn new(
        kind: ErrorKind,
        field: impl Into<String>,
        value: Option<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self { kind, field: field.into(), value, detail: detail.into() }
    }

    /// A field that must be given is not.
    pub fn required(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Required, field, None, detail)
    }

    /// A value breaks a rule.
    pub fn invalid(
        field: impl Into<String>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(ErrorKind::Invalid, field, Some(value.into()), detail)
    }

    /// A field must not be given, or not be changed.
    pub fn forbidden(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::Forbidden, field, None, detail)
    }

    /// A value that must be unique is there twice.
    pub fn duplicate(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::new(ErrorKind::Duplicate, field, Some(value.into()), "")
    }

    /// A value is none of those that are supported.
    pub fn not_supported(
        field: impl Into<String>,
        value: impl Into<Value>,
        supported: &[&str],
    ) -> Self {
        let quoted: Vec<String> = supported.iter().map(|value| text::quote(value)).collect();
        let detail = if quoted.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", quoted.join(", "))
        };
        Self::new(ErrorKind::NotSupported, field, Some(value.into()), detail)
    }

    /// A string is longer than `limit` bytes.
    pub fn too_long(field: impl Into<String>, limit: u64) -> Self {
        let bytes = if limit == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {limit} {bytes}");
        Self::new(ErrorKind::TooLong, field, None, detail)
    }

    /// A list or an object has `actual` entries where only `limit` are allowed.
    pub fn too_many(field: impl Into<String>, actual: usize, limit: u64) -> Self {
        let items = if limit == 1 { "item" } else { "items" };
        let detail = format!("must have at most {limit} {items}");
        Self::new(ErrorKind::TooMany, field, Some(Value::from(actual)), detail)
    }

    /// A value has the wrong JSON type or format.
    pub fn type_invalid(
        field: impl Into<String>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(ErrorKind::TypeInvalid, field, Some(value.into()), detail)
    }

    /// The error without the path of the field: the message of a cause.
    pub fn body(&self) -> String {
        let mut body = self.kind.words().to_owned();
        if self.kind.shows_value()
            && let Some(value) = &self.value
        {
            body.push_str(": ");
            body.push_str(&text::shown(value));
        }
        if !self.detail.is_empty() {
            body.push_str(": ");
            body.push_str(&self.detail);
        }
        body
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}
