//! What may change in a pod once it is there.

use serde_json::{Map, Value};

use super::{MIRROR, annotations, annotations_and_spec, containers, scheduling};
use crate::{
    fields::{Fields, same},
    validate::{
        diff,
        errors::{Errors, Path},
        formats,
        resources::quantity,
    },
};

/// An update of a pod's spec.
pub(in crate::validate) fn update(errors: &mut Errors, new: &Value, old: &Value, sent: &Value) {
    annotations_and_spec(errors, new);
    annotation_changes(errors, new, old);
    let (path, spec, before) = (Path::new("spec"), new.part("spec"), old.part("spec"));
    for field in ["containers", "initContainers"] {
        let at = path.child(field);
        let containers = spec.list(field);
        if containers.len() != before.list(field).len() {
            errors.forbidden(&at, "pod updates may not add or remove containers");
            return;
        }
        for (index, container) in containers.iter().enumerate() {
            let at = at.index(index);
            if container.text("image").is_empty() {
                errors.required(&at.child("image"), "");
            }
            containers::image_is_trimmed(errors, &at, container);
        }
    }
    if !deadline(errors, &path.child("activeDeadlineSeconds"), spec, before) {
        return;
    }
    added_tolerations(errors, &path.child("tolerations"), spec, before);
    removed_gates(errors, &path.child("schedulingGates"), spec, before);
    if !same(spec, before) {
        unchanged_otherwise(errors, &path, spec, before, sent.part("spec"));
    }
}

/// Annotations that cannot be added, changed or removed.
pub(super) fn annotation_changes(errors: &mut Errors, new: &Value, old: &Value) {
    const APPARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
    let path = Path::new("metadata.annotations");
    let (metadata, before) = (new.part("metadata"), old.part("metadata"));
    let (now, then) = (metadata.part("annotations"), before.part("annotations"));
    for (key, value) in before.entries("annotations") {
        if now.field(key) == Some(value) {
            continue;
        }
        if key.starts_with(APPARMOR) {
            errors.forbidden(&path.key(key), "may not remove or update AppArmor annotations");
        }
        if key == MIRROR {
            errors.forbidden(&path.key(key), "may not remove or update mirror pod annotation");
        }
    }
    for (key, _) in metadata.entries("annotations").filter(|(key, _)| !then.has(key)) {
        if key.starts_with(APPARMOR) {
            errors.forbidden(&path.key(key), "may not add AppArmor annotations");
        }
        if key == MIRROR {
            errors.forbidden(&path.key(key), "may not add mirror pod annotation");
        }
    }
    annotations(errors, &path, metadata, new.part("spec"));
}

/// The deadline may only come closer. Returns whether there is anything more to check.
fn deadline(errors: &mut Errors, path: &Path<'_>, new: &Value, old: &Value) -> bool {
    let (now, then) = (new.number("activeDeadlineSeconds"), old.number("activeDeadlineSeconds"));
    match (now, then) {
        (Some(now), _) if !(0..=i64::from(i32::MAX)).contains(&now) => {
            errors.invalid(path, now, formats::range_message(0, i64::from(i32::MAX)));
            false
        }
        (Some(now), Some(then)) if then < now => {
            errors.invalid(path, now, "must be less than or equal to previous value");
            false
        }
        (None, Some(_)) => {
            let detail = "must not update from a positive integer to nil value";
            errors.invalid(path, Value::Null, detail);
            true
        }
        _ => true,
    }
}

/// Tolerations may be added; of those that are there only the seconds may change.
fn added_tolerations(errors: &mut Errors, path: &Path<'_>, new: &Value, old: &Value) {
    let key = |toleration: &Value| {
        ["key", "operator", "value", "effect"].map(|field| toleration.text(field).to_owned())
    };
    let kept = |old: &Value| new.list("tolerations").iter().any(|new| key(new) == key(old));
    if old.list("tolerations").iter().all(kept) {
        scheduling::tolerations(errors, path, new.list("tolerations"));
    } else {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        errors.forbidden(path, detail);
    }
}

