//! Functions on strings and bytes.

use std::borrow::Cow;

use super::{
    eval::Context,
    value::{Failure, Outcome, Val},
};
use crate::text;

/// Calls a function on strings, if there is one for these arguments.
pub(super) fn call<'a>(
    context: &Context<'_, 'a>,
    function: &str,
    args: &[Val<'a>],
) -> Option<Outcome<'a>> {
    let truth = |flag: bool| Ok(Val::Bool(flag));
    let [Val::Text(this), rest @ ..] = args else {
        return match (function, args) {
            ("join", [Val::List(list)]) => Some(list.all().and_then(|items| join(&items, ""))),
            ("join", [Val::List(list), Val::Text(separator)]) => {
                Some(list.all().and_then(|items| join(&items, separator)))
            }
            ("size", [Val::Bytes(bytes)]) => Some(Ok(Val::Int(bytes.len() as i64))),
            _ => None,
        };
    };
    Some(match (function, rest) {
        ("size", []) => Ok(Val::Int(this.chars().count() as i64)),
        ("contains", [Val::Text(part)]) => truth(this.contains(&**part)),
        ("startsWith", [Val::Text(part)]) => truth(this.starts_with(&**part)),
        ("endsWith", [Val::Text(part)]) => truth(this.ends_with(&**part)),
        ("matches", [Val::Text(pattern)]) => {
            context.regex(pattern, |regex| regex.is_match(this)).map(Val::Bool)
        }
        ("find", [Val::Text(pattern)]) => context
            .regex(pattern, |regex| regex.find(this).map_or("", |found| found.as_str()).to_owned())
            .map(Val::text),
        ("findAll", [Val::Text(pattern)]) => find_all(context, this, pattern, -1),
        ("findAll", [Val::Text(pattern), Val::Int(limit)]) => {
            find_all(context, this, pattern, *limit)
        }
        ("lowerAscii", []) => Ok(Val::text(this.to_ascii_lowercase())),
        ("upperAscii", []) => Ok(Val::text(this.to_ascii_uppercase())),
        ("trim", []) => Ok(Val::text(this.trim())),
        ("charAt", [Val::Int(place)]) => char_at(this, *place),
        ("indexOf", [Val::Text(part)]) => Ok(Val::Int(place_of(this, part, 0))),
        ("indexOf", [Val::Text(part), Val::Int(from)]) => {
            offset(this, *from).map(|from| Val::Int(place_of(this, part, from)))
        }
        ("lastIndexOf", [Val::Text(part)]) => {
            Ok(Val::Int(last_place_of(this, part, this.chars().count())))
        }
        ("lastIndexOf", [Val::Text(part), Val::Int(from)]) => {
            offset(this, *from).map(|from| Val::Int(last_place_of(this, part, from)))
        }
        ("replace", [Val::Text(old), Val::Text(new)]) => Ok(Val::text(this.replace(&**old, new))),
        ("replace", [Val::Text(old), Val::Text(new), Val::Int(times)]) => {
            Ok(Val::text(match usize::try_from(*times) {
                Ok(times) => this.replacen(&**old, new, times),
                Err(_) => this.replace(&**old, new),
            }))
        }
        ("split", [Val::Text(separator)]) => Ok(split(this, separator, -1)),
        ("split", [Val::Text(separator), Val::Int(limit)]) => Ok(split(this, separator, *limit)),
        ("substring", [Val::Int(start)]) => {
            let size = this.chars().count() as i64;
            if *start > size {
                return Some(Failure::new(format!("index out of range: {start}")));
            }
            substring(this, *start, size)
        }
        ("substring", [Val::Int(start), Val::Int(end)]) => substring(this, *start, *end),
        ("format", [Val::List(list)]) => list.all().and_then(|items| format(this, &items)),
        ("strings.quote", []) => Ok(Val::text(text::quote(this))),
        _ => return None,
    })
}

fn join<'a>(items: &[Val<'a>], separator: &str) -> Outcome<'a> {
    let mut texts = Vec::with_capacity(items.len());
    for item in items {
        match item {
            Val::Text(text) => texts.push(&**text),
            _ => return Failure::overload(),
        }
    }
    Ok(Val::text(texts.join(separator)))
}

