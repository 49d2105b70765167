//! `html`, `js` and `urlquery`.

use std::borrow::Cow;

use crate::{
    budget::{Budget, LimitReached, Writer},
    format, runes,
    value::Value,
};

type Escaped = Result<Vec<u8>, LimitReached>;

/// The text of all arguments together.
fn joined<'v>(budget: &Budget, values: &'v [Value]) -> Result<Cow<'v, [u8]>, LimitReached> {
    if let [Value::Text(text)] = values {
        return Ok(Cow::Borrowed(text.bytes()));
    }
    let shown: Vec<Value> = values
        .iter()
        .map(|value| match value.behind_pointers() {
            Value::Nil => Value::text("<no value>"),
            value => value.clone(),
        })
        .collect();
    format::print(budget, &shown).finish().map(Cow::Owned)
}

pub(super) fn html(budget: &Budget, values: &[Value]) -> Escaped {
    let mut out = budget.writer();
    for byte in joined(budget, values)?.iter() {
        match byte {
            0 => out.push("\u{fffd}"),
            b'"' => out.push("&#34;"),
            b'\'' => out.push("&#39;"),
            b'&' => out.push("&amp;"),
            b'<' => out.push("&lt;"),
            b'>' => out.push("&gt;"),
            byte => out.push([*byte]),
        }
    }
    out.finish()
}

pub(super) fn js(budget: &Budget, values: &[Value]) -> Escaped {
    let mut out = budget.writer();
    for (rune, bytes) in runes::each(&joined(budget, values)?) {
        js_rune(rune, bytes, &mut out);
    }
    out.finish()
}

fn js_rune(rune: char, bytes: &[u8], out: &mut Writer) {
    match rune {
        '\\' => out.push("\\\\"),
        '\'' => out.push("\\'"),
        '"' => out.push("\\\""),
        '<' | '>' | '&' | '=' | '\0'..' ' => out.push(format!("\\u{:04X}", rune as u32)),
        rune if rune.is_ascii() || runes::is_print(rune) => out.push(bytes),
        rune => out.push(format!("\\u{:04X}", rune as u32)),
    }
}

pub(super) fn url_query(budget: &Budget, values: &[Value]) -> Escaped {
    let mut out = budget.writer();
    for byte in joined(budget, values)?.iter() {
        match byte {
            b' ' => out.push("+"),
            b'-' | b'_' | b'.' | b'~' => out.push([*byte]),
            byte if byte.is_ascii_alphanumeric() => out.push([*byte]),
            byte => out.push(format!("%{byte:02X}")),
        }
    }
    out.finish()
}