/// Gates may only be removed.
fn removed_gates(errors: &mut Errors, path: &Path<'_>, new: &Value, old: &Value) {
    let (gates, before) = (new.list("schedulingGates"), old.list("schedulingGates"));
    for (index, gate) in gates.iter().enumerate() {
        let name = gate.text("name");
        let is = |other: &Value| other.text("name") == name;
        // Of several with one name the last one counts.
        if !before.iter().any(is) && !gates[index + 1..].iter().any(is) {
            let detail =
                format!("only deletion is allowed, but found new scheduling gate '{name}'");
            errors.forbidden(&path.index(index).child("name"), detail);
        }
    }
}

fn set(object: &mut Map<String, Value>, field: &str, value: Option<&Value>) {
    match value {
        Some(value) => object.insert(field.to_owned(), value.clone()),
        None => object.remove(field),
    };
}

/// Everything but the fields that may change has to be what it was.
fn unchanged_otherwise(
    errors: &mut Errors,
    path: &Path<'_>,
    new: &Value,
    old: &Value,
    sent: &Value,
) {
    if !same(&set_back(errors, path, new, old), old) {
        let shown = set_back(&mut Errors::default(), path, sent, old);
        let difference = diff::unified("PodSpec", old, &shown);
        let detail = format!(
            "pod updates may not change fields other than `spec.containers[*].image`,\
             `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only \
             additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to \
             be set to 1 if it was previously negative)\n{difference}"
        );
        errors.forbidden(path, detail);
    }
}

/// The spec with those fields set back that may change, so that a difference shows the others only.
fn set_back(errors: &mut Errors, path: &Path<'_>, new: &Value, old: &Value) -> Value {
    let Some(mut munged) = new.as_object().cloned() else { return Value::Null };
    for field in ["containers", "initContainers"] {
        if let Some(containers) = munged.get_mut(field).and_then(Value::as_array_mut) {
            for (container, before) in containers.iter_mut().zip(old.list(field)) {
                if let Some(container) = container.as_object_mut() {
                    set(container, "image", before.field("image"));
                }
            }
        }
    }
    for field in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        set(&mut munged, field, old.field(field));
    }
    let grace = "terminationGracePeriodSeconds";
    if old.number(grace).is_some_and(|seconds| seconds < 0) && new.number(grace) == Some(1) {
        set(&mut munged, grace, old.field(grace));
    }
    if !old.list("schedulingGates").is_empty() {
        gated_node_selection(errors, path, &mut munged, old);
    }
    Value::from(munged)
}

/// While a pod is gated, nodes may be ruled out, but not let in again.
fn gated_node_selection(
    errors: &mut Errors,
    path: &Path<'_>,
    munged: &mut Map<String, Value>,
    old: &Value,
) {
    const TERMS: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    let new = Value::from(munged.clone());
    if !same(new.part("nodeSelector"), old.part("nodeSelector")) {
        let kept =
            |(key, value): (&str, &Value)| new.part("nodeSelector").field(key) == Some(value);
        if !old.entries("nodeSelector").all(kept) {
            let detail =
                "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
            errors.invalid(&path.child("nodeSelector"), new.part("nodeSelector").clone(), detail);
        }
        set(munged, "nodeSelector", old.field("nodeSelector"));
    }
    let (now, then) =
        (new.part("affinity").part("nodeAffinity"), old.part("affinity").part("nodeAffinity"));
    if same(now, then) {
        return;
    }
    let path = path.child("affinity.nodeAffinity");
    let path = path.child(TERMS);
    let path = path.child("nodeSelectorTerms");
    let terms = now.part(TERMS).list("nodeSelectorTerms");
    let old_terms = then.part(TERMS).list("nodeSelectorTerms");
    if !old_terms.is_empty() && terms.len() != old_terms.len() {
        let detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        errors.invalid(&path, terms.to_vec(), detail);
    } else {
        for (index, (term, old_term)) in terms.iter().zip(old_terms).enumerate() {
            if !only_adds(term, old_term) {
                let detail = "only additions are allowed (no mutations or deletions)";
                errors.invalid(&path.index(index), term.clone(), detail);
            }
        }
    }
    let mut affinity = new.part("affinity").as_object().cloned().unwrap_or_default();
    set(&mut affinity, "nodeAffinity", then_given(then));
    let keep = !affinity.is_empty() || old.has("affinity");
    set(munged, "affinity", keep.then(|| Value::from(affinity)).as_ref());
}

