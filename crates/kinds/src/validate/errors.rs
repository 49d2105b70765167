//! Field errors and the paths they carry, built without allocating until something is wrong.

use std::fmt::{self, Display, Formatter};

use joiner_schema::{ErrorKind, FieldError};
use serde_json::Value;

/// What an update must not change says this.
pub(crate) const IMMUTABLE: &str = "field is immutable";

/// The path of a field, as a chain of steps on the stack. It becomes text when an error needs it.
#[derive(Clone, Copy)]
pub(crate) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    /// `.name`; may hold several names with dots between them.
    Name(&'a str),
    /// `[3]`
    Index(usize),
    /// `[key]`
    Key(&'a str),
}

impl<'a> Path<'a> {
    /// The path of a field at the top of an object. Without a name it is the object as a whole,
    /// which the API server prints as `[]`.
    pub(crate) const fn new(name: &'a str) -> Self {
        Self { parent: None, step: Step::Name(name) }
    }

    /// A field of the object at this path.
    pub(crate) const fn child<'b>(&'b self, name: &'b str) -> Path<'b> {
        Path { parent: Some(self), step: Step::Name(name) }
    }

    /// An entry of the list at this path.
    pub(crate) const fn index(&'a self, index: usize) -> Path<'a> {
        Path { parent: Some(self), step: Step::Index(index) }
    }

    /// An entry of the map at this path.
    pub(crate) const fn key<'b>(&'b self, key: &'b str) -> Path<'b> {
        Path { parent: Some(self), step: Step::Key(key) }
    }
}

impl Display for Path<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Name("") => f.write_str("[]"),
            Step::Name(name) if self.parent.is_some() => write!(f, ".{name}"),
            Step::Name(name) => f.write_str(name),
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Key(key) => write!(f, "[{key}]"),
        }
    }
}

/// The errors found so far, in the order in which the API server finds them.
#[derive(Default)]
pub(crate) struct Errors(Vec<FieldError>);

impl Errors {
    pub(crate) fn into_vec(self) -> Vec<FieldError> {
        self.0
    }

    pub(crate) fn extend(&mut self, errors: Vec<FieldError>) {
        self.0.extend(errors);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn required(&mut self, path: &Path<'_>, detail: impl Into<String>) {
        self.0.push(FieldError::required(path.to_string(), detail));
    }

    pub(crate) fn invalid(
        &mut self,
        path: &Path<'_>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) {
        self.0.push(FieldError::invalid(path.to_string(), value, detail));
    }

    /// The value breaks every rule that has a message.
    pub(crate) fn invalid_each(&mut self, path: &Path<'_>, value: &str, messages: Vec<String>) {
        for message in messages {
            self.invalid(path, value, message);
        }
    }

    /// An invalid value that is not printed as JSON with sorted keys: the API server prints the
    /// fields of its own structs in their own order and under their own names.
    pub(crate) fn invalid_shown(&mut self, path: &Path<'_>, shown: &str, detail: &str) {
        let detail =
            if detail.is_empty() { shown.to_owned() } else { format!("{shown}: {detail}") };
        self.0.push(FieldError::new(ErrorKind::Invalid, path.to_string(), None, detail));
    }

    /// An invalid value that is not printed at all.
    pub(crate) fn invalid_unnamed(&mut self, path: &Path<'_>, detail: &str) {
        self.0.push(FieldError::new(ErrorKind::Invalid, path.to_string(), None, detail));
    }

    pub(crate) fn forbidden(&mut self, path: &Path<'_>, detail: impl Into<String>) {
        self.0.push(FieldError::forbidden(path.to_string(), detail));
    }

    pub(crate) fn duplicate(&mut self, path: &Path<'_>, value: impl Into<Value>) {
        self.0.push(FieldError::duplicate(path.to_string(), value));
    }

    /// A duplicate that is not printed as JSON with sorted keys.
    pub(crate) fn duplicate_shown(&mut self, path: &Path<'_>, shown: &str) {
        self.0.push(FieldError::new(ErrorKind::Duplicate, path.to_string(), None, shown));
    }

    pub(crate) fn not_found(&mut self, path: &Path<'_>, value: &str, detail: &str) {
        let value = Some(Value::from(value));
        self.0.push(FieldError::new(ErrorKind::NotFound, path.to_string(), value, detail));
    }

    pub(crate) fn internal(&mut self, path: &Path<'_>, detail: String) {
        self.0.push(FieldError::new(ErrorKind::Internal, path.to_string(), None, detail));
    }

    pub(crate) fn not_supported(&mut self, path: &Path<'_>, value: &str, supported: &[&str]) {
        self.0.push(FieldError::not_supported(path.to_string(), value, supported));
    }

    /// An unsupported struct, printed as the API server prints its own structs.
    pub(crate) fn not_supported_shown(&mut self, path: &Path<'_>, shown: &str, supported: &[&str]) {
        let mut error = FieldError::not_supported(path.to_string(), "", supported);
        error.value = None;
        error.detail = format!("{shown}: {}", error.detail);
        self.0.push(error);
    }

    pub(crate) fn too_long(&mut self, path: &Path<'_>, bytes: usize) {
        self.0.push(FieldError::too_long(path.to_string(), bytes as u64));
    }

    pub(crate) fn too_many(&mut self, path: &Path<'_>, actual: usize, most: usize) {
        self.0.push(FieldError::too_many(path.to_string(), actual, most as u64));
    }

    /// `value` has to be one of `supported`; an empty one is missing.
    pub(crate) fn one_of(&mut self, path: &Path<'_>, value: &str, supported: &[&str]) {
        if value.is_empty() {
            self.required(path, "");
        } else {
            self.supported(path, value, supported);
        }
    }

    /// `value` has to be one of `supported`.
    pub(crate) fn supported(&mut self, path: &Path<'_>, value: &str, supported: &[&str]) {
        if !supported.contains(&value) {
            self.not_supported(path, value, supported);
        }
    }

    /// A number that must not be negative.
    pub(crate) fn nonnegative(&mut self, path: &Path<'_>, value: i64) {
        if value < 0 {
            self.invalid(path, value, "must be greater than or equal to 0");
        }
    }
}
