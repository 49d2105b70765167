//! Namespaces, quotas and limit ranges.

use std::collections::BTreeSet;

use joiner_core::quantity::Quantity;
use serde_json::Value;

use super::{
    errors::{Errors, IMMUTABLE, Path},
    formats,
    resources::{self, quantity, quantity_text},
};
use crate::fields::Fields;

fn finalizer(errors: &mut Errors, path: &Path<'_>, name: &str) {
    errors.invalid_each(path, name, formats::qualified_name(name));
    standard_or_qualified(errors, path, name);
}

/// Without a domain a finalizer must be one of Kubernetes' own.
pub(super) fn standard_or_qualified(errors: &mut Errors, path: &Path<'_>, name: &str) {
    let standard = ["kubernetes", "orphan", "foregroundDeletion"];
    if !name.contains('/') && !standard.contains(&name) {
        let detail = "name is neither a standard finalizer name nor is it fully qualified";
        errors.invalid(path, name, detail);
    }
}

pub(super) fn create_namespace(errors: &mut Errors, namespace: &Value) {
    for name in namespace.part("spec").texts("finalizers") {
        finalizer(errors, &Path::new("spec.finalizers"), name);
    }
}

pub(super) fn finalize_namespace(errors: &mut Errors, namespace: &Value) {
    let path = Path::new("spec.finalizers");
    for (index, name) in namespace.part("spec").texts("finalizers").enumerate() {
        finalizer(errors, &path.index(index), name);
    }
}

pub(super) fn update_namespace_status(errors: &mut Errors, namespace: &Value) {
    let path = Path::new("status.Phase");
    let phase = namespace.part("status").text("phase");
    if namespace.part("metadata").has("deletionTimestamp") {
        if phase != "Terminating" {
            let detail = "may only be 'Terminating' if `deletionTimestamp` is not empty";
            errors.invalid(&path, phase, detail);
        }
    } else if phase != "Active" {
        errors.invalid(&path, phase, "may only be 'Active' if `deletionTimestamp` is empty");
    }
}

fn quota_amounts(errors: &mut Errors, path: &Path<'_>, owner: &Value, field: &str) {
    for (name, value) in owner.entries(field) {
        resources::quota_resource_name(errors, &path.key(name), name);
        resources::amount(errors, &path.key(name), name, value);
    }
}

/// Which resources a quota with a scope can limit.
fn scope_fits(scope: &str, resource: &str) -> bool {
    let of_pods =
        ["pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];
    match scope {
        "Terminating"
        | "NotTerminating"
        | "NotBestEffort"
        | "PriorityClass"
        | "CrossNamespacePodAffinity" => of_pods.contains(&resource),
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => {
            ["persistentvolumeclaims", "requests.storage"].contains(&resource)
        }
        _ => true,
    }
}

const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "VolumeAttributesClass",
    "CrossNamespacePodAffinity",
];

const CONFLICTS: [[&str; 2]; 2] =
    [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];

pub(super) fn quota_spec(errors: &mut Errors, quota: &Value) {
    let (path, spec) = (Path::new("spec"), quota.part("spec"));
    quota_amounts(errors, &path.child("hard"), spec, "hard");
    let limited = |scope: &str| {
        let unfit = |(name, _): &(&str, &Value)| {
            resources::is_standard_for_quota(name) && !scope_fits(scope, name)
        };
        spec.entries("hard").filter(unfit).count()
    };
    let at = path.child("scopes");
    let shown = || spec.part("scopes").clone();
    for scope in spec.texts("scopes") {
        if !SCOPES.contains(&scope) {
            errors.invalid(&at, shown(), "unsupported scope");
        }
        for _ in 0..limited(scope) {
            errors.invalid(&at, shown(), "unsupported scope applied to resource");
        }
    }
    for pair in CONFLICTS {
        if pair.iter().all(|scope| spec.texts("scopes").any(|other| other == *scope)) {
            errors.invalid(&at, shown(), "conflicting scopes");
        }
    }
    if let Some(selector) = spec.field("scopeSelector") {
        scope_selector(errors, &path.child("scopeSelector.matchExpressions"), selector, &limited);
    }
}

