//! Field sets as `fieldsV1` has them: objects whose keys are path elements, with `.` for a path
//! that is in the set and has others below it.

use std::fmt::Write;

use serde_json::{Map, Value};

use super::{FieldSet, PathElement};

impl FieldSet {
    /// The set as `fieldsV1`.
    pub fn to_value(&self) -> Value {
        let mut object = Map::new();
        let mut key = String::new();
        for node in &self.nodes {
            let mut below = match node.children.to_value() {
                Value::Object(below) => below,
                _ => Map::new(),
            };
            if node.member && !below.is_empty() {
                below.insert(".".to_owned(), Value::Object(Map::new()));
            }
            key.clear();
            node.element.write_key(&mut key);
            object.insert(key.clone(), Value::Object(below));
        }
        Value::Object(object)
    }

    /// The set as `fieldsV1`, in the very order in which the API server writes it. (The order of a
    /// [`Value`] is that of its keys' texts, where `80` comes after `443`.)
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(&mut out, false);
        out
    }

    fn write_json(&self, out: &mut String, member: bool) {
        out.push('{');
        if member && !self.is_empty() {
            out.push_str("\".\":{}");
        }
        let mut key = String::new();
        for node in &self.nodes {
            if !out.ends_with('{') {
                out.push(',');
            }
            key.clear();
            node.element.write_key(&mut key);
            out.push_str(&Value::String(key.clone()).to_string());
            out.push(':');
            node.children.write_json(out, node.member);
        }
        out.push('}');
    }

    /// Reads `fieldsV1`. Keys of a sort that is not known are skipped, as the API server does.
    pub fn from_value(value: &Value) -> Result<Self, String> {
        Ok(read(value)?.0)
    }

    /// Whether one of the set's paths is in `fields`, which is `fieldsV1`, without reading all of
    /// it.
    pub(crate) fn meets(&self, fields: &Value) -> bool {
        self.search(fields, &mut String::new(), true)
    }

    /// Whether all of the set's paths are in `fields`, which is `fieldsV1`, without reading all of
    /// it.
    pub(crate) fn within(&self, fields: &Value) -> bool {
        !self.search(fields, &mut String::new(), false)
    }

    /// Whether there is a path in the set whose membership of `fields` is the given one.
    fn search(&self, fields: &Value, key: &mut String, member: bool) -> bool {
        self.nodes.iter().any(|node| {
            key.clear();
            node.element.write_key(key);
            let below = fields.get(key.as_str());
            let is_member = below.is_some_and(is_member);
            (node.member && is_member == member)
                || (!node.children.is_empty()
                    && below.map_or(!member, |below| node.children.search(below, key, member)))
        })
    }
}

/// Whether the path that leads to this part of `fieldsV1` is in the set.
fn is_member(below: &Value) -> bool {
    below.as_object().is_none_or(|below| below.is_empty() || below.contains_key("."))
}

/// Reads what is below an element, and whether the element's path is in the set.
fn read(value: &Value) -> Result<(FieldSet, bool), String> {
    let mut set = FieldSet::new();
    let mut member = false;
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (key, below) in fields {
                if key == "." {
                    member = true;
                    continue;
                }
                let Some(element) = PathElement::from_key(key)? else { continue };
                let (children, is_member) = read(below)?;
                set.push(element, is_member, children);
            }
        }
        other => return Err(format!("expected an object with fields, found {other}")),
    }
    let member = member || set.is_empty();
    Ok((set, member))
}

impl PathElement {
    /// Writes the element as a key of `fieldsV1`.
    fn write_key(&self, out: &mut String) {
        match self {
            Self::Field(name) => {
                out.push_str("f:");
                out.push_str(name);
            }
            Self::Key(fields) => {
                out.push_str("k:{");
                for (index, (name, value)) in fields.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    let name = Value::String(name.clone());
                    write!(out, "{name}:{value}").expect("a String takes everything");
                }
                out.push('}');
            }
            Self::Value(value) => write!(out, "v:{value}").expect("a String takes everything"),
            Self::Index(index) => write!(out, "i:{index}").expect("a String takes everything"),
        }
    }

    /// Reads a key of `fieldsV1`; none for a sort of key that is not known.
    fn from_key(key: &str) -> Result<Option<Self>, String> {
        let Some((kind, rest)) = key.split_once(':') else {
            return Err(if key.len() < 2 {
                "key must be 2 characters long:".to_owned()
            } else {
                format!("missing colon: {key}")
            });
        };
        let malformed = |error: serde_json::Error| format!("{key}: {error}");
        match kind {
            "f" => Ok(Some(Self::Field(rest.to_owned()))),
            "v" => Ok(Some(Self::Value(serde_json::from_str(rest).map_err(malformed)?))),
            "k" => {
                let fields: Map<String, Value> = serde_json::from_str(rest).map_err(malformed)?;
                let mut fields: Vec<(String, Value)> = fields.into_iter().collect();
                fields.sort_by(|left, right| left.0.cmp(&right.0));
                Ok(Some(Self::Key(fields)))
            }
            "i" => {
                let index = rest.parse().map_err(|_| format!("{key}: not a number"))?;
                Ok(Some(Self::Index(index)))
            }
            kind if kind.len() == 1 => Ok(None),
            _ => Err(format!("missing colon: {key}")),
        }
    }
}
