//! Durations and times in the notations that Kubernetes accepts.

use jiff::{SignedDuration, Timestamp, civil};

/// Reads a duration as Go does: `1h30m`, `-1.5s`, `100ms`. In nanoseconds.
pub(crate) fn parse_go_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let (number, tail) = rest.split_at(number_end);
        let unit_end = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, after) = tail.split_at(unit_end);
        total += scaled(number, unit_nanos(unit)?)?;
        if total > i128::from(i64::MAX) + 1 {
            return None;
        }
        rest = after;
    }
    i64::try_from(if negative { -total } else { total }).ok()
}

fn unit_nanos(unit: &str) -> Option<i64> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// `number` (digits with at most one point) times `unit`, cut to whole nanoseconds.
fn scaled(number: &str, unit: i64) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let unit = i128::from(unit);
    let whole = if whole.is_empty() { 0 } else { whole.parse::<i64>().ok()? };
    // Exact for up to 18 digits, which is more than a nanosecond of any unit needs.
    let digits = &fraction[..fraction.len().min(18)];
    let value: i128 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    let scale = 10_i128.pow(u32::try_from(digits.len()).ok()?);
    Some(i128::from(whole) * unit + value * unit / scale)
}

/// Reads a duration as the `duration` format does: Go's notation, or numbers with units in words
/// such as `2 weeks 3 days`. In nanoseconds.
pub(crate) fn parse_duration(text: &str) -> Option<i64> {
    parse_go_duration(text).or_else(|| parse_worded_duration(text))
}

/// Abbreviations and the beginning of the long word of each unit, with its nanoseconds.
const UNITS: [(&[&str], &str, i64); 8] = [
    (&["ns"], "nano", 1),
    (&["us", "µs"], "micro", 1_000),
    (&["ms"], "milli", 1_000_000),
    (&["s"], "sec", 1_000_000_000),
    (&["m"], "min", 60_000_000_000),
    (&["h", "hr"], "hour", 3_600_000_000_000),
    (&["d"], "day", 86_400_000_000_000),
    (&["w", "wk"], "week", 604_800_000_000_000),
];

fn parse_worded_duration(text: &str) -> Option<i64> {
    let mut total: i64 = 0;
    let mut found = false;
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        rest = &rest[start..];
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, tail) = rest.split_at(digits);
        let word = tail.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']);
        let end = word.find(|c: char| !(c.is_ascii_alphabetic() || c == 'µ')).unwrap_or(word.len());
        rest = &word[end..];
        if end == 0 {
            continue;
        }
        let factor: i64 = number.parse().ok()?;
        let unit = word[..end].to_lowercase();
        for (short, long, nanos) in UNITS {
            if short.contains(&unit.as_str()) || unit.starts_with(long) {
                found = true;
                total = total.wrapping_add(factor.wrapping_mul(nanos));
            }
        }
    }
    found.then_some(total)
}

/// Reads a date: `2006-01-02`, and one that exists.
pub(crate) fn parse_date(text: &str) -> Option<civil::Date> {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let digits = |range: std::ops::Range<usize>| -> Option<i16> {
        let part = text.get(range)?;
        part.bytes().all(|c| c.is_ascii_digit()).then(|| part.parse().ok())?
    };
    let (month, day) = (i8::try_from(digits(5..7)?).ok()?, i8::try_from(digits(8..10)?).ok()?);
    civil::Date::new(digits(0..4)?, month, day).ok()
}

/// The start of a day, in UTC.
pub(crate) fn midnight(date: civil::Date) -> Option<Timestamp> {
    date.at(0, 0, 0, 0).to_zoned(jiff::tz::TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
}

/// Reads a time as RFC 3339 writes it, or without an offset for UTC.
pub(crate) fn parse_date_time(text: &str) -> Option<Timestamp> {
    let (date, time) = text.split_once(['T', 't'])?;
    parse_date(date)?;
    let has_offset = time.ends_with(['Z', 'z']) || time.contains(['+', '-']);
    let complete = if has_offset { text.to_owned() } else { format!("{text}Z") };
    complete.parse().ok()
}

/// A time moved by a number of nanoseconds, if there is such a time.
pub(crate) fn shifted(time: Timestamp, nanos: i64) -> Option<Timestamp> {
    time.checked_add(SignedDuration::from_nanos(nanos)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_in_go() {
        let second = 1_000_000_000;
        for (text, nanos) in [
            ("1h30m", Some(5400 * second)),
            ("-1.5s", Some(-3 * second / 2)),
            ("100ms", Some(second / 10)),
            ("1.5us", Some(1500)),
            (".5m", Some(30 * second)),
            ("0", Some(0)),
            ("2 days", Some(48 * 3600 * second)),
            ("1week", Some(168 * 3600 * second)),
            ("5", None),
            ("", None),
            // What Go refuses is searched for numbers with units.
            ("1.2.3s", Some(3 * second)),
            ("x", None),
        ] {
            assert_eq!(parse_duration(text), nanos, "{text}");
        }
    }

    #[test]
    fn dates_exist() {
        for (text, good) in [
            ("2024-02-29", true),
            ("2023-02-29", false),
            ("2024-2-09", false),
            ("2024-02-09T", false),
        ] {
            assert_eq!(parse_date(text).is_some(), good, "{text}");
        }
    }
}
