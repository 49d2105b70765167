//! Security contexts.

use serde_json::Value;

use super::PodSpec;
use crate::{
    fields::Fields,
    validate::{
        errors::{Errors, Path},
        formats, internal,
        volume_sources::relative_path,
    },
};

/// The security context of one container.
///
/// COMPAT: privileged containers are allowed, as `--allow-privileged` makes it on real clusters.
pub(super) fn container(errors: &mut Errors, path: &Path<'_>, pod: &PodSpec<'_>, context: &Value) {
    for field in ["runAsUser", "runAsGroup"] {
        id(errors, &path.child(field), context.number(field));
    }
    if let Some(mount) = context.given_text("procMount") {
        let at = path.child("procMount");
        errors.supported(&at, mount, &["Default", "Unmasked"]);
        if mount == "Unmasked" && pod.host_users {
            errors.invalid(&at, mount, "`hostUsers` must be false to use `Unmasked`");
        }
    }
    seccomp(errors, &path.child("seccompProfile"), context.field("seccompProfile"));
    if context.given_flag("allowPrivilegeEscalation") == Some(false) {
        let cannot = |errors: &mut Errors, what: &str| {
            let detail = format!("cannot set `allowPrivilegeEscalation` to false and {what}");
            errors.invalid_shown(path, &internal::compact("SecurityContext", context), &detail);
        };
        if context.flag("privileged") {
            cannot(errors, "`privileged` to true");
        }
        for _ in context.part("capabilities").texts("add").filter(|cap| *cap == "CAP_SYS_ADMIN") {
            cannot(errors, "`capabilities.Add` CAP_SYS_ADMIN");
        }
    }
    apparmor(errors, &path.child("appArmorProfile"), context.field("appArmorProfile"));
}

/// The security context of the whole pod.
pub(super) fn pod(errors: &mut Errors, path: &Path<'_>, pod: &PodSpec<'_>) {
    let context = pod.spec.part("securityContext");
    for field in ["fsGroup", "runAsUser", "runAsGroup"] {
        id(errors, &path.child(field), context.number(field));
    }
    let groups = path.child("supplementalGroups");
    for (index, group) in context.list("supplementalGroups").iter().enumerate() {
        id(errors, &groups.index(index), group.as_i64());
    }
    if pod.spec.flag("shareProcessNamespace") && pod.spec.flag("hostPID") {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.invalid(&path.child("shareProcessNamespace"), true, detail);
    }
    sysctls(errors, &path.child("sysctls"), pod.spec, context);
    if let Some(policy) = context.given_text("fsGroupChangePolicy") {
        let at = path.child("fsGroupChangePolicy");
        errors.supported(&at, policy, &["Always", "OnRootMismatch"]);
    }
    seccomp(errors, &path.child("seccompProfile"), context.field("seccompProfile"));
    apparmor(errors, &path.child("appArmorProfile"), context.field("appArmorProfile"));
    if let Some(policy) = context.given_text("supplementalGroupsPolicy") {
        let at = path.child("supplementalGroupsPolicy");
        errors.supported(&at, policy, &["Merge", "Strict"]);
    }
    if let Some(policy) = context.given_text("seLinuxChangePolicy") {
        let at = path.child("seLinuxChangePolicy");
        errors.supported(&at, policy, &["Recursive"]);
    }
}

fn id(errors: &mut Errors, path: &Path<'_>, id: Option<i64>) {
    if let Some(id) = id {
        for message in formats::user_id(id) {
            errors.invalid(path, id, message);
        }
    }
}

fn sysctls(errors: &mut Errors, path: &Path<'_>, spec: &Value, context: &Value) {
    let sysctls = context.list("sysctls");
    for (index, sysctl) in sysctls.iter().enumerate() {
        let path = path.index(index);
        let (name, at) = (sysctl.text("name"), path.child("name"));
        if name.is_empty() {
            errors.required(&at, "");
        } else if !formats::is_sysctl(name) {
            let segment = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
            let detail = format!(
                "must have at most 253 characters and match regex ^({segment}[\\./])*{segment}$"
            );
            errors.invalid(&at, name, detail);
        } else if sysctls[..index].iter().any(|other| other.text("name") == name) {
            errors.duplicate(&at, name);
        }
        let dotted = name.replace('/', ".");
        let of_ipc = ["kernel.shm", "kernel.msg", "fs.mqueue."]
            .iter()
            .any(|prefix| dotted.starts_with(prefix))
            || dotted == "kernel.sem";
        if spec.flag("hostNetwork") && dotted.starts_with("net.") {
            errors.invalid(&at, name, "may not be specified when 'hostNetwork' is true");
        } else if spec.flag("hostIPC") && of_ipc {
            errors.invalid(&at, name, "may not be specified when 'hostIPC' is true");
        }
    }
}

const PROFILES: [&str; 3] = ["Localhost", "RuntimeDefault", "Unconfined"];

fn seccomp(errors: &mut Errors, path: &Path<'_>, profile: Option<&Value>) {
    let Some(profile) = profile else { return };
    let kind = profile.text("type");
    if kind.is_empty() {
        errors.required(&path.child("type"), "type is required when seccompProfile is set");
    } else {
        errors.supported(&path.child("type"), kind, &PROFILES);
    }
    let at = path.child("localhostProfile");
    match (kind == "Localhost", profile.given_text("localhostProfile")) {
        (true, None) => errors.required(&at, "must be set when seccomp type is Localhost"),
        (true, Some(file)) => relative_path(errors, &at, file),
        (false, Some(_)) => {
            let shown = internal::compact("SeccompProfile", profile);
            errors.invalid_shown(&at, &shown, "can only be set when seccomp type is Localhost");
        }
        (false, None) => {}
    }
}

fn apparmor(errors: &mut Errors, path: &Path<'_>, profile: Option<&Value>) {
    let Some(profile) = profile else { return };
    let at = path.child("localhostProfile");
    match (profile.text("type"), profile.given_text("localhostProfile")) {
        ("Localhost", None | Some("")) => {
            errors.required(&at, "must be set when AppArmor type is Localhost");
        }
        ("Localhost", Some(name)) => {
            if name.trim() != name {
                errors.invalid(&at, name, "must not be padded with whitespace");
            }
            if name.len() > 4095 {
                errors.too_long(&at, 4095);
            }
        }
        ("RuntimeDefault" | "Unconfined", Some(name)) => {
            errors.invalid(&at, name, "can only be set when AppArmor type is Localhost");
        }
        ("RuntimeDefault" | "Unconfined", None) => {}
        ("", _) => {
            let detail = "type is required when appArmorProfile is set";
            errors.required(&path.child("type"), detail);
        }
        (other, _) => errors.not_supported(&path.child("type"), other, &PROFILES),
    }
}
