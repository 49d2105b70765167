//! What decides where a pod may run.

use serde_json::Value;

use crate::{
    fields::Fields,
    validate::{
        errors::{Errors, Path},
        formats,
        selectors::{label_key, label_selector, node_selector, node_selector_term},
    },
};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Affinity to nodes and to other pods.
pub(super) fn affinity(errors: &mut Errors, path: &Path<'_>, affinity: &Value) {
    if let Some(nodes) = affinity.field("nodeAffinity") {
        let path = path.child("nodeAffinity");
        if let Some(selector) = nodes.field(REQUIRED) {
            node_selector(errors, &path.child(REQUIRED), selector);
        }
        let preferred = path.child(PREFERRED);
        for (index, term) in nodes.list(PREFERRED).iter().enumerate() {
            let at = preferred.index(index);
            weight(errors, &at, term);
            node_selector_term(errors, &at.child("preference"), term.part("preference"), false);
        }
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let pods = affinity.part(kind);
        let path = path.child(kind);
        let required = path.child(REQUIRED);
        for (index, term) in pods.list(REQUIRED).iter().enumerate() {
            pod_term(errors, &required.index(index), term);
        }
        let preferred = path.child(PREFERRED);
        for (index, term) in pods.list(PREFERRED).iter().enumerate() {
            let at = preferred.index(index);
            weight(errors, &at, term);
            pod_term(errors, &at.child("podAffinityTerm"), term.part("podAffinityTerm"));
        }
    }
}

fn weight(errors: &mut Errors, path: &Path<'_>, term: &Value) {
    let weight = term.count("weight");
    if !(1..=100).contains(&weight) {
        errors.invalid(&path.child("weight"), weight, "must be in the range 1-100");
    }
}

fn pod_term(errors: &mut Errors, path: &Path<'_>, term: &Value) {
    label_selector(errors, &path.child("labelSelector"), term.field("labelSelector"));
    label_selector(errors, &path.child("namespaceSelector"), term.field("namespaceSelector"));
    for namespace in term.texts("namespaces") {
        errors.invalid_each(&path.child("namespace"), namespace, formats::dns_label(namespace));
    }
    label_keys(errors, path, term);
    let key = term.text("topologyKey");
    if key.is_empty() {
        errors.required(&path.child("topologyKey"), "can not be empty");
    }
    label_key(errors, &path.child("topologyKey"), key);
}

/// Keys whose values are added to the selector: each only once, and only if there is a selector.
fn label_keys(errors: &mut Errors, path: &Path<'_>, term: &Value) {
    let selector = term.field("labelSelector");
    for field in ["matchLabelKeys", "mismatchLabelKeys"] {
        let path = path.child(field);
        if !term.list(field).is_empty() && selector.is_none() {
            errors.forbidden(&path, "must not be specified when labelSelector is not set");
            continue;
        }
        for (index, key) in term.texts(field).enumerate() {
            label_key(errors, &path.index(index), key);
        }
    }
    if let Some(selector) = selector {
        // The server adds such keys to the selector itself, so a key is in conflict only when it
        // is there twice.
        let mut seen: Vec<&str> = selector.entries("matchLabels").map(|(key, _)| key).collect();
        for requirement in selector.list("matchExpressions") {
            let key = requirement.text("key");
            let position = term.texts("matchLabelKeys").position(|other| other == key);
            if let Some(index) = position.filter(|_| seen.contains(&key)) {
                let detail = "exists in both matchLabelKeys and labelSelector";
                errors.invalid(&path.index(index), key, detail);
            }
            seen.push(key);
        }
    }
    let matching = path.child("matchLabelKeys");
    for (index, key) in term.texts("matchLabelKeys").enumerate() {
        if term.texts("mismatchLabelKeys").any(|other| other == key) {
            let detail = "exists in both matchLabelKeys and mismatchLabelKeys";
            errors.invalid(&matching.index(index), key, detail);
        }
    }
}

