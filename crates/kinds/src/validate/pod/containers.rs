//! Containers of a pod: regular, init and ephemeral ones.

use serde_json::Value;

use super::{
    PodSpec, env,
    handlers::{self, lifecycle},
    security,
};
use crate::{
    fields::Fields,
    validate::{
        errors::{Errors, Path},
        formats,
        resources::{self, Of},
        volume_sources::{no_backsteps, relative_path},
    },
};

pub(crate) const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

/// The regular containers.
pub(super) fn regular(errors: &mut Errors, path: &Path<'_>, pod: &PodSpec<'_>) {
    let containers = pod.spec.list("containers");
    if containers.is_empty() {
        errors.required(path, "");
        return;
    }
    for (index, container) in containers.iter().enumerate() {
        let path = path.index(index);
        let name = container.text("name");
        common(errors, &path, pod, container);
        if containers[..index].iter().any(|other| other.text("name") == name) {
            errors.duplicate(&path.child("name"), name);
        }
        hooks_and_probes(errors, &path, pod, container);
        restart_rules(errors, &path, container);
    }
    host_ports(errors, path, containers);
}

fn hooks_and_probes(errors: &mut Errors, path: &Path<'_>, pod: &PodSpec<'_>, container: &Value) {
    if let Some(hooks) = container.field("lifecycle") {
        lifecycle(errors, &path.child("lifecycle"), pod, hooks);
    }
    for kind in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.field(kind) {
            handlers::probe(errors, &path.child(kind), pod, kind, probe);
        }
    }
}

/// The init containers.
pub(super) fn init(errors: &mut Errors, path: &Path<'_>, pod: &PodSpec<'_>) {
    let containers = pod.spec.list("initContainers");
    let regular = pod.spec.list("containers");
    for (index, container) in containers.iter().enumerate() {
        let at = path.index(index);
        let name = container.text("name");
        common(errors, &at, pod, container);
        let sidecar = container.text("restartPolicy") == "Always";
        restart_rules(errors, &at, container);
        let mut others = regular.iter().chain(&containers[..index]);
        if others.any(|other| other.text("name") == name) {
            errors.duplicate(&at.child("name"), name);
        }
        // Each init container runs for itself, so only its own ports can be in conflict. The path
        // of the error is that of the first init container: the API server has it so.
        host_ports(errors, path, std::slice::from_ref(container));
        if sidecar {
            hooks_and_probes(errors, &at, pod, container);
            continue;
        }
        for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
            if container.has(field) {
                let detail = "may not be set for init containers without restartPolicy=Always";
                errors.forbidden(&at.child(field), detail);
            }
        }
        let policies = at.child("resizePolicy");
        for (index, policy) in container.list("resizePolicy").iter().enumerate() {
            let restart = policy.text("restartPolicy");
            if restart == "RestartContainer" {
                let detail = "must not be set to 'RestartContainer' for non-sidecar initContainers";
                errors.invalid(&policies.index(index).child("restartPolicy"), restart, detail);
            }
        }
    }
}

/// The containers that were added to a running pod for debugging.
pub(super) fn ephemeral(errors: &mut Errors, path: &Path<'_>, pod: &PodSpec<'_>) {
    const FORBIDDEN: [&str; 9] = [
        "ports",
        "resources",
        "resizePolicy",
        "restartPolicy",
        "restartPolicyRules",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "lifecycle",
    ];
    let containers = pod.spec.list("ephemeralContainers");
    let others = || pod.spec.list("containers").iter().chain(pod.spec.list("initContainers"));
    let cannot = "cannot be set for an Ephemeral Container";
    for (index, container) in containers.iter().enumerate() {
        let path = path.index(index);
        let name = container.text("name");
        common(errors, &path, pod, container);
        image_is_trimmed(errors, &path, container);
        if others().chain(&containers[..index]).any(|other| other.text("name") == name) {
            errors.duplicate(&path.child("name"), name);
        }
        let target = container.text("targetContainerName");
        if !target.is_empty() && !others().any(|other| other.text("name") == target) {
            errors.not_found(&path.child("targetContainerName"), target, "");
        }
        for field in FORBIDDEN {
            let empty = |value: &Value| {
                value.as_array().is_some_and(Vec::is_empty)
                    || value.as_object().is_some_and(serde_json::Map::is_empty)
            };
            if container.field(field).is_some_and(|value| !empty(value)) {
                errors.forbidden(&path.child(field), cannot);
            }
        }
        let mounts = path.child("volumeMounts");
        for (index, mount) in container.list("volumeMounts").iter().enumerate() {
            for field in ["subPath", "subPathExpr"] {
                if !mount.text(field).is_empty() {
                    errors.forbidden(&mounts.index(index).child(field), cannot);
                }
            }
        }
    }
}

