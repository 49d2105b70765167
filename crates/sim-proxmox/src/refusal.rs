//! Why a call is refused.

use std::collections::BTreeMap;

/// A status and what is said with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) message: String,
    /// What is wrong with which parameter.
    pub(crate) errors: BTreeMap<String, String>,
}

impl Refusal {
    pub(crate) fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), errors: BTreeMap::new() }
    }

    /// The server could not do it.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(500, message)
    }

    pub(crate) fn parameters(errors: BTreeMap<String, String>) -> Self {
        Self { errors, ..Self::new(400, "Parameter verification failed.") }
    }

    pub(crate) fn parameter(name: &str, problem: &str) -> Self {
        Self::parameters(BTreeMap::from([(name.to_owned(), problem.to_owned())]))
    }

    /// The caller lacks privileges on a path.
    pub(crate) fn permission(path: &str, privileges: &str) -> Self {
        Self::new(403, format!("Permission check failed ({path}, {privileges})"))
    }

    pub(crate) fn unauthorized(message: &str) -> Self {
        Self::new(401, message)
    }
}
