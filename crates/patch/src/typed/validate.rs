//! Whether an object has the shape it should have, as far as merging cares.

use std::fmt;

use serde_json::{Map, Value};

use crate::{
    fields::{PathElement, Step, path_text},
    go,
    shape::{Atom, ListKind, ListShape, MapShape, Scalar, Shape},
};

/// What is wrong with an object, with the paths of the places.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    found: Vec<(String, String)>,
    /// Whether a list may have an entry twice.
    repeats: bool,
}

impl Problems {
    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    fn add(&mut self, path: &[PathElement], message: impl Into<String>) {
        self.found.push((path_text(path), message.into()));
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let many = self.found.len() > 1;
        if many {
            f.write_str("errors:")?;
        }
        for (path, message) in &self.found {
            if many {
                f.write_str("\n  ")?;
            }
            if !path.is_empty() {
                write!(f, "{path}: ")?;
            }
            f.write_str(message)?;
        }
        Ok(())
    }
}

/// Lists the problems of an object that is to be applied.
pub(crate) fn validate(value: &Value, shape: Shape<'_>) -> Problems {
    let mut problems = Problems::default();
    check(value, shape, &mut Vec::new(), &mut problems);
    problems
}

/// Lists the problems of an object from other writes; duplicate entries are accepted.
pub(crate) fn validate_written(value: &Value, shape: Shape<'_>) -> Problems {
    let mut problems = Problems { repeats: true, ..Problems::default() };
    check(value, shape, &mut Vec::new(), &mut problems);
    problems
}

fn check(value: &Value, shape: Shape<'_>, path: &mut Vec<PathElement>, problems: &mut Problems) {
    if value.is_null() {
        return;
    }
    match (shape.atom(Some(value)), value) {
        (Atom::Map(shape), Value::Object(fields)) => check_fields(fields, shape, path, problems),
        (Atom::List(shape), Value::Array(entries)) => check_entries(entries, shape, path, problems),
        (Atom::Map(_), other) => {
            problems.add(path, format!("expected map, got &{{{}}}", go::plain(other)));
        }
        (Atom::List(_), other) => {
            problems.add(path, format!("expected list, got &{{{}}}", go::plain(other)));
        }
        (Atom::Scalar(scalar), value) => {
            if let Some(problem) = scalar_problem(scalar, value) {
                problems.add(path, problem);
            }
        }
    }
}

fn scalar_problem(scalar: Scalar, value: &Value) -> Option<String> {
    match (scalar, value) {
        (Scalar::Number, Value::Number(_))
        | (Scalar::Text, Value::String(_))
        | (Scalar::Boolean, Value::Bool(_))
        | (Scalar::Any, Value::Number(_) | Value::String(_) | Value::Bool(_)) => None,
        (Scalar::Number, other) => {
            Some(format!("expected numeric (int or float), got {}", go::type_name(other)))
        }
        (Scalar::Text, other) => Some(format!(
            "expected string, got &value.valueUnstructured{{Value:{}}}",
            go::source(other)
        )),
        (Scalar::Boolean, other) => {
            Some(format!("expected boolean, got &{{{}}}", go::plain(other)))
        }
        (Scalar::Any, other) => Some(format!("expected any scalar, got &{{{}}}", go::plain(other))),
    }
}

fn check_fields(
    fields: &Map<String, Value>,
    shape: MapShape<'_>,
    path: &mut Vec<PathElement>,
    problems: &mut Problems,
) {
    for (name, value) in fields {
        path.push(PathElement::field(name.as_str()));
        let known = shape.declared(name).map(|(_, shape)| shape).or_else(|| shape.others());
        match known {
            Some(shape) => check(value, shape, path, problems),
            None => problems.add(path, "field not declared in schema"),
        }
        path.pop();
        // The API server stops at the first field that is not declared.
        if known.is_none() {
            break;
        }
    }
}

fn check_entries(
    entries: &[Value],
    shape: ListShape<'_>,
    path: &mut Vec<PathElement>,
    problems: &mut Problems,
) {
    let mut seen: Vec<Step<'_>> = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let element = if matches!(shape.kind, ListKind::Atomic) {
            PathElement::Index(index as i64)
        } else {
            let step = match shape.step(entry) {
                Ok(step) => step,
                Err(problem) => return problems.add(path, format!("element {index}: {problem}")),
            };
            let element = step.to_element();
            match seen.binary_search_by(|other| other.compare(&step)) {
                Ok(_) if problems.repeats => {}
                Ok(_) => {
                    let key = path_text(std::slice::from_ref(&element));
                    problems.add(path, format!("duplicate entries for key {key}"));
                }
                Err(at) => seen.insert(at, step),
            }
            element
        };
        path.push(element);
        check(entry, shape.entries, path, problems);
        path.pop();
    }
}
