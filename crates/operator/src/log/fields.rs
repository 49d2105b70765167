//! Facts of a line.

use std::{error::Error, fmt};

use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};

/// Final words of field names that hold secrets. This is a safety net: secrets must never be passed
/// to the log.
const SECRETS: [&str; 10] = [
    "token",
    "password",
    "secret",
    "authorization",
    "credentials",
    "private_key",
    "user_data",
    "userdata",
    "api_key",
    "kubeconfig",
];
/// Fields that name an object. Written as text, `name` or `namespace/name`, they become one form.
pub(super) const OBJECTS: [&str; 9] = [
    "CapacityBuffer",
    "Node",
    "NodeClaim",
    "NodeClass",
    "NodeOverlay",
    "NodePool",
    "Pod",
    "Secret",
    "object",
];
/// The replacement for a secret's value.
const LEFT_OUT: &str = "(left out)";

/// The message and the facts of a line, in the order they were given.
#[derive(Debug, Clone, Default)]
pub(super) struct Fields {
    pub(super) message: String,
    pub(super) facts: Vec<(String, Value)>,
}

impl Fields {
    /// Adds what a span knows.
    pub(super) fn add(&mut self, others: &Self) {
        for (name, value) in &others.facts {
            self.set(name, value.clone());
        }
    }

    fn set(&mut self, name: &str, value: Value) {
        if name == "message" {
            self.message = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            return;
        }
        let (name, value) = match name.split_once('.') {
            Some((object, part)) => (object, self.part_of(object, part, value)),
            None if OBJECTS.contains(&name) => (name, object(value)),
            None => (name, shown(name, value)),
        };
        match self.facts.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None => self.facts.push((name.to_owned(), value)),
        }
    }

    /// What is known of an object, with one more part.
    fn part_of(&self, object: &str, part: &str, value: Value) -> Value {
        let known = self.facts.iter().find(|(known, _)| known == object);
        let mut parts = match known {
            Some((_, Value::Object(parts))) => parts.clone(),
            _ => Map::new(),
        };
        parts.insert(part.to_owned(), shown(part, value));
        Value::Object(parts)
    }
}

/// An object, by its name and its namespace if it has one.
fn object(value: Value) -> Value {
    let Value::String(text) = value else { return value };
    match text.split_once('/') {
        Some((namespace, name)) => json!({"namespace": namespace, "name": name}),
        None => json!({"name": text}),
    }
}

fn shown(name: &str, value: Value) -> Value {
    let name = name.to_lowercase().replace('-', "_");
    if SECRETS.iter().any(|secret| name.ends_with(secret)) { LEFT_OUT.into() } else { value }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field.name(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field.name(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field.name(), value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field.name(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field.name(), value.into());
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.set(field.name(), value.to_string().into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.set(field.name(), format!("{value:?}").into());
    }
}
