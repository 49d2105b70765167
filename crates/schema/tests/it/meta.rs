//! The rules of `metadata`, in the API server's words.

use joiner_schema::{
    meta::{validate_changed_object_meta, validate_object_meta, validate_object_meta_update},
    names::NameRule,
};
use serde_json::json;

use crate::texts;

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
    characters, '-' or '.', and must start and end with an alphanumeric character (e.g. \
    'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const KEY: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and \
    end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used \
    for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

#[test]
fn created_objects() {
    let name = |name: &str| format!("metadata.name: Invalid value: \"{name}\": {SUBDOMAIN}");
    let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "1",
        "controller": true});
    let cases = [
        (json!({"name": "a"}), vec![]),
        (json!({"name": "A_b"}), vec![name("A_b")]),
        (json!({"name": "a..b"}), vec![name("a..b")]),
        (json!({}), vec!["metadata.name: Required value: name or generateName is required".into()]),
        (
            json!({"name": "a", "generateName": "-X"}),
            vec![format!("metadata.generateName: Invalid value: \"-X\": {SUBDOMAIN}")],
        ),
        (json!({"name": "abc", "generateName": "abc-"}), vec![]),
        (
            json!({"name": "a", "namespace": "x"}),
            vec!["metadata.namespace: Forbidden: not allowed on this type".into()],
        ),
        (
            json!({"name": "a", "labels": {"a b": "v", "/a": "b", "k": "v".repeat(64)}}),
            vec![
                "metadata.labels: Invalid value: \"/a\": prefix part must be non-empty".into(),
                format!("metadata.labels: Invalid value: \"a b\": name part {KEY}"),
                format!(
                    "metadata.labels: Invalid value: \"{}\": must be no more than 63 bytes",
                    "v".repeat(64)
                ),
            ],
        ),
        (
            json!({"name": "a", "annotations": {"ok/A": "x".repeat(270_000)}}),
            vec!["metadata.annotations: Too long: may not be more than 262144 bytes".into()],
        ),
        (
            json!({"name": "a", "ownerReferences": [owner, owner]}),
            vec![
                concat!(
                    "metadata.ownerReferences: Invalid value: [{\"apiVersion\":\"v1\",",
                    "\"kind\":\"Pod\",\"name\":\"x\",\"uid\":\"1\",\"controller\":true},",
                    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"x\",\"uid\":\"1\",",
                    "\"controller\":true}]: Only one reference can have Controller set to true. ",
                    "Found \"true\" in references for Pod/x and Pod/x",
                )
                .into(),
            ],
        ),
        (
            json!({"name": "a", "finalizers": ["orphan", "foregroundDeletion"]}),
            vec![
                "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: \
                 finalizer orphan and foregroundDeletion cannot be both set"
                    .into(),
            ],
        ),
    ];
    for (metadata, expected) in cases {
        let errors = validate_object_meta(&metadata, false, NameRule::DnsSubdomain, "metadata");
        assert_eq!(texts(&errors), expected, "{metadata}");
    }
}

#[test]
fn updated_objects() {
    let old = json!({"name": "a", "uid": "1", "resourceVersion": "5", "generation": 2,
        "creationTimestamp": "2020-01-01T00:00:00Z", "deletionTimestamp": "2020-01-01T00:00:00Z",
        "finalizers": ["x/y"]});
    let new = json!({"name": "b", "uid": "2", "generation": 1, "finalizers": ["x/y", "x/z"],
        "deletionTimestamp": "2020-01-01T00:00:00Z"});
    assert_eq!(
        texts(&validate_object_meta_update(&new, &old, "metadata")),
        [
            "metadata.creationTimestamp: Invalid value: null: field is immutable",
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being \
             deleted, found new finalizers []string{\"x/z\"}",
            "metadata.generation: Invalid value: 1: must not be decremented",
            "metadata.name: Invalid value: \"b\": field is immutable",
            "metadata.resourceVersion: Invalid value: \"\": must be specified for an update",
            "metadata.uid: Invalid value: \"2\": field is immutable",
        ]
    );
    assert_eq!(texts(&validate_object_meta_update(&old, &old, "metadata")), [] as [String; 0]);
}

#[test]
fn what_is_as_it_is_stored_is_not_looked_at_again() {
    let stored = json!({"name": "A", "resourceVersion": "5", "labels": {"-": ""},
        "managedFields": [{"operation": "None"}]});
    let again =
        |new| validate_changed_object_meta(new, &stored, false, NameRule::DnsSubdomain, "m");
    let none: [String; 0] = [];
    assert_eq!(texts(&again(&stored)), none);
    assert_eq!(texts(&validate_object_meta_update(&stored, &stored, "m")), none);

    let mut new = stored.clone();
    new["labels"] = json!({"-": "", "a": "b"});
    let expected = [format!("m.labels: Invalid value: \"-\": name part {KEY}")];
    assert_eq!(texts(&again(&new)), expected);
    assert_eq!(texts(&validate_object_meta_update(&new, &stored, "m")), expected);
}
