//! What `null` means on the wire.

use serde::{Deserialize, Deserializer};

/// Reads `null` as the default.
///
/// The API server prunes nulls from fields that are not nullable, and none of ours is; a file may
/// still say `limits:` and nothing else.
pub(crate) fn as_default<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
