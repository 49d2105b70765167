//! What the server writes into pods.

use std::collections::BTreeMap;

use joiner_core::quantity::Quantity;
use serde_json::{Map, Value, json};

use super::{
    SETTLED_METADATA, World, admission::tolerate_lost_nodes, copy, raise_generation, stamp, status,
};
use crate::edit::{entries, object_at, object_in, text_at};

/// `given` is the status that the client sent: a quality of service in it stays.
pub(super) fn create(pod: &mut Value, given: &Value, world: &dyn World) {
    let quality = match text_at(given, "/qosClass") {
        "" => quality_of_service(pod),
        given => given,
    };
    let gated = pod
        .pointer("/spec/schedulingGates")
        .and_then(Value::as_array)
        .is_some_and(|gates| !gates.is_empty());
    if let Some(status) = status(pod) {
        status.insert("phase".to_owned(), "Pending".into());
        status.insert("qosClass".to_owned(), quality.into());
        if gated {
            let condition = json!({
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
                "lastProbeTime": null,
                "lastTransitionTime": stamp(world.now()),
            });
            status.insert("conditions".to_owned(), json!([condition]));
        }
    }
    select_by_label_keys(pod);
}

/// How many seconds a pod that is deleted may take to end: as asked, or as its spec says; none if it
/// runs nowhere or has ended.
pub fn grace_period(pod: &Value, asked: Option<i64>) -> i64 {
    let ended = matches!(text_at(pod, "/status/phase"), "Failed" | "Succeeded");
    if ended || text_at(pod, "/spec/nodeName").is_empty() {
        return 0;
    }
    let specified = pod.pointer("/spec/terminationGracePeriodSeconds").and_then(Value::as_i64);
    match asked.or(specified).unwrap_or_default() {
        ..0 => 1,
        seconds => seconds,
    }
}

/// How sure a pod may be of its resources.
fn quality_of_service(pod: &Value) -> &'static str {
    let mut requests = BTreeMap::new();
    let mut limits = BTreeMap::new();
    let mut guaranteed = true;
    let mut look_at = |resources: &Value, whole_pod: bool| {
        add(&mut requests, &resources["requests"]);
        let limited = add(&mut limits, &resources["limits"]);
        let given = resources["limits"].as_object().is_some_and(|limits| !limits.is_empty());
        guaranteed &= limited == 2 || whole_pod && !given;
    };
    match pod.pointer("/spec/resources") {
        Some(resources) => look_at(resources, true),
        None => {
            for field in ["/spec/containers", "/spec/initContainers"] {
                let containers = pod.pointer(field).and_then(Value::as_array);
                for container in containers.into_iter().flatten() {
                    look_at(&container["resources"], false);
                }
            }
        }
    }
    if requests.is_empty() && limits.is_empty() {
        "BestEffort"
    } else if guaranteed && requests == limits {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

/// Adds amounts of processor and memory that are not zero; returns how many there were.
fn add(sums: &mut BTreeMap<&'static str, Quantity>, amounts: &Value) -> usize {
    let mut count = 0;
    for name in ["cpu", "memory"] {
        let amount = amounts.get(name).and_then(Value::as_str);
        let amount = amount.and_then(|text| text.parse::<Quantity>().ok());
        if let Some(amount) = amount.filter(|amount| *amount > Quantity::ZERO) {
            let sum = sums.entry(name).or_insert(Quantity::ZERO);
            *sum = *sum + amount;
            count += 1;
        }
    }
    count
}

/// Affinity and spread may select "pods with my value of this label"; the value is filled in.
fn select_by_label_keys(pod: &mut Value) {
    let labels = pod.pointer("/metadata/labels").cloned().unwrap_or_default();
    let Some(spec) = object_at(pod, "/spec") else { return };
    for constraint in entries(spec, "topologySpreadConstraints") {
        select(constraint, &labels);
    }
    let Some(affinity) = object_in(spec, "affinity") else { return };
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(affinity) = object_in(affinity, kind) else { continue };
        for preferred in entries(affinity, "preferredDuringSchedulingIgnoredDuringExecution") {
            if let Some(term) = object_in(preferred, "podAffinityTerm") {
                select(term, &labels);
            }
        }
        for term in entries(affinity, "requiredDuringSchedulingIgnoredDuringExecution") {
            select(term, &labels);
        }
    }
}

