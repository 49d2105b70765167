//! `PodDisruptionBudgets`.

use serde_json::Value;

use super::{
    errors::{Errors, Path},
    formats, int_or_percent, selectors,
};
use crate::fields::Fields;

pub(super) fn create_budget(errors: &mut Errors, budget: &Value) {
    let (path, spec) = (Path::new("spec"), budget.part("spec"));
    let fields = ["minAvailable", "maxUnavailable"];
    if fields.iter().all(|field| spec.has(field)) {
        let shown = format!(
            "{{\"MinAvailable\":{},\"Selector\":{},\"MaxUnavailable\":{},\
             \"UnhealthyPodEvictionPolicy\":{}}}",
            spec.part("minAvailable"),
            selectors::shown(spec.field("selector")),
            spec.part("maxUnavailable"),
            spec.part("unhealthyPodEvictionPolicy")
        );
        errors.invalid_shown(&path, &shown, "minAvailable and maxUnavailable cannot be both set");
    }
    for field in fields {
        if let Some(value) = spec.field(field) {
            int_or_percent::nonnegative(errors, &path.child(field), value);
            int_or_percent::at_most_all(errors, &path.child(field), value);
        }
    }
    selectors::label_selector(errors, &path.child("selector"), spec.field("selector"));
    if let Some(policy) = spec.given_text("unhealthyPodEvictionPolicy") {
        let at = path.child("unhealthyPodEvictionPolicy");
        errors.supported(&at, policy, &["AlwaysAllow", "IfHealthyBudget"]);
    }
}

pub(super) fn update_budget_status(errors: &mut Errors, budget: &Value) {
    let (path, status) = (Path::new("status"), budget.part("status"));
    conditions(errors, &path.child("conditions"), status.list("conditions"));
    for field in ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"] {
        errors.nonnegative(&path.child(field), status.count(field));
    }
}

/// Conditions of the shape that all newer kinds share.
fn conditions(errors: &mut Errors, path: &Path<'_>, conditions: &[Value]) {
    for (index, condition) in conditions.iter().enumerate() {
        let path = path.index(index);
        let kind = condition.text("type");
        if conditions[..index].iter().any(|other| other.text("type") == kind) {
            errors.duplicate(&path.child("type"), kind);
        }
        errors.invalid_each(&path.child("type"), kind, formats::qualified_name(kind));
        let statuses = ["False", "True", "Unknown"];
        errors.supported(&path.child("status"), condition.text("status"), &statuses);
        let generation = condition.count("observedGeneration");
        if generation < 0 {
            let detail = "must be greater than or equal to zero";
            errors.invalid(&path.child("observedGeneration"), generation, detail);
        }
        if !condition.has("lastTransitionTime") {
            errors.required(&path.child("lastTransitionTime"), "");
        }
        let reason = condition.text("reason");
        let at = path.child("reason");
        if reason.is_empty() {
            errors.required(&at, "");
        } else {
            errors.invalid_each(&at, reason, formats::condition_reason(reason));
            if reason.len() > 1024 {
                errors.too_long(&at, 1024);
            }
        }
        if condition.text("message").len() > 32 * 1024 {
            errors.too_long(&path.child("message"), 32 * 1024);
        }
    }
}
