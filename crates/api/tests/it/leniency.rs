//! Objects that are legal, or were once, without being written as we would write them.

use serde_json::{Value, json};

use crate::manifests::rewritten;

/// Reads an object of which only `spec` and `status` are given, and writes it again.
fn reread(kind: &str, mut object: Value) -> Value {
    object["kind"] = json!(kind);
    object["metadata"] = json!({});
    let mut rewritten = rewritten(&object).unwrap();
    for field in ["apiVersion", "kind", "metadata"] {
        rewritten.as_object_mut().unwrap().remove(field);
    }
    rewritten
}

#[test]
fn whole_quantities_may_be_numbers() {
    let pool =
        json!({ "spec": { "limits": { "cpu": 64, "memory": "1Ti", "example.com/x": 0.5 } } });
    assert_eq!(
        reread("NodePool", pool)["spec"]["limits"],
        json!({ "cpu": "64", "memory": "1Ti", "example.com/x": "0.5" })
    );
}

#[test]
fn what_is_missing_is_empty() {
    assert_eq!(
        reread("NodePool", json!({ "spec": {} })),
        json!({ "spec": { "template": { "spec": { "requirements": [] } } } })
    );
    assert_eq!(
        reread("NodeClaim", json!({ "spec": {}, "status": {} })),
        json!({ "spec": { "requirements": [] }, "status": {} })
    );
    assert_eq!(
        reread("NodeOverlay", json!({ "spec": {} })),
        json!({ "spec": { "requirements": [] } })
    );
    assert_eq!(reread("CapacityBuffer", json!({ "spec": {} })), json!({ "spec": {} }));
    assert_eq!(reread("KWOKNodeClass", json!({})), json!({ "spec": {} }));
}

/// Also what Go writes for lists and times it does not have.
#[test]
fn null_is_missing() {
    let pool = json!({
        "spec": {
            "template": {
                "metadata": { "labels": null, "annotations": null },
                "spec": {
                    "taints": null,
                    "startupTaints": null,
                    "requirements": null,
                    "nodeClassRef": { "group": null, "kind": null, "name": null },
                    "terminationGracePeriod": null,
                    "expireAfter": null,
                },
            },
            "disruption": { "consolidateAfter": null, "consolidationPolicy": null, "budgets": null },
            "limits": null,
            "weight": null,
            "replicas": null,
        },
        "status": { "resources": null, "nodes": null, "conditions": null },
    });
    assert_eq!(
        reread("NodePool", pool),
        json!({
            "spec": {
                "template": {
                    "metadata": {},
                    "spec": {
                        "requirements": [],
                        "nodeClassRef": { "group": "", "kind": "", "name": "" },
                    },
                },
                "disruption": {},
            },
            "status": {},
        })
    );
    let claim = json!({
        "spec": { "requirements": null, "taints": null, "resources": { "requests": null } },
        "status": { "lastPodEventTime": null, "nodeName": null, "conditions": null },
    });
    assert_eq!(
        reread("NodeClaim", claim),
        json!({ "spec": { "requirements": [], "resources": {} }, "status": {} })
    );
    assert_eq!(reread("KWOKNodeClass", json!({ "spec": null })), json!({ "spec": {} }));
}

#[test]
fn an_absent_list_of_budgets_is_not_an_empty_one() {
    for budgets in [json!([]), json!([{}]), json!([{ "nodes": "1", "reasons": [] }])] {
        let pool = json!({ "spec": { "disruption": { "budgets": budgets } } });
        assert_eq!(reread("NodePool", pool)["spec"]["disruption"]["budgets"], budgets);
    }
}

#[test]
fn words_and_fields_from_the_future_are_read_past() {
    let pool = json!({ "spec": {
        "template": { "spec": { "requirements": [{ "key": "a", "operator": "Between" }] } },
        "disruption": { "consolidationPolicy": "WhenBored" },
        "colour": "blue",
    } });
    assert_eq!(
        reread("NodePool", pool),
        json!({ "spec": {
            "template": { "spec": { "requirements": [{ "key": "a", "operator": "Between" }] } },
            "disruption": { "consolidationPolicy": "WhenBored" },
        } })
    );
}

#[test]
fn conditions_may_be_short_of_words() {
    let claim = json!({ "spec": {}, "status": { "conditions": [{ "type": "Ready" }] } });
    assert_eq!(
        reread("NodeClaim", claim)["status"]["conditions"],
        json!([{ "type": "Ready", "status": "", "reason": "", "message": "" }])
    );
}

#[test]
fn buffers_of_the_older_version_are_read() {
    let buffer = json!({
        "apiVersion": "autoscaling.x-k8s.io/v1alpha1",
        "kind": "CapacityBuffer",
        "metadata": {},
        "spec": { "podTemplateRef": { "name": "web" }, "replicas": 1 },
    });
    assert_eq!(rewritten(&buffer).unwrap()["spec"], buffer["spec"]);
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let pool = |spec: Value| json!({ "kind": "NodePool", "metadata": {}, "spec": spec });
    for (object, why) in [
        (
            pool(json!({ "template": { "spec": { "expireAfter": "soon" } } })),
            r#""soon" is no duration (a number is missing); write it as 720h or 1h30m, or Never"#,
        ),
        (
            pool(json!({ "template": { "spec": { "terminationGracePeriod": "Never" } } })),
            r#""Never" is no duration (a number is missing); write it as 720h or 1h30m"#,
        ),
        (
            pool(json!({ "template": { "spec": { "requirements": {} } } })),
            "invalid type: map, expected a sequence",
        ),
        (pool(json!({ "weight": "10" })), r#"invalid type: string "10", expected i32"#),
    ] {
        assert_eq!(rewritten(&object).unwrap_err(), why);
    }
}
