//! Functions of regular expressions, in Go's dialect (RE2).

use std::{borrow::Cow, ops::Range};

use regex::{Captures, Regex, RegexBuilder};

use super::{Called, bytes};
use crate::{
    budget::{Budget, Writer},
    function::{CallError, Function},
    value::{Type, Value},
};

/// No expression may need more memory than this when compiled: tenants write them.
const COMPILED_BYTES_MAX: usize = 1 << 19;
/// How deep groups may be nested.
const NESTING_MAX: u32 = 50;
/// Compiling is worth that many units of work, and one more for each byte: with the default units,
/// some 200 expressions can be compiled, each of which may take milliseconds.
const COMPILE_UNITS: u64 = 5000;
/// Searching a text costs more than reading it.
const SEARCH_FACTOR: usize = 8;

pub(super) fn functions() -> Vec<(&'static str, Function)> {
    vec![
        (
            "regexFind",
            Function::new(vec![Type::Text; 2], Type::Text, |budget, values| {
                let [pattern, text] = values else { return Ok(Value::text("")) };
                let regex = prepare(budget, pattern, text)?;
                let subject = Subject::of(bytes(text));
                let found = regex.find(&subject.text).map(|found| subject.bytes(found.range()));
                Ok(Value::text(found.unwrap_or_default()))
            }),
        ),
        (
            "regexFindString",
            Function::new(vec![Type::Text, Type::Text, Type::INT], Type::Text, find_group),
        ),
        ("regexReplaceAll", Function::new(vec![Type::Text; 3], Type::Text, replace_all)),
    ]
}

fn prepare(budget: &mut Budget, pattern: &Value, text: &Value) -> Result<Regex, CallError> {
    let pattern = bytes(pattern);
    budget.take(COMPILE_UNITS + pattern.len() as u64)?;
    budget.take_bytes(bytes(text).len().saturating_mul(SEARCH_FACTOR))?;
    compile(pattern).map_err(|problem| format!("error parsing regexp: {problem}").into())
}

fn find_group(budget: &mut Budget, values: &[Value]) -> Called {
    let [pattern, text, Value::Int(_, group)] = values else { return Ok(Value::text("")) };
    let regex = prepare(budget, pattern, text)?;
    let group = usize::try_from(*group)
        .map_err(|_| format!("runtime error: index out of range [{group}]"))?;
    let subject = Subject::of(bytes(text));
    let captures = regex.captures(&subject.text);
    let found = captures.and_then(|captures| captures.get(group));
    Ok(Value::text(found.map(|found| subject.bytes(found.range())).unwrap_or_default()))
}

fn replace_all(budget: &mut Budget, values: &[Value]) -> Called {
    let [pattern, text, replacement] = values else { return Ok(Value::text("")) };
    let regex = prepare(budget, pattern, text)?;
    let (text, replacement) = (bytes(text), bytes(replacement));
    let subject = Subject::of(text);
    let mut out = budget.writer();
    let mut done = 0;
    for captures in regex.captures_iter(&subject.text) {
        let Some(whole) = captures.get(0) else { continue };
        out.push(subject.bytes(done..whole.start()));
        expand(replacement, &subject, &regex, &captures, &mut out);
        done = whole.end();
        if out.is_full() {
            break;
        }
    }
    out.push(subject.bytes(done..subject.text.len()));
    Ok(Value::text(out.finish()?))
}

/// A text to search. In Go, a byte that is no part of a character is the character U+FFFD there.
struct Subject<'t> {
    text: Cow<'t, str>,
    bytes: &'t [u8],
    /// Where each character is in the text and in the bytes, if that differs.
    places: Vec<(usize, usize)>,
}

