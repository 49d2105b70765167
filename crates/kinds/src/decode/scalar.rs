//! Numbers, amounts and bytes.

use std::borrow::Cow;

use joiner_core::quantity::Quantity;
use serde_json::{Number, Value};

use super::{DecodeError, base64};

/// Whether Go's decoder takes the number for an integer of so many bits.
pub(super) fn fits(number: &Number, bits: u8) -> bool {
    match number.as_i64() {
        Some(integer) => bits > 32 || i32::try_from(integer).is_ok(),
        None => false,
    }
}

/// What is wrong with a value that should be a 32-bit integer or a text; nothing if it is one.
pub(super) fn not_int_or_string(value: &Value) -> Option<String> {
    match value {
        Value::String(_) => None,
        Value::Number(number) if fits(number, 32) => None,
        Value::Number(number) => Some(format!("number {number}")),
        other => Some(joiner_schema::go_word(other).to_owned()),
    }
}

/// Bytes are a base64 text or a list of numbers; they are written as text.
pub(super) fn bytes(value: &mut Value) -> Result<(), DecodeError> {
    let text = match value {
        Value::String(text) => base64::check(text)
            .map_err(|at| DecodeError(format!("illegal base64 data at input byte {at}")))?,
        Value::Array(entries) => {
            let bytes = entries.iter().map(|entry| entry.as_u64().unwrap_or_default() as u8);
            base64::encode(&bytes.collect::<Vec<u8>>())
        }
        _ => return Ok(()),
    };
    *value = Value::String(text);
    Ok(())
}

/// An amount, written as Kubernetes writes it.
pub(super) fn quantity(value: &mut Value) -> Result<(), DecodeError> {
    let number;
    let text = match &*value {
        Value::String(text) => text.trim(),
        other => {
            number = other.to_string();
            &number
        }
    };
    let quantity: Quantity = text.parse().map_err(|_| DecodeError(refusal(text).to_owned()))?;
    let written = if is_echoed(text) { Cow::Borrowed(text) } else { quantity.to_string().into() };
    if value.as_str() != Some(&written) {
        *value = Value::String(written.into_owned());
    }
    Ok(())
}

/// Rounds an amount up to a thousandth, which is as fine as amounts of resources are stored.
pub(crate) fn round_to_milli(value: &mut Value) {
    const MILLI: i128 = 1_000_000;
    let Some(quantity) = value.as_str().and_then(|text| text.parse::<Quantity>().ok()) else {
        return;
    };
    if quantity.nanos() % MILLI != 0 {
        let up = quantity.nanos().div_euclid(MILLI) + 1;
        *value = Quantity::from_nanos(up * MILLI, quantity.format()).to_string().into();
    }
}

/// Whether Kubernetes keeps the text of an amount the way it was written: it takes it for canonical
/// when its digits look so, without looking at signs and points.
fn is_echoed(text: &str) -> bool {
    if text == "0" {
        return true;
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    // Leading zeros of the whole part are no digits.
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let digits: Cow<'_, str> =
        if fraction.is_empty() { whole.into() } else { format!("{whole}{fraction}").into() };
    let Ok(amount) = digits.parse::<i64>() else { return false };
    if let Some(power) = suffix.strip_suffix('i') {
        let Some(power) = ["K", "M", "G", "T", "P", "E"].iter().position(|one| *one == power)
        else {
            return false;
        };
        let exponent = 10 * (power as i32 + 1);
        let precision = 15 - (digits.len() - fraction.len()) as i32 - exponent * 3 / 10 - 1;
        return fraction.is_empty() && precision >= 0 && amount & 7 != 0;
    }
    let exponent = match suffix {
        "n" => -9,
        "u" => -6,
        "m" => -3,
        "" => 0,
        "k" => 3,
        "M" => 6,
        "G" => 9,
        "T" => 12,
        "P" => 15,
        "E" => 18,
        _ => match suffix.strip_prefix(['e', 'E']).and_then(|power| power.parse().ok()) {
            Some(power) => power,
            None => return false,
        },
    };
    let scale = exponent - fraction.len() as i32;
    digits.len() <= 18
        && scale >= -9
        && scale % 3 == 0
        && !digits.ends_with("000")
        && !digits.starts_with('0')
}

/// Why Kubernetes refuses a text as an amount: it ends in an unknown suffix, or looks like no amount
/// at all.
fn refusal(text: &str) -> &'static str {
    fn after_digits(text: &str) -> &str {
        text.trim_start_matches(|c: char| c.is_ascii_digit())
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let rest = after_digits(unsigned);
    let rest = rest.strip_prefix('.').map_or(rest, after_digits);
    let rest = rest.trim_start_matches(|c: char| "eEinumkKMGTP".contains(c));
    let rest = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    if !text.is_empty() && after_digits(rest).is_empty() {
        return "unable to parse quantity's suffix";
    }
    "quantities must match the regular expression \
     '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn amounts_are_written_as_kubernetes_writes_them() {
        for (given, stored) in [
            (json!("1000m"), "1"),
            (json!("0.5"), "500m"),
            (json!("1.5Gi"), "1536Mi"),
            (json!("1024Mi"), "1Gi"),
            (json!("+1Gi"), "+1Gi"),
            (json!("1.500"), "1.500"),
            (json!(2), "2"),
            (json!(1.5), "1500m"),
            (json!("0"), "0"),
        ] {
            let mut value = given.clone();
            quantity(&mut value).expect("an amount");
            assert_eq!(value, json!(stored), "{given}");
        }
    }
}
