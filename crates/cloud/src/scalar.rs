//! Fields that a user may write as a number or as a string.

use std::fmt::{self, Display, Formatter};

use serde::Deserialize;

/// Kubernetes' int-or-string.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "is neither a whole number nor a text; write one of them")]
pub enum IntOrString {
    /// A whole number.
    Int(i64),
    /// A string.
    Text(String),
}

impl Display for IntOrString {
    /// The value, without surrounding space.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text.trim()),
        }
    }
}

/// Any number, also as a string, because many tools cannot write fractions into objects.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "is neither a number nor a text; write one of them")]
pub enum NumberOrString {
    /// A number.
    Number(f64),
    /// A string.
    Text(String),
}

impl Display for NumberOrString {
    /// The value, without surrounding space.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text.trim()),
        }
    }
}

/// The text of a field, without surrounding space; none where the field is empty or missing.
pub fn written(field: Option<&impl Display>) -> Option<String> {
    field.map(|value| value.to_string().trim().to_owned()).filter(|text| !text.is_empty())
}
