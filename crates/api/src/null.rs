//! The meaning of `null` in the API.

use serde::{Deserialize, Deserializer};

/// Deserializes `null` as the default.
///
/// The API server removes nulls from fields that are not nullable, and none of ours is. But a file may contain
/// `limits:` without a value.
pub(crate) fn as_default<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
