//! What the server writes into the other kinds.

use serde_json::{Map, Value, json};

use super::{World, copy, stamp, status};
use crate::edit::{entries, object_at, set_missing, text_at};

/// A namespace stays until its contents are gone.
pub(super) fn create_namespace(namespace: &mut Value) {
    if let Some(status) = status(namespace) {
        status.insert("phase".to_owned(), "Active".into());
    }
    let name = text_at(namespace, "/metadata/name").to_owned();
    if let Some(metadata) = object_at(namespace, "/metadata") {
        let labels = metadata.entry("labels").or_insert_with(|| json!({}));
        labels["kubernetes.io/metadata.name"] = name.into();
    }
    let Some(spec) = object_at(namespace, "/spec") else { return };
    let finalizers = spec.entry("finalizers").or_insert_with(|| json!([]));
    if let Some(finalizers) = finalizers.as_array_mut()
        && !finalizers.iter().any(|one| one == "kubernetes")
    {
        finalizers.push("kubernetes".into());
    }
}

pub(super) fn create_volume(volume: &mut Value, world: &dyn World) {
    if let Some(status) = status(volume) {
        status.insert("phase".to_owned(), "Pending".into());
        status.insert("lastPhaseTransitionTime".to_owned(), stamp(world.now()));
    }
}

/// Notes when the phase of a volume changed, unless the client does.
pub(super) fn stamp_phase(new: &mut Value, old: &Value, world: &dyn World) {
    const TIME: &str = "lastPhaseTransitionTime";
    let time = |volume: &Value| volume.pointer("/status").and_then(|s| s.get(TIME)).cloned();
    let same_phase = text_at(new, "/status/phase") == text_at(old, "/status/phase");
    if same_phase && time(new).is_none() {
        copy(new, old, "/status", TIME);
    } else if !same_phase
        && (time(new).is_none() || time(new) == time(old))
        && let Some(status) = status(new)
    {
        status.insert(TIME.to_owned(), stamp(world.now()));
    }
}

pub(super) fn create_claim(claim: &mut Value) {
    if let Some(status) = status(claim) {
        status.insert("phase".to_owned(), "Pending".into());
    }
    settle_data_sources(claim, None);
}

/// `dataSource` and `dataSourceRef` say the same. The older field means claims and snapshots only,
/// and is dropped if it says something else, unless the claim had a source before.
pub(super) fn settle_data_sources(claim: &mut Value, old: Option<&Value>) {
    const FIELDS: [&str; 2] = ["dataSource", "dataSourceRef"];
    let before = old.and_then(|old| old.get("spec"));
    let had_one = before.is_some_and(|spec| FIELDS.iter().any(|field| spec.get(field).is_some()));
    let Some(spec) = object_at(claim, "/spec") else { return };
    // Sources in other namespaces are a feature that is off by default.
    if spec.get("dataSourceRef").is_some_and(|from| !text_at(from, "/namespace").is_empty()) {
        spec.remove("dataSourceRef");
    }
    let [source, reference] = FIELDS.map(|field| spec.get(field).cloned());
    match (source, reference) {
        (Some(source), None) if had_one || is_claim_or_snapshot(&source) => {
            spec.insert("dataSourceRef".to_owned(), source);
        }
        (Some(_), None) => {
            spec.remove("dataSource");
        }
        (None, Some(mut source)) => {
            if source.get("apiGroup").is_none() {
                source["apiGroup"] = Value::Null;
            }
            spec.insert("dataSource".to_owned(), source);
        }
        _ => {}
    }
}

fn is_claim_or_snapshot(source: &Value) -> bool {
    matches!(
        (text_at(source, "/apiGroup"), text_at(source, "/kind")),
        ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
    )
}

/// Of the secrets of an account only the names count.
pub(super) fn name_secrets_only(account: &mut Value) {
    let Some(account) = account.as_object_mut() else { return };
    for secret in entries(account, "secrets") {
        secret.retain(|field, _| field == "name");
    }
}

/// Who asks for a certificate is what the server knows, not what the request says.
pub(super) fn create_csr(request: &mut Value, world: &dyn World) {
    let user = world.user();
    let Some(spec) = object_at(request, "/spec") else { return };
    for field in ["username", "uid", "groups", "extra"] {
        spec.remove(field);
    }
    for (field, value) in [("username", user.name), ("uid", user.uid)] {
        if !value.is_empty() {
            spec.insert(field.to_owned(), value.into());
        }
    }
    if !user.groups.is_empty() {
        spec.insert("groups".to_owned(), user.groups.into());
    }
}

