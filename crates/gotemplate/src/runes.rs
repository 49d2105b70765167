//! Characters as Go sees them: text is bytes, and a byte that belongs to no character is a
//! character of its own, shown as U+FFFD.

use std::sync::LazyLock;

use regex::Regex;

/// What stands for a byte that is not part of valid UTF-8.
pub(crate) const REPLACEMENT: char = '\u{fffd}';

/// What Go's `unicode.IsLetter` accepts.
static LETTER: LazyLock<Regex> = LazyLock::new(|| class(r"\p{L}"));
/// What Go's `unicode.IsDigit` accepts.
static DIGIT: LazyLock<Regex> = LazyLock::new(|| class(r"\p{Nd}"));
/// What Go's `strconv.IsPrint` accepts.
static PRINT: LazyLock<Regex> = LazyLock::new(|| class(r"[\p{L}\p{M}\p{N}\p{P}\p{S} ]"));

fn class(members: &str) -> Regex {
    Regex::new(&format!("^{members}$")).expect("the pattern is a constant")
}

fn is_in(class: &Regex, rune: char) -> bool {
    class.is_match(rune.encode_utf8(&mut [0; 4]))
}

/// The first character of a text that is not empty, and how many bytes it takes.
pub(crate) fn first(text: &[u8]) -> (char, usize) {
    let head = &text[..text.len().min(4)];
    let valid = match std::str::from_utf8(head) {
        Ok(valid) => valid,
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(),
    };
    valid.chars().next().map_or((REPLACEMENT, 1), |rune| (rune, rune.len_utf8()))
}

/// The last character of a text that is not empty, and how many bytes it takes.
pub(crate) fn last(text: &[u8]) -> (char, usize) {
    for width in 1..=text.len().min(4) {
        let (rune, taken) = first(&text[text.len() - width..]);
        if taken == width && (rune != REPLACEMENT || width > 1) {
            return (rune, width);
        }
    }
    (REPLACEMENT, 1)
}

/// All characters with the bytes that they take.
pub(crate) fn each(text: &[u8]) -> impl Iterator<Item = (char, &[u8])> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (rune, width) = first(rest);
        let (taken, after) = rest.split_at(width);
        rest = after;
        Some((rune, taken))
    })
}

/// How many characters a text has.
pub(crate) fn count(text: &[u8]) -> usize {
    if text.is_ascii() { text.len() } else { each(text).count() }
}

pub(crate) fn is_letter(rune: char) -> bool {
    if rune.is_ascii() { rune.is_ascii_alphabetic() } else { is_in(&LETTER, rune) }
}

pub(crate) fn is_digit(rune: char) -> bool {
    if rune.is_ascii() { rune.is_ascii_digit() } else { is_in(&DIGIT, rune) }
}

/// Whether Go shows a character as it is when it quotes.
pub(crate) fn is_print(rune: char) -> bool {
    if rune.is_ascii() { (' '..='~').contains(&rune) } else { is_in(&PRINT, rune) }
}

/// A character in upper case where that is one character, as Go's `unicode.ToUpper`.
pub(crate) fn upper(rune: char) -> char {
    // Greek letters with an iota below: Rust writes the iota out, Go has their title case.
    match rune as u32 {
        code @ (0x1f80..=0x1f87 | 0x1f90..=0x1f97 | 0x1fa0..=0x1fa7) => {
            return char::from_u32(code + 8).unwrap_or(rune);
        }
        code @ (0x1fb3 | 0x1fc3 | 0x1ff3) => return char::from_u32(code + 9).unwrap_or(rune),
        _ => {}
    }
    only(rune.to_uppercase()).unwrap_or(rune)
}

/// A character in lower case where that is one character, as Go's `unicode.ToLower`.
pub(crate) fn lower(rune: char) -> char {
    if rune == '\u{130}' {
        return 'i';
    }
    only(rune.to_lowercase()).unwrap_or(rune)
}

fn only(mut runes: impl Iterator<Item = char>) -> Option<char> {
    let one = runes.next()?;
    runes.next().is_none().then_some(one)
}