impl<'t> Subject<'t> {
    fn of(bytes: &'t [u8]) -> Self {
        if let Ok(text) = std::str::from_utf8(bytes) {
            return Self { text: Cow::Borrowed(text), bytes, places: Vec::new() };
        }
        let (mut text, mut places, mut place) = (String::new(), Vec::new(), 0);
        for (rune, taken) in crate::runes::each(bytes) {
            places.push((text.len(), place));
            text.push(rune);
            place += taken.len();
        }
        places.push((text.len(), place));
        Self { text: Cow::Owned(text), bytes, places }
    }

    /// The bytes of a part of the text.
    fn bytes(&self, range: Range<usize>) -> &'t [u8] {
        let place = |at: usize| match self.places.binary_search_by_key(&at, |(text, _)| *text) {
            Ok(index) => self.places[index].1,
            Err(_) => at,
        };
        self.bytes.get(place(range.start)..place(range.end)).unwrap_or_default()
    }
}

/// Writes a replacement: `$1`, `${1}`, `$name`, `$$`.
fn expand(
    replacement: &[u8],
    subject: &Subject<'_>,
    regex: &Regex,
    captures: &Captures<'_>,
    out: &mut Writer,
) {
    let mut rest = replacement;
    while let Some(at) = rest.iter().position(|byte| *byte == b'$') {
        out.push(&rest[..at]);
        let after = &rest[at + 1..];
        if after.first() == Some(&b'$') {
            out.push("$");
            rest = &after[1..];
            continue;
        }
        let Some((name, tail)) = reference(after) else {
            out.push("$");
            rest = after;
            continue;
        };
        rest = tail;
        // Of several groups of one name, Go takes the one that matched.
        let group = match name.parse::<usize>() {
            Ok(number) if name.bytes().all(|byte| byte.is_ascii_digit()) => captures.get(number),
            _ => regex
                .capture_names()
                .flatten()
                .find(|known| *known == name)
                .and_then(|name| captures.name(name)),
        };
        out.push(group.map(|found| subject.bytes(found.range())).unwrap_or_default());
    }
    out.push(rest);
}

/// The name at the beginning of what follows a dollar, and what follows the name.
fn reference(text: &[u8]) -> Option<(&str, &[u8])> {
    let (braced, text) = match text.strip_prefix(b"{") {
        Some(inner) => (true, inner),
        None => (false, text),
    };
    let mut length = 0;
    for (rune, bytes) in crate::runes::each(text) {
        if rune != '_' && !crate::runes::is_letter(rune) && !crate::runes::is_digit(rune) {
            break;
        }
        length += bytes.len();
    }
    let name = std::str::from_utf8(&text[..length]).ok().filter(|name| !name.is_empty())?;
    let tail = &text[length..];
    if braced { tail.strip_prefix(b"}").map(|tail| (name, tail)) } else { Some((name, tail)) }
}

/// Compiles an expression. What is wrong is told without the expression, which may be data.
fn compile(pattern: &[u8]) -> Result<Regex, String> {
    let pattern = std::str::from_utf8(pattern).map_err(|_| "invalid UTF-8".to_owned())?;
    RegexBuilder::new(&translated(pattern)?)
        .size_limit(COMPILED_BYTES_MAX)
        .dfa_size_limit(COMPILED_BYTES_MAX)
        .nest_limit(NESTING_MAX)
        .build()
        .map_err(|error| {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            last.trim_start_matches("error: ").to_owned()
        })
}

