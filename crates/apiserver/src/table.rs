//! Tables: the answers to `kubectl get`, whose columns the server chooses.

use jiff::Timestamp;
use joiner_kinds as kinds;
use serde_json::{Value, json};

use crate::{
    Status,
    jsonpath::JsonPath,
    object::Object,
    registry::Rules,
    view::{View, partial},
};

/// What the rows of a table carry of their objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Include {
    /// Nothing.
    None,
    /// Their metadata.
    #[default]
    Metadata,
    /// All of them.
    Object,
}

impl Include {
    /// Reads the parameter `includeObject`.
    pub(crate) fn parse(parameter: Option<&str>) -> Result<Self, Status> {
        match parameter {
            None | Some("" | "Metadata") => Ok(Self::Metadata),
            Some("None") => Ok(Self::None),
            Some("Object") => Ok(Self::Object),
            Some(other) => Err(Status::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: \
                 {other:?}: must be 'Metadata', 'Object', 'None', or empty"
            ))),
        }
    }
}

/// A column that a CustomResourceDefinition asks for.
#[derive(Clone, Debug)]
pub(crate) struct PrinterColumn {
    name: String,
    kind: CellKind,
    /// The type as it was written, which is told to the client.
    type_name: String,
    format: String,
    description: String,
    priority: i64,
    path: JsonPath,
}

/// What becomes of a value in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CellKind {
    Integer,
    Number,
    Boolean,
    Text,
    Date,
    Unknown,
}

impl PrinterColumn {
    /// Reads `additionalPrinterColumns` of one version of a CustomResourceDefinition. The columns
    /// end before the first whose path cannot be read, as they do in the real server; without any
    /// such field there is one column, the age.
    pub(crate) fn parse_all(columns: &Value) -> Vec<Self> {
        let Some(columns) = columns.as_array().filter(|columns| !columns.is_empty()) else {
            return vec![Self::age()];
        };
        columns.iter().map_while(Self::parse).collect()
    }

    fn parse(column: &Value) -> Option<Self> {
        let text = |field: &str| column[field].as_str().unwrap_or_default().to_owned();
        let path = text("jsonPath");
        let mut description = text("description");
        if description.is_empty() {
            description = format!("Custom resource definition column (in JSONPath format): {path}");
        }
        let type_name = text("type");
        Some(Self {
            name: text("name"),
            kind: CellKind::parse(&type_name),
            type_name,
            format: text("format"),
            description,
            priority: column["priority"].as_i64().unwrap_or_default(),
            path: JsonPath::parse(&path)?,
        })
    }

    fn age() -> Self {
        Self {
            name: "Age".to_owned(),
            kind: CellKind::Date,
            type_name: "date".to_owned(),
            format: String::new(),
            description: "How long ago the object was created.".to_owned(),
            priority: 0,
            path: JsonPath::parse(".metadata.creationTimestamp").expect("a path"),
        }
    }

    fn definition(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.type_name,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        })
    }

    fn cell(&self, object: &Value, now: Timestamp) -> Value {
        match self.path.find(object).ok().as_deref() {
            // Only the first of several values is shown.
            Some([first, ..]) => self.kind.cell(first, now),
            _ => Value::Null,
        }
    }
}

impl CellKind {
    fn parse(word: &str) -> Self {
        match word {
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            "string" => Self::Text,
            "date" => Self::Date,
            _ => Self::Unknown,
        }
    }

    fn cell(self, value: &Value, now: Timestamp) -> Value {
        match (self, value) {
            (Self::Integer, Value::Number(number)) => match number.as_i64() {
                Some(whole) => whole.into(),
                None => number.as_f64().map_or(Value::Null, |number| (number as i64).into()),
            },
            (Self::Number, Value::Number(_))
            | (Self::Boolean, Value::Bool(_))
            | (Self::Text, Value::String(_)) => value.clone(),
            (Self::Text, other) => other.to_string().into(),
            (Self::Date, Value::String(moment)) => age(moment, now).into(),
            _ => Value::Null,
        }
    }
}

/// How long ago a moment was, as people read it.
fn age(moment: &str, now: Timestamp) -> String {
    if moment.is_empty() || moment == "null" {
        return "<unknown>".to_owned();
    }
    match moment.parse::<Timestamp>() {
        Ok(moment) => kinds::table::age(moment, now),
        Err(_) => "<invalid>".to_owned(),
    }
}

