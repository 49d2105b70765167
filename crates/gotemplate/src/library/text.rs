//! Functions of texts.

use base64::{
    Engine, alphabet,
    engine::{GeneralPurpose, GeneralPurposeConfig, general_purpose::STANDARD},
};

use super::{Called, bytes, find, of_texts, printed, question};
use crate::{
    budget::{Budget, Writer},
    function::{CallError, Function},
    quote, runes,
    value::{ITEM_BYTES, Type, Value},
};

/// As Go decodes: bits beyond the last byte may be anything.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

pub(super) fn functions() -> Vec<(&'static str, Function)> {
    let texts = || Type::list(Type::Text);
    vec![
        (
            "indent",
            Function::new(vec![Type::INT, Type::Text], Type::Text, |budget, values| {
                indent(budget, values, "")
            }),
        ),
        (
            "nindent",
            Function::new(vec![Type::INT, Type::Text], Type::Text, |budget, values| {
                indent(budget, values, "\n")
            }),
        ),
        (
            "quote",
            Function::new(vec![], Type::Text, |budget, values| quote_all(budget, values))
                .and_more(Type::Any),
        ),
        ("upper", of_texts(1, |texts| mapped(texts[0], runes::upper))),
        ("lower", of_texts(1, |texts| mapped(texts[0], runes::lower))),
        ("trim", of_texts(1, |texts| trimmed(texts[0]).to_vec())),
        (
            "trimSuffix",
            of_texts(2, |texts| texts[1].strip_suffix(texts[0]).unwrap_or(texts[1]).to_vec()),
        ),
        (
            "trimPrefix",
            of_texts(2, |texts| texts[1].strip_prefix(texts[0]).unwrap_or(texts[1]).to_vec()),
        ),
        ("getValue", of_texts(2, |texts| value_of(texts[0], texts[1]).to_vec())),
        ("split", Function::new(vec![Type::Text, Type::Text], texts(), split)),
        (
            "join",
            Function::new(vec![texts(), Type::Text], Type::Text, |budget, values| {
                join(budget, values)
            }),
        ),
        (
            "replace",
            Function::new(vec![Type::Text; 3], Type::Text, |budget, values| {
                replace(budget, values)
            }),
        ),
        ("contains", question(|part, text| find(text, part).is_some())),
        ("hasPrefix", question(|part, text| text.starts_with(part))),
        ("hasSuffix", question(|part, text| text.ends_with(part))),
        (
            "b64enc",
            Function::new(vec![Type::Text], Type::Text, |_, values| {
                Ok(Value::text(STANDARD.encode(bytes(&values[0]))))
            }),
        ),
        ("b64dec", Function::new(vec![Type::Text], Type::Text, |_, values| decode(&values[0]))),
    ]
}

fn done(out: Writer) -> Called {
    Ok(Value::text(out.finish()?))
}

fn indent(budget: &Budget, values: &[Value], before: &str) -> Called {
    let [Value::Int(_, columns), text] = values else { return Ok(Value::text("")) };
    let columns = usize::try_from(*columns).map_err(|_| "strings: negative Repeat count")?;
    let mut out = budget.writer();
    out.push(before);
    for (index, line) in bytes(text).split(|byte| *byte == b'\n').enumerate() {
        if index > 0 {
            out.push("\n");
        }
        out.repeat(b' ', columns);
        out.push(line);
    }
    done(out)
}

/// Values in quotes; nil is left out.
fn quote_all(budget: &Budget, values: &[Value]) -> Called {
    let mut out = budget.writer();
    for (index, value) in values.iter().filter(|value| !matches!(value, Value::Nil)).enumerate() {
        if index > 0 {
            out.push(" ");
        }
        out.push(quote::quoted(&printed(budget, value.behind_pointers())?));
    }
    done(out)
}

fn mapped(text: &[u8], map: fn(char) -> char) -> Vec<u8> {
    // As in Go, bytes that are no characters become U+FFFD, unless nothing changes at all.
    if runes::each(text).all(|(rune, bytes)| {
        bytes.len() > 1 && map(rune) == rune
            || bytes.len() == 1 && rune.is_ascii() && map(rune) == rune
    }) {
        return text.to_vec();
    }
    runes::each(text).map(|(rune, _)| map(rune)).collect::<String>().into_bytes()
}