fn find_all<'a>(context: &Context<'_, 'a>, this: &str, pattern: &str, limit: i64) -> Outcome<'a> {
    context.regex(pattern, |regex| {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Val::list(regex.find_iter(this).take(limit).map(|m| Val::text(m.as_str())).collect())
    })
}

fn char_at<'a>(this: &str, place: i64) -> Outcome<'a> {
    let size = this.chars().count() as i64;
    if place < 0 || place > size {
        return Failure::new(format!("index out of range: {place}"));
    }
    Ok(Val::text(this.chars().nth(place as usize).map_or_else(String::new, String::from)))
}

fn offset(this: &str, from: i64) -> Result<usize, Failure> {
    match usize::try_from(from).ok().filter(|&from| from <= this.chars().count()) {
        Some(from) => Ok(from),
        None => Failure::new(format!("index out of range: {from}")),
    }
}

/// The place, in characters, of `part` at or after `from`; -1 when there is none.
fn place_of(this: &str, part: &str, from: usize) -> i64 {
    let start = this.char_indices().nth(from).map_or(this.len(), |(i, _)| i);
    this[start..]
        .find(part)
        .map_or(-1, |at| (from + this[start..start + at].chars().count()) as i64)
}

/// The last place, in characters, of `part` at or before `until`.
fn last_place_of(this: &str, part: &str, until: usize) -> i64 {
    let places: Vec<usize> = this.char_indices().map(|(i, _)| i).chain([this.len()]).collect();
    let last = until.min(places.len() - 1);
    (0..=last).rev().find(|&i| this[places[i]..].starts_with(part)).map_or(-1, |i| i as i64)
}

fn split<'a>(this: &str, separator: &str, limit: i64) -> Val<'a> {
    let part = |text: &str| Val::text(text);
    let parts: Vec<Val<'a>> = match usize::try_from(limit) {
        Ok(0) => Vec::new(),
        Ok(limit) if separator.is_empty() => {
            let mut rest = this;
            let mut parts = Vec::new();
            while let Some(c) = rest.chars().next().filter(|_| parts.len() + 1 < limit) {
                parts.push(part(&rest[..c.len_utf8()]));
                rest = &rest[c.len_utf8()..];
            }
            if !rest.is_empty() {
                parts.push(part(rest));
            }
            parts
        }
        Ok(limit) => this.splitn(limit, separator).map(part).collect(),
        Err(_) if separator.is_empty() => this.chars().map(Val::text).collect(),
        Err(_) => this.split(separator).map(part).collect(),
    };
    Val::list(parts)
}

fn substring<'a>(this: &str, start: i64, end: i64) -> Outcome<'a> {
    let size = this.chars().count() as i64;
    if start > end {
        return Failure::new(format!("invalid substring range. start: {start}, end: {end}"));
    }
    for place in [start, end] {
        if place < 0 || place > size {
            return Failure::new(format!("index out of range: {place}"));
        }
    }
    let part = this.chars().skip(start as usize).take((end - start) as usize);
    Ok(Val::text(part.collect::<String>()))
}

/// `"%s has %d".format([a, b])`.
fn format<'a>(pattern: &str, args: &[Val<'a>]) -> Outcome<'a> {
    let mut out = String::with_capacity(pattern.len());
    let (mut next, mut rest) = (args.iter(), pattern);
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let digits = rest.strip_prefix('.').map(|tail| {
            let end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
            (tail[..end].parse::<usize>().unwrap_or(6).min(1000), &tail[end..])
        });
        let (precision, tail) = digits.map_or((6, rest), |(precision, tail)| (precision, tail));
        let Some(verb) = tail.chars().next() else {
            return Failure::new("could not parse formatting clause: unexpected end of string");
        };
        rest = &tail[verb.len_utf8()..];
        if verb == '%' {
            out.push('%');
            continue;
        }
        let Some(arg) = next.next() else {
            return Failure::new(format!("index {} out of range", args.len()));
        };
        match formatted(verb, precision, arg) {
            Some(text) => out.push_str(&text),
            None => {
                let name = arg.type_name();
                return Failure::new(format!(
                    "error during formatting: formatting clause %{verb} does not take {name}"
                ));
            }
        }
    }
    out.push_str(rest);
    Ok(Val::text(out))
}