/// The columns of a table, as `columnDefinitions` has them.
pub(crate) fn columns(view: &View) -> Value {
    match &view.version().rules {
        Rules::BuiltIn(resource) => kinds::table::columns(resource.group, resource.kind)
            .iter()
            .map(|column| {
                json!({
                    "name": column.name,
                    "type": column.kind,
                    "format": column.format,
                    "description": column.description,
                    "priority": column.priority,
                })
            })
            .collect(),
        Rules::Custom(custom) => {
            let name = json!({
                "name": "Name",
                "type": "string",
                "format": "name",
                "description": "The object's name, the only one in its namespace.",
                "priority": 0,
            });
            let rest = custom.columns.iter().map(PrinterColumn::definition);
            std::iter::once(name).chain(rest).collect()
        }
    }
}

/// One object as a row of a table.
pub(crate) fn row(view: &View, object: &Object, now: Timestamp) -> Value {
    let value = view.value(object);
    let cells: Vec<Value> = match &view.version().rules {
        Rules::BuiltIn(resource) => kinds::table::row(resource.group, resource.kind, &value, now),
        Rules::Custom(custom) => {
            let name = Value::from(&*object.key.name);
            let rest = custom.columns.iter().map(|column| column.cell(&value, now));
            std::iter::once(name).chain(rest).collect()
        }
    };
    let conditions = match &view.version().rules {
        Rules::BuiltIn(resource) => {
            kinds::table::row_conditions(resource.group, resource.kind, &value)
        }
        Rules::Custom(_) => Vec::new(),
    };
    let carried = match view.include {
        Include::None => Value::Null,
        Include::Metadata => partial(&value),
        Include::Object => value,
    };
    let mut row = json!({"cells": cells, "object": carried});
    if !conditions.is_empty() {
        row["conditions"] = Value::Array(conditions);
    }
    row
}

/// A table of rows.
pub(crate) fn table(metadata: Value, columns: Value, rows: Vec<Value>) -> Value {
    let mut table = json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1"});
    table["metadata"] = metadata;
    table["columnDefinitions"] = columns;
    table["rows"] = Value::Array(rows);
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(kind: &str, path: &str) -> String {
        let now: Timestamp = "2026-11-15T08:37:08Z".parse().expect("a time");
        let object = json!({"spec": {
            "size": 7, "enabled": false, "str": "hello", "num": 2.5, "whole": 3,
            "when": "2026-11-15T08:00:00Z", "later": "2027-11-15T08:00:00Z",
            "list": ["x", "yy"], "none": [], "obj": {"b": 1, "a": [1, "q"]},
        }});
        let column = json!({"name": "C", "type": kind, "jsonPath": path});
        PrinterColumn::parse(&column).expect("a column").cell(&object, now).to_string()
    }

    #[test]
    fn cells_are_what_the_real_server_makes_of_values() {
        let cases = [
            ("integer", ".spec.size", "7"),
            ("integer", ".spec.num", "2"),
            ("integer", ".spec.str", "null"),
            ("number", ".spec.num", "2.5"),
            ("number", ".spec.size", "7"),
            ("boolean", ".spec.enabled", "false"),
            ("boolean", ".spec.str", "null"),
            ("string", ".spec.str", r#""hello""#),
            ("string", ".spec.size", r#""7""#),
            ("string", ".spec.num", r#""2.5""#),
            ("string", ".spec.missing", "null"),
            ("string", ".spec.list", r#""[\"x\",\"yy\"]""#),
            ("string", ".spec.list[*]", r#""x""#),
            ("string", ".spec.none", r#""[]""#),
            ("string", ".spec.none[0]", "null"),
            ("string", ".spec.obj", r#""{\"a\":[1,\"q\"],\"b\":1}""#),
            ("date", ".spec.when", r#""37m""#),
            ("date", ".spec.later", r#""<invalid>""#),
            ("date", ".spec.str", r#""<invalid>""#),
            ("date", ".spec.size", "null"),
        ];
        for (kind, path, expected) in cases {
            assert_eq!(cell(kind, path), expected, "{kind} {path}");
        }
    }

    #[test]
    fn columns_end_before_the_first_that_cannot_be_read() {
        let names = |columns: Value| -> Vec<String> {
            PrinterColumn::parse_all(&columns).into_iter().map(|column| column.name).collect()
        };
        let column =
            |name: &str, path: &str| json!({"name": name, "type": "string", "jsonPath": path});
        let columns = json!([column("A", ".a"), column("B", "b["), column("C", ".c")]);
        assert_eq!(names(columns), ["A"]);
        assert_eq!(names(Value::Null), ["Age"]);
        assert_eq!(names(json!([])), ["Age"]);
    }
}
