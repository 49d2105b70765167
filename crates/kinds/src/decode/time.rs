//! Times, read and refused as Go reads and refuses them.

use jiff::{Timestamp, tz::Offset};

use super::DecodeError;

const SECONDS: &str = "2006-01-02T15:04:05Z07:00";
const MICROSECONDS: &str = "2006-01-02T15:04:05.000000Z07:00";

/// Rewrites a time in UTC with seconds.
pub(super) fn seconds(text: &mut String) -> Result<(), DecodeError> {
    let time = parse(text, SECONDS)?;
    if !is_written_so(text, "2006-01-02T15:04:05Z") {
        *text = time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    }
    Ok(())
}

/// Rewrites a time in UTC with six digits of a second.
pub(super) fn microseconds(text: &mut String) -> Result<(), DecodeError> {
    let time = parse(text, MICROSECONDS)?;
    if !is_written_so(text, "2006-01-02T15:04:05.000000Z") {
        *text = time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
    }
    Ok(())
}

/// Whether a time that could be read is in the form in which it is written: then it is in UTC and
/// has as many digits.
fn is_written_so(text: &str, form: &str) -> bool {
    text.len() == form.len() && text.ends_with('Z')
}

fn parse(text: &str, layout: &str) -> Result<Timestamp, DecodeError> {
    let refuse = |(rest, element): (&str, &str)| {
        DecodeError(format!(
            "parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {element:?}"
        ))
    };
    let fine = layout == MICROSECONDS;
    let mut rest = text;
    let mut numbers = [0_i16; 6];
    for (number, (digits, element, after)) in numbers.iter_mut().zip([
        (4, "2006", "-"),
        (2, "01", "-"),
        (2, "02", "T"),
        (2, "15", ":"),
        (2, "04", ":"),
        (2, "05", ""),
    ]) {
        *number = take_digits(&mut rest, digits).ok_or((rest, element)).map_err(refuse)?;
        rest = rest.strip_prefix(after).ok_or((rest, after)).map_err(refuse)?;
    }
    let nanos = take_fraction(&mut rest, fine).map_err(refuse)?;
    let offset = take_offset(&mut rest).map_err(refuse)?;
    if !rest.is_empty() {
        return Err(DecodeError(format!("parsing time {text:?}: extra text: {rest:?}")));
    }
    let out_of_range =
        |_| DecodeError(format!("parsing time {text:?}: {} out of range", out_of_range(&numbers)));
    let [year, month, day, hour, minute, second] = numbers;
    let [month, day, hour, minute, second] =
        [month, day, hour, minute, second].map(|number| i8::try_from(number).unwrap_or(-1));
    let civil = jiff::civil::DateTime::new(year, month, day, hour, minute, second, nanos)
        .map_err(out_of_range)?;
    offset.to_timestamp(civil).map_err(out_of_range)
}

fn take_digits(rest: &mut &str, count: usize) -> Option<i16> {
    let digits = rest.get(..count)?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    *rest = &rest[count..];
    digits.parse().ok()
}

/// The fraction of a second: exactly six digits where the layout has them, else any number, which
/// is read and forgotten.
fn take_fraction<'a>(rest: &mut &'a str, fine: bool) -> Result<i32, (&'a str, &'static str)> {
    let digits = rest.strip_prefix('.').unwrap_or_default();
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    if !fine {
        if count > 0 {
            *rest = &digits[count..];
        }
        return Ok(0);
    }
    let whole = *rest;
    if count < 6 {
        return Err((whole, ".000000"));
    }
    *rest = &digits[6..];
    digits[..6].parse::<i32>().map(|micros| micros * 1000).map_err(|_| (whole, ".000000"))
}

fn take_offset<'a>(rest: &mut &'a str) -> Result<Offset, (&'a str, &'static str)> {
    if let Some(after) = rest.strip_prefix('Z') {
        *rest = after;
        return Ok(Offset::UTC);
    }
    let refusal = (*rest, "Z07:00");
    let sign = match rest.bytes().next() {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return Err(refusal),
    };
    let mut number = &rest[1..];
    let hours = take_digits(&mut number, 2).ok_or(refusal)?;
    let mut number = number.strip_prefix(':').ok_or(refusal)?;
    let minutes = take_digits(&mut number, 2).ok_or(refusal)?;
    *rest = number;
    Offset::from_seconds(sign * (i32::from(hours) * 3600 + i32::from(minutes) * 60))
        .map_err(|_| refusal)
}

/// Which part of a time no clock or calendar shows.
fn out_of_range(numbers: &[i16; 6]) -> &'static str {
    let [_, month, day, hour, minute, _] = numbers;
    match (month, day, hour, minute) {
        (..=0 | 13.., ..) => "month",
        (_, _, 24.., _) => "hour",
        (_, _, _, 60..) => "minute",
        (_, ..=0 | 29.., ..) => "day",
        _ => "second",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, fine: bool) -> String {
        let mut text = text.to_owned();
        let result = if fine { microseconds(&mut text) } else { seconds(&mut text) };
        result.map_or_else(|error| error.to_string(), |()| text)
    }

    #[test]
    fn times_are_written_in_utc() {
        assert_eq!(read("2020-01-01T00:00:00+02:00", false), "2019-12-31T22:00:00Z");
        assert_eq!(read("2020-01-01T00:00:00.5Z", false), "2020-01-01T00:00:00Z");
        assert_eq!(read("2020-01-01T00:00:00.123456+02:00", true), "2019-12-31T22:00:00.123456Z");
    }

    #[test]
    fn wrong_times_are_refused_in_gos_words() {
        assert_eq!(
            read("x", false),
            r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#
        );
        assert_eq!(
            read("2020", true),
            r#"parsing time "2020" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "" as "-""#
        );
        assert_eq!(
            read("2020-01-01T00:00:00Z", true),
            "parsing time \"2020-01-01T00:00:00Z\" as \"2006-01-02T15:04:05.000000Z07:00\": \
             cannot parse \"Z\" as \".000000\""
        );
        assert_eq!(
            read("2020-01-01T00:00:00.123456789Z", true),
            "parsing time \"2020-01-01T00:00:00.123456789Z\" as \
             \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"789Z\" as \"Z07:00\""
        );
        assert_eq!(
            read("2020-13-01T00:00:00Z", false),
            r#"parsing time "2020-13-01T00:00:00Z": month out of range"#
        );
    }
}