/// What a taint does.
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// Taints a pod tolerates.
pub(crate) fn tolerations(errors: &mut Errors, path: &Path<'_>, tolerations: &[Value]) {
    for (index, toleration) in tolerations.iter().enumerate() {
        let path = path.index(index);
        let (key, operator) = (toleration.text("key"), toleration.text("operator"));
        let (value, effect) = (toleration.text("value"), toleration.text("effect"));
        if key.is_empty() {
            if operator != "Exists" {
                let detail = "operator must be Exists when `key` is empty, which means \
                     \"match all values and all keys\"";
                errors.invalid(&path.child("operator"), operator, detail);
            }
        } else {
            label_key(errors, &path.child("key"), key);
        }
        if toleration.has("tolerationSeconds") && effect != "NoExecute" {
            let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            errors.invalid(&path.child("effect"), effect, detail);
        }
        match operator {
            "Equal" | "" => {
                let wrong = formats::label_value(value);
                if !wrong.is_empty() {
                    errors.invalid(&path.child("operator"), value, wrong.join(";"));
                }
            }
            "Exists" => {
                if !value.is_empty() {
                    let detail = "value must be empty when `operator` is 'Exists'";
                    errors.invalid(&path.child("operator"), value, detail);
                }
            }
            "Lt" | "Gt" => {
                let known = ["Equal", "Exists", "Lt", "Gt"];
                errors.not_supported(&path.child("operator"), operator, &known);
            }
            _ => errors.not_supported(&path.child("operator"), operator, &["Equal", "Exists"]),
        }
        if !effect.is_empty() {
            errors.supported(&path.child("effect"), effect, &EFFECTS);
        }
    }
}

/// Taints of a node.
pub(crate) fn taints(errors: &mut Errors, path: &Path<'_>, taints: &[Value]) {
    for (index, taint) in taints.iter().enumerate() {
        let path = path.index(index);
        let (key, effect) = (taint.text("key"), taint.text("effect"));
        label_key(errors, &path.child("key"), key);
        let wrong = formats::label_value(taint.text("value"));
        if !wrong.is_empty() {
            errors.invalid(&path.child("value"), taint.text("value"), wrong.join(";"));
        }
        errors.one_of(&path.child("effect"), effect, &EFFECTS);
        let same = |other: &Value| other.text("key") == key && other.text("effect") == effect;
        if taints[..index].iter().any(same) {
            let shown = format!(
                "{{\"Key\":{},\"Value\":{},\"Effect\":{},\"TimeAdded\":{}}}: taints must be \
                 unique by key and effect pair",
                Value::from(key),
                Value::from(taint.text("value")),
                Value::from(effect),
                taint.part("timeAdded")
            );
            errors.duplicate_shown(&path, &shown);
        }
    }
}

/// How evenly pods are spread.
pub(super) fn spread(errors: &mut Errors, path: &Path<'_>, constraints: &[Value]) {
    for (index, constraint) in constraints.iter().enumerate() {
        let path = path.index(index);
        let skew = constraint.count("maxSkew");
        if skew <= 0 {
            errors.invalid(&path.child("maxSkew"), skew, "must be greater than zero");
        }
        let (key, action) = (constraint.text("topologyKey"), constraint.text("whenUnsatisfiable"));
        if key.is_empty() {
            errors.required(&path.child("topologyKey"), "can not be empty");
        }
        let actions = ["DoNotSchedule", "ScheduleAnyway"];
        errors.supported(&path.child("whenUnsatisfiable"), action, &actions);
        let repeated = |other: &Value| {
            other.text("topologyKey") == key && other.text("whenUnsatisfiable") == action
        };
        if constraints[index + 1..].iter().any(repeated) {
            let at = path.child("{topologyKey, whenUnsatisfiable}");
            errors.duplicate(&at, format!("{{{key}, {action}}}"));
        }
        if let Some(domains) = constraint.number("minDomains") {
            let at = path.child("minDomains");
            if domains <= 0 {
                errors.invalid(&at, domains, "must be greater than zero");
            }
            if action != "DoNotSchedule" {
                let detail = format!(
                    "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
                );
                errors.invalid(&at, domains, detail);
            }
        }
        for field in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            if let Some(policy) = constraint.given_text(field) {
                errors.supported(&path.child(field), policy, &["Honor", "Ignore"]);
            }
        }
        label_keys(errors, &path, constraint);
        label_selector(errors, &path.child("labelSelector"), constraint.field("labelSelector"));
    }
}
