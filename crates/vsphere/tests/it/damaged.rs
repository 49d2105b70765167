//! A class with any one value replaced by something odd is refused with a reason, or makes instances
//! that can be had; nothing panics.

use joiner_core::quantity::Quantity;
use joiner_vsphere::{NodeClass, Settings};
use serde_json::{Value, json};

/// Every value of `value`, by JSON pointer.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                pointers(item, &format!("{at}/{i}"), found);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                pointers(field, &format!("{at}/{key}"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn one_odd_value_is_refused_or_understood() {
    let whole = json!({
        "metadata": {"name": "general"},
        "spec": {
            "diskSize": 60,
            "zones": [{"name": "az1", "region": "dc1"}],
            "kubelet": {
                "maxPods": 50, "podsPerCore": 10,
                "kubeReserved": {"cpu": "100m"}, "systemReserved": {"memory": "1Gi"},
                "evictionHard": {"memory.available": "5%"},
                "evictionSoft": {"nodefs.available": "10Gi"},
                "evictionSoftGracePeriod": {"nodefs.available": "1m"},
                "evictionMaxPodGracePeriod": 60, "imageGCHighThresholdPercent": 90,
                "imageGCLowThresholdPercent": 50, "cpuCFSQuota": true,
                "clusterDNS": ["10.96.0.10"],
            },
            "hardwareVersion": "vmx-19",
            "resources": {
                "requests": {"cpu": "1G", "memory": "1Gi"}, "limits": {"cpu": "2G"},
                "shares": {"cpu": 1000},
            },
            "networks": [{
                "selector": {"name": "workers"}, "dhcp4": true, "dhcp6": false, "mtu": 1500,
                "addressesFromPools": [{"apiGroup": "a", "kind": "b", "name": "c"}],
                "nameservers": ["10.0.0.2"], "searchDomains": ["example.com"],
                "routes": [{"to": "10.0.0.0/8", "via": "10.0.0.1", "metric": 1}],
                "macAddr": "00:50:56:01:02:03",
            }],
            "instanceTypes": [
                {"os": "linux", "arch": "amd64", "cpu": "4", "memory": "16Gi", "maxPods": 110,
                 "zone": "az1", "region": "dc1", "name": "a", "price": 0.5, "diskSize": 10,
                 "labels": {"example.com/a": "b"}, "extendedResources": {"nvidia.com/gpu": 1},
                 "pciDevices": [{"vendorId": "0x10de", "deviceId": 1, "customLabel": "c"}],
                 "vgpu": {"profile": "grid", "count": 1}},
                {"os": "linux", "cpu": 8, "memory": 32, "zone": "az2"},
            ],
        },
        "status": {"image": {"diskGiB": 80}},
    });
    let long = "9".repeat(400);
    let odd = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(i64::MIN),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(0.5),
        json!(1e300),
        json!(""),
        json!(" "),
        json!("%"),
        json!("-1"),
        json!("1e30"),
        json!("100%"),
        json!("9223372036854775807"),
        json!("NaN"),
        json!("inf"),
        json!(long),
        json!("ä\n\u{0}"),
        json!([]),
        json!([[]]),
        json!({}),
        json!({"a": {}}),
        json!({"": ""}),
    ];
    let mut places = Vec::new();
    pointers(&whole, "", &mut places);
    for (place, value) in places.iter().flat_map(|place| odd.iter().map(move |odd| (place, odd))) {
        let mut object = whole.clone();
        *object.pointer_mut(place).expect("it is there") = value.clone();
        let Ok(class) = NodeClass::read(&object) else { continue };
        let told = class.problems(&Settings::default());
        assert!(told.iter().all(|own| !own.text.is_empty()), "{place} {value}");
        match class.instances(&Settings::default()) {
            Err(not_ready) => assert!(!not_ready.problems.is_empty(), "{place} {value}"),
            Ok(instances) => {
                assert!(!instances.types.is_empty(), "{place} {value}");
                for made in &instances.types {
                    assert!(!made.offerings.is_empty(), "{place} {value}");
                    let amounts = made.capacity.iter().map(|(_, amount)| amount);
                    let least = amounts.min().unwrap_or_default();
                    assert!(least >= Quantity::ZERO, "{place} {value}: {}", made.capacity);
                    assert!(made.offerings.iter().all(|offering| offering.price >= 0.0));
                }
            }
        }
    }
}
