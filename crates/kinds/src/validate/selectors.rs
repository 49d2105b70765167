//! Labels, label selectors and node selectors.

use serde_json::Value;

use super::{
    errors::{Errors, Path},
    formats,
};
use crate::fields::Fields;

/// A label's key.
pub(crate) fn label_key(errors: &mut Errors, path: &Path<'_>, key: &str) {
    errors.invalid_each(path, key, formats::qualified_name(key));
}

/// A map of labels in a field of `owner`.
pub(crate) fn labels(errors: &mut Errors, path: &Path<'_>, owner: &Value, name: &str) {
    for (key, value) in owner.entries(name) {
        label_key(errors, path, key);
        let value = value.as_str().unwrap_or_default();
        errors.invalid_each(path, value, formats::label_value(value));
    }
}

/// A label selector object, if there is one.
pub(crate) fn label_selector(errors: &mut Errors, path: &Path<'_>, selector: Option<&Value>) {
    let Some(selector) = selector else { return };
    labels(errors, &path.child("matchLabels"), selector, "matchLabels");
    let expressions = path.child("matchExpressions");
    for (index, requirement) in selector.list("matchExpressions").iter().enumerate() {
        let path = expressions.index(index);
        match requirement.text("operator") {
            "In" | "NotIn" => in_needs_values(errors, &path, requirement),
            "Exists" | "DoesNotExist" => exists_has_no_values(errors, &path, requirement),
            other => {
                errors.invalid(&path.child("operator"), other, "not a valid selector operator");
            }
        }
        label_key(errors, &path.child("key"), requirement.text("key"));
        label_values(errors, &path, requirement);
    }
}

fn in_needs_values(errors: &mut Errors, path: &Path<'_>, requirement: &Value) {
    if requirement.list("values").is_empty() {
        let detail = "must be specified when `operator` is 'In' or 'NotIn'";
        errors.required(&path.child("values"), detail);
    }
}

fn exists_has_no_values(errors: &mut Errors, path: &Path<'_>, requirement: &Value) {
    if !requirement.list("values").is_empty() {
        let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
        errors.forbidden(&path.child("values"), detail);
    }
}

fn label_values(errors: &mut Errors, path: &Path<'_>, requirement: &Value) {
    let values = path.child("values");
    for (index, value) in requirement.texts("values").enumerate() {
        errors.invalid_each(&values.index(index), value, formats::label_value(value));
    }
}

/// Whether a selector object asks for nothing.
pub(crate) fn is_empty(selector: &Value) -> bool {
    selector.map("matchLabels").is_none_or(serde_json::Map::is_empty)
        && selector.list("matchExpressions").is_empty()
}

/// Whether a selector object can be used: operators are known and have values as they need them.
/// A missing selector selects nothing and can be used.
pub(crate) fn is_usable(selector: Option<&Value>) -> bool {
    let mut errors = Errors::default();
    label_selector(&mut errors, &Path::new(""), selector);
    errors.is_empty()
}

/// Whether labels match a selector object. A missing one matches nothing, an empty one everything.
pub(crate) fn matches(selector: Option<&Value>, labels: &Value) -> bool {
    let Some(selector) = selector else { return false };
    selector.entries("matchLabels").all(|(key, value)| labels.field(key) == Some(value))
        && selector.list("matchExpressions").iter().all(|requirement| {
            let value = labels.field(requirement.text("key"));
            let listed = || value.is_some_and(|value| requirement.list("values").contains(value));
            match requirement.text("operator") {
                "In" => listed(),
                "NotIn" => !listed(),
                "Exists" => value.is_some(),
                "DoesNotExist" => value.is_none(),
                _ => false,
            }
        })
}

/// A selector object as the API server shows it in errors.
pub(crate) fn shown(selector: Option<&Value>) -> String {
    let Some(selector) = selector else { return "null".to_owned() };
    let mut parts = Vec::new();
    if let Some(labels) = selector.map("matchLabels").filter(|labels| !labels.is_empty()) {
        parts.push(format!("\"matchLabels\":{}", Value::from(labels.clone())));
    }
    if !selector.list("matchExpressions").is_empty() {
        parts.push(format!("\"matchExpressions\":{}", selector.part("matchExpressions")));
    }
    format!("{{{}}}", parts.join(","))
}

/// Terms that select nodes; one of them has to match.
pub(crate) fn node_selector(errors: &mut Errors, path: &Path<'_>, selector: &Value) {
    let terms = path.child("nodeSelectorTerms");
    if selector.list("nodeSelectorTerms").is_empty() {
        errors.required(&terms, "must have at least one node selector term");
    }
    for (index, term) in selector.list("nodeSelectorTerms").iter().enumerate() {
        node_selector_term(errors, &terms.index(index), term, true);
    }
}

/// One term that selects nodes. Values of preferences are not checked.
pub(crate) fn node_selector_term(
    errors: &mut Errors,
    path: &Path<'_>,
    term: &Value,
    check_values: bool,
) {
    let expressions = path.child("matchExpressions");
    for (index, requirement) in term.list("matchExpressions").iter().enumerate() {
        let path = expressions.index(index);
        match requirement.text("operator") {
            "In" | "NotIn" => in_needs_values(errors, &path, requirement),
            "Exists" | "DoesNotExist" => exists_has_no_values(errors, &path, requirement),
            "Gt" | "Lt" => {
                if requirement.list("values").len() != 1 {
                    let detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                    errors.required(&path.child("values"), detail);
                }
            }
            other => {
                errors.invalid(&path.child("operator"), other, "not a valid selector operator");
            }
        }
        label_key(errors, &path.child("key"), requirement.text("key"));
        if check_values {
            label_values(errors, &path, requirement);
        }
    }
    let fields = path.child("matchFields");
    for (index, requirement) in term.list("matchFields").iter().enumerate() {
        node_field_requirement(errors, &fields.index(index), requirement);
    }
}

/// The only field of a node that can be selected by is its name.
fn node_field_requirement(errors: &mut Errors, path: &Path<'_>, requirement: &Value) {
    match requirement.text("operator") {
        "In" | "NotIn" => {
            if requirement.list("values").len() != 1 {
                let detail = "must be only one value when `operator` is 'In' or 'NotIn' for node \
                     field selector";
                errors.required(&path.child("values"), detail);
            }
        }
        other => errors.invalid(&path.child("operator"), other, "not a valid selector operator"),
    }
    let key = requirement.text("key");
    if key == "metadata.name" {
        let values = path.child("values");
        for (index, value) in requirement.texts("values").enumerate() {
            errors.invalid_each(&values.index(index), value, formats::dns_subdomain(value));
        }
    } else {
        errors.invalid(&path.child("key"), key, "not a valid field selector key");
    }
}