/// What is checked of images only in pods, not in templates.
pub(super) fn image_is_trimmed(errors: &mut Errors, path: &Path<'_>, container: &Value) {
    let image = container.text("image");
    if image.trim().len() != image.len() {
        let detail = "must not have leading or trailing whitespace";
        errors.invalid(&path.child("image"), image, detail);
    }
}

fn common(errors: &mut Errors, path: &Path<'_>, pod: &PodSpec<'_>, container: &Value) {
    let name = container.text("name");
    if name.is_empty() {
        errors.required(&path.child("name"), "");
    } else {
        errors.invalid_each(&path.child("name"), name, formats::dns_label(name));
    }
    if container.text("image").is_empty() {
        errors.required(&path.child("image"), "");
    }
    let policies = ["File", "FallbackToLogsOnError"];
    let policy = container.text("terminationMessagePolicy");
    errors.one_of(&path.child("terminationMessagePolicy"), policy, &policies);
    ports(errors, &path.child("ports"), container);
    env::variables(errors, &path.child("env"), container);
    env::sources(errors, &path.child("envFrom"), container);
    mounts(errors, &path.child("volumeMounts"), pod, container);
    devices(errors, &path.child("volumeDevices"), pod, container);
    pull_policy(errors, &path.child("imagePullPolicy"), container.text("imagePullPolicy"));
    let requirements = container.part("resources");
    let at = path.child("resources");
    resources::requirements(errors, &at, Of::Container, requirements, &pod.claims);
    resize_policy(errors, &path.child("resizePolicy"), pod, container);
    if let Some(context) = container.field("securityContext") {
        security::container(errors, &path.child("securityContext"), pod, context);
    }
}

pub(super) fn pull_policy(errors: &mut Errors, path: &Path<'_>, policy: &str) {
    errors.one_of(path, policy, &["Always", "IfNotPresent", "Never"]);
}

fn ports(errors: &mut Errors, path: &Path<'_>, container: &Value) {
    let ports = container.list("ports");
    let mut names: Vec<&str> = Vec::new();
    for (index, port) in ports.iter().enumerate() {
        let path = path.index(index);
        let name = port.text("name");
        if !name.is_empty() {
            let wrong = formats::port_name(name);
            if !wrong.is_empty() {
                errors.invalid_each(&path.child("name"), name, wrong);
            } else if names.contains(&name) {
                errors.duplicate(&path.child("name"), name);
            } else {
                names.push(name);
            }
        }
        match port.count("containerPort") {
            0 => errors.required(&path.child("containerPort"), ""),
            number => port_number(errors, &path.child("containerPort"), number),
        }
        match port.count("hostPort") {
            0 => {}
            number => port_number(errors, &path.child("hostPort"), number),
        }
        errors.one_of(&path.child("protocol"), port.text("protocol"), &PROTOCOLS);
    }
}

pub(crate) fn port_number(errors: &mut Errors, path: &Path<'_>, number: i64) {
    for message in formats::port_number(number) {
        errors.invalid(path, number, message);
    }
}

