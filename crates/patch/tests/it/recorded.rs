//! Histories of objects as a kube-apiserver 1.36.3 wrote them: creates, patches and applies by
//! several managers, one after the other, through the object's endpoint and that of its status.

use std::sync::LazyLock;

use joiner_patch::{
    Endpoint, FieldSet, PatchError, apply, keep_timestamps, merge_patch, strategic_merge,
    track_update,
};
use serde_json::{Map, Value, json};

use crate::support::{WIDGET, deployments};

static STATUS: LazyLock<FieldSet> = LazyLock::new(|| FieldSet::of_fields([&["status"][..]]));
static ALL_BUT_STATUS: LazyLock<FieldSet> =
    LazyLock::new(|| FieldSet::of_fields([&["spec"][..], &["metadata"]]));

#[test]
fn custom_resources_are_written_as_recorded() {
    replay(include_str!("recorded/widgets.json"), |subresource| Endpoint {
        schema: &WIDGET,
        kind: "Widget",
        api_version: "probe.patch.dev/v1",
        versions: &[],
        subresource,
        reset_fields: if subresource.is_empty() { &STATUS } else { &ALL_BUT_STATUS },
        custom: true,
        empty: None,
    });
}

#[test]
fn deployments_are_written_as_recorded() {
    replay(include_str!("recorded/deployments.json"), deployments);
}

/// Writes every step of every history again and shows what ends differently.
fn replay(histories: &str, endpoint: impl Fn(&'static str) -> Endpoint<'static>) {
    let histories: Vec<Vec<Value>> = serde_json::from_str(histories).expect("the file is JSON");
    let mut failures = Vec::new();
    for (index, history) in histories.iter().enumerate() {
        let mut live = None;
        for (number, step) in history.iter().enumerate() {
            let status = step["subresource"] == json!("status");
            let endpoint = endpoint(if status { "status" } else { "" });
            if let Err(difference) = check(&endpoint, live, step) {
                failures.push(format!("object {index}, step {number}: {difference}\n{step}"));
            }
            live = step.get("result").or(live);
        }
    }
    assert!(failures.is_empty(), "{} differ\n{}", failures.len(), failures.join("\n\n"));
}

fn check(endpoint: &Endpoint<'_>, live: Option<&Value>, step: &Value) -> Result<(), String> {
    let expected = step.get("result");
    let mut object = match write(endpoint, live, step) {
        Err(error) => return check_error(&error, step),
        Ok(object) => object,
    };
    let Some(expected) = expected else {
        // Refused by validation, which comes after this crate.
        return if step["code"] == json!(422) { Ok(()) } else { Err("not refused".to_owned()) };
    };
    if let Some(live) = live {
        keep_timestamps(live, &mut object, endpoint.custom);
    }
    let managed = |object: &Value| object["metadata"]["managedFields"].clone();
    let (found, wanted) = (managed(&object), managed(expected));
    if found != wanted {
        return Err(format!("\n{found}\nexpected\n{wanted}"));
    }
    if endpoint.subresource.is_empty() {
        let (found, wanted) = (finished(&object), finished(expected));
        for part in ["spec", "metadata"] {
            if found[part] != wanted[part] {
                return Err(format!("\n{}\nexpected\n{}", found[part], wanted[part]));
            }
        }
    }
    Ok(())
}

/// Does what the step says.
fn write(endpoint: &Endpoint<'_>, live: Option<&Value>, step: &Value) -> Result<Value, PatchError> {
    let text = |name: &str| step[name].as_str().unwrap_or_default();
    let (manager, body, time) = (text("manager"), &step["body"], time_of(step));
    let existing = || live.expect("only objects that exist are patched");
    let mut new = match text("verb") {
        "apply" => {
            let force = step["force"] == json!(true);
            let applied = apply(endpoint, live, body, manager, force, &time)?;
            return Ok(applied.object);
        }
        "create" => step["result"].clone(),
        "update" => merge_patch(existing(), body)?,
        _ => strategic_merge(existing(), body, endpoint.schema)?,
    };
    // The object is tracked as the API server reads it, with defaults and without what is unknown.
    let mut tracked = step.get("result").unwrap_or(&new).clone();
    if let Some(live) = live {
        tracked["metadata"]["managedFields"] = live["metadata"]["managedFields"].clone();
    } else {
        tracked["metadata"]["managedFields"] = Value::Null;
    }
    track_update(endpoint, live, &mut tracked, manager, &time);
    new["metadata"]["managedFields"] = tracked["metadata"]["managedFields"].take();
    Ok(new)
}

fn check_error(error: &PatchError, step: &Value) -> Result<(), String> {
    let causes = error.causes.iter().map(
        |cause| json!({"reason": cause.reason, "message": cause.message, "field": cause.field}),
    );
    let status = &step["status"];
    let expected_causes = status["causes"].as_array().cloned().unwrap_or_default();
    let found = (json!(error.code), json!(error.message), sorted(causes.collect()));
    let expected = (step["code"].clone(), status["message"].clone(), sorted(expected_causes));
    if found == expected { Ok(()) } else { Err(format!("{found:?}\nexpected\n{expected:?}")) }
}

/// When the write happened, by the times that it left; those of earlier writes are not later.
fn time_of(step: &Value) -> String {
    let entries = step["result"]["metadata"]["managedFields"].as_array();
    let times = entries.into_iter().flatten().filter_map(|entry| entry["time"].as_str());
    times.max().unwrap_or_default().to_owned()
}

/// The object after what the API server does to it outside of this crate, as far as the recorded
/// objects need it: some defaults, and nothing that is unknown, `null` or empty.
fn finished(object: &Value) -> Value {
    let mut object = object.clone();
    let ports = object.pointer_mut("/spec/ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
        port.entry("protocol").or_insert_with(|| json!("TCP"));
    }
    if let Some(Value::Object(known)) = object.pointer_mut("/spec/free/known") {
        known.retain(|name, _| name == "a");
    }
    if object["kind"] == json!("Deployment")
        && let Some(Value::Object(spec)) = object.get_mut("spec")
    {
        let rolling = json!({"maxSurge": "25%", "maxUnavailable": "25%"});
        spec.entry("replicas").or_insert(json!(1));
        let strategy = spec.entry("strategy").or_insert(Value::Null);
        if is_empty(strategy) {
            *strategy = json!({"type": "RollingUpdate", "rollingUpdate": rolling});
        }
    }
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
    }
    printed(&object)
}

fn printed(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), printed(value)));
            let kept = fields.filter(|(name, value)| !is_empty(value) && !name.starts_with('$'));
            Value::Object(kept.collect::<Map<_, _>>())
        }
        Value::Array(entries) => Value::Array(entries.iter().map(printed).collect()),
        other => other.clone(),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(entries) => entries.is_empty(),
        _ => false,
    }
}

fn sorted(mut causes: Vec<Value>) -> Vec<String> {
    causes.sort_by_key(Value::to_string);
    causes.iter().map(Value::to_string).collect()
}