fn trimmed(text: &[u8]) -> &[u8] {
    let mut text = text;
    while !text.is_empty() {
        let (rune, width) = runes::first(text);
        if !rune.is_whitespace() {
            break;
        }
        text = &text[width..];
    }
    while !text.is_empty() {
        let (rune, width) = runes::last(text);
        if !rune.is_whitespace() {
            break;
        }
        text = &text[..text.len() - width];
    }
    text
}

/// The value of a key in `key=value;key=value`.
fn value_of<'t>(text: &'t [u8], key: &[u8]) -> &'t [u8] {
    for part in text.split(|byte| *byte == b';') {
        let mut words = part.split(|byte| *byte == b'=');
        if words.next() == Some(key) {
            return words.next().unwrap_or_default();
        }
    }
    &[]
}

fn split(budget: &mut Budget, values: &[Value]) -> Called {
    let [text, separator] = values else { return Ok(Value::Nil) };
    let (mut text, separator) = (bytes(text), bytes(separator));
    if separator.is_empty() {
        budget.take_bytes(runes::count(text).saturating_mul(ITEM_BYTES))?;
        return Ok(Value::texts(runes::each(text).map(|(_, bytes)| bytes)));
    }
    let mut parts = Vec::new();
    while let Some(at) = find(text, separator) {
        // Small parts take more memory than the text that they are of.
        budget.take_bytes(ITEM_BYTES)?;
        parts.push(&text[..at]);
        text = &text[at + separator.len()..];
    }
    parts.push(text);
    Ok(Value::texts(parts))
}

fn join(budget: &Budget, values: &[Value]) -> Called {
    let [Value::List(list), separator] = values else { return Ok(Value::text("")) };
    let mut out = budget.writer();
    for (index, item) in list.items().iter().enumerate() {
        if index > 0 {
            out.push(bytes(separator));
        }
        out.push(bytes(item));
    }
    done(out)
}

/// `replace old new text`
fn replace(budget: &Budget, values: &[Value]) -> Called {
    let [old, new, text] = values else { return Ok(Value::text("")) };
    let (old, new, mut text) = (bytes(old), bytes(new), bytes(text));
    let mut out = budget.writer();
    if old.is_empty() {
        // An empty text is before and behind each character.
        out.push(new);
        for (_, bytes) in runes::each(text) {
            out.push(bytes);
            out.push(new);
        }
        return done(out);
    }
    while let Some(at) = find(text, old) {
        out.push(&text[..at]);
        out.push(new);
        text = &text[at + old.len()..];
    }
    out.push(text);
    done(out)
}

fn decode(value: &Value) -> Called {
    let text = bytes(value);
    // As Go's decoder, which takes no notice of line breaks.
    let plain: Vec<u8> = text.iter().copied().filter(|byte| !b"\r\n".contains(byte)).collect();
    LENIENT.decode(&plain).map(Value::text).map_err(|_| {
        CallError::Refused(format!("illegal base64 data at input byte {}", fault(text)))
    })
}

/// Where Go's decoder says that a text is not base64.
fn fault(text: &[u8]) -> usize {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/".contains(byte);
    let mut digits = 0;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\r' | b'\n' => {}
            byte if is_digit(byte) => digits += 1,
            b'=' if digits % 4 >= 2 => return fault_in_padding(text, at, digits % 4),
            _ => return at,
        }
        at += 1;
    }
    // Digits that are missing at the end are missed from where their group begins.
    text.len() - digits % 4
}

fn fault_in_padding(text: &[u8], at: usize, digits: usize) -> usize {
    let next = |from: usize| {
        (from..text.len()).find(|at| !b"\r\n".contains(&text[*at])).unwrap_or(text.len())
    };
    let mut after = next(at + 1);
    if digits == 2 {
        match text.get(after) {
            Some(b'=') => after = next(after + 1),
            Some(_) => return at,
            None => return text.len(),
        }
    }
    after
}
