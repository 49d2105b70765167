//! The `fieldPath` of a rule: `.spec.replicas`, `.map['key']`.

use crate::{schema::Schema, text};

/// The path as errors write it, if it leads to a field of the schema.
pub(crate) fn normalize(path: &str, schema: &Schema) -> Result<String, String> {
    let mut out = String::new();
    let mut schema = schema;
    let mut rest = path;
    while !rest.is_empty() {
        let (name, tail) = if let Some(tail) = rest.strip_prefix('.') {
            let end = tail.find(['.', '[', ']']).unwrap_or(tail.len());
            if end == 0 {
                return Err("unexpected end of JSON path".to_owned());
            }
            (tail[..end].to_owned(), &tail[end..])
        } else if let Some(tail) = rest.strip_prefix("['") {
            quoted(tail)?
        } else {
            return Err(format!("expected [ or . but got: {rest}"));
        };
        let property = if schema.properties.is_empty() {
            schema.additional_schema()
        } else {
            schema.properties.get(&name)
        };
        let Some(property) = property else {
            return Err("does not refer to a valid field".to_owned());
        };
        if schema.properties.is_empty() {
            text::write_in(&mut out, format_args!("[{name}]"));
        } else {
            if !out.is_empty() {
                out.push('.');
            }
            out.push_str(&name);
        }
        schema = property;
        rest = tail;
    }
    Ok(out)
}

/// A name up to `']`, and what follows.
fn quoted(text: &str) -> Result<(String, &str), String> {
    let mut name = String::new();
    let mut chars = text.char_indices();
    while let Some((i, c)) = chars.next() {
        match c {
            '\'' => {
                let tail = text[i + 1..].strip_prefix(']');
                return tail.map(|tail| (name, tail)).ok_or("expected ]".to_owned());
            }
            '\\' => match chars.next() {
                Some((_, c @ ('\'' | '\\'))) => name.push(c),
                Some((_, 'n')) => name.push('\n'),
                Some((_, 't')) => name.push('\t'),
                _ => return Err("invalid string literal".to_owned()),
            },
            c => name.push(c),
        }
    }
    Err("unexpected end of JSON path".to_owned())
}