/// No two ports of these containers may be the same port of the host.
fn host_ports(errors: &mut Errors, path: &Path<'_>, containers: &[Value]) {
    let mut used: Vec<(&str, &str, i64)> = Vec::new();
    for (index, container) in containers.iter().enumerate() {
        let path = path.index(index);
        let ports = path.child("ports");
        for (index, port) in container.list("ports").iter().enumerate() {
            let key = (port.text("protocol"), port.text("hostIP"), port.count("hostPort"));
            if key.2 == 0 {
                continue;
            }
            if used.contains(&key) {
                let shown = format!("{}/{}/{}", key.0, key.1, key.2);
                errors.duplicate(&ports.index(index).child("hostPort"), shown);
            } else {
                used.push(key);
            }
        }
    }
}

fn mounts(errors: &mut Errors, path: &Path<'_>, pod: &PodSpec<'_>, container: &Value) {
    let mounts = container.list("volumeMounts");
    let devices = container.list("volumeDevices");
    for (index, mount) in mounts.iter().enumerate() {
        let at = path.index(index);
        let (name, target) = (mount.text("name"), mount.text("mountPath"));
        if name.is_empty() {
            errors.required(&at.child("name"), "");
        }
        if pod.volume(name).is_none() {
            errors.not_found(&at.child("name"), name, "");
        }
        if target.is_empty() {
            errors.required(&at.child("mountPath"), "");
        }
        if mounts[..index].iter().any(|other| other.text("mountPath") == target) {
            errors.invalid(&at.child("mountPath"), target, "must be unique");
        }
        if devices.iter().any(|device| device.text("name") == name) {
            let detail = "must not already exist in volumeDevices";
            errors.invalid(&at.child("name"), name, detail);
        }
        if devices.iter().any(|device| device.text("devicePath") == target) {
            let detail = "must not already exist as a path in volumeDevices";
            errors.invalid(&at.child("mountPath"), target, detail);
        }
        sub_paths(errors, path, &at, mount);
        propagation(errors, path, mount, container);
        recursive_read_only(errors, &path.child("recursiveReadOnly"), mount);
    }
}

fn sub_paths(errors: &mut Errors, mounts: &Path<'_>, path: &Path<'_>, mount: &Value) {
    let (plain, expanded) = (mount.text("subPath"), mount.text("subPathExpr"));
    if !plain.is_empty() {
        relative_path(errors, &mounts.child("subPath"), plain);
    }
    if !expanded.is_empty() {
        if !plain.is_empty() {
            let detail = "subPathExpr and subPath are mutually exclusive";
            errors.invalid(&path.child("subPathExpr"), expanded, detail);
        }
        relative_path(errors, &mounts.child("subPathExpr"), expanded);
    }
}

fn propagation(errors: &mut Errors, mounts: &Path<'_>, mount: &Value, container: &Value) {
    let Some(mode) = mount.given_text("mountPropagation") else { return };
    let path = mounts.child("mountPropagation");
    errors.supported(&path, mode, &["Bidirectional", "HostToContainer", "None"]);
    if mode == "Bidirectional" && !container.part("securityContext").flag("privileged") {
        let detail = "Bidirectional mount propagation is available only to privileged containers";
        errors.forbidden(&path, detail);
    }
}

fn recursive_read_only(errors: &mut Errors, path: &Path<'_>, mount: &Value) {
    match mount.given_text("recursiveReadOnly") {
        None | Some("Disabled") => {}
        Some("Enabled" | "IfPossible") => {
            if !mount.flag("readOnly") {
                errors.forbidden(path, "may only be specified when readOnly is true");
            }
            if mount.given_text("mountPropagation").is_some_and(|mode| mode != "None") {
                let detail = "may only be specified when mountPropagation is None or not specified";
                errors.forbidden(path, detail);
            }
        }
        Some(other) => {
            errors.not_supported(path, other, &["Disabled", "Enabled", "IfPossible"]);
        }
    }
}

