//! Go's quoted texts: written by `%q`, read in templates.

use crate::runes::{self, REPLACEMENT};

/// A text in double quotes with Go's escapes.
pub(crate) fn quoted(text: &[u8]) -> Vec<u8> {
    quoted_with(text, b'"', false)
}

/// The same as a Rust text, for messages.
pub(crate) fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(&quoted(text)).into_owned()
}

/// A text in double quotes in which nothing is outside of ASCII.
pub(crate) fn quoted_in_ascii(text: &[u8]) -> Vec<u8> {
    quoted_with(text, b'"', true)
}

/// A character in single quotes.
pub(crate) fn quoted_rune(rune: char, in_ascii: bool) -> Vec<u8> {
    quoted_with(rune.encode_utf8(&mut [0; 4]).as_bytes(), b'\'', in_ascii)
}

fn quoted_with(text: &[u8], quote: u8, in_ascii: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    out.push(quote);
    for (rune, bytes) in runes::each(text) {
        if rune == REPLACEMENT && bytes.len() == 1 {
            out.extend(format!("\\x{:02x}", bytes[0]).bytes());
        } else {
            escape(rune, quote, in_ascii, &mut out);
        }
    }
    out.push(quote);
    out
}

fn escape(rune: char, quote: u8, in_ascii: bool, out: &mut Vec<u8>) {
    if rune == char::from(quote) || rune == '\\' {
        out.extend([b'\\', rune as u8]);
        return;
    }
    if runes::is_print(rune) && (rune.is_ascii() || !in_ascii) {
        out.extend(rune.encode_utf8(&mut [0; 4]).bytes());
        return;
    }
    let text = match rune {
        '\u{7}' => "\\a".to_owned(),
        '\u{8}' => "\\b".to_owned(),
        '\u{c}' => "\\f".to_owned(),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        '\u{b}' => "\\v".to_owned(),
        '\0'..=' ' | '\u{7f}' => format!("\\x{:02x}", rune as u32),
        '\u{10000}'.. => format!("\\U{:08x}", rune as u32),
        _ => format!("\\u{:04x}", rune as u32),
    };
    out.extend(text.bytes());
}

/// Whether a text can stand between back quotes.
pub(crate) fn can_be_raw(text: &[u8]) -> bool {
    runes::each(text).all(|(rune, bytes)| match rune {
        REPLACEMENT => bytes.len() > 1,
        '\u{feff}' | '`' | '\u{7f}' => false,
        '\t' => true,
        rune => rune >= ' ',
    })
}

/// What a quoted text says; nothing where it is not well-formed.
pub(crate) fn unquoted(source: &[u8]) -> Option<Vec<u8>> {
    let quote = *source.first()?;
    let inner = source.get(1..source.len().checked_sub(1)?)?;
    if source.len() < 2 || source.last() != Some(&quote) {
        return None;
    }
    if quote == b'`' {
        return Some(inner.iter().copied().filter(|byte| *byte != b'\r').collect());
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while !rest.is_empty() {
        if rest[0] == quote || rest[0] == b'\n' {
            return None;
        }
        let (character, after) = unquoted_character(rest, quote)?;
        match character {
            Character::Byte(byte) => out.push(byte),
            Character::Rune(rune) => out.extend(rune.encode_utf8(&mut [0; 4]).bytes()),
        }
        rest = after;
    }
    Some(out)
}

/// What a character constant says.
pub(crate) enum Character {
    Byte(u8),
    Rune(char),
}

impl Character {
    pub(crate) fn code(&self) -> u32 {
        match self {
            Self::Byte(byte) => u32::from(*byte),
            Self::Rune(rune) => *rune as u32,
        }
    }
}

/// The first character of what stands between quotes, and what follows it.
pub(crate) fn unquoted_character(source: &[u8], quote: u8) -> Option<(Character, &[u8])> {
    let head = *source.first()?;
    if head == quote && (quote == b'\'' || quote == b'"') {
        return None;
    }
    if head != b'\\' {
        let (rune, width) = runes::first(source);
        return Some((Character::Rune(rune), &source[width..]));
    }
    let kind = *source.get(1)?;
    let after = &source[2..];
    let plain = |byte: u8| Some((Character::Byte(byte), after));
    match kind {
        b'a' => plain(7),
        b'b' => plain(8),
        b'f' => plain(12),
        b'n' => plain(b'\n'),
        b'r' => plain(b'\r'),
        b't' => plain(b'\t'),
        b'v' => plain(11),
        b'\\' => plain(b'\\'),
        b'\'' | b'"' if kind == quote => plain(kind),
        b'x' => {
            let (code, after) = hexadecimal(after, 2)?;
            Some((Character::Byte(code as u8), after))
        }
        b'u' | b'U' => {
            let (code, after) = hexadecimal(after, if kind == b'u' { 4 } else { 8 })?;
            Some((Character::Rune(char::from_u32(code)?), after))
        }
        b'0'..=b'7' => {
            let digits = source.get(1..4)?;
            if !digits.iter().all(|digit| (b'0'..=b'7').contains(digit)) {
                return None;
            }
            let code = digits.iter().fold(0, |code, digit| code * 8 + u32::from(digit - b'0'));
            Some((Character::Byte(u8::try_from(code).ok()?), &source[4..]))
        }
        _ => None,
    }
}

fn hexadecimal(source: &[u8], digits: usize) -> Option<(u32, &[u8])> {
    let text = std::str::from_utf8(source.get(..digits)?).ok()?;
    if !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    Some((u32::from_str_radix(text, 16).ok()?, &source[digits..]))
}