pub(super) fn update_csr_status(new: &mut Value, old: &Value, world: &dyn World) {
    for decision in ["Approved", "Denied"] {
        keep_conditions(new, old, decision);
    }
    stamp_conditions(new, old, world);
}

pub(super) fn approve_csr(new: &mut Value, old: &Value, world: &dyn World) {
    stamp_conditions(new, old, world);
    let conditions = new.pointer("/status/conditions").cloned();
    copy(new, old, "", "spec");
    copy(new, old, "", "status");
    if let Some(status) = status(new) {
        match conditions {
            Some(conditions) => status.insert("conditions".to_owned(), conditions),
            None => status.remove("conditions"),
        };
    }
}

/// Decisions are not made through the status endpoint: they stay as they are.
fn keep_conditions(new: &mut Value, old: &Value, kind: &str) {
    let decided = |request: &Value| -> Vec<Value> {
        let conditions = request.pointer("/status/conditions").and_then(Value::as_array);
        let of_kind = |one: &&Value| one["type"] == kind;
        conditions.into_iter().flatten().filter(of_kind).cloned().collect()
    };
    let (before, after) = (decided(old), decided(new));
    if before.len() != after.len() {
        return;
    }
    let Some(status) = status(new) else { return };
    let kept = entries(status, "conditions").filter(|one| one["type"] == kind);
    for (condition, old) in kept.zip(before) {
        if let Value::Object(old) = old {
            *condition = old;
        }
    }
}

fn stamp_conditions(new: &mut Value, old: &Value, world: &dyn World) {
    let before: Vec<Value> =
        old.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let now = stamp(world.now());
    let Some(status) = status(new) else { return };
    let blank = |condition: &Map<String, Value>, field: &str| {
        condition.get(field).is_none_or(Value::is_null)
    };
    for condition in entries(status, "conditions") {
        if blank(condition, "lastUpdateTime") {
            condition.insert("lastUpdateTime".to_owned(), now.clone());
        }
        if blank(condition, "lastTransitionTime") {
            let same = before.iter().find(|one| {
                Some(&one["type"]) == condition.get("type")
                    && Some(&one["status"]) == condition.get("status")
            });
            let known = same.map(|one| one["lastTransitionTime"].clone());
            let time = known.filter(|time| !time.is_null()).unwrap_or_else(|| now.clone());
            condition.insert("lastTransitionTime".to_owned(), time);
        }
    }
}

/// Remembers that objects may be stored in the version that is stored now.
pub(super) fn add_stored_version(definition: &mut Value) {
    let Some(spec) = object_at(definition, "/spec") else { return };
    let stored = entries(spec, "versions")
        .find(|version| version.get("storage") == Some(&Value::Bool(true)))
        .and_then(|version| version.get("name").cloned());
    let (Some(stored), Some(status)) = (stored, status(definition)) else { return };
    if status.get("storedVersions").is_none_or(Value::is_null) {
        status.insert("storedVersions".to_owned(), json!([]));
    }
    if let Some(versions) = status.get_mut("storedVersions").and_then(Value::as_array_mut)
        && !versions.contains(&stored)
    {
        versions.push(stored);
    }
}

/// An API that the server has itself is there at once.
pub(super) fn create_api_service(service: &mut Value, world: &dyn World) {
    let local = service.pointer("/spec/service").is_none_or(Value::is_null);
    if let Some(status) = status(service).filter(|_| local) {
        let condition = json!({
            "type": "Available",
            "status": "True",
            "lastTransitionTime": stamp(world.now()),
            "reason": "Local",
            "message": "Local APIServices are always available",
        });
        status.insert("conditions".to_owned(), json!([condition]));
    }
}

/// A taint of a device says since when.
pub(super) fn stamp_taints(slice: &mut Value, world: &dyn World) {
    let Some(spec) = object_at(slice, "/spec") else { return };
    for device in entries(spec, "devices") {
        for taint in entries(device, "taints") {
            set_missing(taint, "timeAdded", stamp(world.now()));
        }
    }
}