fn scope_selector(
    errors: &mut Errors,
    path: &Path<'_>,
    selector: &Value,
    limited: &dyn Fn(&str) -> usize,
) {
    for requirement in selector.list("matchExpressions") {
        let (scope, operator) = (requirement.text("scopeName"), requirement.text("operator"));
        if !SCOPES.contains(&scope) {
            errors.invalid(&path.child("scopeName"), scope, "unsupported scope");
        }
        for _ in 0..limited(scope) {
            let detail = "unsupported scope applied to resource";
            errors.invalid_shown(path, &scope_selector_shown(selector), detail);
        }
        let by_value = ["PriorityClass", "VolumeAttributesClass"].contains(&scope);
        if SCOPES.contains(&scope) && !by_value && operator != "Exists" {
            let detail = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
                 ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, \
                 ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
            errors.invalid(&path.child("operator"), operator, detail);
        }
        let values = requirement.list("values");
        match operator {
            "In" | "NotIn" if values.is_empty() => {
                let detail = "must be at least one value when `operator` is 'In' or 'NotIn' for \
                     scope selector";
                errors.required(&path.child("values"), detail);
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for \
                     scope selector";
                errors.invalid(&path.child("values"), values.to_vec(), detail);
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => {
                errors.invalid(&path.child("operator"), other, "not a valid selector operator");
            }
        }
    }
}

/// A scope selector as the API server shows it in errors.
fn scope_selector_shown(selector: &Value) -> String {
    let shown: Vec<String> = selector
        .list("matchExpressions")
        .iter()
        .map(|requirement| {
            format!(
                "{{\"ScopeName\":{},\"Operator\":{},\"Values\":{}}}",
                Value::from(requirement.text("scopeName")),
                Value::from(requirement.text("operator")),
                requirement.part("values")
            )
        })
        .collect();
    format!("{{\"MatchExpressions\":[{}]}}", shown.join(","))
}

pub(super) fn quota_status(errors: &mut Errors, quota: &Value) {
    let path = Path::new("status");
    for field in ["hard", "used"] {
        quota_amounts(errors, &path.child(field), quota.part("status"), field);
    }
}

pub(super) fn update_quota(errors: &mut Errors, new: &Value, old: &Value) {
    quota_spec(errors, new);
    let scopes = |quota: &'_ Value| -> BTreeSet<String> {
        quota.part("spec").texts("scopes").map(str::to_owned).collect()
    };
    if scopes(new) != scopes(old) {
        let shown = new.part("spec").part("scopes").clone();
        errors.invalid(&Path::new("spec.scopes"), shown, IMMUTABLE);
    }
}

pub(super) fn limit_range(errors: &mut Errors, range: &Value) {
    let path = Path::new("spec.limits");
    let limits = range.part("spec").list("limits");
    for (index, limit) in limits.iter().enumerate() {
        let path = path.index(index);
        let kind = limit.text("type");
        let at = path.child("type");
        let wrong = formats::qualified_name(kind);
        if !wrong.is_empty() {
            errors.invalid_each(&at, kind, wrong);
        } else if !kind.contains('/')
            && !["Pod", "Container", "PersistentVolumeClaim"].contains(&kind)
        {
            errors.invalid(&at, kind, "must be a standard limit type or fully qualified");
        }
        if limits[..index].iter().any(|other| other.text("type") == kind) {
            errors.duplicate(&at, kind);
        }
        limit_names(errors, &path, limit);
        limit_amounts(errors, &path, limit);
    }
}

