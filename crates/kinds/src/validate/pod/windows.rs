//! Rules that depend on the operating system of a pod, and annotations that fields have replaced.

use serde_json::Value;

use super::each_container;
use crate::{
    fields::Fields,
    validate::errors::{Errors, Path},
};

/// The operating system, and fields that the other one does not have.
pub(super) fn operating_system(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let Some(os) = spec.field("os") else { return };
    match os.text("name") {
        "" => errors.required(&path.child("os.name"), ""),
        "linux" => linux(errors, path, spec),
        "windows" => windows(errors, path, spec),
        other => errors.not_supported(&path.child("os"), other, &["linux", "windows"]),
    }
}

fn linux(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let detail = "windows options cannot be set for a linux pod";
    if spec.part("securityContext").has("windowsOptions") {
        errors.forbidden(&path.child("securityContext.windowsOptions"), detail);
    }
    each_container(path, spec, |path, container| {
        if container.part("securityContext").has("windowsOptions") {
            errors.forbidden(&path.child("securityContext.windowsOptions"), detail);
        }
    });
}

fn windows(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let detail = "cannot be set for a windows pod";
    let of_pod = [
        "securityContext.appArmorProfile",
        "securityContext.seLinuxOptions",
        "hostUsers",
        "hostPID",
        "hostIPC",
        "securityContext.seccompProfile",
        "securityContext.fsGroup",
        "securityContext.fsGroupChangePolicy",
        "securityContext.sysctls",
        "shareProcessNamespace",
        "securityContext.runAsUser",
        "securityContext.runAsGroup",
        "securityContext.supplementalGroups",
        "securityContext.supplementalGroupsPolicy",
        "securityContext.seLinuxChangePolicy",
    ];
    for field in of_pod {
        let given = match field.split_once('.') {
            Some((_, name)) => spec.part("securityContext").has(name),
            None if field.starts_with("host") && field != "hostUsers" => spec.flag(field),
            None => spec.has(field),
        };
        if given {
            errors.forbidden(&path.child(field), detail);
        }
    }
    let of_containers = [
        "appArmorProfile",
        "seLinuxOptions",
        "seccompProfile",
        "capabilities",
        "readOnlyRootFilesystem",
        "privileged",
        "allowPrivilegeEscalation",
        "procMount",
        "runAsUser",
        "runAsGroup",
    ];
    each_container(path, spec, |path, container| {
        let path = path.child("securityContext");
        for field in of_containers {
            if container.part("securityContext").has(field) {
                errors.forbidden(&path.child(field), detail);
            }
        }
    });
}

/// Containers that are processes of a Windows host: all of a pod or none.
pub(super) fn host_process(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let option = |owner: &Value| {
        owner.part("securityContext").part("windowsOptions").given_flag("hostProcess")
    };
    let pod = option(spec);
    let (mut all, mut on_host) = (0, 0);
    each_container(path, spec, |path, container| {
        all += 1;
        let own = option(container);
        if let (Some(pod), Some(own)) = (pod, own)
            && pod != own
        {
            let detail =
                format!("pod hostProcess value must be identical if both are specified, was {pod}");
            let at = path.child("securityContext.windowsOptions.hostProcess");
            errors.invalid(&at, own, detail);
        }
        on_host += usize::from(own.or(pod).unwrap_or_default());
    });
    if on_host == 0 {
        return;
    }
    if on_host != all {
        let detail = "If pod contains any hostProcess containers then all containers must be \
             HostProcess containers";
        errors.invalid(path, "", detail);
    }
    if !spec.flag("hostNetwork") {
        let detail = "hostNetwork must be true if pod contains any hostProcess containers";
        errors.invalid(&path.child("hostNetwork"), false, detail);
    }
}

/// Annotations that once chose seccomp profiles must agree with the fields that replaced them.
pub(super) fn seccomp_annotations(
    errors: &mut Errors,
    path: &Path<'_>,
    metadata: &Value,
    spec: &Value,
) {
    let annotations = metadata.part("annotations");
    if annotations.is_null() {
        return;
    }
    let mut compare = |path: &Path<'_>, key: &str, owner: &Value| {
        let Some(profile) = owner.part("securityContext").field("seccompProfile") else { return };
        let Some(annotation) = annotations.given_text(key) else { return };
        let file = annotation.strip_prefix("localhost/");
        let agrees = match profile.text("type") {
            "Unconfined" => annotation == "unconfined",
            "RuntimeDefault" => ["runtime/default", "docker/default"].contains(&annotation),
            "Localhost" => file.is_some(),
            _ => true,
        };
        let path = path.child("securityContext.seccompProfile");
        if !agrees {
            let detail = "seccomp type in annotation and field must match";
            errors.forbidden(&path.child("type"), detail);
        } else if profile.text("type") == "Localhost"
            && file != profile.given_text("localhostProfile")
        {
            let detail = "seccomp profile in annotation and field must match";
            errors.forbidden(&path.child("localhostProfile"), detail);
        }
    };
    compare(path, "seccomp.security.alpha.kubernetes.io/pod", spec);
    each_container(path, spec, |path, container| {
        let key =
            format!("container.seccomp.security.alpha.kubernetes.io/{}", container.text("name"));
        compare(path, &key, container);
    });
}
