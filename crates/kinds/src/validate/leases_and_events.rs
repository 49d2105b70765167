//! Leases and Events.

use serde_json::Value;

use super::{
    errors::{Errors, IMMUTABLE, Path},
    formats, internal, metadata,
};
use crate::fields::{Fields, same};

/// COMPAT: fields of coordinated leader election, which is off by default, are not looked at.
pub(super) fn lease(errors: &mut Errors, lease: &Value) {
    let (path, spec) = (Path::new("spec"), lease.part("spec"));
    if let Some(seconds) = spec.number("leaseDurationSeconds").filter(|seconds| *seconds <= 0) {
        errors.invalid(&path.child("leaseDurationSeconds"), seconds, "must be greater than 0");
    }
    if let Some(count) = spec.number("leaseTransitions").filter(|count| *count < 0) {
        let detail = "must be greater than or equal to 0";
        errors.invalid(&path.child("leaseTransitions"), count, detail);
    }
}

/// Which of two spellings of a field the event has: that of core events, or that of events in
/// their own group.
fn either<'a>(event: &'a Value, core: &str, own: &str) -> &'a Value {
    event.field(core).unwrap_or_else(|| event.part(own))
}

/// What is checked of every event.
fn common(errors: &mut Errors, event: &Value, is_core: bool) {
    let namespace = event.part("metadata").text("namespace");
    let about = either(event, "involvedObject", "regarding").text("namespace");
    let controller = if is_core { "reportingComponent" } else { "reportingController" };
    let mismatch = |errors: &mut Errors| {
        let path = Path::new("involvedObject.namespace");
        errors.invalid(&path, about, "does not match event.namespace");
    };
    if event.has("eventTime") {
        if about.is_empty() && !["default", "kube-system"].contains(&namespace) {
            mismatch(errors);
        }
        let reporter = either(event, "reportingComponent", "reportingController");
        let reporter = reporter.as_str().unwrap_or_default();
        let path = Path::new(controller);
        if reporter.is_empty() {
            errors.required(&path, "");
        }
        errors.invalid_each(&path, reporter, formats::qualified_name(reporter));
        for field in ["reportingInstance", "action", "reason"] {
            let path = Path::new(field);
            let text = event.text(field);
            if text.is_empty() {
                errors.required(&path, "");
            }
            if text.len() > 128 {
                errors.invalid(&path, "", "can have at most 128 characters");
            }
        }
        if either(event, "message", "note").as_str().unwrap_or_default().len() > 1024 {
            errors.invalid(&Path::new("message"), "", "can have at most 1024 characters");
        }
    } else if about.is_empty() {
        if !namespace.is_empty() && namespace != "default" {
            mismatch(errors);
        }
    } else if about != namespace {
        mismatch(errors);
    }
    let path = Path::new("namespace");
    errors.invalid_each(&path, namespace, formats::dns_subdomain(namespace));
}

fn series(errors: &mut Errors, event: &Value) {
    let Some(series) = event.field("series") else { return };
    if series.count("count") < 2 {
        errors.invalid(&Path::new("series.count"), "", "should be at least 2");
    }
    if !series.has("lastObservedTime") {
        errors.required(&Path::new("series.lastObservedTime"), "");
    }
}

/// An event that is created; those of their own group are checked more strictly.
pub(super) fn create_event(errors: &mut Errors, event: &Value, is_core: bool) {
    common(errors, event, is_core);
    if is_core {
        return;
    }
    errors.extend(metadata::checked("events.k8s.io", "Event", true, event));
    series(errors, event);
    if !event.has("eventTime") {
        errors.required(&Path::new("eventTime"), "");
    }
    let kind = event.text("type");
    if kind != "Normal" && kind != "Warning" {
        errors.invalid(&Path::new("type"), "", format!("has invalid value: {kind}"));
    }
    let unset = [
        ("firstTimestamp", "deprecatedFirstTimestamp"),
        ("lastTimestamp", "deprecatedLastTimestamp"),
        ("count", "deprecatedCount"),
        ("source", "deprecatedSource"),
    ];
    for (core, own) in unset {
        let value = either(event, core, own);
        let empty = value.is_null()
            || value.as_i64() == Some(0)
            || value.as_object().is_some_and(serde_json::Map::is_empty);
        if !empty {
            errors.invalid(&Path::new(core), "", "needs to be unset");
        }
    }
}

/// What must be true of an event whether it is new or not.
pub(super) fn whole_event(errors: &mut Errors, event: &Value, is_core: bool) {
    common(errors, event, is_core);
}

/// A change of an event of its own group.
pub(super) fn update_event(errors: &mut Errors, new: &Value, old: &Value) {
    if !same(new.part("series"), old.part("series")) {
        series(errors, new);
    }
    let kept = [
        ("involvedObject", "regarding"),
        ("reason", "reason"),
        ("message", "note"),
        ("source", "deprecatedSource"),
        ("firstTimestamp", "deprecatedFirstTimestamp"),
        ("lastTimestamp", "deprecatedLastTimestamp"),
        ("count", "deprecatedCount"),
        ("reason", "reason"),
        ("type", "type"),
        ("eventTime", "eventTime"),
        ("action", "action"),
        ("related", "related"),
        ("reportingController", "reportingComponent"),
        ("reportingInstance", "reportingInstance"),
    ];
    for (core, own) in kept {
        if !same(either(new, core, own), either(old, core, own)) {
            let now = either(new, core, own);
            let path = Path::new(core);
            match core {
                "involvedObject" | "related" if !now.is_null() => {
                    let shown = internal::compact("ObjectReference", now);
                    errors.invalid_shown(&path, &shown, IMMUTABLE);
                }
                "reason"
                | "message"
                | "type"
                | "action"
                | "reportingController"
                | "reportingInstance" => {
                    errors.invalid(&path, now.as_str().unwrap_or_default(), IMMUTABLE);
                }
                _ => errors.invalid(&path, now.clone(), IMMUTABLE),
            }
        }
    }
}
