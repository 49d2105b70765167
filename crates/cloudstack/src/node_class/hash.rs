//! The hash of a class: instances that were made with another one are replaced.

use joiner_cloud::spec;
use serde_json::Value;

/// The version of the way in which the hash is made. Upstream wrote `v1`.
pub const HASH_VERSION: &str = "v2";

/// Fields whose change replaces no instance: what selectors find is compared with the instance
/// itself, and further zones and sizes leave the others as they are.
const NOT_HASHED: [&str; 6] = [
    "networkSelectorTerms",
    "serviceOfferingSelectorTerms",
    "templateSelectorTerms",
    "additionalNetworks",
    "zones",
    "customOfferingShapes",
];

/// The hash of a spec: of its canonical JSON, in hexadecimal.
pub(crate) fn hash(spec: &Value) -> String {
    let mut spec = spec.clone();
    if let Value::Object(fields) = &mut spec {
        fields.retain(|field, _| !NOT_HASHED.contains(&field.as_str()));
    }
    let number: u64 = spec::hash::of(spec).parse().expect("a hash is a number of 64 bits");
    format!("{number:016x}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn the_hash_is_the_same_in_every_version() {
        // Another one would replace every instance: raise HASH_VERSION with it.
        assert_eq!(hash(&json!({"zone": "zone-01", "rootDiskSize": 50})), "9c7f5721ecafc088");
    }

    #[test]
    fn what_instances_are_made_with_changes_the_hash() {
        let hashes: BTreeSet<String> = [
            json!({}),
            json!({"zone": "a"}),
            json!({"userData": "a"}),
            json!({"bootstrap": {"distro": "k3s"}}),
            json!({"rootDiskSize": 50}),
            json!({"diskOffering": "a"}),
            json!({"sshKeyPair": "a"}),
            json!({"tags": {"a": "b"}}),
            json!({"details": {"a": "b"}}),
            json!({"kubelet": {"maxPods": 50}}),
        ]
        .iter()
        .map(hash)
        .collect();
        assert_eq!(hashes.len(), 10);
    }

    #[test]
    fn what_is_found_anew_and_what_is_empty_does_not() {
        let more = json!({
            "zone": "a",
            "zones": ["b"],
            "networkSelectorTerms": [{"id": "n"}],
            "serviceOfferingSelectorTerms": [{"id": "o"}],
            "templateSelectorTerms": [{"id": "t"}],
            "additionalNetworks": [{"id": "m"}],
            "customOfferingShapes": [{"cpu": 1}],
            "tags": {},
            "userData": "",
            "sshKeyPair": null,
        });
        assert_eq!(hash(&more), hash(&json!({"zone": "a"})));
    }
}