fn limit_names(errors: &mut Errors, path: &Path<'_>, limit: &Value) {
    let kind = limit.text("type");
    let names = |errors: &mut Errors, field: &str| {
        let at = path.child(field);
        for (name, _) in limit.entries(field) {
            if kind == "Pod" || kind == "Container" {
                resources::container_resource_name(errors, &at.key(name), name);
            } else {
                resources::resource_name(errors, &at.key(name), name);
            }
        }
    };
    names(errors, "max");
    names(errors, "min");
    for field in ["default", "defaultRequest"] {
        if kind != "Pod" {
            names(errors, field);
        } else if limit.map(field).is_some_and(|map| !map.is_empty()) {
            errors.forbidden(&path.child(field), "may not be specified when `type` is 'Pod'");
        }
    }
    let has = |field: &str| limit.part(field).has("storage");
    if kind == "PersistentVolumeClaim" && !has("min") && !has("max") {
        let detail =
            "either minimum or maximum storage value is required, but neither was provided";
        errors.required(&path.child("limits"), detail);
    }
    names(errors, "maxLimitRequestRatio");
}

/// Smallest, default and largest amounts have to be in this order.
fn limit_amounts(errors: &mut Errors, path: &Path<'_>, limit: &Value) {
    let fields = ["min", "max", "default", "defaultRequest", "maxLimitRequestRatio"];
    let names: BTreeSet<&str> =
        fields.iter().flat_map(|field| limit.entries(field)).map(|(name, _)| name).collect();
    // Of each pair the first must not be more than the second; the error is about the field named
    // third and shows the value of the field named fourth.
    let order = [
        ("min", "max", "min", "min", "min value", "max value"),
        (
            "min",
            "defaultRequest",
            "defaultRequest",
            "defaultRequest",
            "min value",
            "default request value",
        ),
        (
            "defaultRequest",
            "max",
            "defaultRequest",
            "defaultRequest",
            "default request value",
            "max value",
        ),
        (
            "defaultRequest",
            "default",
            "defaultRequest",
            "defaultRequest",
            "default request value",
            "default limit value",
        ),
        ("min", "default", "default", "min", "min value", "default value"),
        ("default", "max", "default", "max", "default value", "max value"),
    ];
    for name in names {
        let amount = |field: &str| {
            let skipped = limit.text("type") == "Pod" && field.starts_with("default");
            limit.part(field).field(name).filter(|_| !skipped)
        };
        for (less, more, at, shown, less_name, more_name) in order {
            let (Some(less), Some(more)) = (amount(less), amount(more)) else { continue };
            if quantity(less) > quantity(more) {
                let (less, more) = (quantity_text(less), quantity_text(more));
                let detail = format!("{less_name} {less} is greater than {more_name} {more}");
                let shown = amount(shown).map(quantity_text).unwrap_or_default();
                errors.invalid(&path.child(at).key(name), shown, detail);
            }
        }
        ratio(errors, path, name, &amount);
        let (given, requested) = (amount("default"), amount("defaultRequest"));
        if let (Some(given), Some(requested)) = (given, requested)
            && !resources::may_be_overcommitted(name)
            && quantity(given) != quantity(requested)
        {
            let (given, requested) = (quantity_text(given), quantity_text(requested));
            let detail = format!(
                "default value {given} must equal to defaultRequest value {requested} in {name}"
            );
            errors.invalid(&path.child("defaultRequest").key(name), requested, detail);
        }
    }
}

/// How many times the request the limit may be: at least once, and no more than the largest and
/// the smallest amount allow.
fn ratio<'a>(
    errors: &mut Errors,
    path: &Path<'_>,
    name: &str,
    amount: &dyn Fn(&str) -> Option<&'a Value>,
) {
    let Some(ratio) = amount("maxLimitRequestRatio") else { return };
    let at = path.child("maxLimitRequestRatio");
    let (at, text) = (at.key(name), quantity_text(ratio));
    if quantity(ratio) < Quantity::whole(1) {
        errors.invalid(&at, text.clone(), format!("ratio {text} is less than 1"));
    }
    if let (Some(least), Some(most)) = (amount("min"), amount("max")) {
        let limit = quantity(most).as_f64() / quantity(least).as_f64();
        if quantity(ratio).as_f64() > limit {
            let detail = format!("ratio {text} is greater than max/min = {limit:.6}");
            errors.invalid(&at, text, detail);
        }
    }
}
