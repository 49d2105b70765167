//! Writes of custom resources as a kube-apiserver 1.36.3 answered them: applies and patches by
//! several managers, one after the other, through the object's endpoint and that of its status.

use std::sync::LazyLock;

use joiner_patch::{Endpoint, FieldSet, apply, keep_timestamps, merge_patch, track_update};
use serde_json::{Value, json};

use crate::support::WIDGET;

static STATUS: LazyLock<FieldSet> = LazyLock::new(|| FieldSet::of_fields([&["status"][..]]));
static ALL_BUT_STATUS: LazyLock<FieldSet> =
    LazyLock::new(|| FieldSet::of_fields([&["spec"][..], &["metadata"]]));

#[test]
fn writes_of_custom_resources_end_as_recorded() {
    let steps: Vec<Value> =
        serde_json::from_str(include_str!("widgets.json")).expect("the file is JSON");
    let failures: Vec<String> = steps
        .iter()
        .enumerate()
        .filter_map(|(index, step)| Some(format!("step {index}: {}", check(step)?)))
        .collect();
    assert!(failures.is_empty(), "{} differ\n{}", failures.len(), failures.join("\n"));
}

fn check(step: &Value) -> Option<String> {
    let text = |name: &str| step[name].as_str().unwrap_or_default();
    let subresource = text("subresource");
    let endpoint = Endpoint {
        schema: &WIDGET,
        kind: "Widget",
        api_version: "probe.patch.dev/v1",
        versions: &["probe.patch.dev/v1"],
        subresource,
        reset_fields: if subresource.is_empty() { &STATUS } else { &ALL_BUT_STATUS },
        custom: true,
    };
    let live = Some(&step["live"]).filter(|live| !live.is_null());
    let time = time_of(step);
    let outcome = if text("verb") == "apply" {
        let force = step["force"] == json!(true);
        apply(&endpoint, live, &step["body"], text("manager"), force, &time).map(|a| a.object)
    } else {
        let live = live.expect("only objects that exist are updated");
        let mut new = if subresource.is_empty() {
            step["result"].clone()
        } else {
            merge_patch(live, &step["body"]).expect("the patch is an object")
        };
        new["metadata"]["managedFields"] = live["metadata"]["managedFields"].clone();
        track_update(&endpoint, Some(live), &mut new, text("manager"), &time);
        Ok(new)
    };
    match outcome {
        Err(error) => {
            let causes: Vec<Value> = error
                .causes
                .iter()
                .map(|c| json!({"reason": c.reason, "message": c.message, "field": c.field}))
                .collect();
            let (code, causes) = (json!(error.code), sorted(causes));
            let expected_causes = step["status"]["causes"].as_array().cloned();
            let expected = (
                step["code"].clone(),
                text_of(&step["status"]["message"]),
                sorted(expected_causes.unwrap_or_default()),
            );
            let found = (code, error.message, causes);
            (found != expected).then(|| format!("{found:?}\nexpected {expected:?}"))
        }
        Ok(mut object) => {
            let expected = &step["result"];
            if expected.is_null() {
                // Refused by something that comes after this crate.
                return (step["code"] != json!(422)).then(|| "not refused".to_owned());
            }
            if let Some(live) = live {
                keep_timestamps(live, &mut object, true);
            }
            let managed = |object: &Value| object["metadata"]["managedFields"].clone();
            if managed(&object) != managed(expected) {
                return Some(format!(
                    "{}\n{}\nexpected\n{}\nlive {}\nbody {}",
                    text("verb"),
                    managed(&object),
                    managed(expected),
                    step["live"],
                    step["body"]
                ));
            }
            if text("verb") == "apply" && subresource.is_empty() {
                finish(&mut object);
                if object["spec"] != expected["spec"] {
                    return Some(format!(
                        "{}\nexpected\n{}\nlive {}\nbody {}",
                        object["spec"], expected["spec"], step["live"], step["body"]
                    ));
                }
            }
            None
        }
    }
}

/// When the write happened, by the times that it left; those of `live` are older or the same.
fn time_of(step: &Value) -> String {
    let entries = step["result"]["metadata"]["managedFields"].as_array();
    let times = entries.into_iter().flatten().filter_map(|entry| entry["time"].as_str());
    times.max().unwrap_or_default().to_owned()
}

/// What the API server does to an object after it was applied: defaults, and nothing unknown.
fn finish(object: &mut Value) {
    let ports = object.pointer_mut("/spec/ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        port.entry("protocol").or_insert_with(|| json!("TCP"));
    }
    if let Some(Value::Object(known)) = object.pointer_mut("/spec/free/known") {
        known.retain(|name, _| name == "a");
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn sorted(mut causes: Vec<Value>) -> Vec<String> {
    causes.sort_by_key(Value::to_string);
    causes.iter().map(Value::to_string).collect()
}
