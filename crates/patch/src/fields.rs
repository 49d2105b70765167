//! Sets of fields: the parts of an object that a manager owns.

mod json;
mod set;

use std::{cmp::Ordering, fmt::Write};

use serde_json::{Number, Value};

use crate::go;

pub use set::FieldSet;
pub(crate) use set::Path;

/// One step of a path into an object.
///
/// The order is that in which the API server writes field sets; equality goes with it, so that an
/// entry keyed by `1` and one keyed by `1.0` are the same.
#[derive(Clone, Debug)]
pub enum PathElement {
    /// A field of an object, or a key of a map.
    Field(String),
    /// An entry of a list that is keyed by some fields, by these fields' values in order of names.
    Key(Vec<(String, Value)>),
    /// An entry of a set, by its value.
    Value(Value),
    /// An entry of a list, by its position. Only foreign field sets have it.
    Index(i64),
}

/// A step that borrows from the object it leads through.
#[derive(Clone, Debug)]
pub(crate) enum Step<'a> {
    /// See [`PathElement::Field`].
    Field(&'a str),
    /// See [`PathElement::Key`].
    Key(Vec<(&'a str, &'a Value)>),
    /// See [`PathElement::Value`].
    Value(&'a Value),
}

impl Step<'_> {
    /// The step on its own.
    pub(crate) fn to_element(&self) -> PathElement {
        match self {
            Self::Field(name) => PathElement::Field((*name).to_owned()),
            Self::Key(fields) => PathElement::Key(
                fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).clone())).collect(),
            ),
            Self::Value(value) => PathElement::Value((*value).clone()),
        }
    }

    /// Compares in the order of [`PathElement`]s.
    pub(crate) fn compare(&self, other: &Step<'_>) -> Ordering {
        match (self, other) {
            (Self::Field(left), Step::Field(right)) => left.cmp(right),
            (Self::Key(left), Step::Key(right)) => {
                compare_keys(left.iter().copied(), right.iter().copied())
            }
            (Self::Value(left), Step::Value(right)) => compare_values(left, right),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    /// Compares with an element of a set.
    pub(crate) fn compare_element(&self, other: &PathElement) -> Ordering {
        match (self, other) {
            (Self::Field(left), PathElement::Field(right)) => (*left).cmp(right.as_str()),
            (Self::Key(left), PathElement::Key(right)) => {
                compare_keys(left.iter().copied(), borrowed(right))
            }
            (Self::Value(left), PathElement::Value(right)) => compare_values(left, right),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
        }
    }
}

impl PathElement {
    /// A field of an object, or a key of a map.
    pub fn field(name: impl Into<String>) -> Self {
        Self::Field(name.into())
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }

    fn write_text(&self, out: &mut String) {
        match self {
            Self::Field(name) => {
                out.push('.');
                out.push_str(name);
            }
            Self::Key(fields) => {
                out.push('[');
                for (index, (name, value)) in fields.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    out.push_str(name);
                    out.push('=');
                    out.push_str(&value_text(value));
                }
                out.push(']');
            }
            Self::Value(value) => {
                out.push_str("[=");
                out.push_str(&value_text(value));
                out.push(']');
            }
            Self::Index(index) => write!(out, "[{index}]").expect("a String takes everything"),
        }
    }
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(left), Self::Field(right)) => left.cmp(right),
            (Self::Key(left), Self::Key(right)) => compare_keys(borrowed(left), borrowed(right)),
            (Self::Value(left), Self::Value(right)) => compare_values(left, right),
            (Self::Index(left), Self::Index(right)) => left.cmp(right),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PathElement {}

/// A path as conflicts print it: `.spec.containers[name="app"].image`.
pub fn path_text(path: &[PathElement]) -> String {
    let mut out = String::new();
    for element in path {
        element.write_text(&mut out);
    }
    out
}

fn value_text(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::String(text) => go::quoted(text),
        Value::Array(entries) => {
            let entries: Vec<String> = entries.iter().map(value_text).collect();
            format!("[{}]", entries.join(","))
        }
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name}={}", value_text(value)))
                .collect();
            fields.concat()
        }
        other => go::plain(other),
    }
}

fn borrowed(key: &[(String, Value)]) -> impl Iterator<Item = (&str, &Value)> {
    key.iter().map(|(name, value)| (name.as_str(), value))
}

fn compare_keys<'a>(
    left: impl Iterator<Item = (&'a str, &'a Value)>,
    mut right: impl Iterator<Item = (&'a str, &'a Value)>,
) -> Ordering {
    for (name, value) in left {
        let Some((other_name, other_value)) = right.next() else {
            return Ordering::Greater;
        };
        let order = name.cmp(other_name).then_with(|| compare_values(value, other_value));
        if order.is_ne() {
            return order;
        }
    }
    if right.next().is_some() { Ordering::Less } else { Ordering::Equal }
}

/// The total order of values that sorts field sets: numbers, texts, booleans, lists, maps, `null`.
pub(crate) fn compare_values(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => {
            for (left, right) in left.iter().zip(right) {
                let order = compare_values(left, right);
                if order.is_ne() {
                    return order;
                }
            }
            left.len().cmp(&right.len())
        }
        (Value::Object(left), Value::Object(right)) => {
            compare_keys(sorted(left).into_iter(), sorted(right).into_iter())
        }
        _ => value_rank(left).cmp(&value_rank(right)),
    }
}

fn sorted(fields: &serde_json::Map<String, Value>) -> Vec<(&str, &Value)> {
    let mut fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value)).collect();
    fields.sort_by_key(|(name, _)| *name);
    fields
}

fn value_rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn compare_numbers(left: &Number, right: &Number) -> Ordering {
    match (left.as_i64(), right.as_i64()) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => {
            let (left, right) = (left.as_f64(), right.as_f64());
            left.partial_cmp(&right).unwrap_or(Ordering::Equal)
        }
    }
}

/// The fields of an object, each with what another object has there. Two versions of an object have
/// mostly the same fields in the same order, so that next to none is looked up.
pub(crate) fn with_counterparts<'v>(
    fields: &'v serde_json::Map<String, Value>,
    others: &'v serde_json::Map<String, Value>,
) -> impl Iterator<Item = (&'v String, &'v Value, Option<&'v Value>)> {
    let mut in_order = others.iter().peekable();
    fields.iter().map(move |(name, value)| {
        let other = match in_order.next_if(|(other, _)| *other == name) {
            Some((_, other)) => Some(other),
            None => others.get(name),
        };
        (name, value, other)
    })
}

/// Whether two values are the same to the API server, for which `1` and `1.0` are.
pub(crate) fn same_value(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right).is_eq(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| same_value(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, value)| {
                    right.get(name).is_some_and(|other| same_value(value, other))
                })
        }
        _ => left == right,
    }
}
