//! The parts of a `NodeClass` spec that several clouds share.
//!
//! A cloud declares its own spec with `serde` and `schemars` and uses from here:
//!
//! - [`read`] to decode the object, with an error that names the field and the remedy;
//! - [`entry`] to check the fields of one size of instances;
//! - [`kubelet`] for the kubelet's settings, [`schema`] for their definition;
//! - [`hash`] for the fingerprint that drift depends on.
//!
//! What is wrong with a class is a list of [`Problem`]s; a class with problems is [`NotReady`].

pub mod entry;
pub mod hash;
pub mod kubelet;
pub mod schema;

use std::fmt::{self, Display, Formatter};

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Why a condition of a class is false, in one word for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reason(&'static str);

impl Reason {
    /// An entry of `spec.instanceTypes` is invalid, or there is none.
    pub const INVALID_INSTANCE_TYPE: Self = Self("InvalidInstanceType");
    /// `spec.diskSize` is invalid.
    pub const INVALID_DISK_SIZE: Self = Self("InvalidDiskSize");
    /// `spec.kubelet` is invalid.
    pub const INVALID_KUBELET: Self = Self("InvalidKubelet");
    /// An entry of `spec.zones` is invalid.
    pub const INVALID_ZONE: Self = Self("InvalidZone");
    /// `spec.networks` is invalid.
    pub const INVALID_NETWORK: Self = Self("InvalidNetwork");
    /// A selector that is needed is empty.
    pub const SELECTOR_MISSING: Self = Self("SelectorMissing");
    /// A selector has the wrong form.
    pub const INVALID_SELECTOR: Self = Self("InvalidSelector");
    /// Two spellings of one field have different values.
    pub const AMBIGUOUS_SPELLING: Self = Self("AmbiguousSpelling");
    /// `spec.userData` is invalid.
    pub const INVALID_USER_DATA: Self = Self("InvalidUserData");
    /// A field about the instance is invalid.
    pub const INVALID_INSTANCE: Self = Self("InvalidInstance");

    /// A reason that only one cloud has: a `CamelCase` word.
    pub const fn new(word: &'static str) -> Self {
        Self(word)
    }
}

impl Display for Reason {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Something about a class that prevents its use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The reason for programs.
    pub reason: Reason,
    /// Path of the field.
    pub field: String,
    /// What is wrong, and what to write instead.
    pub text: String,
}

impl Problem {
    /// A problem of a field.
    pub fn new(reason: Reason, field: impl Into<String>, text: impl Into<String>) -> Self {
        Self { reason, field: field.into(), text: text.into() }
    }
}

impl Display for Problem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.reason, self.field, self.text)
    }
}

/// A class that the API server accepts, but of which no instance can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotReady {
    /// Kind of the class.
    pub kind: &'static str,
    /// Name of the class.
    pub class: String,
    /// Everything that prevents its use.
    pub problems: Vec<Problem>,
}

impl Display for NotReady {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} is not ready: ", self.kind, self.class)?;
        for (i, problem) in self.problems.iter().enumerate() {
            let separator = if i == 0 { "" } else { "; " };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for NotReady {}

/// An object that the API server would refuse, because a field has the wrong type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {class:?}: {field}: {problem}")]
pub struct NotANodeClass {
    /// Kind of the object.
    pub kind: &'static str,
    /// Name of the object.
    pub class: String,
    /// Path of the field.
    pub field: String,
    /// What is wrong, and what to write instead.
    pub problem: String,
}

/// Decodes an object of a kind of class.
pub fn read<T: DeserializeOwned>(kind: &'static str, object: &Value) -> Result<T, NotANodeClass> {
    serde_path_to_error::deserialize(object).map_err(|error| NotANodeClass {
        kind,
        class: name_of(object).to_owned(),
        field: error.path().to_string(),
        problem: with_remedy(&error.into_inner().to_string()),
    })
}

/// The name of an object; empty where it has none.
pub fn name_of(object: &Value) -> &str {
    object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}

/// The message of serde for a value of the wrong type, with what to write instead.
fn with_remedy(problem: &str) -> String {
    let Some((found, expected)) = problem.split_once(", expected ") else {
        return problem.to_owned();
    };
    let remedy = match expected {
        "a string" => "put it in quotes",
        "a sequence" => "write a list",
        "a boolean" => "write true or false",
        "i64" => "write a whole number",
        "u32" => "write a whole number of 0 or more",
        _ => "write an object",
    };
    format!("{found}; {remedy}")
}

/// Paths of fields that the entries of `spec.instanceTypes` do not have. An API server drops unknown
/// fields without a message, so the user is told here.
pub fn unknown_fields(object: &Value, known: &[&str]) -> Vec<String> {
    let sizes = object.pointer("/spec/instanceTypes").and_then(Value::as_array);
    let mut unknown = Vec::new();
    for (i, size) in sizes.into_iter().flatten().enumerate() {
        for field in size.as_object().into_iter().flat_map(|fields| fields.keys()) {
            if !known.contains(&field.as_str()) {
                unknown.push(format!("spec.instanceTypes[{i}].{field}"));
            }
        }
    }
    unknown
}
