//! Owners that an object names twice.

use serde_json::Value;

use crate::write::Request;

/// Names each owner once, and tells the caller about those that were named twice.
pub(crate) fn deduplicate(request: &Request<'_>, object: &mut Value, admitted: bool) {
    let owners =
        object.get_mut("metadata").and_then(|metadata| metadata.get_mut("ownerReferences"));
    let Some(owners) = owners.and_then(Value::as_array_mut) else { return };
    let mut kept: Vec<Value> = Vec::with_capacity(owners.len());
    let mut twice: Vec<String> = Vec::new();
    for owner in owners.drain(..) {
        if kept.contains(&owner) {
            twice.push(owner["uid"].as_str().unwrap_or_default().to_owned());
        } else {
            kept.push(owner);
        }
    }
    *owners = kept;
    if twice.is_empty() {
        return;
    }
    let when = if admitted { " after mutating admission happens" } else { "" };
    request.warn([format!(
        ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner \
         references in 1.20+, and may reject such requests as early as 1.24; please fix your \
         requests; duplicate UID(s) observed: {}",
        twice.join(", ")
    )]);
}
