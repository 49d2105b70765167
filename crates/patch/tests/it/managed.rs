//! Managed fields after writes that are no applies, as a kube-apiserver 1.36.3 wrote them.

use std::sync::Arc;

use expect_test::expect;
use joiner_patch::{Endpoint, FieldSet, keep_timestamps, path_text, track_update};
use joiner_schema::Schema;
use serde_json::{Value, json};

use crate::support::{deployments, owners, read};

fn time(second: usize) -> String {
    format!("2026-01-01T00:00:{second:02}Z")
}

fn created() -> Value {
    let mut object = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "labels": {"a": "b"}},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "x"}},
            "template": {"metadata": {}, "spec": {"containers": [
                {"name": "c", "ports": [{"containerPort": 80, "protocol": "TCP"}], "resources": {}},
            ]}},
        },
        "status": {},
    });
    track_update(&deployments(""), None, &mut object, "creator", &time(0));
    object
}

/// Changes an object as somebody, and shows who owns what then.
fn changed(
    old: &Value,
    manager: &str,
    subresource: &'static str,
    second: usize,
    change: impl FnOnce(&mut Value),
) -> (Value, String) {
    let mut new = old.clone();
    change(&mut new);
    track_update(&deployments(subresource), Some(old), &mut new, manager, &time(second));
    let shown = owners(&new);
    (new, shown)
}

