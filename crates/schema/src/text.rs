//! How Kubernetes' texts show values: Go's quoting, Go's numbers, Go's JSON.

use std::fmt::Write;

use serde_json::Value;

/// The word for the type of a value in errors of Go's JSON decoder.
pub fn go_word(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A string in quotes, as Go's `%q` writes it.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if printable(c) => out.push(c),
            c if u32::from(c) < 0x80 => write_in(&mut out, format_args!("\\x{:02x}", u32::from(c))),
            c if u32::from(c) < 0x1_0000 => {
                write_in(&mut out, format_args!("\\u{:04x}", u32::from(c)));
            }
            c => write_in(&mut out, format_args!("\\U{:08x}", u32::from(c))),
        }
    }
    out.push('"');
    out
}

/// Whether Go calls the character printable: letters, marks, numbers, punctuation, symbols and
/// the ASCII space, but no format, private or control characters.
pub(crate) fn printable(c: char) -> bool {
    if c.is_ascii() {
        return c == ' ' || c.is_ascii_graphic();
    }
    !c.is_control()
        && !c.is_whitespace()
        && !matches!(c,
            '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{e000}'..='\u{f8ff}'
            | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{fffe}'..='\u{ffff}'
            | '\u{e0000}'..='\u{10ffff}')
}

/// A number as Go's `%v` writes a float64.
pub(crate) fn float(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = scientific.split_once('e').expect("{:e} writes an exponent");
    let exponent: i32 = exponent.parse().expect("{:e} writes a decimal exponent");
    if number != 0.0 && !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    format!("{number}")
}

/// A value as Go's JSON encoder writes it: sorted keys, no spaces, `<`, `>` and `&` escaped.
pub(crate) fn json(value: &Value) -> String {
    let mut out = String::new();
    write_json(&mut out, value);
    out
}

fn write_json(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => write_in(out, format_args!("{flag}")),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => write_in(out, format_args!("{whole}")),
            None => out.push_str(&json_float(number.as_f64().unwrap_or(f64::NAN))),
        },
        Value::String(text) => write_json_string(out, text),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_json(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (i, (key, field)) in sorted.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_json_string(out, key);
                out.push(':');
                write_json(out, field);
            }
            out.push('}');
        }
    }
}

fn json_float(number: f64) -> String {
    let size = number.abs();
    if number == 0.0 || (1e-6..1e21).contains(&size) {
        return format!("{number}");
    }
    let scientific = format!("{number:e}");
    match scientific.split_once('e') {
        Some((mantissa, exponent)) if !exponent.starts_with('-') => {
            format!("{mantissa}e+{exponent}")
        }
        _ => scientific,
    }
}

fn write_json_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                write_in(out, format_args!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Appends to a string.
pub(crate) fn write_in(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a string cannot fail");
}

/// A value as an error about it shows it: strings quoted, numbers plain, all else as JSON.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.to_string(),
            None => float(number.as_f64().unwrap_or(f64::NAN)),
        },
        other => json(other),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_look_as_in_go() {
        let cases = [
            (json!("a\"b\\c\n\u{0}é\u{200b}<"), r#""a\"b\\c\n\x00é\u200b<""#),
            (json!(1_000_000.0), "1e+06"),
            (json!(123_456.0), "123456"),
            (json!(1.5), "1.5"),
            (json!(3), "3"),
            (json!({"b": "<&>", "a": [1.0, null]}), r#"{"a":[1,null],"b":"\u003c\u0026\u003e"}"#),
        ];
        for (value, expected) in cases {
            assert_eq!(shown(&value), expected);
        }
        assert_eq!(float(1e21), "1e+21");
        assert_eq!(float(0.00001), "1e-05");
    }
}
