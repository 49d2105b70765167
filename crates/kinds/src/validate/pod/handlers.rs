//! Probes and lifecycle hooks.

use serde_json::Value;

use super::{PodSpec, containers::port_number};
use crate::{
    fields::Fields,
    validate::{
        errors::{Errors, Path},
        formats,
    },
};

/// A probe of a container; `kind` is the name of its field.
pub(super) fn probe(
    errors: &mut Errors,
    path: &Path<'_>,
    pod: &PodSpec<'_>,
    kind: &str,
    probe: &Value,
) {
    handler(errors, path, pod, probe);
    let counts = [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ];
    for field in counts {
        errors.nonnegative(&path.child(field), probe.count(field));
    }
    let grace = probe.number("terminationGracePeriodSeconds");
    let at = path.child("terminationGracePeriodSeconds");
    if let Some(grace) = grace.filter(|grace| *grace <= 0) {
        errors.invalid(&at, grace, "must be greater than 0");
    }
    if kind == "readinessProbe" {
        if let Some(grace) = grace {
            errors.invalid(&at, grace, "must not be set for readinessProbes");
        }
    } else if probe.count("successThreshold") != 1 {
        let threshold = probe.count("successThreshold");
        errors.invalid(&path.child("successThreshold"), threshold, "must be 1");
    }
}

/// What a probe or a hook does: exactly one thing.
fn handler(errors: &mut Errors, path: &Path<'_>, pod: &PodSpec<'_>, handler: &Value) {
    let mut given = 0;
    for kind in ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] {
        let Some(action) = handler.field(kind) else { continue };
        given += 1;
        let path = path.child(kind);
        if given > 1 {
            errors.forbidden(&path, "may not specify more than 1 handler type");
            continue;
        }
        match kind {
            "exec" => {
                if action.list("command").is_empty() {
                    errors.required(&path.child("command"), "");
                }
            }
            "httpGet" => http_get(errors, &path, action),
            "sleep" => sleep(errors, &path, pod, action.count("seconds")),
            _ => port(errors, &path.child("port"), action.part("port")),
        }
    }
    if given == 0 {
        errors.required(path, "must specify a handler type");
    }
}

fn http_get(errors: &mut Errors, path: &Path<'_>, action: &Value) {
    if action.text("path").is_empty() {
        errors.required(&path.child("path"), "");
    }
    port(errors, &path.child("port"), action.part("port"));
    errors.supported(&path.child("scheme"), action.text("scheme"), &["HTTP", "HTTPS"]);
    for header in action.list("httpHeaders") {
        let name = header.text("name");
        errors.invalid_each(&path.child("httpHeaders"), name, formats::http_header(name));
    }
}

/// The number or the name of a port.
pub(crate) fn port(errors: &mut Errors, path: &Path<'_>, port: &Value) {
    match port.as_str() {
        Some(name) => errors.invalid_each(path, name, formats::port_name(name)),
        None => port_number(errors, path, port.as_i64().unwrap_or_default()),
    }
}

fn sleep(errors: &mut Errors, path: &Path<'_>, pod: &PodSpec<'_>, seconds: i64) {
    if let Some(grace) = pod.grace
        && !(0..=grace).contains(&seconds)
    {
        let detail =
            format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
        errors.invalid(path, seconds, detail);
    }
}

/// Hooks of a container.
///
/// COMPAT: a signal of its own to stop a container is not looked at; the feature is off by default.
pub(super) fn lifecycle(errors: &mut Errors, path: &Path<'_>, pod: &PodSpec<'_>, hooks: &Value) {
    for kind in ["postStart", "preStop"] {
        if let Some(hook) = hooks.field(kind) {
            handler(errors, &path.child(kind), pod, hook);
        }
    }
}