#[test]
fn who_creates_owns_everything() {
    expect![[r#"
        creator Update 2026-01-01T00:00:00Z {"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:replicas":{},"f:selector":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:protocol":{}}},"f:resources":{}}}}}}}
    "#]].assert_eq(&owners(&created()));
}

#[test]
fn who_changes_takes_over() {
    let (object, shown) =
        changed(&created(), "scaler", "", 1, |new| new["spec"]["replicas"] = json!(2));
    expect![[r#"
        creator Update 2026-01-01T00:00:00Z {"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:selector":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:protocol":{}}},"f:resources":{}}}}}}}
        scaler Update 2026-01-01T00:00:01Z {"f:spec":{"f:replicas":{}}}
    "#]].assert_eq(&shown);
    let (_, shown) = changed(&object, "creator", "", 2, |new| {
        new["spec"]["replicas"] = json!(3);
        new["status"]["replicas"] = json!(3);
    });
    expect![[r#"
        creator Update 2026-01-01T00:00:02Z {"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:replicas":{},"f:selector":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:protocol":{}}},"f:resources":{}}}}}}}
    "#]].assert_eq(&shown);
}

#[test]
fn who_removes_gets_no_time_for_it() {
    let (_, shown) =
        changed(&created(), "creator", "", 1, |new| new["metadata"]["labels"] = json!({}));
    expect![[r#"
        creator Update 2026-01-01T00:00:00Z {"f:spec":{"f:replicas":{},"f:selector":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:protocol":{}}},"f:resources":{}}}}}}}
    "#]].assert_eq(&shown);
}

#[test]
fn a_status_belongs_to_who_writes_it_through_its_endpoint() {
    let (_, shown) = changed(&created(), "controller", "status", 1, |new| {
        new["spec"]["replicas"] = json!(9);
        new["status"]["conditions"] = json!([{"type": "A", "status": "True"}]);
    });
    expect![[r#"
        creator Update 2026-01-01T00:00:00Z {"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:replicas":{},"f:selector":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:protocol":{}}},"f:resources":{}}}}}}}
        controller Update/status 2026-01-01T00:00:01Z {"f:status":{"f:conditions":{".":{},"k:{\"type\":\"A\"}":{".":{},"f:status":{},"f:type":{}}}}}
    "#]].assert_eq(&shown);
}

#[test]
fn managed_fields_can_be_cleared_and_stay_so() {
    let managed = |entries: Value| {
        changed(&created(), "m", "", 1, |new| new["metadata"]["managedFields"] = entries)
    };
    let (cleared, shown) = managed(json!([{}]));
    assert_eq!(shown, "");
    assert_eq!(managed(json!([])).1, "");
    let (_, shown) = changed(&cleared, "m", "", 2, |new| new["spec"]["replicas"] = json!(2));
    assert_eq!(shown, "");
}

#[test]
fn managed_fields_that_make_no_sense_are_ignored() {
    let before = owners(&created());
    let entry = json!({"manager": "x", "operation": "Update", "apiVersion": "apps/v1",
        "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}});
    let with = |name: &str, value: Value| {
        let mut entry = entry.clone();
        entry[name] = value;
        changed(&created(), "m", "", 1, |new| new["metadata"]["managedFields"] = json!([entry])).1
    };
    for (name, value) in [
        ("operation", json!("Nope")),
        ("apiVersion", json!("")),
        ("fieldsType", json!("")),
        ("fieldsType", json!("FieldsV2")),
        ("fieldsV1", json!({"f:spec": 5})),
        ("fieldsV1", json!({"x": {}})),
        ("fieldsV1", json!({"k:{": {}})),
    ] {
        assert_eq!(with(name, value.clone()), before, "{name}: {value}");
    }
    let odd = json!({"f:spec": {"f:replicas": {}, "x:foo": {}, "k:{\"b\":1, \"a\":2}": {}}});
    assert_eq!(
        with("fieldsV1", odd),
        "x Update - {\"f:spec\":{\"f:replicas\":{},\"k:{\\\"a\\\":2,\\\"b\\\":1}\":{}}}\n"
    );
}

#[test]
fn the_oldest_of_too_many_updaters_share_a_name() {
    let mut object = created();
    for number in 1..=11 {
        let (next, _) = changed(&object, &format!("m{number:02}"), "", number, |new| {
            new["metadata"]["labels"][format!("l{number:02}")] = json!("1");
        });
        object = next;
    }
    expect![[r#"
        ancient-changes Update 2026-01-01T00:00:02Z {"f:metadata":{"f:labels":{".":{},"f:a":{},"f:l01":{},"f:l02":{}}},"f:spec":{"f:replicas":{},"f:selector":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:protocol":{}}},"f:resources":{}}}}}}}
        m03 Update 2026-01-01T00:00:03Z {"f:metadata":{"f:labels":{"f:l03":{}}}}
        m04 Update 2026-01-01T00:00:04Z {"f:metadata":{"f:labels":{"f:l04":{}}}}
        m05 Update 2026-01-01T00:00:05Z {"f:metadata":{"f:labels":{"f:l05":{}}}}
        m06 Update 2026-01-01T00:00:06Z {"f:metadata":{"f:labels":{"f:l06":{}}}}
        m07 Update 2026-01-01T00:00:07Z {"f:metadata":{"f:labels":{"f:l07":{}}}}
        m08 Update 2026-01-01T00:00:08Z {"f:metadata":{"f:labels":{"f:l08":{}}}}
        m09 Update 2026-01-01T00:00:09Z {"f:metadata":{"f:labels":{"f:l09":{}}}}
        m10 Update 2026-01-01T00:00:10Z {"f:metadata":{"f:labels":{"f:l10":{}}}}
        m11 Update 2026-01-01T00:00:11Z {"f:metadata":{"f:labels":{"f:l11":{}}}}
    "#]].assert_eq(&owners(&object));
}

#[test]
fn times_stay_where_nothing_else_changed() {
    let old = created();
    let mut new = old.clone();
    new["metadata"]["managedFields"][0]["time"] = json!(time(9));
    new["metadata"]["annotations"] = json!({});
    let mut kept = new.clone();
    keep_timestamps(&old, &mut kept, false);
    assert_eq!(owners(&kept), owners(&old));
    let mut custom = new.clone();
    keep_timestamps(&old, &mut custom, true);
    assert_eq!(custom, new);
    new["spec"]["replicas"] = json!(2);
    let mut other = new.clone();
    keep_timestamps(&old, &mut other, false);
    assert_eq!(other, new);
}

#[test]
fn field_sets_are_written_in_the_order_of_the_api_server() {
    let fields = json!({"f:ports": {
        "k:{\"port\":443}": {".": {}, "f:port": {}},
        "k:{\"port\":80}": {".": {}, "f:port": {}},
    }, "f:tags": {"v:\"a\"": {}, "v:10": {}, "v:9": {}}});
    let set = FieldSet::from_value(&fields).expect("these are fields");
    assert_eq!(set.to_value(), fields);
    let paths: Vec<String> = set.paths().iter().map(|path| path_text(path)).collect();
    expect![[r#"
        {"f:ports":{"k:{\"port\":80}":{".":{},"f:port":{}},"k:{\"port\":443}":{".":{},"f:port":{}}},"f:tags":{"v:9":{},"v:10":{},"v:\"a\"":{}}}
        .ports[port=80]
        .ports[port=443]
        .ports[port=80].port
        .ports[port=443].port
        .tags[=9]
        .tags[=10]
        .tags[="a"]"#]].assert_eq(&format!("{}\n{}", set.to_json(), paths.join("\n")));
}

/// The endpoint of a custom kind.
fn things<'a>(
    schema: &'a Schema,
    versions: &'a [(&'a str, &'a Schema)],
    nothing: &'a FieldSet,
) -> Endpoint<'a> {
    Endpoint {
        schema,
        kind: "Thing",
        api_version: "x.dev/v1",
        versions,
        subresource: "",
        reset_fields: nothing,
        custom: true,
        empty: None,
    }
}

/// The schema of a kind with a map that is merged or replaced.
fn thing_with_map(map_type: &str) -> Arc<Schema> {
    let text = json!({"type": "string"});
    let map = json!({"type": "object", "additionalProperties": text,
        "x-kubernetes-map-type": map_type});
    let metadata = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let fields = json!({"metadata": metadata, "map": map, "title": text});
    read(&json!({"type": "object", "properties": fields}))
}

#[test]
fn who_owns_a_whole_in_another_version_loses_it_with_a_part() {
    let (granular, atomic) = (thing_with_map("granular"), thing_with_map("atomic"));
    let nothing = FieldSet::new();
    let versions: [(&str, &Schema); 2] = [("x.dev/v1", &granular), ("x.dev/v1beta1", &atomic)];
    let beta = Endpoint { api_version: "x.dev/v1beta1", ..things(&atomic, &versions, &nothing) };
    let mut old = json!({"map": {"a": "1", "b": "1"}, "title": "x"});
    track_update(&beta, None, &mut old, "m", &time(0));
    let mut new = old.clone();
    new["map"]["a"] = json!("2");
    track_update(&things(&granular, &versions, &nothing), Some(&old), &mut new, "n", &time(1));
    expect![[r#"
        m Update 2026-01-01T00:00:00Z {"f:title":{}}
        n Update 2026-01-01T00:00:01Z {"f:map":{"f:a":{}}}
    "#]]
    .assert_eq(&owners(&new));
}

#[test]
fn entries_that_are_twice_in_what_was_written_are_tracked() {
    let key = json!({"type": "string"});
    let list = json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key"],
        "items": {"type": "object", "properties": {"key": key}},
    });
    let schema = read(&json!({"type": "object", "properties": {"list": list, "title": key}}));
    let nothing = FieldSet::new();
    let mut thing = json!({"title": "x", "list": [{"key": "a"}, {"key": "a"}]});
    track_update(&things(&schema, &[], &nothing), None, &mut thing, "m", &time(0));
    assert!(owners(&thing).contains("f:title"), "{thing}");
}

#[test]
fn what_became_whole_is_owned_as_a_whole() {
    let (granular, atomic) = (thing_with_map("granular"), thing_with_map("atomic"));
    let nothing = FieldSet::new();
    let mut old = json!({"map": {"a": "1", "b": "1"}, "title": "x"});
    track_update(&things(&granular, &[], &nothing), None, &mut old, "m", &time(0));
    let mut new = old.clone();
    new["title"] = json!("y");
    track_update(&things(&atomic, &[], &nothing), Some(&old), &mut new, "n", &time(1));
    expect![[r#"
        m Update 2026-01-01T00:00:00Z {"f:map":{".":{},"f:a":{},"f:b":{}},"f:title":{}}
        m Update 2026-01-01T00:00:00Z {"f:map":{}}
        n Update 2026-01-01T00:00:01Z {"f:title":{}}
    "#]]
    .assert_eq(&format!("{}{}", owners(&old), owners(&new)));
}

#[test]
fn an_object_that_a_version_in_which_somebody_owns_fields_does_not_fit_is_not_tracked() {
    let thing = |fields: &[&str]| {
        let mut properties = json!({
            "metadata": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        });
        for field in fields {
            properties[field] = json!({"type": "string"});
        }
        read(&json!({"type": "object", "properties": properties}))
    };
    let (beta, now, nothing) = (thing(&["title", "old"]), thing(&["title"]), FieldSet::new());
    let versions: [(&str, &Schema); 2] = [("x.dev/v1", &now), ("x.dev/v1beta1", &beta)];
    let mut old = json!({"title": "x"});
    track_update(&things(&now, &versions, &nothing), None, &mut old, "m", &time(0));
    let endpoint = Endpoint { api_version: "x.dev/v1beta1", ..things(&beta, &versions, &nothing) };
    let update = |field: &str| {
        let mut new = old.clone();
        new[field] = json!("y");
        track_update(&endpoint, Some(&old), &mut new, "n", &time(1));
        owners(&new)
    };
    expect![[r#"
        n Update 2026-01-01T00:00:01Z {"f:title":{}}
    "#]]
    .assert_eq(&update("title"));
    assert_eq!(update("old"), "");
}

#[test]
fn who_owns_fields_in_a_version_that_is_gone_is_forgotten() {
    let schema = read(&json!({"type": "object"}));
    let nothing = FieldSet::new();
    let mut old = json!({"title": "x"});
    let before = Endpoint { api_version: "x.dev/v1beta1", ..things(&schema, &[], &nothing) };
    track_update(&before, None, &mut old, "m", &time(0));
    let update = |versions: &[(&str, &Schema)]| {
        let mut new = old.clone();
        new["other"] = json!("y");
        track_update(&things(&schema, versions, &nothing), Some(&old), &mut new, "n", &time(1));
        owners(&new)
    };
    expect![[r#"
        m Update 2026-01-01T00:00:00Z {"f:title":{}}
        n Update 2026-01-01T00:00:01Z {"f:other":{}}
    "#]]
    .assert_eq(&update(&[("x.dev/v1", &schema), ("x.dev/v1beta1", &schema)]));
    expect![[r#"
        n Update 2026-01-01T00:00:01Z {"f:other":{}}
    "#]]
    .assert_eq(&update(&[("x.dev/v1", &schema)]));
}
