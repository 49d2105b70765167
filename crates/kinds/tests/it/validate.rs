//! Rules. The cases are files: objects, and below each what kube-apiserver 1.36.3 said of it.
//! Errors about maps are sorted by key, as the server gives them in any order. Privileged containers
//! are allowed here, which that server was not told to do, and changes are checked as they are sent,
//! before anything is taken back from them.

use std::fmt::Write;

use expect_test::expect_file;
use joiner_kinds::{
    Resource, admit_create, as_sent, default, find_kind, normalize, normalize_sent, prepare_create,
    validate::{self, Change},
};
use joiner_schema::{FieldError, meta::validate_object_meta};
use serde_json::{Value, json};

use crate::world::Fixed;

fn resource(object: &Value) -> &'static Resource {
    let version = object["apiVersion"].as_str().expect("apiVersion");
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    find_kind(group, version, object["kind"].as_str().expect("kind")).expect("a known kind")
}

fn decoded(resource: &Resource, object: &Value) -> Value {
    let mut object = object.clone();
    normalize(resource, &mut object).expect("an object that can be decoded");
    default(resource, &mut object);
    object
}

fn created(object: &Value) -> (Vec<FieldError>, Vec<String>) {
    let resource = resource(object);
    let mut object = object.clone();
    let metadata = &mut object["metadata"];
    if metadata.get("name").is_none() {
        metadata["name"] = json!("probe");
    }
    metadata["uid"] = json!("u1");
    if resource.namespaced {
        metadata["namespace"] = json!("rules-probe");
    }
    let mut object = decoded(resource, &object);
    prepare_create(resource, &mut object, &Fixed);
    // What is not admitted is checked all the same.
    let _ = admit_create(resource, &mut object, &Fixed);
    let (group, kind) = (resource.group, resource.kind);
    let rule = validate::name_rule(group, kind);
    let metadata = &object["metadata"];
    let mut errors = validate_object_meta(metadata, resource.namespaced, rule, "metadata");
    errors.extend(validate::create(group, kind, &object));
    (errors, validate::warnings(group, kind, &object))
}

/// Objects are lines that start with a brace; all other lines are made anew.
fn cases(text: &str) -> impl Iterator<Item = (&str, Value)> {
    text.lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| (line, serde_json::from_str(line).expect("a line of JSON")))
}

fn check_created(text: &str) -> String {
    let mut result = String::new();
    for (line, object) in cases(text) {
        let (errors, warnings) = created(&object);
        writeln!(result, "{line}").expect("text grows");
        for error in &errors {
            writeln!(result, "- {error}").expect("text grows");
        }
        if errors.is_empty() {
            for warning in warnings {
                writeln!(result, "~ {warning}").expect("text grows");
            }
        }
        result.push('\n');
    }
    result
}

#[test]
fn pods() {
    let file = include_str!("rules/pods.txt");
    expect_file!["rules/pods.txt"].assert_eq(&check_created(file));
}

#[test]
fn workloads() {
    let file = include_str!("rules/workloads.txt");
    expect_file!["rules/workloads.txt"].assert_eq(&check_created(file));
}

#[test]
fn other_kinds() {
    let file = include_str!("rules/others.txt");
    expect_file!["rules/others.txt"].assert_eq(&check_created(file));
}

/// Changes are objects `{"subresource", "old", "new"}`, where `new` is merged into `old`.
#[test]
fn changes() {
    let file = include_str!("rules/changes.txt");
    let mut result = String::new();
    for (line, case) in cases(file) {
        let resource = resource(&case["old"]);
        let mut new = case["old"].clone();
        merge(&mut new, &case["new"]);
        let mut old = case["old"].clone();
        for object in [&mut new, &mut old] {
            object["metadata"]["resourceVersion"] = json!("1");
            object["metadata"]["uid"] = json!("u1");
        }
        let noticed = normalize_sent(resource, &mut new.clone()).expect("it can be decoded");
        let (new, old) = (decoded(resource, &new), decoded(resource, &old));
        let sent = as_sent(&new, &noticed.empty);
        let change = Change { new: &new, old: &old, sent: &sent };
        let subresource = case["subresource"].as_str();
        writeln!(result, "{line}").expect("text grows");
        for error in validate::update(resource, subresource, change) {
            writeln!(result, "- {error}").expect("text grows");
        }
        result.push('\n');
    }
    expect_file!["rules/changes.txt"].assert_eq(&result);
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            target.as_object_mut().expect("an object").remove(key);
        } else {
            merge(&mut target[key.as_str()], value);
        }
    }
}

/// Random JSON in the place of any part of a pod makes errors, never a panic.
#[test]
fn strange_parts_are_refused_calmly() {
    let strange = [json!(null), json!(true), json!(-1), json!("x"), json!([[]]), json!({"a": {}})];
    let pod = json!({"spec": {"containers": [{"name": "a", "image": "x", "env": [{}],
        "resources": {"requests": {"cpu": 1}}, "livenessProbe": {"exec": {}}}],
        "volumes": [{"name": "v", "projected": {"sources": [{}]}}], "affinity": {},
        "tolerations": [{}], "topologySpreadConstraints": [{}]}});
    let resource = find_kind("", "v1", "Pod").expect("pods are known");
    let mut places = Vec::new();
    pointers(&pod, String::new(), &mut places);
    for place in &places {
        for part in &strange {
            let mut broken = pod.clone();
            *broken.pointer_mut(place).expect("a place of the pod") = part.clone();
            let _ = validate::create("", "Pod", &broken);
            let change = Change { new: &broken, old: &pod, sent: &broken };
            let _ = validate::update(resource, None, change);
            let _ = validate::warnings("", "Pod", &broken);
        }
    }
    assert!(places.len() > 20);
}

fn pointers(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                pointers(value, format!("{at}/{}", key.replace('/', "~1")), found);
            }
        }
        Value::Array(entries) => {
            for (index, value) in entries.iter().enumerate() {
                pointers(value, format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
    found.push(at);
}
