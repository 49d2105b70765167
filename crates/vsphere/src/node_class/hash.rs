//! The fingerprint of a class: instances that were made with another one are replaced.

use joiner_cloud::spec::hash;
use serde_json::{Map, Value};

use super::fold::{ADAPTER_SELECTOR, SELECTORS};

/// The version of the way in which the fingerprint is made. The provider that this one replaces
/// wrote `v1`.
pub const HASH_VERSION: &str = "v2";

/// Fields whose change replaces no instance: an added size leaves the others as they are, and what
/// the user's other choices come to is compared with the instance itself.
const NOT_HASHED: [&str; 4] =
    ["instanceTypes", "powerOffMode", "guestSoftPowerOffTimeout", "capacityCheck"];

/// The fingerprint of a folded spec: a hash of its canonical JSON, as a decimal number. Empty
/// fields count as absent, and so do selectors: what they lead to is compared instead.
pub(crate) fn hash(spec: &Value) -> String {
    let mut spec = spec.clone();
    if let Value::Object(fields) = &mut spec {
        fields.retain(|field, _| !NOT_HASHED.contains(&field.as_str()));
        without_selectors(fields);
        for list in ["zones", "networks"] {
            let items = fields.get_mut(list).and_then(Value::as_array_mut);
            items
                .into_iter()
                .flatten()
                .filter_map(Value::as_object_mut)
                .for_each(without_selectors);
        }
    }
    hash::of(spec)
}

fn without_selectors(fields: &mut Map<String, Value>) {
    let selectors = SELECTORS.iter().chain(&ADAPTER_SELECTOR);
    fields.retain(|field, _| selectors.clone().all(|(selector, _)| field != selector));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_fingerprint_is_the_same_for_ever() {
        // Another number would replace every instance: raise HASH_VERSION with it.
        let spec = json!({"diskSize": 60, "tags": {"owner": "platform"}});
        assert_eq!(hash(&spec), "10861739492314048677");
    }

    #[test]
    fn order_and_emptiness_do_not_matter() {
        let full = json!({"diskSize": 60, "tags": {"a": "b", "c": "d"}});
        let other = json!({"tags": {"c": "d", "a": "b"}, "diskSize": 60, "userData": {"type": ""},
            "zones": [], "cloneMode": null});
        assert_eq!(hash(&full), hash(&other));
        assert_eq!(hash(&json!({"diskSize": 0})), hash(&json!({})));
    }

    #[test]
    fn what_is_found_out_anew_is_no_part_of_it() {
        let spec = json!({"diskSize": 60, "zones": [{"name": "a"}], "networks": [{"mtu": 9000}]});
        let more = json!({
            "diskSize": 60,
            "computeSelector": {"name": "Cluster01"},
            "imageSelector": {"pattern": "ubuntu-*"},
            "instanceTypes": [{"cpu": 4, "memory": 16, "os": "linux"}],
            "powerOffMode": "trySoft",
            "zones": [{"name": "a", "computeSelector": {"name": "C2"}}],
            "networks": [{"mtu": 9000, "selector": {"name": "storage"}}],
        });
        assert_eq!(hash(&spec), hash(&more));
    }

    #[test]
    fn what_an_instance_is_made_with_is() {
        let hashes = [
            json!({}),
            json!({"diskSize": 60}),
            json!({"diskSize": 61}),
            json!({"tags": {"owner": "a"}}),
            json!({"userData": {"additionalUserdata": "runcmd: [ls]"}}),
            json!({"kubelet": {"maxPods": 50}}),
        ]
        .map(|spec| hash(&spec));
        let different: std::collections::BTreeSet<_> = hashes.iter().collect();
        assert_eq!(different.len(), hashes.len());
    }
}
