//! Objects as rows of a table, as `kubectl get` shows them.

mod age;
mod cells;
mod columns;
mod network_rows;
mod pod;
mod rows;
mod workload_rows;

use jiff::Timestamp;
use serde_json::{Value, json};

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// What is above it.
    pub name: &'static str,
    /// The type of its cells: `string`, `integer`, `boolean` or `date`.
    pub kind: &'static str,
    /// How cells are to be read, such as `name`; may be empty.
    pub format: &'static str,
    /// What it shows.
    pub description: &'static str,
    /// Zero is always shown; anything else only in wide tables.
    pub priority: i32,
}

impl Column {
    /// The column as it is in a Table object.
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.kind,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        })
    }
}

/// The columns of a kind's table. Kinds without a table of their own show name and age.
pub fn columns(group: &str, kind: &str) -> &'static [Column] {
    columns::of(group, kind)
}

/// The cells of an object, one for each column.
pub fn row(group: &str, kind: &str, object: &Value, now: Timestamp) -> Vec<Value> {
    rows::of(group, kind, object, now)
}

/// The conditions of an object's row: of pods that have ended, how they have.
pub fn row_conditions(group: &str, kind: &str, object: &Value) -> Vec<Value> {
    let message = match (group, kind, object["status"]["phase"].as_str()) {
        ("", "Pod", Some("Succeeded")) => "The pod has completed successfully.",
        ("", "Pod", Some("Failed")) => "The pod failed.",
        _ => return Vec::new(),
    };
    let reason = &object["status"]["phase"];
    vec![json!({ "type": "Completed", "status": "True", "reason": reason, "message": message })]
}

/// How long ago a moment was, as tables show ages.
pub fn age(then: Timestamp, now: Timestamp) -> String {
    age::between(then, now)
}