/// Rewrites what Go's dialect and that of the `regex` crate write differently.
fn translated(pattern: &str) -> Result<String, String> {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern;
    let mut in_class = false;
    while let Some(c) = rest.chars().next() {
        let tail = &rest[c.len_utf8()..];
        rest = tail;
        match c {
            '\\' => rest = escape(tail, in_class, &mut out)?,
            '[' if in_class => match tail.strip_prefix(':').and_then(|name| name.find(":]")) {
                Some(length) => {
                    out.push('[');
                    out.push_str(&tail[..length + 3]);
                    rest = &tail[length + 3..];
                }
                None => out.push_str("\\["),
            },
            '[' => {
                in_class = true;
                out.push('[');
                if let Some(after) = rest.strip_prefix('^') {
                    out.push('^');
                    rest = after;
                }
                // A bracket in first place is a member.
                if let Some(after) = rest.strip_prefix(']') {
                    out.push_str("\\]");
                    rest = after;
                }
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            // Sets of sets are Rust's alone.
            '&' | '~' if in_class => out.extend(['\\', c]),
            '-' if in_class && tail.starts_with('-') => out.push_str("\\-"),
            '{' if !in_class => match repetition(tail) {
                Some(length) => {
                    out.push('{');
                    out.push_str(&tail[..length]);
                    rest = &tail[length..];
                }
                None => out.push_str("\\{"),
            },
            '}' if !in_class => out.push_str("\\}"),
            '(' if !in_class => {
                check_group(tail)?;
                out.push('(');
            }
            c => out.push(c),
        }
    }
    Ok(out)
}

/// Refuses groups that Go does not have.
fn check_group(tail: &str) -> Result<(), String> {
    let Some(flags) = tail.strip_prefix('?') else { return Ok(()) };
    let flags = flags.split([':', ')']).next().unwrap_or_default();
    if flags.starts_with(['P', '<']) || flags.chars().all(|flag| "imsU-".contains(flag)) {
        return Ok(());
    }
    Err("invalid or unsupported Perl syntax".to_owned())
}

/// How long `n}`, `n,}` or `n,m}` is, where the text begins with that.
fn repetition(text: &str) -> Option<usize> {
    let end = text.find('}')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (least, most) = text[..end].split_once(',').unwrap_or((&text[..end], ""));
    (digits(least) && (most.is_empty() || digits(most))).then_some(end + 1)
}

/// Writes what stands behind a backslash, and returns what follows it.
fn escape<'p>(tail: &'p str, in_class: bool, out: &mut String) -> Result<&'p str, String> {
    let Some(c) = tail.chars().next() else {
        return Err("trailing backslash at end of expression".to_owned());
    };
    let after = &tail[c.len_utf8()..];
    match c {
        // In Go these are about ASCII.
        'd' => out.push_str(if in_class { "0-9" } else { "[0-9]" }),
        's' => out.push_str(if in_class { r"\t\n\x0c\r " } else { r"[\t\n\x0c\r ]" }),
        'w' => out.push_str(if in_class { "0-9A-Za-z_" } else { "[0-9A-Za-z_]" }),
        'D' => out.push_str("[^0-9]"),
        'S' => out.push_str(r"[^\t\n\x0c\r ]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        'b' if !in_class => out.push_str(r"(?-u:\b)"),
        'B' if !in_class => out.push_str(r"(?-u:\B)"),
        'Q' => {
            let (quoted, after) = after.split_once(r"\E").unwrap_or((after, ""));
            out.push_str(&regex::escape(quoted));
            return Ok(after);
        }
        'p' | 'P' | 'x' if after.starts_with('{') => {
            let end = after.find('}').map_or(after.len(), |end| end + 1);
            out.extend(['\\', c]);
            out.push_str(&after[..end]);
            return Ok(&after[end..]);
        }
        'p' | 'P' | 'x' | 'A' | 'z' | 'a' | 'f' | 't' | 'n' | 'r' | 'v' => out.extend(['\\', c]),
        // An octal number.
        '0'..='7' if c == '0' || after.starts_with(|next: char| ('0'..='7').contains(&next)) => {
            let digits: String =
                tail.chars().take(3).take_while(|digit| ('0'..='7').contains(digit)).collect();
            let code = u32::from_str_radix(&digits, 8).map_err(|_| "invalid escape sequence")?;
            out.extend(format!("\\x{{{code:x}}}").chars());
            return Ok(&tail[digits.len()..]);
        }
        c if c.is_ascii_punctuation() => out.push_str(&regex::escape(&c.to_string())),
        _ => return Err("invalid escape sequence".to_owned()),
    }
    Ok(after)
}