fn formatted(verb: char, precision: usize, arg: &Val<'_>) -> Option<String> {
    Some(match (verb, arg) {
        ('s', arg) => shown(arg)?,
        ('d', Val::Int(number)) => number.to_string(),
        ('d', Val::Uint(number)) => number.to_string(),
        ('d', Val::Double(number)) if number.fract() == 0.0 => format!("{number}"),
        ('f', Val::Double(number)) => format!("{number:.precision$}"),
        ('f', Val::Int(number)) => format!("{:.precision$}", *number as f64),
        ('e', Val::Double(number)) => {
            let text = format!("{number:.precision$e}");
            let (mantissa, exponent) = text.split_once('e')?;
            let exponent: i32 = exponent.parse().ok()?;
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.abs())
        }
        ('b', Val::Int(number)) => signed_radix(*number, |size| format!("{size:b}")),
        ('b', Val::Bool(flag)) => u8::from(*flag).to_string(),
        ('o', Val::Int(number)) => signed_radix(*number, |size| format!("{size:o}")),
        ('x', Val::Int(number)) => signed_radix(*number, |size| format!("{size:x}")),
        ('X', Val::Int(number)) => signed_radix(*number, |size| format!("{size:X}")),
        ('x', Val::Text(text)) => hex(text.as_bytes()),
        ('X', Val::Text(text)) => hex(text.as_bytes()).to_uppercase(),
        ('x', Val::Bytes(bytes)) => hex(bytes),
        _ => return None,
    })
}

fn signed_radix(number: i64, show: impl Fn(u64) -> String) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", show(number.unsigned_abs()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        text::write_in(&mut out, format_args!("{byte:02x}"));
        out
    })
}

/// A value as `%s` shows it.
fn shown(value: &Val<'_>) -> Option<String> {
    Some(match value {
        Val::List(list) => {
            let items = list.all().ok()?;
            let items: Option<Vec<String>> = items.iter().map(shown_inside).collect();
            format!("[{}]", items?.join(", "))
        }
        Val::Map(fields) => {
            let mut entries = Vec::new();
            for key in fields.keys() {
                let value = fields.get_val(&key)?.ok()?;
                entries.push(format!("{}:{}", shown_inside(&key)?, shown_inside(&value)?));
            }
            entries.sort();
            format!("{{{}}}", entries.join(", "))
        }
        Val::Text(_) | Val::Int(_) | Val::Uint(_) | Val::Double(_) | Val::Bool(_) | Val::Null => {
            value.show()
        }
        Val::Type(name) => (*name).to_owned(),
        other => match super::convert::to_text(other)? {
            Ok(Val::Text(text)) => text.into_owned(),
            _ => return None,
        },
    })
}

/// A value as `%s` shows it within a list or map: strings are quoted.
fn shown_inside(value: &Val<'_>) -> Option<String> {
    match value {
        Val::Text(text) => Some(text::quote(text)),
        Val::Bytes(_) => shown(value).map(|text| format!("b{}", text::quote(&text))),
        other => shown(other),
    }
}

/// Standard base64, with padding.
pub(super) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let digit = |c: u8| -> Option<u32> {
        Some(match c {
            b'A'..=b'Z' => u32::from(c - b'A'),
            b'a'..=b'z' => u32::from(c - b'a') + 26,
            b'0'..=b'9' => u32::from(c - b'0') + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        })
    };
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let stripped = text.strip_suffix("==").or(text.strip_suffix('=')).unwrap_or(text);
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for chunk in stripped.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for i in 0..4 {
            bits = bits << 6 | chunk.get(i).map_or(Some(0), |&c| digit(c))?;
        }
        bytes.extend(bits.to_be_bytes()[1..].iter().take(chunk.len() - 1));
    }
    Some(bytes)
}

/// Text from bytes, if they are some.
pub(super) fn utf8<'a>(bytes: &[u8]) -> Outcome<'a> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Val::Text(Cow::Owned(text.to_owned()))),
        Err(_) => Failure::new("invalid UTF-8 in bytes, cannot convert to string"),
    }
}
