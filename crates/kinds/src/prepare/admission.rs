//! The admission plugins that every API server runs.

use serde_json::{Map, Value, json};

use super::{Refusal, World};
use crate::{
    Resource,
    edit::{object_at, set_missing, text, text_at},
    fields::Fields,
};

const OTHER_OVERHEAD: &str =
    "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

/// What the plugins refuse of a new object that is complete and valid, as it was sent: the overhead
/// of a pod is that of its class.
pub fn admit_valid(resource: &Resource, object: &Value, world: &dyn World) -> Result<(), Refusal> {
    if resource.id() != ("", "Pod") {
        return Ok(());
    }
    let spec = object.part("spec");
    let class = spec.given_text("runtimeClassName").and_then(|name| world.runtime_class(name));
    let defined = class.as_ref().is_some_and(|class| class.part("overhead").has("podFixed"));
    if !defined && spec.has("overhead") {
        return Err(Refusal::Forbidden(
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Completes a new object as the plugins do that are on by default: `Priority`,
/// `DefaultTolerationSeconds`, `TaintNodesByCondition`, `RuntimeClass`,
/// `StorageObjectInUseProtection` and `DefaultStorageClass`.
///
/// COMPAT: `ServiceAccount`, `LimitRanger`, `ResourceQuota` and `DefaultIngressClass` do nothing
/// here: no pod needs an account, and nothing is limited.
pub fn admit_create(
    resource: &Resource,
    object: &mut Value,
    world: &dyn World,
) -> Result<(), Refusal> {
    match resource.id() {
        ("", "Pod") => {
            let Some(spec) = object_at(object, "/spec") else { return Ok(()) };
            tolerate_lost_nodes(spec);
            resolve_priority(spec, world)?;
            use_runtime_class(spec, world)?;
        }
        ("", "Node") => taint_not_ready(object),
        ("", "PersistentVolume") => protect(object, "kubernetes.io/pv-protection"),
        ("", "PersistentVolumeClaim") => {
            choose_storage_class(object, world);
            protect(object, "kubernetes.io/pvc-protection");
        }
        ("storage.k8s.io", "VolumeAttributesClass") => {
            protect(object, "kubernetes.io/vac-protection");
        }
        _ => {}
    }
    Ok(())
}

/// A pod stays five minutes on a node that is lost, unless it says something about it.
pub(super) fn tolerate_lost_nodes(spec: &mut Map<String, Value>) {
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    if tolerations.is_null() {
        *tolerations = json!([]);
    }
    let Some(tolerations) = tolerations.as_array_mut() else { return };
    let tolerated = |tolerations: &[Value], taint: &str| {
        tolerations.iter().any(|toleration| {
            let key = text_at(toleration, "/key");
            let effect = text_at(toleration, "/effect");
            (key.is_empty() || key == taint) && (effect.is_empty() || effect == "NoExecute")
        })
    };
    let missing: Vec<&str> = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]
        .into_iter()
        .filter(|taint| !tolerated(tolerations, taint))
        .collect();
    tolerations.extend(missing.into_iter().map(|taint| {
        json!({
            "key": taint,
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": 300,
        })
    }));
}

/// The class a pod names, or the default one, says how important it is.
fn resolve_priority(spec: &mut Map<String, Value>, world: &dyn World) -> Result<(), Refusal> {
    let name = text(spec, "priorityClassName").to_owned();
    let class = if name.is_empty() {
        world.default_priority_class()
    } else {
        let class = world.priority_class(&name);
        Some(class.ok_or_else(|| {
            Refusal::Forbidden(format!("no PriorityClass with name {name} was found"))
        })?)
    };
    let priority = class.as_ref().and_then(|class| class["value"].as_i64()).unwrap_or_default();
    let policy = match &class {
        Some(class) => class.get("preemptionPolicy").and_then(Value::as_str).map(str::to_owned),
        None => Some("PreemptLowerPriority".to_owned()),
    };
    if let Some(given) = spec.get("priority").and_then(Value::as_i64)
        && given != priority
    {
        return Err(Refusal::Forbidden(format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority \
             admission controller computed {priority} from the given PriorityClass name"
        )));
    }
    if let Some(class) = class.as_ref().filter(|_| name.is_empty()) {
        spec.insert("priorityClassName".to_owned(), class["metadata"]["name"].clone());
    }
    spec.insert("priority".to_owned(), priority.into());
    let Some(policy) = policy else { return Ok(()) };
    match text(spec, "preemptionPolicy") {
        given if given.is_empty() || given == policy => {}
        given => {
            return Err(Refusal::Forbidden(format!(
                "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; \
                 priority admission controller computed {policy} from the given PriorityClass name"
            )));
        }
    }
    spec.insert("preemptionPolicy".to_owned(), policy.into());
    Ok(())
}

/// The class that a pod runs with adds its overhead, and says on which nodes it can run.
fn use_runtime_class(spec: &mut Map<String, Value>, world: &dyn World) -> Result<(), Refusal> {
    let Some(name) = spec.get("runtimeClassName").and_then(Value::as_str) else { return Ok(()) };
    if name.is_empty() {
        return Err(Refusal::Failed("resource name may not be empty".to_owned()));
    }
    if name.contains('/') {
        return Err(Refusal::Failed(format!(
            "invalid resource name {name:?}: [may not contain '/']"
        )));
    }
    let Some(class) = world.runtime_class(name) else {
        return Err(Refusal::Forbidden(format!("pod rejected: RuntimeClass {name:?} not found")));
    };
    if let Some(overhead) = class.part("overhead").field("podFixed") {
        let given = spec.get("overhead").and_then(Value::as_object).filter(|map| !map.is_empty());
        if given.is_some_and(|given| Some(given) != overhead.as_object()) {
            return Err(Refusal::Forbidden(OTHER_OVERHEAD.to_owned()));
        }
        spec.insert("overhead".to_owned(), overhead.clone());
    }
    let scheduling = class.part("scheduling");
    for (key, value) in scheduling.entries("nodeSelector") {
        let selector = spec.entry("nodeSelector").or_insert_with(|| json!({}));
        match selector.given_text(key).filter(|given| *given != value) {
            Some(given) => {
                return Err(Refusal::Forbidden(format!(
                    "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {}; \
                     pod.spec.nodeSelector[{key}] = {given}",
                    value.as_str().unwrap_or_default()
                )));
            }
            None => selector[key] = value.clone(),
        }
    }
    for toleration in scheduling.list("tolerations") {
        let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
        if let Some(tolerations) =
            tolerations.as_array_mut().filter(|all| !all.contains(toleration))
        {
            tolerations.push(toleration.clone());
        }
    }
    Ok(())
}

/// No pod is placed on a node before it says that it is ready.
fn taint_not_ready(node: &mut Value) {
    let Some(spec) = object_at(node, "/spec") else { return };
    let taint = json!({ "key": "node.kubernetes.io/not-ready", "effect": "NoSchedule" });
    let taints = spec.entry("taints").or_insert_with(|| json!([]));
    let Some(taints) = taints.as_array_mut() else { return };
    let there =
        taints.iter().any(|one| one["key"] == taint["key"] && one["effect"] == taint["effect"]);
    if !there {
        taints.push(taint);
    }
}

/// What is in use is not deleted.
fn protect(object: &mut Value, finalizer: &str) {
    let Some(metadata) = object_at(object, "/metadata") else { return };
    let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
    if let Some(finalizers) = finalizers.as_array_mut()
        && !finalizers.iter().any(|one| one == finalizer)
    {
        finalizers.push(finalizer.into());
    }
}

fn choose_storage_class(claim: &mut Value, world: &dyn World) {
    let annotated =
        claim.pointer("/metadata/annotations/volume.beta.kubernetes.io~1storage-class").is_some();
    let Some(spec) = object_at(claim, "/spec") else { return };
    if !annotated
        && !spec.contains_key("storageClassName")
        && let Some(class) = world.default_storage_class()
    {
        set_missing(spec, "storageClassName", class);
    }
}
