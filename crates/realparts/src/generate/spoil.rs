//! Bodies with something wrong in them, from a field nobody knows to text that is not JSON.

use std::fmt::Write;

use joiner_core::testing::rng::Rng;
use serde_json::{Value, json};

use crate::exchange::{Exchange, set};

/// Sends an object, mostly as it is.
pub(super) fn send(rng: &mut Rng, exchange: Exchange, mut object: Value) -> Exchange {
    match rng.below(100) {
        0..=7 => {
            add_unknown_field(rng, &mut object);
            exchange.json(&object)
        }
        8..=11 => exchange.text("application/json", with_duplicate(rng, &object)),
        12..=17 => {
            change_a_type(rng, &mut object);
            exchange.json(&object)
        }
        18..=20 => exchange.text("application/json", malformed(rng, &object)),
        21..=23 => exchange.text("application/yaml", yaml(&object)),
        24 => {
            let texts =
                ["a: [", "\tkind: Pod", "a: b\na: c\n", "--- a\n--- b\n", "kind: !!binary x"];
            exchange.text("application/yaml", *rng.pick(&texts))
        }
        25..=26 => {
            let types = [
                "text/plain",
                "application/xml",
                "application/json; charset=utf-8",
                "application/json;",
                "application/merge-patch+json",
                "*/*",
                "",
                "nonsense",
            ];
            exchange.text(rng.pick(&types), object.to_string())
        }
        27 => exchange.json(&too_large(rng, object)),
        _ => exchange.json(&object),
    }
}

/// Pointers of all values, with that of the whole first.
pub(super) fn pointers(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect(value, String::new(), &mut found);
    found
}

fn collect(value: &Value, pointer: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                collect(field, format!("{pointer}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, format!("{pointer}/{index}"), found);
            }
        }
        _ => {}
    }
    found.push(pointer);
}

fn add_unknown_field(rng: &mut Rng, object: &mut Value) {
    let places: Vec<String> = pointers(object)
        .into_iter()
        .filter(|pointer| object.pointer(pointer).is_some_and(Value::is_object))
        .collect();
    let names = ["bogus", "Spec", "metaData", "apiversion"];
    for _ in 0..rng.between(1, 2) {
        let pointer = format!("{}/{}", rng.pick(&places), rng.pick(&names));
        let values = [json!("x"), json!(1), json!({"a": {"b": []}}), json!(null)];
        set(object, &pointer, rng.pick(&values).clone());
    }
}

/// The object as text with a field that is there twice.
fn with_duplicate(rng: &mut Rng, object: &Value) -> String {
    let text = object.to_string();
    let doubles = [
        ("\"metadata\":{", "\"metadata\":{\"name\":\"twice\","),
        ("\"kind\":", "\"kind\":\"First\",\"kind\":"),
        (
            "\"spec\":{",
            "\"spec\":{\"nodeName\":\"x\",\"nodeName\":\"x\",\"replicas\":1,\"replicas\":2,",
        ),
        ("\"data\":{", "\"data\":{\"a\":\"1\",\"a\":\"2\","),
        ("{", "{\"spec\":{},\"data\":{},"),
    ];
    let (from, to) = *rng.pick(&doubles);
    text.replacen(from, to, 1)
}

/// Replaces one value by one of another type.
fn change_a_type(rng: &mut Rng, object: &mut Value) {
    let places = pointers(object);
    let pointer = rng.pick(&places).clone();
    let values = [
        json!("text"),
        json!(""),
        json!(5),
        json!(-5),
        json!(1.5),
        json!(1e30),
        json!(true),
        json!([]),
        json!([1]),
        json!([null]),
        json!({}),
        json!({"a": "b"}),
        json!(null),
    ];
    let value = rng.pick(&values).clone();
    if let Some(place) = object.pointer_mut(&pointer) {
        *place = value;
    }
}

fn malformed(rng: &mut Rng, object: &Value) -> String {
    let text = object.to_string();
    match rng.below(10) {
        0 => String::new(),
        1 => text[..text.len() / 2].to_owned(),
        2 => format!("{text}x"),
        3 => format!("{text}{text}"),
        4 => format!("[{text}]"),
        5 => "null".to_owned(),
        6 => "\"text\"".to_owned(),
        7 => text.replacen(':', " ", 1),
        8 => "{}".to_owned(),
        _ => text.replacen('"', "'", 2),
    }
}

/// An object larger than the server stores, or than it reads.
fn too_large(rng: &mut Rng, mut object: Value) -> Value {
    // Servers read three mebibytes; a little more can be sent to the end without being cut off.
    let size = *rng.pick(&[300 * 1024, 3 * 1024 * 1024 + 64 * 1024]);
    set(&mut object, "/metadata/annotations", json!({"large": "x".repeat(size)}));
    object
}

/// A value as YAML in block style.
pub(super) fn yaml(value: &Value) -> String {
    let mut text = String::new();
    write_yaml(value, 0, &mut text);
    text
}

fn write_yaml(value: &Value, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    let nested = |value: &Value| match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    let mut entry = |head: String, value: &Value| {
        let _infallible = write!(text, "{indent}{head}");
        if nested(value) {
            text.push('\n');
            write_yaml(value, depth + 1, text);
        } else {
            let _infallible = writeln!(text, " {value}");
        }
    };
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                entry(format!("{}:", Value::from(name.as_str())), field);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| entry("-".to_owned(), item)),
        other => {
            let _infallible = writeln!(text, "{indent}{other}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_yaml() {
        let value = json!({"a": [1, {"b": "c: d"}], "e": {}});
        assert_eq!(yaml(&value), "\"a\":\n  - 1\n  -\n    \"b\": \"c: d\"\n\"e\": {}\n");
        assert_eq!(serde_saphyr::from_str::<Value>(&yaml(&value)).unwrap(), value);
    }

    #[test]
    fn every_value_has_its_pointer() {
        assert_eq!(pointers(&json!({"a/b": [1]})), ["/a~1b/0", "/a~1b", ""]);
    }
}
