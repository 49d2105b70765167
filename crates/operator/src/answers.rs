//! Safe descriptions of answers that cannot be decoded.
//!
//! The JSON library quotes values in its errors ("invalid type: string …"), and an answer may be a
//! Secret. So messages name only the place of the error, and never a part of the answer.

use serde_json::error::Category;

use crate::text::chain;

/// What went wrong with a call to the API server, without any text of what was answered.
pub fn problem(error: &kube::Error) -> String {
    match error {
        kube::Error::SerdeError(error) => format!("the answer {}", undecoded(error)),
        other => chain(other),
    }
}

/// What is wrong with JSON that cannot be decoded, and where.
pub fn undecoded(error: &serde_json::Error) -> String {
    let problem = match error.classify() {
        Category::Eof => "breaks off",
        Category::Syntax => "is no JSON",
        Category::Data => "has not the fields of its kind",
        Category::Io => "could not be read",
    };
    format!("{problem} at line {}, column {}", error.line(), error.column())
}

/// Writes a line about an answer that cannot be decoded. `what` is what was asked: verb, kind, name.
pub(crate) fn log_undecoded(what: &str, error: &kube::Error) {
    if let kube::Error::SerdeError(error) = error {
        let problem = undecoded(error);
        tracing::warn!(
            call = what,
            line = error.line(),
            column = error.column(),
            "an answer of the API server cannot be decoded: it {problem}"
        );
    }
}