fn then_given(value: &Value) -> Option<&Value> {
    (!value.is_null()).then_some(value)
}

fn only_adds(new: &Value, old: &Value) -> bool {
    let fields = ["matchExpressions", "matchFields"];
    if fields.iter().all(|field| old.list(field).is_empty()) {
        return fields.iter().all(|field| new.list(field).is_empty());
    }
    fields.iter().all(|field| new.list(field).starts_with(old.list(field)))
}

/// An update that adds ephemeral containers.
pub(in crate::validate) fn update_ephemeral_containers(
    errors: &mut Errors,
    new: &Value,
    old: &Value,
) {
    if old.part("metadata").part("annotations").has(MIRROR) {
        errors.forbidden(&Path::new(""), "static pods do not support ephemeral containers");
        return;
    }
    annotations_and_spec(errors, new);
    annotation_changes(errors, new, old);
    let path = Path::new("spec.ephemeralContainers");
    let containers = new.part("spec").list("ephemeralContainers");
    for before in old.part("spec").list("ephemeralContainers") {
        let name = before.text("name");
        match containers.iter().rfind(|container| container.text("name") == name) {
            None => {
                let detail = format!("existing ephemeral containers {name:?} may not be removed\n");
                errors.forbidden(&path, detail);
            }
            Some(container) if !same(before, container) => {
                let difference = diff::unified("EphemeralContainer", before, container);
                let detail = format!(
                    "existing ephemeral containers {name:?} may not be changed\n{difference}"
                );
                errors.forbidden(&path, detail);
            }
            Some(_) => {}
        }
    }
}

/// An update of the resources of a running pod.
pub(in crate::validate) fn update_resize(errors: &mut Errors, new: &Value, old: &Value) {
    let top = Path::new("");
    if old.part("metadata").part("annotations").has(MIRROR) {
        errors.forbidden(&top, "static pods cannot be resized");
        return;
    }
    let (spec, before) = (new.part("spec"), old.part("spec"));
    if before.part("os").text("name") == "windows" {
        errors.forbidden(&top, "windows pods cannot be resized");
        return;
    }
    annotations_and_spec(errors, new);
    let path = Path::new("spec");
    let class = match old.part("status").text("qosClass") {
        "" => quality(before),
        class => class,
    };
    if quality(spec) != class {
        let class = new.part("status").text("qosClass");
        errors.invalid(&path, class, "Pod QOS Class may not change as a result of resizing");
    }
    let statuses = old.part("status").list("containerStatuses");
    let running = statuses.iter().find(|one| one.part("state").has("running"));
    if running.is_some_and(|one| !one.has("resources")) {
        errors.forbidden(&path, "Pod running on node without support for resize");
    }
    if !same_containers(errors, &path, spec, before) {
        return;
    }
    for field in ["initContainers", "containers"] {
        let at = path.child(field);
        for (index, (now, then)) in spec.list(field).iter().zip(before.list(field)).enumerate() {
            let at = at.index(index);
            for kind in ["requests", "limits"] {
                let left = now.part("resources").part(kind);
                if then.part("resources").entries(kind).any(|(name, _)| !left.has(name)) {
                    let detail = format!("resource {kind} cannot be removed");
                    errors.forbidden(&at.child("resources").child(kind), detail);
                }
            }
        }
    }
    let munged = without_compute(spec, before);
    for (now, then) in munged.list("containers").iter().zip(before.list("containers")) {
        if !same(now, then) {
            errors.forbidden(&path, "only cpu and memory resources are mutable");
        }
    }
    let at = path.child("initContainers");
    let pairs = munged.list("initContainers").iter().zip(before.list("initContainers"));
    for (index, (now, then)) in pairs.enumerate() {
        if !same(now, then) {
            let detail = "only cpu and memory resources for init or sidecar containers are mutable";
            errors.forbidden(&at.index(index), detail);
        }
    }
    if errors.is_empty() && !same(&munged, before) {
        errors.forbidden(&path, "only cpu and memory resources are mutable");
    }
}