fn select(term: &mut Map<String, Value>, labels: &Value) {
    let mut expressions = Vec::new();
    for (field, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        let keys = term.get(field).and_then(Value::as_array);
        for key in keys.into_iter().flatten().filter_map(Value::as_str) {
            if let Some(value) = labels.get(key) {
                expressions.push(json!({ "key": key, "operator": operator, "values": [value] }));
            }
        }
    }
    if let Some(selector) = object_in(term, "labelSelector")
        && !expressions.is_empty()
    {
        let all = selector.entry("matchExpressions").or_insert_with(|| json!([]));
        if let Some(all) = all.as_array_mut() {
            all.append(&mut expressions);
        }
    }
}

/// What admission settled on creation stays when a client leaves it out.
pub(super) fn update(new: &mut Value, old: &Value) {
    for field in ["priority", "preemptionPolicy"] {
        let missing = new.pointer("/spec").is_some_and(|spec| spec.get(field).is_none());
        if missing {
            copy(new, old, "/spec", field);
        }
    }
    if let Some(spec) = object_at(new, "/spec") {
        tolerate_lost_nodes(spec);
    }
}

pub(super) fn update_status(new: &mut Value, old: &Value) {
    if text_at(new, "/status/qosClass").is_empty() {
        copy(new, old, "/status", "qosClass");
    }
    if new.pointer("/status/observedGeneration").is_none() {
        copy(new, old, "/status", "observedGeneration");
    }
    let mut generations: Vec<(&Value, &Value)> = Vec::new();
    let conditions = old.pointer("/status/conditions").and_then(Value::as_array);
    for condition in conditions.into_iter().flatten() {
        if let Some(generation) = condition.get("observedGeneration") {
            generations.push((&condition["type"], generation));
        }
    }
    let Some(status) = status(new) else { return };
    for condition in entries(status, "conditions") {
        let kind = condition.get("type").cloned().unwrap_or_default();
        let known = generations.iter().position(|(of, _)| **of == kind);
        if let Some((_, generation)) = known.map(|at| generations.remove(at))
            && !condition.contains_key("observedGeneration")
        {
            condition.insert("observedGeneration".to_owned(), generation.clone());
        }
    }
}

/// Only the debugging containers change.
pub(super) fn update_ephemeral_containers(new: &mut Value, old: &Value) {
    let containers = new.pointer("/spec/ephemeralContainers").cloned();
    keep_all_but_spec(new, old);
    copy(new, old, "", "spec");
    if let Some(spec) = object_at(new, "/spec") {
        match containers {
            Some(containers) => spec.insert("ephemeralContainers".to_owned(), containers),
            None => spec.remove("ephemeralContainers"),
        };
    }
    raise_if_changed(new, old);
}

/// Only resources of containers change. A request that adds, drops or renames containers is left as
/// it is, for validation to refuse.
pub(super) fn update_resources(new: &mut Value, old: &Value) {
    const LISTS: [&str; 2] = ["containers", "initContainers"];
    let names = |pod: &Value, list: &str| -> Vec<String> {
        let containers = pod.pointer("/spec").and_then(|spec| spec.get(list));
        let containers = containers.and_then(Value::as_array);
        containers.into_iter().flatten().map(|one| text_at(one, "/name").to_owned()).collect()
    };
    if LISTS.iter().any(|list| names(new, list) != names(old, list)) {
        raise_if_changed(new, old);
        return;
    }
    let wished = new.pointer("/spec").cloned().unwrap_or_default();
    keep_all_but_spec(new, old);
    copy(new, old, "", "spec");
    let Some(spec) = object_at(new, "/spec") else { return };
    if let Some(resources) = wished.get("resources") {
        spec.insert("resources".to_owned(), resources.clone());
    }
    for list in LISTS {
        let wished = wished.get(list).and_then(Value::as_array).into_iter().flatten();
        for (container, wish) in entries(spec, list).zip(wished) {
            for field in ["resources", "resizePolicy"] {
                match wish.get(field) {
                    Some(value) => container.insert(field.to_owned(), value.clone()),
                    None => container.remove(field),
                };
            }
        }
    }
    raise_if_changed(new, old);
}

fn keep_all_but_spec(new: &mut Value, old: &Value) {
    copy(new, old, "", "status");
    for field in SETTLED_METADATA {
        copy(new, old, "/metadata", field);
    }
}

fn raise_if_changed(new: &mut Value, old: &Value) {
    if new["spec"] != old["spec"] {
        raise_generation(new, old);
    }
}
