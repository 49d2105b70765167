use serde_json::{Value, json};

use super::*;

fn hash(template: Value) -> u64 {
    node_pool_hash(&serde_json::from_value(template).unwrap())
}

/// The template that most cases vary.
fn with(mut extra: Value) -> Value {
    let mut template = json!({ "spec": {
        "nodeClassRef": { "group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default" },
        "expireAfter": "720h",
    } });
    for part in ["metadata", "spec"] {
        if let Some(fields) = extra[part].as_object_mut() {
            fields.iter().for_each(|(key, value)| template[part][key] = value.clone());
        }
    }
    template
}

fn of_class(group: &str, kind: &str) -> Value {
    with(json!({ "spec": { "nodeClassRef": { "group": group, "kind": kind, "name": "default" } } }))
}

/// The first two numbers are in public manifests; all of them are what Karpenter 1.14.1 answers for
/// these templates.
#[test]
fn equals_karpenter() {
    let everything = json!({
        "metadata": { "labels": { "team": "a" }, "annotations": { "x": "y" } },
        "spec": {
            "taints": [{ "key": "dedicated", "value": "gpu", "effect": "NoSchedule" }],
            "startupTaints": [{ "key": "startup", "effect": "NoExecute" }],
            "terminationGracePeriod": "1h",
        },
    });
    let everything_empty = json!({
        "metadata": { "labels": {}, "annotations": {} },
        "spec": {
            "taints": [],
            "startupTaints": [],
            "terminationGracePeriod": "0s",
            "expireAfter": "0s",
        },
    });
    let tainted_at = |time: &str| {
        let taint = json!({ "key": "a", "effect": "NoSchedule", "timeAdded": time });
        with(json!({ "spec": { "taints": [taint] } }))
    };
    let eks = json!({ "spec": {
        "nodeClassRef": { "group": "eks.amazonaws.com", "kind": "NodeClass", "name": "default" },
        "expireAfter": "336h",
        "terminationGracePeriod": "24h",
    } });
    for (name, template, expected) in [
        ("published by the AWS provider", with(json!({})), 6_821_555_240_594_823_858),
        ("published by EKS", eks, 4_012_513_481_623_584_108),
        (
            "vSphere",
            of_class("karpenter.vsphere.com", "VsphereNodeClass"),
            16_373_156_799_086_925_303,
        ),
        (
            "Proxmox",
            of_class("karpenter.proxmox.sinextra.dev", "ProxmoxNodeClass"),
            10_098_852_686_330_508_487,
        ),
        (
            "expires never",
            with(json!({ "spec": { "expireAfter": "Never" } })),
            17_369_979_337_536_258_260,
        ),
        ("everything", with(everything), 16_854_137_446_384_882_803),
        ("everything empty or zero", with(everything_empty), 15_463_769_928_733_511_830),
        ("taint with a time", tainted_at("2024-05-06T07:08:09Z"), 6_738_546_981_109_116_433),
        ("in another zone", tainted_at("2024-05-06T07:08:09.25+02:00"), 20_889_531_576_337_697),
    ] {
        assert_eq!(hash(template), expected, "{name}");
    }
}

#[test]
fn order_does_not_matter() {
    let taint = |key: &str| json!({ "key": key, "effect": "NoSchedule" });
    let taints = |taints: Vec<Value>| hash(with(json!({ "spec": { "taints": taints } })));
    assert_eq!(taints(vec![taint("a"), taint("b")]), taints(vec![taint("b"), taint("a")]));

    let labels = |text: &str| {
        let template = format!(r#"{{ "metadata": {{ "labels": {text} }} }}"#);
        node_pool_hash(&serde_json::from_str(&template).unwrap())
    };
    assert_eq!(labels(r#"{ "a": "1", "b": "2" }"#), labels(r#"{ "b": "2", "a": "1" }"#));
    assert_ne!(labels(r#"{ "a": "1", "b": "2" }"#), labels(r#"{ "a": "2", "b": "1" }"#));
}

#[test]
fn an_empty_map_or_list_is_not_an_absent_one() {
    let plain = hash(with(json!({})));
    for empty in [
        json!({ "metadata": { "labels": {} } }),
        json!({ "metadata": { "annotations": {} } }),
        json!({ "spec": { "taints": [] } }),
        json!({ "spec": { "startupTaints": [] } }),
    ] {
        assert_ne!(hash(with(empty.clone())), plain, "{empty}");
    }
    for absent in [
        json!({ "metadata": {} }),
        json!({ "metadata": { "labels": null, "annotations": null } }),
        json!({ "spec": { "taints": null, "startupTaints": null } }),
        json!({ "spec": { "terminationGracePeriod": null } }),
    ] {
        assert_eq!(hash(with(absent.clone())), plain, "{absent}");
    }
}

#[test]
fn requirements_and_the_spelling_of_durations_do_not_matter() {
    let requirement = json!({ "key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"] });
    for same in [
        json!({ "spec": { "requirements": [requirement] } }),
        json!({ "spec": { "expireAfter": "719h60m" } }),
        json!({ "spec": { "expireAfter": "720h0m0s" } }),
    ] {
        assert_eq!(hash(with(same.clone())), hash(with(json!({}))), "{same}");
    }
}

#[test]
fn where_a_value_stands_matters() {
    let taint = json!([{ "key": "a", "effect": "NoSchedule" }]);
    let hashes = [
        hash(with(json!({ "metadata": { "labels": { "a": "b" } } }))),
        hash(with(json!({ "metadata": { "labels": { "b": "a" } } }))),
        hash(with(json!({ "metadata": { "annotations": { "a": "b" } } }))),
        hash(with(json!({ "spec": { "taints": taint } }))),
        hash(with(json!({ "spec": { "startupTaints": taint } }))),
        hash(with(json!({ "spec": { "terminationGracePeriod": "720h" } }))),
        hash(with(json!({ "spec": { "expireAfter": "1h" } }))),
    ];
    let different: std::collections::BTreeSet<_> = hashes.iter().collect();
    assert_eq!(different.len(), hashes.len());
}
