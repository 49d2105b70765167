//! What the API server warns about though it accepts it.

use serde_json::Value;

use super::{errors::Path, ip, resources};
use crate::fields::Fields;

/// Warnings about an object that is created or updated.
pub fn warnings(group: &str, kind: &str, object: &Value) -> Vec<String> {
    let _ = (group, kind, object, Path::new(""), ip::is_network, resources::is_whole);
    Vec::new()
}