fn devices(errors: &mut Errors, path: &Path<'_>, pod: &PodSpec<'_>, container: &Value) {
    let devices = container.list("volumeDevices");
    let mounts = container.list("volumeMounts");
    for (index, device) in devices.iter().enumerate() {
        let path = path.index(index);
        let (name, target) = (device.text("name"), device.text("devicePath"));
        let (at_name, at_path) = (path.child("name"), path.child("devicePath"));
        let volume = pod.volume(name);
        if name.is_empty() {
            errors.required(&at_name, "");
        } else if devices[..index].iter().any(|other| other.text("name") == name) {
            errors.invalid(&at_name, name, "must be unique");
        }
        match volume {
            None => errors.not_found(&at_name, name, ""),
            Some(volume) if volume.has("persistentVolumeClaim") || volume.has("ephemeral") => {}
            Some(_) => {
                let detail = "can only use volume source type of PersistentVolumeClaim or \
                     Ephemeral for block mode";
                errors.invalid(&at_name, name, detail);
            }
        }
        if target.is_empty() {
            errors.required(&at_path, "");
        }
        if devices[..index].iter().any(|other| other.text("devicePath") == target) {
            errors.invalid(&at_path, target, "must be unique");
        }
        let mut backsteps = Errors::default();
        no_backsteps(&mut backsteps, &at_path, target);
        if !backsteps.is_empty() {
            errors.invalid(&at_path, target, "can not contain backsteps ('..')");
        }
        if mounts.iter().any(|mount| mount.text("name") == name) {
            errors.invalid(&at_name, name, "must not already exist in volumeMounts");
        }
        if mounted_at(mounts).any(|path| path == target) {
            let detail = "must not already exist as a path in volumeMounts";
            errors.invalid(&at_path, target, detail);
        }
    }
}

/// Where volumes are mounted; of a volume that is mounted twice only the last place counts.
fn mounted_at(mounts: &[Value]) -> impl Iterator<Item = &str> {
    let is_last = |index: usize, name: &str| {
        !mounts[index + 1..].iter().any(|later| later.text("name") == name)
    };
    let places = mounts.iter().enumerate();
    places
        .filter(move |(index, mount)| is_last(*index, mount.text("name")))
        .map(|(_, mount)| mount.text("mountPath"))
}

fn resize_policy(errors: &mut Errors, path: &Path<'_>, pod: &PodSpec<'_>, container: &Value) {
    let policies = container.list("resizePolicy");
    for (index, policy) in policies.iter().enumerate() {
        let (resource, restart) = (policy.text("resourceName"), policy.text("restartPolicy"));
        if policies[..index].iter().any(|other| other.text("resourceName") == resource) {
            errors.duplicate(&path.index(index), resource);
        }
        errors.one_of(path, resource, &["cpu", "memory"]);
        errors.one_of(path, restart, &["NotRequired", "RestartContainer"]);
        if pod.restart_policy == "Never" && restart != "NotRequired" {
            let detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            errors.invalid(path, restart, detail);
        }
    }
}

/// The restart policy of a container of its own, and rules about exit codes.
fn restart_rules(errors: &mut Errors, path: &Path<'_>, container: &Value) {
    let rules = container.list("restartPolicyRules");
    let at = path.child("restartPolicy");
    match container.given_text("restartPolicy") {
        None if rules.is_empty() => return,
        None => errors.required(&at, "must specify restartPolicy when restart rules are used"),
        Some(policy) => errors.supported(&at, policy, &["Always", "Never", "OnFailure"]),
    }
    let at = path.child("restartPolicyRules");
    if rules.len() > 20 {
        errors.too_many(&at, rules.len(), 20);
    }
    for (index, rule) in rules.iter().enumerate() {
        let at = at.index(index);
        let actions = ["Restart", "RestartAllContainers"];
        errors.supported(&at.child("action"), rule.text("action"), &actions);
        match rule.field("exitCodes") {
            None => errors.required(&at.child("exitCodes"), "must be specified"),
            Some(codes) => {
                let operator = at.child("exitCodes.operator");
                errors.supported(&operator, codes.text("operator"), &["In", "NotIn"]);
                let values = codes.list("values").len();
                if values > 255 {
                    errors.too_many(&at.child("exitCodes.values"), values, 255);
                }
            }
        }
    }
}
