//! What an API server was asked, and by whom, from its own audit log.

use std::{fmt, fs, io, path::Path};

use serde::Deserialize;
use serde_json::{Value, json};

/// One request to an API server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// Whose token it carried.
    pub user: String,
    /// What was to be done: `get`, `list`, `watch`, `create`, `update`, `patch`, ….
    pub verb: String,
    /// What with: `pods`, `deployments.apps`, `pods/eviction`; the path where it is no resource.
    pub resource: String,
}

impl Call {
    /// Whether it can change nothing.
    pub fn reads(&self) -> bool {
        matches!(self.verb.as_str(), "get" | "list" | "watch" | "head" | "options")
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { user, verb, resource } = self;
        write!(f, "{user} {verb} {resource}")
    }
}

/// An audit log could not be read.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The file.
    #[error("the audit log {path}: {source}; a control plane has one where Options::audit is set")]
    File {
        /// Where it should be.
        path: String,
        /// Why it could not be read.
        source: io::Error,
    },
    /// A line.
    #[error("line {line} of the audit log cannot be read: {source}")]
    Line {
        /// Which one, the first being 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// A policy that has every request written down, once.
///
/// It is written down as it comes in, before it is answered: who has the answer to a request finds
/// the request in the log.
pub(super) fn policy() -> Value {
    json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["ResponseStarted", "ResponseComplete", "Panic"],
        "rules": [{ "level": "Metadata" }],
    })
}

/// All requests, in the order in which they came.
pub(super) fn read(path: &Path) -> Result<Vec<Call>, AuditError> {
    let log = fs::read_to_string(path);
    let log =
        log.map_err(|source| AuditError::File { path: path.display().to_string(), source })?;
    parse(&log)
}

fn parse(log: &str) -> Result<Vec<Call>, AuditError> {
    let mut lines: Vec<&str> = log.split('\n').collect();
    // Others go on asking: what is after the last end of line is being written just now.
    lines.pop();
    let read = |(index, line): (usize, &str)| {
        let event: Event = serde_json::from_str(line)
            .map_err(|source| AuditError::Line { line: index + 1, source })?;
        Ok(Call::from(event))
    };
    lines.into_iter().enumerate().map(read).collect()
}

/// A line of the log, as far as it matters here.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    user: UserInfo,
    verb: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    object_ref: Option<ObjectRef>,
}

#[derive(Debug, Deserialize)]
struct UserInfo {
    username: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ObjectRef {
    resource: Option<String>,
    api_group: Option<String>,
    subresource: Option<String>,
}

impl From<Event> for Call {
    fn from(event: Event) -> Self {
        let resource = event.object_ref.and_then(ObjectRef::name);
        let path = || event.request_uri.split('?').next().unwrap_or_default().to_owned();
        Self {
            user: event.user.username,
            verb: event.verb,
            resource: resource.unwrap_or_else(path),
        }
    }
}

impl ObjectRef {
    fn name(self) -> Option<String> {
        let mut name = self.resource?;
        if let Some(group) = self.api_group {
            name = format!("{name}.{group}");
        }
        if let Some(subresource) = self.subresource {
            name = format!("{name}/{subresource}");
        }
        Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_tells_who_asked_what_and_which_calls_only_read() {
        let log = concat!(
            r#"{"user":{"username":"reader"},"verb":"list","requestURI":"/api/v1/pods?limit=5","#,
            r#""objectRef":{"resource":"pods","apiVersion":"v1"}}"#,
            "\n",
            r#"{"user":{"username":"reader"},"verb":"get","requestURI":"/readyz?verbose"}"#,
            "\n",
            r#"{"user":{"username":"writer"},"verb":"create","requestURI":"/x","#,
            r#""objectRef":{"resource":"pods","namespace":"a","subresource":"eviction"}}"#,
            "\n",
            r#"{"user":{"username":"writer"},"verb":"patch","requestURI":"/y","#,
            r#""objectRef":{"resource":"nodeclaims","apiGroup":"karpenter.sh"}}"#,
            "\n",
            r#"{"user":{"username":"half a li"#,
        );
        let calls = parse(log).unwrap();
        let told: Vec<String> =
            calls.iter().map(|call| format!("{call}, reads: {}", call.reads())).collect();
        assert_eq!(
            told,
            [
                "reader list pods, reads: true",
                "reader get /readyz, reads: true",
                "writer create pods/eviction, reads: false",
                "writer patch nodeclaims.karpenter.sh, reads: false",
            ]
        );
    }

    #[test]
    fn a_line_that_is_no_event_is_an_error_with_its_number() {
        let error = parse("{}\n").unwrap_err().to_string();
        assert!(error.starts_with("line 1 of the audit log cannot be read: missing"), "{error}");
    }
}
