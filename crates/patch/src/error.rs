//! Why a change was refused, as a Status says it.

use std::fmt;

/// A change that the API server refuses: what its Status carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchError {
    /// `Status.code`, the HTTP status.
    pub code: u16,
    /// `Status.reason`; empty where the API server gives none.
    pub reason: &'static str,
    /// `Status.message`.
    pub message: String,
    /// `Status.details.causes`.
    pub causes: Vec<Cause>,
    /// What went wrong where the API server keeps it to itself; for logs, not for clients.
    pub detail: Option<String>,
}

/// One entry of `Status.details.causes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The sort of cause, such as `FieldManagerConflict`.
    pub reason: &'static str,
    /// What is wrong.
    pub message: String,
    /// The field at fault.
    pub field: String,
}

impl PatchError {
    /// The request is malformed.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// The API server has no better name for it; it answers 500 although the client is at fault.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(500, "", message)
    }

    /// The patch does not fit the object. The API server never says why.
    pub(crate) fn unprocessable(detail: impl Into<String>) -> Self {
        let message = "the server rejected our request due to an error in our request";
        Self { detail: Some(detail.into()), ..Self::new(422, "Invalid", message) }
    }

    pub(crate) fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), causes: Vec::new(), detail: None }
    }
}

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.detail {
            Some(detail) => write!(f, ": {detail}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for PatchError {}
