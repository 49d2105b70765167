//! Whether values are of their types.

use std::collections::BTreeMap;

use super::{Endpoint, Parameter, Schema, Type, format, property::Properties};

const UNKNOWN: &str =
    "property is not defined in schema and the schema does not allow additional properties";
const MISSING: &str = "property is missing and it is not optional";

/// What is wrong with the parameters of a call, by their names.
pub(crate) fn problems(
    schema: &Schema,
    endpoint: &Endpoint,
    given: &BTreeMap<String, String>,
    in_path: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut problems = BTreeMap::new();
    for (name, value) in given {
        let problem = match (in_path.get(name), endpoint.parameter(name)) {
            (Some(path), _) if path == value => None,
            (Some(path), _) => {
                Some(format!("duplicate parameter (already defined in URI as '{path}')"))
            }
            (None, Some(known)) => problem(schema, name, &known.kind, value),
            (None, None) => Some(UNKNOWN.to_owned()),
        };
        problems.extend(problem.map(|problem| (name.clone(), problem)));
    }
    for (name, value) in in_path {
        let kind = match name.as_str() {
            "node" | "storage" => Type::Format(name.clone()),
            "vmid" => Type::Int { min: Some(100), max: Some(999_999_999) },
            "pos" => Type::Int { min: Some(0), max: None },
            _ => continue,
        };
        problems.extend(problem(schema, name, &kind, value).map(|it| (name.clone(), it)));
    }
    for known in endpoint.parameters.iter().filter(|known| known.required) {
        if !given.contains_key(&known.name) {
            problems.insert(known.name.clone(), MISSING.to_owned());
        }
    }
    problems
}

/// A flag as the API writes it.
pub(crate) fn flag(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "1" | "on" | "yes" | "true" => Some(true),
        "0" | "off" | "no" | "false" => Some(false),
        _ => None,
    }
}

fn problem(schema: &Schema, name: &str, kind: &Type, value: &str) -> Option<String> {
    match kind {
        Type::Text { max: Some(max) } if value.chars().count() > *max => {
            Some(format!("value may only be {max} characters long"))
        }
        Type::Text { .. } => None,
        Type::Int { min, max } => match value.parse::<i64>() {
            Err(_) => Some(format!("type check ('integer') failed - got '{value}'")),
            Ok(number) => bounds(&number, min.as_ref(), max.as_ref()),
        },
        Type::Number { min, max } => match value.parse::<f64>() {
            Err(_) => Some(format!("type check ('number') failed - got '{value}'")),
            Ok(number) => bounds(&number, min.as_ref(), max.as_ref()),
        },
        Type::Flag => {
            let wrong = || format!("type check ('boolean') failed - got '{value}'");
            flag(value).is_none().then(wrong)
        }
        Type::Choice(choices) => (!choices.iter().any(|choice| choice == value)).then(|| {
            let choices = choices.join(", ");
            format!("value '{value}' does not have a value in the enumeration '{choices}'")
        }),
        Type::Format(format) => format::problem(format, value),
        Type::Property(kind) => property(schema, name, schema.property(kind), value),
    }
}

fn bounds<N: PartialOrd + std::fmt::Display>(
    number: &N,
    min: Option<&N>,
    max: Option<&N>,
) -> Option<String> {
    match (min, max) {
        (Some(min), _) if number < min => Some(format!("value must have a minimum value of {min}")),
        (_, Some(max)) if number > max => Some(format!("value must have a maximum value of {max}")),
        _ => None,
    }
}

fn property(schema: &Schema, name: &str, keys: &[Parameter], value: &str) -> Option<String> {
    // `smbios1` is the only one with a length of its own.
    const SMBIOS_MAX: usize = 512;
    if name == "smbios1" && value.len() > SMBIOS_MAX {
        return Some(format!("value may only be {SMBIOS_MAX} characters long"));
    }
    let wrong = |key: &str, text: &str| {
        Some(format!("invalid format - format error\n{name}.{key}: {text}"))
    };
    let mut seen: Vec<&str> = Vec::new();
    for (key, value) in Properties::read(value).pairs() {
        let known = match key {
            Some(key) => keys.iter().find(|known| known.name == *key),
            None => keys.iter().find(|known| known.bare),
        };
        let Some(known) = known else {
            return match key {
                Some(key) => wrong(key, UNKNOWN),
                None => Some(
                    "invalid format - value without key, but schema does not define a \
                              default key"
                        .to_owned(),
                ),
            };
        };
        if seen.contains(&known.name.as_str()) {
            return wrong(&known.name, "duplicate key in comma-separated list property");
        }
        seen.push(&known.name);
        if let Some(text) = problem(schema, &known.name, &known.kind, value) {
            return wrong(&known.name, &text);
        }
    }
    None
}
