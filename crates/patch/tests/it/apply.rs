//! Applies as a kube-apiserver 1.36.3 answered them.

use expect_test::{Expect, expect};
use joiner_patch::{Applied, PatchError, apply, track_update};
use serde_json::{Value, json};

use crate::support::{deployments, owners};

const FIRST: &str = "2026-01-01T00:00:01Z";
const SECOND: &str = "2026-01-01T00:00:02Z";

fn deployment(metadata: &Value, spec: &Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
}

fn container(fields: &Value) -> Value {
    json!({"template": {"spec": {"containers": [fields]}}})
}

fn by(manager: &str, live: Option<&Value>, applied: &Value) -> Result<Applied, PatchError> {
    apply(&deployments(""), live, applied, manager, false, SECOND)
}

#[test]
fn what_is_no_deployment_is_refused() {
    let name = json!({"name": "a", "namespace": "n"});
    let mut table = Vec::new();
    for applied in [
        json!({"apiVersion": "v1", "kind": "Pod"}),
        json!({}),
        json!({"apiVersion": "apps/v1beta1", "kind": "Deployment"}),
        deployment(&json!({"managedFields": []}), &json!({})),
        deployment(&name, &json!({"foo": 1, "bar": 2})),
        deployment(&name, &json!(5)),
        deployment(&name, &json!([1])),
        deployment(&name, &json!({"replicas": "x"})),
        deployment(&name, &json!({"paused": "x", "template": {"spec": {"hostname": 1.5}}})),
        deployment(&json!({"labels": {"a": 5}}), &json!({})),
        deployment(&name, &json!({"template": {"spec": {"containers": {"a": 1}}}})),
        deployment(&name, &container(&json!("a"))),
        deployment(&name, &container(&json!(null))),
        deployment(
            &name,
            &json!({"template": {"spec": {"containers": [
                {"name": "c"},
                {"name": "c"},
            ]}}}),
        ),
        deployment(
            &name,
            &container(&json!({"name": "c", "ports": [
                {"containerPort": 80},
                {"containerPort": 80, "protocol": "TCP"},
            ]})),
        ),
        deployment(&json!({"finalizers": ["a", "a", {"q": 1}]}), &json!({})),
    ] {
        let error = by("m", None, &applied).expect_err("the object is malformed");
        table.push(format!("{} {}: {error}\n", error.code, error.reason));
    }
    expect![[r#"
        400 BadRequest: invalid object type: /v1, Kind=Pod
        400 BadRequest: invalid object type: /, Kind=
        400 BadRequest: invalid object type: apps/v1beta1, Kind=Deployment
        400 BadRequest: metadata.managedFields must be nil
        500 : failed to create typed patch object (n/a; apps/v1, Kind=Deployment): .spec.bar: field not declared in schema
        500 : failed to create typed patch object (n/a; apps/v1, Kind=Deployment): .spec: expected map, got &{5}
        500 : failed to create typed patch object (n/a; apps/v1, Kind=Deployment): .spec: expected map, got &{[1]}
        500 : failed to create typed patch object (n/a; apps/v1, Kind=Deployment): .spec.replicas: expected numeric (int or float), got string
        500 : failed to create typed patch object (n/a; apps/v1, Kind=Deployment): errors:
          .spec.paused: expected boolean, got &{x}
          .spec.template.spec.hostname: expected string, got &value.valueUnstructured{Value:1.5}
        500 : failed to create typed patch object (/; apps/v1, Kind=Deployment): .metadata.labels.a: expected string, got &value.valueUnstructured{Value:5}
        500 : failed to create typed patch object (n/a; apps/v1, Kind=Deployment): .spec.template.spec.containers: expected list, got &{map[a:1]}
        500 : failed to create typed patch object (n/a; apps/v1, Kind=Deployment): .spec.template.spec.containers: element 0: associative list with keys may not have non-map elements
        500 : failed to create typed patch object (n/a; apps/v1, Kind=Deployment): .spec.template.spec.containers: element 0: associative list with keys may not have a null element
        500 : failed to create typed patch object (n/a; apps/v1, Kind=Deployment): .spec.template.spec.containers: duplicate entries for key [name="c"]
        500 : failed to create typed patch object (n/a; apps/v1, Kind=Deployment): .spec.template.spec.containers[name="c"].ports: duplicate entries for key [containerPort=80,protocol="TCP"]
        500 : failed to create typed patch object (/; apps/v1, Kind=Deployment): errors:
          .metadata.finalizers: duplicate entries for key [="a"]
          .metadata.finalizers: element 2: associative list without keys has an element that's a map type
    "#]].assert_eq(&table.concat());
}

/// A Deployment that `one` has applied.
fn applied_by_one() -> Value {
    let applied = deployment(
        &json!({"name": "a", "labels": {"x": "y"}}),
        &json!({
            "replicas": 2,
            "selector": {"matchLabels": {"app": "x"}},
            "template": {"spec": {"containers": [
                {"name": "c", "image": "i", "ports": [{"containerPort": 80}]},
            ]}},
        }),
    );
    let applied = apply(&deployments(""), None, &applied, "one", false, FIRST);
    applied.expect("nobody else is there").object
}

#[test]
fn an_applier_owns_what_it_applies() {
    expect![[r#"
        one Apply 2026-01-01T00:00:01Z {"f:metadata":{"f:labels":{"f:x":{}}},"f:spec":{"f:replicas":{},"f:selector":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{},"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}}}}}}
    "#]].assert_eq(&owners(&applied_by_one()));
}

#[test]
fn whoever_applies_the_same_shares_it() {
    let live = applied_by_one();
    let same = by("two", Some(&live), &deployment(&json!({}), &json!({"replicas": 2})));
    let same = same.expect("the value does not change");
    assert!(!same.changed);
    // No time: the API server gives one only to who changes something.
    expect![[r#"
        two Apply - {"f:spec":{"f:replicas":{}}}
        one Apply 2026-01-01T00:00:01Z {"f:metadata":{"f:labels":{"f:x":{}}},"f:spec":{"f:replicas":{},"f:selector":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{},"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}}}}}}
    "#]].assert_eq(&owners(&same.object));
}

fn conflicts(live: &Value, spec: &Value, manager: &str, expected: &Expect) {
    let error = by(manager, Some(live), &deployment(&json!({}), spec)).expect_err("a conflict");
    assert_eq!((error.code, error.reason), (409, "Conflict"));
    let causes = error
        .causes
        .iter()
        .map(|cause| format!("\n{}: {} {}", cause.reason, cause.field, cause.message));
    expected.assert_eq(&format!("{}{}", error.message, causes.collect::<Vec<_>>().concat()));
}

#[test]
fn other_values_conflict() {
    let live = applied_by_one();
    conflicts(
        &live,
        &json!({"replicas": 3}),
        "two",
        &expect![[r#"
        Apply failed with 1 conflict: conflict with "one": .spec.replicas
        FieldManagerConflict: .spec.replicas conflict with "one""#]],
    );
    let mut spec = container(&json!({"name": "c", "image": "j"}));
    spec["replicas"] = json!(3);
    conflicts(
        &live,
        &spec,
        "two",
        &expect![[r#"
        Apply failed with 2 conflicts: conflicts with "one":
        - .spec.replicas
        - .spec.template.spec.containers[name="c"].image
        FieldManagerConflict: .spec.replicas conflict with "one"
        FieldManagerConflict: .spec.template.spec.containers[name="c"].image conflict with "one""#]],
    );
    let mut scaled = live.clone();
    scaled["spec"]["replicas"] = json!(4);
    track_update(&deployments("scale"), Some(&live), &mut scaled, "scaler", SECOND);
    conflicts(
        &scaled,
        &json!({"replicas": 3}),
        "two",
        &expect![[r#"
        Apply failed with 1 conflict: conflict with "scaler" with subresource "scale" using apps/v1: .spec.replicas
        FieldManagerConflict: .spec.replicas conflict with "scaler" with subresource "scale" using apps/v1"#]],
    );
}

#[test]
fn force_takes_over() {
    let live = applied_by_one();
    let spec = container(&json!({"name": "c", "image": "j"}));
    let applied = deployment(&json!({}), &spec);
    let forced = apply(&deployments(""), Some(&live), &applied, "two", true, SECOND);
    let forced = forced.expect("force ends conflicts").object;
    assert_eq!(forced["spec"]["template"]["spec"]["containers"][0]["image"], "j");
    expect![[r#"
        one Apply 2026-01-01T00:00:01Z {"f:metadata":{"f:labels":{"f:x":{}}},"f:spec":{"f:replicas":{},"f:selector":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:name":{},"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}}}}}}
        two Apply 2026-01-01T00:00:02Z {"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{}}}}}}}
    "#]].assert_eq(&owners(&forced));
}

#[test]
fn what_is_not_applied_any_more_goes_away() {
    let live = applied_by_one();
    let shared = by("two", Some(&live), &deployment(&json!({}), &json!({"replicas": 2})));
    let shared = shared.expect("the value does not change").object;
    let less = deployment(
        &json!({"name": "a"}),
        &json!({
            "selector": {"matchLabels": {"app": "x"}},
            "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}},
        }),
    );
    let pruned = by("one", Some(&shared), &less).expect("it is all its own").object;
    // `two` keeps the replicas; the label and the port were `one`'s alone.
    expect![[r#"
        {"replicas":2,"selector":{"matchLabels":{"app":"x"}},"template":{"spec":{"containers":[{"image":"i","name":"c"}]}}}
        two Apply - {"f:spec":{"f:replicas":{}}}
        one Apply 2026-01-01T00:00:02Z {"f:spec":{"f:selector":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{}}}}}}}
    "#]].assert_eq(&format!("{}\n{}", pruned["spec"], owners(&pruned)));
}

#[test]
fn applying_again_changes_nothing() {
    let live = applied_by_one();
    let mut again = live.clone();
    again["metadata"].as_object_mut().expect("an object").remove("managedFields");
    let result = by("one", Some(&live), &again).expect("it is all its own");
    assert_eq!(result, Applied { object: live.clone(), changed: false });
    again["metadata"]["managedFields"] = Value::Null;
    let result = by("one", Some(&live), &again).expect("it is all its own");
    assert_eq!(result, Applied { object: live, changed: false });
}

#[test]
fn objects_that_nobody_tracked_belong_to_nobody_in_particular() {
    let live = deployment(&json!({"name": "a", "uid": "1"}), &json!({"replicas": 1}));
    conflicts(
        &live,
        &json!({"replicas": 2}),
        "one",
        &expect![[r#"
        Apply failed with 1 conflict: conflict with "before-first-apply" using apps/v1: .spec.replicas
        FieldManagerConflict: .spec.replicas conflict with "before-first-apply" using apps/v1"#]],
    );
}

/// A Deployment from before kubectl applied on the server's side.
fn applied_by_the_client(replicas: u32) -> Value {
    let last = deployment(&json!({"name": "a"}), &json!({"replicas": 2, "paused": true}));
    let annotations = json!({
        "kubectl.kubernetes.io/last-applied-configuration": format!("{last}\n"),
    });
    let mut live = deployment(
        &json!({"name": "a", "annotations": annotations}),
        &json!({"replicas": replicas, "paused": true}),
    );
    track_update(&deployments(""), None, &mut live, "kubectl-client-side-apply", FIRST);
    live
}

#[test]
fn kubectl_takes_over_from_itself() {
    let live = applied_by_the_client(2);
    let next = deployment(&json!({"name": "a", "labels": {"l": "<1>"}}), &json!({"replicas": 3}));
    let taken = by("kubectl", Some(&live), &next).expect("kubectl applied the old value").object;
    expect![[r#"
        {"kubectl.kubernetes.io/last-applied-configuration":"{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"labels\":{\"l\":\"\\u003c1\\u003e\"},\"name\":\"a\"},\"spec\":{\"replicas\":3}}\n"}
        kubectl Apply 2026-01-01T00:00:02Z {"f:metadata":{"f:labels":{"f:l":{}}},"f:spec":{"f:replicas":{}}}
        kubectl-client-side-apply Update 2026-01-01T00:00:01Z {"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}}},"f:spec":{"f:paused":{}}}
    "#]].assert_eq(&format!("{}\n{}", taken["metadata"]["annotations"], owners(&taken)));
    conflicts(
        &live,
        &json!({"replicas": 3}),
        "other",
        &expect![[r#"
        Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using apps/v1: .spec.replicas
        FieldManagerConflict: .spec.replicas conflict with "kubectl-client-side-apply" using apps/v1"#]],
    );
    // Somebody else changed the value since.
    conflicts(
        &applied_by_the_client(7),
        &json!({"replicas": 3}),
        "kubectl",
        &expect![[r#"
        Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using apps/v1: .spec.replicas
        FieldManagerConflict: .spec.replicas conflict with "kubectl-client-side-apply" using apps/v1"#]],
    );
}
