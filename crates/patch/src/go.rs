//! Values as Go prints them. Messages of the API server quote values this way, and clients match
//! on messages.

use std::fmt::Write;

use serde_json::{Number, Value};

/// What `%v` prints.
pub(crate) fn plain(value: &Value) -> String {
    let mut out = String::new();
    write_plain(&mut out, value);
    out
}

/// What `%v` prints for a list.
pub(crate) fn plain_list(items: &[Value]) -> String {
    let mut out = String::new();
    write_list(&mut out, items);
    out
}

fn write_plain(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(value) => write!(out, "{value}").expect("a String takes everything"),
        Value::Number(number) => out.push_str(&plain_number(number)),
        Value::String(text) => out.push_str(text),
        Value::Array(items) => write_list(out, items),
        Value::Object(fields) => {
            out.push_str("map[");
            for (index, (name, value)) in sorted(fields).into_iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                out.push_str(name);
                out.push(':');
                write_plain(out, value);
            }
            out.push(']');
        }
    }
}

fn write_list(out: &mut String, items: &[Value]) {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(' ');
        }
        write_plain(out, item);
    }
    out.push(']');
}

/// What `%#v` prints: the value as Go source.
pub(crate) fn source(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => plain_number(number),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(source).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> = sorted(fields)
                .into_iter()
                .map(|(name, value)| format!("{}:{}", quoted(name), source(value)))
                .collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
    }
}

/// What `%T` prints: the name of the type that the value is decoded to.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// What `%q` prints.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            other if other.is_control() && (other as u32) < 0x80 => {
                write!(out, "\\x{:02x}", other as u32).expect("a String takes everything");
            }
            other if other.is_control() => {
                write!(out, "\\u{:04x}", other as u32).expect("a String takes everything");
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// JSON as Go's encoder writes it: compact, and safe to paste into HTML.
pub(crate) fn json(value: &Value) -> String {
    let compact = value.to_string();
    let mut out = String::with_capacity(compact.len());
    for character in compact.chars() {
        // These characters can only be inside of strings.
        match character {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            other => out.push(other),
        }
    }
    out
}

/// A number as `%v` prints it: floats in the shortest form, with an exponent where it is large or
/// small.
fn plain_number(number: &Number) -> String {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
        return number.to_string();
    };
    let exponent = if float == 0.0 { 0 } else { float.abs().log10().floor() as i32 };
    if (-4..21).contains(&exponent) {
        return format!("{float}");
    }
    let scientific = format!("{float:e}");
    match scientific.split_once('e') {
        Some((mantissa, exponent)) => {
            let (sign, digits) = match exponent.strip_prefix('-') {
                Some(digits) => ('-', digits),
                None => ('+', exponent),
            };
            format!("{mantissa}e{sign}{digits:0>2}")
        }
        None => scientific,
    }
}

fn sorted(fields: &serde_json::Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut fields: Vec<_> = fields.iter().collect();
    fields.sort_by_key(|(name, _)| *name);
    fields
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_look_as_go_prints_them() {
        let value = json!({"b": [1, "x", null], "a": {"n": 1.5, "t": true}});
        assert_eq!(plain(&value), "map[a:map[n:1.5 t:true] b:[1 x <nil>]]");
        assert_eq!(
            source(&value),
            r#"map[string]interface {}{"a":map[string]interface {}{"n":1.5, "t":true}, "b":[]interface {}{1, "x", interface {}(nil)}}"#
        );
        assert_eq!(plain(&json!(1e21)), "1e+21");
        assert_eq!(plain(&json!(0.00001)), "1e-05");
        assert_eq!(plain(&json!(1e20)), "100000000000000000000");
        assert_eq!(quoted("a\"\n\u{1}"), "\"a\\\"\\n\\x01\"");
        assert_eq!(json(&json!("<&>")), "\"\\u003c\\u0026\\u003e\"");
    }
}