fn same_containers(errors: &mut Errors, path: &Path<'_>, new: &Value, old: &Value) -> bool {
    let before = errors.len();
    for field in ["containers", "initContainers"] {
        let at = path.child(field);
        if new.list(field).len() != old.list(field).len() {
            errors.forbidden(&at, format!("{field} may not be added or removed on resize"));
            continue;
        }
        for (index, (now, then)) in new.list(field).iter().zip(old.list(field)).enumerate() {
            if now.text("name") != then.text("name") {
                let detail = format!("{field} may not be renamed or reordered on resize");
                errors.forbidden(&at.index(index).child("name"), detail);
            }
        }
    }
    errors.len() == before
}

/// The new spec with the cpu and memory of the old one.
fn without_compute(new: &Value, old: &Value) -> Value {
    let mut munged = new.clone();
    set_compute_back(&mut munged, old);
    for field in ["containers", "initContainers"] {
        if let Some(containers) = munged.get_mut(field).and_then(Value::as_array_mut) {
            for (container, before) in containers.iter_mut().zip(old.list(field)) {
                set_compute_back(container, before);
            }
        }
    }
    munged
}

fn set_compute_back(owner: &mut Value, old: &Value) {
    let Some(owner) = owner.as_object_mut() else { return };
    let mut resources =
        owner.get("resources").and_then(Value::as_object).cloned().unwrap_or_default();
    for kind in ["requests", "limits"] {
        let mut amounts =
            resources.get(kind).and_then(Value::as_object).cloned().unwrap_or_default();
        for name in ["cpu", "memory"] {
            set(&mut amounts, name, old.part("resources").part(kind).field(name));
        }
        let amounts = (!amounts.is_empty()).then(|| Value::from(amounts));
        set(&mut resources, kind, amounts.as_ref());
    }
    let keep = !resources.is_empty() || old.has("resources");
    set(owner, "resources", keep.then(|| Value::from(resources)).as_ref());
}

/// The quality of service class that a pod's requests and limits give it.
fn quality(spec: &Value) -> &'static str {
    let all = || spec.list("containers").iter().chain(spec.list("initContainers"));
    let amount = |container: &Value, kind: &str, name: &str| {
        container.part("resources").part(kind).field(name).map(quantity)
    };
    let own = std::iter::once(spec).filter(|spec| spec.has("resources"));
    let owners: Vec<&Value> = if spec.has("resources") { own.collect() } else { all().collect() };
    let names = ["cpu", "memory"];
    let nothing = owners.iter().all(|owner| {
        ["requests", "limits"].iter().all(|kind| {
            names.iter().all(|name| amount(owner, kind, name).is_none_or(|some| some.nanos() <= 0))
        })
    });
    let guaranteed = owners.iter().all(|owner| {
        names.iter().all(|name| {
            let limit = amount(owner, "limits", name).filter(|limit| limit.nanos() > 0);
            limit.is_some() && amount(owner, "requests", name) == limit
        })
    });
    match (nothing, guaranteed) {
        (true, _) => "BestEffort",
        (false, true) => "Guaranteed",
        (false, false) => "Burstable",
    }
}
