//! Values that versions write differently.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;

/// A whole number, also as a text or with a fraction of zero.
pub(super) fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i64>, D::Error> {
    let value = Value::deserialize(from)?;
    let number = match &value {
        Value::Null => return Ok(None),
        Value::Number(number) => {
            number.as_i64().or_else(|| number.as_f64().map(|number| number as i64))
        }
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.map(Some).ok_or_else(|| D::Error::custom("is no number"))
}

/// A truth value, also as a text; absent is false.
pub(super) fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Ok(maybe_flag(from)?.unwrap_or_default())
}

/// A truth value, also as a text.
pub(super) fn maybe_flag<'de, D: Deserializer<'de>>(from: D) -> Result<Option<bool>, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(None),
        Value::Bool(flag) => Ok(Some(flag)),
        Value::String(text) => Ok(Some(text.eq_ignore_ascii_case("true"))),
        _ => Err(D::Error::custom("is neither true nor false")),
    }
}

/// A list, which may be null.
pub(super) fn list<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// Texts by name. Values of other types are taken as they are written.
pub(super) fn texts<'de, D>(from: D) -> Result<BTreeMap<String, String>, D::Error>
where
    D: Deserializer<'de>,
{
    let values: Option<BTreeMap<String, Value>> = Option::deserialize(from)?;
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    Ok(values.into_iter().flatten().map(|(name, value)| (name, text(value))).collect())
}
