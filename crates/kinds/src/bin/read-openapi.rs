//! Prints `facts/types.txt`: what there is to know about the types of the built-in kinds.
//!
//!     read-openapi FOLDER GO-FIELDS
//!
//! FOLDER holds the documents that an API server serves under `/openapi/v3`, as `*.json`.
//! GO-FIELDS is what `facts/go-fields` prints: how Go holds each field, which decides what becomes
//! of empty values and which words an error uses. The result has one line per field; the sentences
//! that explain fields are left out.

use std::{collections::BTreeMap, env, error::Error, fmt::Write as _, fs, process::ExitCode};

use serde_json::Value;

/// Definitions by short name, such as `core.v1.Pod`.
type Definitions = BTreeMap<String, Value>;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [folder, go_fields] = &arguments[..] else {
        eprintln!("usage: read-openapi FOLDER GO-FIELDS");
        return ExitCode::from(2);
    };
    match facts(folder, go_fields) {
        Ok(text) => {
            #[expect(clippy::print_stdout, reason = "the facts are this program's output")]
            {
                print!("{text}");
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("read-openapi: {error}");
            ExitCode::FAILURE
        }
    }
}

fn facts(folder: &str, go_fields: &str) -> Result<String, Box<dyn Error>> {
    let definitions = definitions(folder)?;
    let go_fields = fs::read_to_string(go_fields).map_err(|e| format!("{go_fields}: {e}"))?;
    let mut text = String::new();
    let mut current: Option<&Value> = None;
    for line in go_fields.lines() {
        if line.starts_with('=') {
            writeln!(text, "{line}")?;
        } else if let Some(field) = line.strip_prefix(' ') {
            if let Some(definition) = current {
                let (name, held) = field.split_once(' ').ok_or("a field without a type")?;
                let pointer = held.starts_with('*');
                let flags = flags(definition, name, pointer);
                writeln!(text, "{}", format!(" {name} {held} {flags}").trim_end())?;
            }
        } else {
            current = definitions.get(line);
            if let Some(definition) = current {
                let atomic = definition["x-kubernetes-map-type"] == "atomic";
                writeln!(text, "{line}{}", if atomic { " atomic" } else { "" })?;
            }
        }
    }
    Ok(text)
}

fn definitions(folder: &str) -> Result<Definitions, Box<dyn Error>> {
    let mut definitions = Definitions::new();
    let mut files: Vec<_> =
        fs::read_dir(folder).map_err(|e| format!("{folder}: {e}"))?.collect::<Result<_, _>>()?;
    files.sort_by_key(fs::DirEntry::file_name);
    for file in files {
        let path = file.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let document: Value = serde_json::from_slice(&fs::read(&path)?)
            .map_err(|e| format!("{}: {e}", path.display()))?;
        if let Some(schemas) = document["components"]["schemas"].as_object() {
            for (name, schema) in schemas {
                definitions.entry(short(name)).or_insert_with(|| schema.clone());
            }
        }
    }
    Ok(definitions)
}

/// The last three parts of a published name, which are enough to tell types apart.
fn short(name: &str) -> String {
    let parts: Vec<&str> = name.split('.').collect();
    let wanted = if parts.len() > 1 && parts[parts.len() - 2] == "runtime" { 2 } else { 3 };
    parts[parts.len().saturating_sub(wanted)..].join(".")
}

/// What OpenAPI adds about a field.
fn flags(definition: &Value, name: &str, pointer: bool) -> String {
    let property = &definition["properties"][name];
    let mut flags: Vec<String> = Vec::new();
    if definition["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name)) {
        flags.push("required".to_owned());
    }
    let list_type = &property["x-kubernetes-list-type"];
    if list_type == "atomic" || property["x-kubernetes-map-type"] == "atomic" {
        flags.push("atomic".to_owned());
    }
    if list_type == "set" {
        flags.push("set".to_owned());
    }
    if let Some(keys) = property["x-kubernetes-list-map-keys"].as_array() {
        let keys: Vec<&str> = keys.iter().filter_map(Value::as_str).collect();
        flags.push(format!("map={}", keys.join(",")));
    }
    let strategies = property["x-kubernetes-patch-strategy"].as_str().unwrap_or_default();
    for strategy in strategies.split(',').filter(|strategy| !strategy.is_empty()) {
        let key = property["x-kubernetes-patch-merge-key"].as_str();
        flags.push(match key.filter(|_| strategy == "merge") {
            Some(key) => format!("merge={key}"),
            None => strategy.to_owned(),
        });
    }
    // Go's zero values are published as defaults although nothing is filled in for them; behind a
    // pointer they are meant.
    let meant = |value: &&Value| !is_zero(value) || pointer && !value.is_object();
    if let Some(default) = property.get("default").filter(meant) {
        flags.push(format!("default={default}"));
    }
    flags.join(" ")
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(entries) => entries.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}
