//! Warnings about pods and pod templates.

use serde_json::Value;

use super::{
    errors::Path,
    formats, ip,
    pod::each_container,
    warnings::{claim_spec, deprecated_label, fractional_bytes},
};
use crate::fields::Fields;

/// Where a spec is: in a pod, where paths start with `spec`, or in a template.
struct Place<'a> {
    spec: Path<'a>,
    annotations: Path<'a>,
}

pub(super) fn of_pod(pod: &Value) -> Vec<String> {
    let place = Place { spec: Path::new("spec"), annotations: Path::new("metadata.annotations") };
    of_spec(&place, pod.part("metadata"), pod.part("spec"))
}

/// An annotation that does nothing any more, where nothing is in the field that took its place.
fn seccomp_annotation(
    place: &Place<'_>,
    metadata: &Value,
    key: &str,
    owner: &Value,
) -> Option<String> {
    let replaced = owner.part("securityContext").has("seccompProfile");
    let stale = !replaced && metadata.part("annotations").has(key);
    stale.then(|| {
        format!(
            "{}: non-functional in v1.27+; use the \"seccompProfile\" field instead",
            place.annotations.key(key)
        )
    })
}

pub(super) fn of_template(path: &Path<'_>, template: &Value) -> Vec<String> {
    let place = Place { spec: path.child("spec"), annotations: path.child("metadata.annotations") };
    of_spec(&place, template.part("metadata"), template.part("spec"))
}

fn of_spec(place: &Place<'_>, metadata: &Value, spec: &Value) -> Vec<String> {
    let mut all = Vec::new();
    node_labels(&mut all, &place.spec, spec);
    spread(&mut all, &place.spec, spec);
    annotations(&mut all, &place.annotations, metadata);
    volumes(&mut all, &place.spec, spec);
    repeated(&mut all, &place.spec, spec);
    let overhead = place.spec.child("overhead");
    for name in ["memory", "ephemeral-storage"] {
        all.extend(fractional_bytes(&overhead, spec.part("overhead"), name));
    }
    let key = "seccomp.security.alpha.kubernetes.io/pod";
    all.extend(seccomp_annotation(place, metadata, key, spec));
    containers(&mut all, place, metadata, spec);
    ports(&mut all, &place.spec, spec);
    port_names(&mut all, &place.spec, spec);
    if spec.count("terminationGracePeriodSeconds") < 0 {
        let path = place.spec.child("terminationGracePeriodSeconds");
        all.push(format!(
            "{path}: must be >= 0; negative values are invalid and will be treated as 1"
        ));
    }
    pod_affinity(&mut all, &place.spec, spec);
    let servers = place.spec.child("dnsConfig.nameservers");
    for (index, server) in spec.part("dnsConfig").texts("nameservers").enumerate() {
        all.extend(ip::address_warning(&servers.index(index), server));
    }
    let aliases = place.spec.child("hostAliases");
    for (index, alias) in spec.list("hostAliases").iter().enumerate() {
        all.extend(ip::address_warning(&aliases.index(index).child("ip"), alias.text("ip")));
    }
    all
}

