//! Durations in Go's notation.
//!
//! Both types keep the text they were parsed from. So an object is written back as its author wrote it, and tools
//! that compare manifests see no change.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The text for no duration.
const NEVER: &str = "Never";

/// A length of time, such as `1h30m`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = "^([0-9]+(s|m|h))+$"))]
pub struct Duration {
    text: String,
    nanos: i64,
}

impl Duration {
    /// The length in nanoseconds.
    pub fn nanos(&self) -> i64 {
        self.nanos
    }

    /// The text it was parsed from.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// A length of time, or `Never`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = "^(([0-9]+(s|m|h))+|Never)$"))]
pub struct NillableDuration {
    text: String,
    nanos: Option<i64>,
}

impl NillableDuration {
    /// No duration.
    pub fn never() -> Self {
        Self { text: NEVER.to_owned(), nanos: None }
    }

    /// The length in nanoseconds; `None` for `Never`.
    pub fn nanos(&self) -> Option<i64> {
        self.nanos
    }

    /// The text it was parsed from.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// The error for a text that is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is no duration ({problem}); write it as 720h or 1h30m{}", or_never(*.nillable))]
pub struct DurationError {
    text: String,
    problem: &'static str,
    nillable: bool,
}

impl TryFrom<String> for Duration {
    type Error = DurationError;

    fn try_from(text: String) -> Result<Self, DurationError> {
        match parse(&text) {
            Ok(nanos) => Ok(Self { text, nanos }),
            Err(problem) => Err(DurationError { text, problem, nillable: false }),
        }
    }
}

impl TryFrom<String> for NillableDuration {
    type Error = DurationError;

    fn try_from(text: String) -> Result<Self, DurationError> {
        if text == NEVER {
            return Ok(Self::never());
        }
        match parse(&text) {
            Ok(nanos) => Ok(Self { text, nanos: Some(nanos) }),
            Err(problem) => Err(DurationError { text, problem, nillable: true }),
        }
    }
}

impl FromStr for Duration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        text.to_owned().try_into()
    }
}

impl FromStr for NillableDuration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        text.to_owned().try_into()
    }
}

impl From<Duration> for String {
    fn from(duration: Duration) -> Self {
        duration.text
    }
}

impl From<NillableDuration> for String {
    fn from(duration: NillableDuration) -> Self {
        duration.text
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for NillableDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn or_never(nillable: bool) -> &'static str {
    if nillable { ", or Never" } else { "" }
}

/// Nanoseconds of a duration in Go's notation: numbers with units, `1h30m` or `1.5h`.
///
/// All of Go's notation is accepted, although the CRDs allow only whole hours, minutes and seconds: older objects
/// may still have others. Fractions use `f64` as in Go, so that both round alike.
fn parse(text: &str) -> Result<i64, &'static str> {
    const TOO_LONG: &str = "it is longer than 292 years";

    let (negative, mut rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err("it is empty");
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (whole, after) = split_digits(rest);
        let (fraction, after) = after.strip_prefix('.').map_or(("", after), split_digits);
        if whole.is_empty() && fraction.is_empty() {
            return Err("a number is missing");
        }
        let end = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let unit = nanos_per(unit)?;
        let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| TOO_LONG)? };
        let part = whole.checked_mul(unit).and_then(|part| part.checked_add(share(fraction, unit)));
        total = part
            .and_then(|part| total.checked_add(part))
            .filter(|total| *total <= 1 << 63)
            .ok_or(TOO_LONG)?;
        rest = after;
    }
    if negative {
        Ok(0_i64.wrapping_sub_unsigned(total))
    } else {
        i64::try_from(total).map_err(|_| TOO_LONG)
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

fn nanos_per(unit: &str) -> Result<u64, &'static str> {
    match unit {
        "ns" => Ok(1),
        "us" | "\u{b5}s" | "\u{3bc}s" => Ok(1_000),
        "ms" => Ok(1_000_000),
        "s" => Ok(1_000_000_000),
        "m" => Ok(60_000_000_000),
        "h" => Ok(3_600_000_000_000),
        "" => Err("a unit is missing"),
        _ => Err("a unit is unknown"),
    }
}

/// `0.fraction` of `unit`, ignoring digits that do not fit 63 bits.
fn share(fraction: &str, unit: u64) -> u64 {
    let mut digits: u64 = 0;
    let mut scale = 1.0;
    for digit in fraction.bytes() {
        let longer =
            digits.checked_mul(10).and_then(|longer| longer.checked_add(u64::from(digit - b'0')));
        let Some(longer) = longer.filter(|longer| *longer <= 1 << 63) else { break };
        digits = longer;
        scale *= 10.0;
    }
    (digits as f64 * (unit as f64 / scale)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000_000;

    #[test]
    fn reads_what_go_reads() {
        for (text, nanos) in [
            ("0", 0),
            ("0s", 0),
            ("720h", 720 * HOUR),
            ("1h30m", HOUR / 2 * 3),
            ("24h0m0s", 24 * HOUR),
            ("90m", HOUR / 2 * 3),
            ("1.5h", HOUR / 2 * 3),
            (".5h", HOUR / 2),
            ("5.s", 5_000_000_000),
            ("0.33333333333333333333h", 1_200_000_000_000),
            ("10ms", 10_000_000),
            ("3us", 3_000),
            ("3\u{b5}s", 3_000),
            ("3\u{3bc}s4ns", 3_004),
            ("-1m", -60_000_000_000),
            ("+1m", 60_000_000_000),
            ("9223372036854775807ns", i64::MAX),
            ("-9223372036854775808ns", i64::MIN),
        ] {
            assert_eq!(text.parse::<Duration>().map(|d| d.nanos()), Ok(nanos), "{text}");
        }
    }

    #[test]
    fn refuses_what_go_refuses_and_says_why() {
        for (text, problem) in [
            ("", "it is empty"),
            ("-", "it is empty"),
            ("h", "a number is missing"),
            (".s", "a number is missing"),
            ("12", "a unit is missing"),
            ("1h30", "a unit is missing"),
            ("7d", "a unit is unknown"),
            ("1 h", "a unit is unknown"),
            ("never", "a number is missing"),
            ("9223372036854775808ns", "it is longer than 292 years"),
            ("99999999999999999999h", "it is longer than 292 years"),
            ("2562047h48m", "it is longer than 292 years"),
        ] {
            assert_eq!(text.parse::<Duration>().unwrap_err().problem, problem, "{text}");
        }
    }

    #[test]
    fn only_the_nillable_one_knows_never() {
        assert_eq!("Never".parse::<NillableDuration>().unwrap().nanos(), None);
        assert_eq!("0s".parse::<NillableDuration>().unwrap().nanos(), Some(0));
        assert_eq!(
            "Never".parse::<Duration>().unwrap_err().to_string(),
            "\"Never\" is no duration (a number is missing); write it as 720h or 1h30m"
        );
        assert_eq!(
            "forever".parse::<NillableDuration>().unwrap_err().to_string(),
            "\"forever\" is no duration (a number is missing); write it as 720h or 1h30m, or Never"
        );
    }

    #[test]
    fn is_written_as_it_was_read() {
        for text in ["720h", "Never", "1h30m0s", "1.50h"] {
            let json = serde_json::to_value(text).unwrap();
            let duration: NillableDuration = serde_json::from_value(json.clone()).unwrap();
            assert_eq!(serde_json::to_value(duration).unwrap(), json);
        }
    }
}
