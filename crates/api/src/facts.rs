//! The rules of a CRD, without its descriptions.
//!
//! Karpenter's CRDs cannot be copied into this project with their sentences, but their rules must be the same here.
//! So a CRD is split into facts, one line each:
//!
//! ```text
//! v1 .spec.weight maximum: 100
//! v1 .spec.template.spec.requirements[].key maxLength: 316
//! ```
//!
//! `[]` stands for the items of a list and `{}` for the values of a map. Two CRDs with equal facts accept the same
//! objects, set the same defaults and print the same columns.

use std::{collections::BTreeMap, convert::Infallible, fmt, str::FromStr};

use serde_json::{Map, Value};

/// The facts of one CRD, by place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts(BTreeMap<String, String>);

impl Facts {
    /// The facts of a CRD that was parsed from JSON or YAML.
    pub fn of(crd: &Value) -> Self {
        let mut facts = Self::default();
        for (field, value) in fields(&crd["spec"]) {
            match field.as_str() {
                "names" => fields(value).for_each(|(name, value)| {
                    facts.add(&format!("names.{name}"), value);
                }),
                "versions" => items(value).for_each(|version| facts.add_version(version)),
                _ => facts.add(field, value),
            }
        }
        facts
    }

    /// One line for each fact that differs.
    pub fn differences<'f>(&'f self, upstream: &'f Self) -> impl Iterator<Item = String> + 'f {
        let ours = self.0.iter().filter_map(|(subject, ours)| match upstream.0.get(subject) {
            Some(theirs) if ours == theirs => None,
            Some(theirs) => Some(format!("{subject}: ours is {ours}, upstream's is {theirs}")),
            None => Some(format!("{subject}: only ours is {ours}")),
        });
        let theirs = upstream.0.iter().filter(|(subject, _)| !self.0.contains_key(*subject));
        ours.chain(
            theirs.map(|(subject, theirs)| format!("{subject}: only upstream's is {theirs}")),
        )
    }

    fn add(&mut self, subject: &str, value: &Value) {
        self.0.insert(subject.to_owned(), plain(value).to_string());
    }

    fn add_version(&mut self, version: &Value) {
        let name = version["name"].as_str().unwrap_or_default();
        for (field, value) in fields(version) {
            match field.as_str() {
                "name" => {}
                "schema" => self.add_schema(name, "", &value["openAPIV3Schema"]),
                "additionalPrinterColumns" => {
                    for (index, column) in items(value).enumerate() {
                        let mut column = column.clone();
                        column.as_object_mut().map(|column| column.remove("description"));
                        self.add(&format!("{name} column {index}"), &column);
                    }
                }
                _ => self.add(&format!("{name} {field}"), value),
            }
        }
    }

    fn add_schema(&mut self, version: &str, place: &str, schema: &Value) {
        for (keyword, value) in fields(schema) {
            match (keyword.as_str(), value) {
                ("description", _) => {}
                ("properties", properties) => fields(properties).for_each(|(name, property)| {
                    self.add_schema(version, &format!("{place}.{name}"), property);
                }),
                ("items", items) => self.add_schema(version, &format!("{place}[]"), items),
                ("additionalProperties", Value::Object(_)) => {
                    self.add_schema(version, &format!("{place}{{}}"), value);
                }
                _ => {
                    let place = if place.is_empty() { "." } else { place };
                    let value = if is_set(keyword) { sorted(value) } else { value.clone() };
                    self.add(&format!("{version} {place} {keyword}"), &value);
                }
            }
        }
    }
}

/// One fact per line.
impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(subject, value)| writeln!(f, "{subject}: {value}"))
    }
}

/// Parses the output of [`Display`](fmt::Display).
impl FromStr for Facts {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let facts = text.lines().map(|line| line.split_once(": ").unwrap_or((line, "")));
        Ok(Self(facts.map(|(subject, value)| (subject.to_owned(), value.to_owned())).collect()))
    }
}

/// The same value with `100` for `100.0`: the two are equal in JSON and in Go.
pub(crate) fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => number
            .as_f64()
            .filter(|float| number.is_f64() && float.fract() == 0.0)
            .map_or_else(|| value.clone(), |float| Value::from(float as i64)),
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), plain(value))).collect()
        }
        _ => value.clone(),
    }
}

/// Whether the order of a keyword's values is irrelevant.
fn is_set(keyword: &str) -> bool {
    matches!(keyword, "required" | "enum" | "x-kubernetes-list-map-keys")
}

fn sorted(value: &Value) -> Value {
    let mut items: Vec<Value> = items(value).cloned().collect();
    items.sort_by_key(Value::to_string);
    Value::Array(items)
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