fn node_labels(all: &mut Vec<String>, path: &Path<'_>, spec: &Value) {
    let selector = path.child("nodeSelector");
    for (key, _) in spec.entries("nodeSelector") {
        all.extend(
            deprecated_label(key).map(|message| format!("{}: {message}", selector.key(key))),
        );
    }
    let nodes = spec.part("affinity").part("nodeAffinity");
    let path = path.child("affinity.nodeAffinity");
    let required = path.child("requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
    let terms = nodes.part("requiredDuringSchedulingIgnoredDuringExecution");
    for (index, term) in terms.list("nodeSelectorTerms").iter().enumerate() {
        all.extend(node_selector_term(&required.index(index), term, false));
    }
    let preferred = path.child("preferredDuringSchedulingIgnoredDuringExecution");
    let terms = nodes.list("preferredDuringSchedulingIgnoredDuringExecution");
    for (index, term) in terms.iter().enumerate() {
        let at = preferred.index(index);
        all.extend(node_selector_term(&at.child("preference"), term.part("preference"), true));
    }
}

/// Labels that have been replaced, and values that no label can have.
pub(super) fn node_selector_term(path: &Path<'_>, term: &Value, check_values: bool) -> Vec<String> {
    let mut all = Vec::new();
    let path = path.child("matchExpressions");
    for (index, requirement) in term.list("matchExpressions").iter().enumerate() {
        let path = path.index(index);
        let key = requirement.text("key");
        if let Some(message) = deprecated_label(key) {
            all.push(format!("{}: {key} is {message}", path.child("key")));
        }
        if check_values {
            let values = path.child("values");
            for (index, value) in requirement.texts("values").enumerate() {
                for message in formats::label_value(value) {
                    let path = values.index(index);
                    all.push(format!("{path}: {value} is invalid, {message}"));
                }
            }
        }
    }
    all
}

const NO_SELECTOR: &str = "a null labelSelector results in matching no pod";

fn spread(all: &mut Vec<String>, path: &Path<'_>, spec: &Value) {
    let path = path.child("topologySpreadConstraints");
    for (index, constraint) in spec.list("topologySpreadConstraints").iter().enumerate() {
        let path = path.index(index);
        let key = constraint.text("topologyKey");
        if let Some(message) = deprecated_label(key) {
            all.push(format!("{}: {key} is {message}", path.child("topologyKey")));
        }
        if !constraint.has("labelSelector") {
            all.push(format!("{}: {NO_SELECTOR}", path.child("labelSelector")));
        }
    }
}

fn annotations(all: &mut Vec<String>, path: &Path<'_>, metadata: &Value) {
    let sysctls = "non-functional in v1.11+; use the \"sysctls\" field instead";
    let deprecated = [
        (
            "scheduler.alpha.kubernetes.io/critical-pod",
            "non-functional in v1.16+; use the \"priorityClassName\" field instead",
        ),
        ("security.alpha.kubernetes.io/sysctls", sysctls),
        ("security.alpha.kubernetes.io/unsafe-sysctls", sysctls),
    ];
    for (key, message) in deprecated {
        if metadata.part("annotations").has(key) {
            all.push(format!("{}: {message}", path.key(key)));
        }
    }
}

fn volumes(all: &mut Vec<String>, path: &Path<'_>, spec: &Value) {
    let deprecated = [
        ("photonPersistentDisk", "photonPersistentDisk", "v1.11, non-functional in v1.16+"),
        ("gitRepo", "gitRepo", "v1.11, and disabled by default in v1.33+"),
        ("scaleIO", "scaleIO", "v1.16, non-functional in v1.22+"),
        ("flocker", "flocker", "v1.22, non-functional in v1.25+"),
        ("storageos", "storageOS", "v1.22, non-functional in v1.25+"),
        ("quobyte", "quobyte", "v1.22, non-functional in v1.25+"),
        ("glusterfs", "glusterfs", "v1.25, non-functional in v1.26+"),
        ("ephemeral", "", ""),
        ("cephfs", "cephfs", "v1.28, non-functional in v1.31+"),
        ("rbd", "rbd", "v1.28, non-functional in v1.31+"),
    ];
    let path = path.child("volumes");
    for (index, volume) in spec.list("volumes").iter().enumerate() {
        let path = path.index(index);
        for (field, shown, since) in deprecated {
            if !volume.has(field) {
                continue;
            }
            if field == "ephemeral" {
                let claim = volume.part(field).part("volumeClaimTemplate").part("spec");
                let path = path.child("ephemeral.volumeClaimTemplate.spec");
                all.extend(claim_spec(&path, claim));
            } else {
                all.push(format!("{}: deprecated in {since}", path.child(shown)));
            }
        }
    }
}

fn repeated(all: &mut Vec<String>, path: &Path<'_>, spec: &Value) {
    for (list, field) in [("hostAliases", "ip"), ("imagePullSecrets", "name")] {
        let path = path.child(list);
        let entries = spec.list(list);
        for (index, entry) in entries.iter().enumerate() {
            let value = entry.text(field);
            if entries[..index].iter().any(|other| other.text(field) == value) {
                let path = path.index(index);
                all.push(format!("{}: duplicate {field} {value:?}", path.child(field)));
            }
        }
    }
    let path = path.child("imagePullSecrets");
    for (index, secret) in spec.list("imagePullSecrets").iter().enumerate() {
        if secret.text("name").is_empty() {
            all.push(format!("{}: invalid empty name \"\"", path.index(index).child("name")));
        }
    }
}

fn containers(all: &mut Vec<String>, place: &Place<'_>, metadata: &Value, spec: &Value) {
    each_container(&place.spec, spec, |path, container| {
        let name = container.text("name");
        let key = format!("container.seccomp.security.alpha.kubernetes.io/{name}");
        all.extend(seccomp_annotation(place, metadata, &key, container));
        let amounts = container.part("resources");
        for name in ["memory", "ephemeral-storage"] {
            for (shown, kind) in
                [("resources.limits", "limits"), ("resources.requests", "requests")]
            {
                all.extend(fractional_bytes(&path.child(shown), amounts.part(kind), name));
            }
        }
        let path = path.child("env");
        let variables = container.list("env");
        for (index, variable) in variables.iter().enumerate() {
            let name = variable.text("name");
            if !variables[..index].iter().any(|other| other.text("name") == name) {
                continue;
            }
            let reference = format!("$({name})");
            let value = variable.text("value");
            if variable.has("valueFrom") || value == reference || !value.contains(&reference) {
                let path = path.index(index);
                all.push(format!(
                    "{path}: hides previous definition of {name:?}, which may be dropped when \
                     using apply"
                ));
            }
        }
    });
}

/// Ports that are there twice, or that differ only in the host's port.
fn ports(all: &mut Vec<String>, path: &Path<'_>, spec: &Value) {
    let mut seen: Vec<(String, &Value)> = Vec::new();
    each_container(path, spec, |path, container| {
        let path = path.child("ports");
        for (index, port) in container.list("ports").iter().enumerate() {
            let at = path.index(index).to_string();
            let host = |port: &Value| (port.text("hostIP").to_owned(), port.count("hostPort"));
            let (ip, number) = host(port);
            let same = |other: &Value| {
                other.count("containerPort") == port.count("containerPort")
                    && other.text("protocol") == port.text("protocol")
            };
            for (other_at, other) in seen.iter().filter(|(_, other)| same(other)) {
                let (other_ip, other_number) = host(other);
                if (&ip, number) == (&other_ip, other_number) {
                    all.push(format!("{at}: duplicate port definition with {other_at}"));
                } else if number == 0 || other_number == 0 {
                    all.push(format!("{at}: overlapping port definition with {other_at}"));
                } else if number == other_number && ip.is_empty() != other_ip.is_empty() {
                    all.push(format!(
                        "{at}: dangerously ambiguous port definition with {other_at}"
                    ));
                }
            }
            seen.push((at, port));
        }
    });
}

fn port_names(all: &mut Vec<String>, path: &Path<'_>, spec: &Value) {
    let mut seen: Vec<(&str, String)> = Vec::new();
    each_container(path, spec, |path, container| {
        let path = path.child("ports");
        for (index, port) in container.list("ports").iter().enumerate() {
            let name = port.text("name");
            if name.is_empty() {
                continue;
            }
            let at = path.index(index).to_string();
            match seen.iter().find(|(other, _)| *other == name) {
                Some((_, first)) => all.push(format!(
                    "{at}: duplicate port name {name:?} with {first}, services and probes that \
                     select ports by name will use {first}"
                )),
                None => seen.push((name, at)),
            }
        }
    });
}

fn pod_affinity(all: &mut Vec<String>, path: &Path<'_>, spec: &Value) {
    for kind in ["podAffinity", "podAntiAffinity"] {
        let pods = spec.part("affinity").part(kind);
        let path = path.child("affinity");
        let path = path.child(kind);
        let required = path.child("requiredDuringSchedulingIgnoredDuringExecution");
        let terms = pods.list("requiredDuringSchedulingIgnoredDuringExecution");
        for (index, term) in terms.iter().enumerate() {
            if !term.has("labelSelector") {
                let path = required.index(index);
                all.push(format!("{}: {NO_SELECTOR}", path.child("labelSelector")));
            }
        }
        let preferred = path.child("preferredDuringSchedulingIgnoredDuringExecution");
        let terms = pods.list("preferredDuringSchedulingIgnoredDuringExecution");
        for (index, term) in terms.iter().enumerate() {
            if !term.part("podAffinityTerm").has("labelSelector") {
                let path = preferred.index(index);
                all.push(format!("{}: {NO_SELECTOR}", path.child("podAffinityTerm.labelSelector")));
            }
        }
    }
}
