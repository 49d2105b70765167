//! The fingerprint of a class: instances that were made with another one are replaced.

use serde_json::{Map, Value};

use crate::bootstrap::digest::sha256;

/// The fingerprint of a spec: a hash of its canonical JSON, as a decimal number. Empty fields count
/// as absent. A cloud first removes the fields that do not replace an instance.
pub fn of(spec: Value) -> String {
    // Maps are sorted, so that equal specs give equal bytes.
    let canonical = without_empty(spec).to_string();
    let hash = sha256(canonical.as_bytes());
    let first = hash.first_chunk().expect("a digest has 32 bytes");
    u64::from_be_bytes(*first).to_string()
}

/// Whether a field has a value: null, and an empty text, list or map have none.
pub fn is_written(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

fn without_empty(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(key, value)| (key, without_empty(value)));
            fields
                .filter(|(_, value)| is_written(value) && *value != 0)
                .collect::<Map<_, _>>()
                .into()
        }
        Value::Array(items) => items.into_iter().map(without_empty).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::of;

    #[test]
    fn the_fingerprint_is_the_same_in_every_version() {
        // Another number would replace every instance of every cloud.
        let spec = json!({"diskSize": 60, "tags": {"owner": "platform"}});
        assert_eq!(of(spec), "10861739492314048677");
    }

    #[test]
    fn order_and_empty_fields_do_not_matter() {
        let full = json!({"diskSize": 60, "tags": {"a": "b", "c": "d"}});
        let other = json!({"tags": {"c": "d", "a": "b"}, "diskSize": 60, "userData": {"type": ""},
            "zones": [], "cloneMode": null});
        assert_eq!(of(full), of(other));
        assert_eq!(of(json!({"diskSize": 0})), of(json!({})));
    }
}
