//! Which texts would be something else than texts if they stood without quotes.

use std::sync::LazyLock;

use regex::bytes::Regex;

use crate::number;

static FLOAT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$"));
/// Numbers to the base 60 of YAML 1.1, such as `1:30`.
static BASE_60: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$"));
static DATE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?x)^([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})
        (?:([Tt\x20])([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:[.,][0-9]+)?
        (Z|[-+][0-9]{2}:[0-9]{2})?)?$",
    )
});

fn pattern(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant")
}

const WORDS: [&str; 20] = [
    "true", "True", "TRUE", "false", "False", "FALSE", "", "~", "null", "Null", "NULL", ".nan",
    ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF",
];
const NEGATIVE_INFINITIES: [&str; 3] = ["-.inf", "-.Inf", "-.INF"];
/// Truth values of YAML 1.1.
const OLD_WORDS: [&str; 16] = [
    "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "n", "N", "no", "No", "NO", "off", "Off",
    "OFF",
];

/// Whether a text without quotes is read as a text.
pub(super) fn is_text(text: &str) -> bool {
    if WORDS.contains(&text) || NEGATIVE_INFINITIES.contains(&text) || OLD_WORDS.contains(&text) {
        return false;
    }
    match text.as_bytes().first() {
        Some(b'.') => number::fraction(text).is_none(),
        Some(b'+' | b'-' | b'0'..=b'9') => {
            !is_date(text) && !is_number(text) && !BASE_60.is_match(text.as_bytes())
        }
        _ => true,
    }
}

fn is_number(text: &str) -> bool {
    let plain = text.replace('_', "");
    if number::signed(&plain).is_some() || number::whole(&plain).is_some() {
        return true;
    }
    if FLOAT.is_match(plain.as_bytes()) && number::fraction(&plain).is_some() {
        return true;
    }
    // Signs may also stand behind the prefix.
    [("0b", 2), ("-0b", 2), ("0o", 8), ("-0o", 8)].iter().any(|(prefix, base)| {
        plain.strip_prefix(prefix).is_some_and(|digits| {
            let signed = i64::from_str_radix(digits, *base).is_ok();
            signed && (prefix.len() == 2 || !digits.starts_with(['+', '-']))
        })
    })
}

fn is_date(text: &str) -> bool {
    let Some(found) = DATE.captures(text.as_bytes()) else { return false };
    let part = |index: usize| -> Option<&str> {
        found.get(index).and_then(|part| std::str::from_utf8(part.as_bytes()).ok())
    };
    let number = |index: usize| part(index).and_then(|part| part.parse::<u32>().ok()).unwrap_or(0);
    let (year, month, day) = (number(1), number(2), number(3));
    if !(1..=12).contains(&month) || day < 1 || day > days(year, month) {
        return false;
    }
    let zone_fits = match (part(4), part(8)) {
        (None | Some(" "), None) => true,
        (Some("T" | "t"), Some(zone)) => zone == "Z" || zone_exists(zone),
        _ => false,
    };
    zone_fits && number(5) < 24 && number(6) < 60 && number(7) < 60
}

/// Whether Go reads hours and minutes as a distance from UTC.
fn zone_exists(zone: &str) -> bool {
    let number = |part: &str| part.parse::<u32>().unwrap_or(u32::MAX);
    number(&zone[1..3]) <= 24 && number(&zone[4..6]) <= 60
}

fn days(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
