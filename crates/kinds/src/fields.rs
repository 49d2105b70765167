//! Reading fields of JSON objects the way decoded Kubernetes structs are read: what is not given
//! is the empty value of its type.

use serde_json::{Map, Value};

static NULL: Value = Value::Null;

/// Fields of an object, by name. A field that is not there, is null or has another type reads as
/// the empty value: objects have been decoded before, so a wrong type cannot be meant.
pub(crate) trait Fields {
    /// The field, unless it is missing or null.
    fn field(&self, name: &str) -> Option<&Value>;

    /// The field, or null: for reading on below fields that may be missing.
    fn part(&self, name: &str) -> &Value {
        self.field(name).unwrap_or(&NULL)
    }

    /// Whether the field is given.
    fn has(&self, name: &str) -> bool {
        self.field(name).is_some()
    }

    /// The text of the field, empty if missing.
    fn text(&self, name: &str) -> &str {
        self.given_text(name).unwrap_or_default()
    }

    /// The text of the field, if given.
    fn given_text(&self, name: &str) -> Option<&str> {
        self.field(name).and_then(Value::as_str)
    }

    /// The entries of a list, none if missing.
    fn list(&self, name: &str) -> &[Value] {
        self.field(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// The texts in a list.
    fn texts<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.list(name).iter().filter_map(Value::as_str)
    }

    /// The whole number in the field, if given.
    fn number(&self, name: &str) -> Option<i64> {
        self.field(name).and_then(Value::as_i64)
    }

    /// The whole number in the field, zero if missing.
    fn count(&self, name: &str) -> i64 {
        self.number(name).unwrap_or_default()
    }

    /// The flag in the field, if given.
    fn given_flag(&self, name: &str) -> Option<bool> {
        self.field(name).and_then(Value::as_bool)
    }

    /// Whether the flag is given and set.
    fn flag(&self, name: &str) -> bool {
        self.given_flag(name).unwrap_or_default()
    }

    /// The map in the field, if given.
    fn map(&self, name: &str) -> Option<&Map<String, Value>> {
        self.field(name).and_then(Value::as_object)
    }

    /// The entries of the map in the field, none if missing.
    fn entries<'a>(&'a self, name: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
        self.map(name).into_iter().flatten().map(|(key, value)| (key.as_str(), value))
    }
}

impl Fields for Value {
    fn field(&self, name: &str) -> Option<&Value> {
        self.get(name).filter(|value| !value.is_null())
    }
}

/// Whether two parts of an object mean the same: lists that are empty, null and missing are equal.
pub(crate) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            a.iter().all(|(key, value)| same(value, b.get(key).unwrap_or(&NULL)))
                && b.iter().all(|(key, value)| a.contains_key(key) || same(&NULL, value))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Null, Value::Array(list)) | (Value::Array(list), Value::Null) => list.is_empty(),
        _ => one == other,
    }
}
