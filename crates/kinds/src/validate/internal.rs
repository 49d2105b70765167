//! Specs as the API server holds them itself. Some errors show them so: with other names than the
//! API has, in another order, and with every field that was not given.

use std::{collections::BTreeMap, sync::LazyLock};

use serde_json::Value;

use crate::fields::Fields;

/// The structs by name; see the head of the file.
static STRUCTS: LazyLock<BTreeMap<&'static str, Vec<Field>>> =
    LazyLock::new(|| read(include_str!("../../facts/internal.txt")));

/// A field of a struct.
struct Field {
    name: &'static str,
    /// Its name in the API; a slash goes one level down.
    api: &'static str,
    shape: Shape,
}

/// What a field holds, and with it what is printed if it is not given.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Number,
    Flag,
    Quantity,
    /// Anything that can be missing.
    Nullable,
    /// Anything that is not printed when it is missing.
    Omitted,
    Struct(&'static str),
    Pointer(&'static str),
    List(&'static str),
    OmittedList(&'static str),
}

fn read(text: &'static str) -> BTreeMap<&'static str, Vec<Field>> {
    let mut structs: BTreeMap<&str, Vec<Field>> = BTreeMap::new();
    let mut current = "";
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        match (words.next(), words.next(), words.next()) {
            (Some(name), Some(api), Some(shape)) => {
                let field = Field { name, api, shape: shape_of(shape) };
                structs.entry(current).or_default().push(field);
            }
            (Some(name), None, None) => current = name,
            _ => {}
        }
    }
    structs
}

fn shape_of(word: &'static str) -> Shape {
    match word.split_once(':') {
        Some(("struct", name)) => Shape::Struct(name),
        Some(("pointer", name)) => Shape::Pointer(name),
        Some(("omit-list", name)) => Shape::OmittedList(name),
        Some((_, name)) => Shape::List(name),
        None => match word {
            "text" => Shape::Text,
            "number" => Shape::Number,
            "flag" => Shape::Flag,
            "quantity" => Shape::Quantity,
            "omit" => Shape::Omitted,
            _ => Shape::Nullable,
        },
    }
}

/// A value whose fields keep their order.
enum Tree {
    Leaf(Value),
    List(Vec<Tree>),
    Fields(Vec<(String, Tree)>),
}

/// The value in one line.
pub(super) fn compact(kind: &str, value: &Value) -> String {
    let mut text = String::new();
    tree(kind, value).write_compact(&mut text);
    text
}

/// The value with one field or entry in each line, indented by one space for each level.
pub(super) fn lines(kind: &str, value: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    tree(kind, value).write_lines(0, "", "", &mut lines);
    lines
}

fn tree(kind: &str, value: &Value) -> Tree {
    let moved = if kind == "PodSpec" { with_host_fields_moved(value) } else { None };
    let value = moved.as_ref().unwrap_or(value);
    let Some(fields) = STRUCTS.get(kind) else { return Tree::Leaf(value.clone()) };
    let shown = fields.iter().filter_map(|field| {
        let given = match field.api.split_once('/') {
            Some((outer, inner)) => value.part(outer).field(inner),
            None => value.field(field.api),
        };
        Some((field.name.to_owned(), part(field.shape, given)?))
    });
    Tree::Fields(shown.collect())
}

/// What a pod shares with its host is a part of the security context there.
fn with_host_fields_moved(spec: &Value) -> Option<Value> {
    let names = ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"];
    let mut context = spec.part("securityContext").as_object().cloned().unwrap_or_default();
    for name in names {
        context.extend(spec.field(name).map(|value| (name.to_owned(), value.clone())));
    }
    if context.is_empty() && !spec.has("securityContext") {
        return None;
    }
    let mut moved = spec.as_object()?.clone();
    moved.insert("securityContext".to_owned(), Value::from(context));
    Some(Value::from(moved))
}

fn part(shape: Shape, given: Option<&Value>) -> Option<Tree> {
    let list = |kind: &str, value: &Value| {
        let entries = value.as_array().map_or(&[][..], Vec::as_slice);
        Tree::List(entries.iter().map(|entry| tree(kind, entry)).collect())
    };
    Some(match (shape, given) {
        (Shape::Struct(kind), value) => tree(kind, value.unwrap_or(&Value::Null)),
        (Shape::Pointer(kind), Some(value)) => tree(kind, value),
        (Shape::List(kind) | Shape::OmittedList(kind), Some(value)) => list(kind, value),
        (Shape::Omitted | Shape::OmittedList(_), None) => return None,
        (_, Some(value)) => Tree::Leaf(value.clone()),
        (Shape::Text, None) => Tree::Leaf("".into()),
        (Shape::Number, None) => Tree::Leaf(0.into()),
        (Shape::Flag, None) => Tree::Leaf(false.into()),
        (Shape::Quantity, None) => Tree::Leaf("0".into()),
        (Shape::Nullable | Shape::Pointer(_) | Shape::List(_), None) => Tree::Leaf(Value::Null),
    })
}

impl Tree {
    fn write_compact(&self, text: &mut String) {
        match self {
            Self::Leaf(value) => text.push_str(&value.to_string()),
            Self::List(entries) => {
                text.push('[');
                for (index, entry) in entries.iter().enumerate() {
                    text.push_str(if index == 0 { "" } else { "," });
                    entry.write_compact(text);
                }
                text.push(']');
            }
            Self::Fields(fields) => {
                text.push('{');
                for (index, (name, value)) in fields.iter().enumerate() {
                    text.push_str(if index == 0 { "" } else { "," });
                    text.extend(["\"", name, "\":"]);
                    value.write_compact(text);
                }
                text.push('}');
            }
        }
    }

    fn write_lines(&self, depth: usize, before: &str, after: &str, lines: &mut Vec<String>) {
        let indent = " ".repeat(depth);
        let comma = |index: usize, length: usize| if index + 1 == length { "" } else { "," };
        match self {
            Self::List(entries) if !entries.is_empty() => {
                lines.push(format!("{indent}{before}["));
                for (index, entry) in entries.iter().enumerate() {
                    entry.write_lines(depth + 1, "", comma(index, entries.len()), lines);
                }
                lines.push(format!("{indent}]{after}"));
            }
            Self::Fields(fields) if !fields.is_empty() => {
                lines.push(format!("{indent}{before}{{"));
                for (index, (name, value)) in fields.iter().enumerate() {
                    let before = format!("\"{name}\": ");
                    value.write_lines(depth + 1, &before, comma(index, fields.len()), lines);
                }
                lines.push(format!("{indent}}}{after}"));
            }
            Self::Leaf(value) if value.is_array() || value.is_object() => {
                Self::plain(value).write_lines(depth, before, after, lines);
            }
            _ => {
                let mut text = format!("{indent}{before}");
                self.write_compact(&mut text);
                text.push_str(after);
                lines.push(text);
            }
        }
    }

    /// Maps and lists of plain values, taken apart so that each has a line of its own.
    fn plain(value: &Value) -> Self {
        match value {
            Value::Array(entries) => Self::List(entries.iter().map(Self::plain).collect()),
            Value::Object(fields) => Self::Fields(
                fields.iter().map(|(name, value)| (name.clone(), Self::plain(value))).collect(),
            ),
            leaf => Self::Leaf(leaf.clone()),
        }
    }
}
