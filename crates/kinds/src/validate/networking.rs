//! `NetworkPolicies`, Ingresses, `IngressClasses` and `HorizontalPodAutoscalers`: the basics.

use serde_json::Value;

use super::{
    errors::{Errors, Path},
    formats, ip,
    pod::containers::port_number,
    selectors,
};
use crate::fields::Fields;

pub(super) fn network_policy(errors: &mut Errors, policy: &Value) {
    let (path, spec) = (Path::new("spec"), policy.part("spec"));
    selectors::label_selector(errors, &path.child("podSelector"), spec.field("podSelector"));
    for (field, peers_field) in [("ingress", "from"), ("egress", "to")] {
        let path = path.child(field);
        for (index, rule) in spec.list(field).iter().enumerate() {
            let path = path.index(index);
            let ports = path.child("ports");
            for (index, port) in rule.list("ports").iter().enumerate() {
                policy_port(errors, &ports.index(index), port);
            }
            let peers = path.child(peers_field);
            for (index, peer) in rule.list(peers_field).iter().enumerate() {
                policy_peer(errors, &peers.index(index), peer);
            }
        }
    }
    let types = path.child("policyTypes");
    if spec.list("policyTypes").len() > 2 {
        let detail = "may not specify more than two policyTypes";
        errors.invalid(&types, spec.part("policyTypes").clone(), detail);
        return;
    }
    for (index, kind) in spec.texts("policyTypes").enumerate() {
        errors.supported(&types.index(index), kind, &["Ingress", "Egress"]);
    }
}

fn policy_port(errors: &mut Errors, path: &Path<'_>, port: &Value) {
    if let Some(protocol) = port.given_text("protocol") {
        errors.supported(&path.child("protocol"), protocol, &["TCP", "UDP", "SCTP"]);
    }
    let (at, at_end) = (path.child("port"), path.child("endPort"));
    let end = port.number("endPort");
    match (port.field("port"), end) {
        (None, Some(end)) => {
            errors.invalid(&at_end, end, "may not be specified when `port` is not specified");
        }
        (None, None) => {}
        (Some(Value::String(name)), end) => {
            if let Some(end) = end {
                let detail = "may not be specified when `port` is non-numeric";
                errors.invalid(&at_end, end, detail);
            }
            errors.invalid_each(&at, name, formats::port_name(name));
        }
        (Some(number), end) => {
            let number = number.as_i64().unwrap_or_default();
            port_number(errors, &at, number);
            if let Some(end) = end {
                if end < number {
                    errors.invalid(&at_end, number, "must be greater than or equal to `port`");
                }
                port_number(errors, &at_end, end);
            }
        }
    }
}

fn policy_peer(errors: &mut Errors, path: &Path<'_>, peer: &Value) {
    let mut given = 0;
    for field in ["podSelector", "namespaceSelector"] {
        let selector = peer.field(field);
        given += usize::from(selector.is_some());
        selectors::label_selector(errors, &path.child(field), selector);
    }
    if let Some(block) = peer.field("ipBlock") {
        given += 1;
        ip_block(errors, &path.child("ipBlock"), block);
    }
    if given == 0 {
        errors.required(path, "must specify a peer");
    } else if given > 1 && peer.has("ipBlock") {
        errors.forbidden(path, "may not specify both ipBlock and another peer");
    }
}

fn ip_block(errors: &mut Errors, path: &Path<'_>, block: &Value) {
    let network = block.text("cidr");
    if network.is_empty() {
        errors.required(&path.child("cidr"), "");
        return;
    }
    ip::network(errors, &path.child("cidr"), network, &[]);
    if !ip::is_network(network) {
        return;
    }
    let excepts = path.child("except");
    for (index, except) in block.texts("except").enumerate() {
        let at = excepts.index(index);
        ip::network(errors, &at, except, &[]);
        if ip::is_strictly_within(except, network) == Some(false) {
            errors.invalid(&at, except, "must be a strict subset of `cidr`");
        }
    }
}

pub(super) fn ingress(errors: &mut Errors, ingress: &Value) {
    let (path, spec) = (Path::new("spec"), ingress.part("spec"));
    if spec.list("rules").is_empty() && !spec.has("defaultBackend") {
        let detail = "either `defaultBackend` or `rules` must be specified";
        errors.invalid(&path, spec.part("rules").clone(), detail);
    }
    if let Some(backend) = spec.field("defaultBackend") {
        ingress_backend(errors, &path.child("defaultBackend"), backend);
    }
    let rules = path.child("rules");
    for (index, rule) in spec.list("rules").iter().enumerate() {
        ingress_rule(errors, &rules.index(index), rule);
    }
    let tls = path.child("tls");
    for (index, entry) in spec.list("tls").iter().enumerate() {
        let at = tls.index(index);
        let hosts = at.child("hosts");
        for (index, host) in entry.texts("hosts").enumerate() {
            host_name(errors, &hosts.index(index), host);
        }
        let secret = entry.text("secretName");
        if !secret.is_empty() {
            errors.invalid_each(&at.child("secretName"), secret, formats::dns_subdomain(secret));
        }
    }
    if let Some(class) = spec.given_text("ingressClassName") {
        let at = path.child("ingressClassName");
        errors.invalid_each(&at, class, formats::dns_subdomain(class));
    }
}

fn host_name(errors: &mut Errors, path: &Path<'_>, host: &str) {
    let wrong = if host.contains('*') {
        formats::wildcard_dns_subdomain(host)
    } else {
        formats::dns_subdomain(host)
    };
    errors.invalid_each(path, host, wrong);
}

fn ingress_rule(errors: &mut Errors, path: &Path<'_>, rule: &Value) {
    let host = rule.text("host");
    if !host.is_empty() {
        let at = path.child("host");
        if ip::parse_sloppy(host).is_some() {
            errors.invalid(&at, host, "must be a DNS name, not an IP address");
        }
        host_name(errors, &at, host);
    }
    let Some(http) = rule.field("http") else { return };
    let paths = path.child("http.paths");
    if http.list("paths").is_empty() {
        errors.required(&paths, "");
    }
    for (index, entry) in http.list("paths").iter().enumerate() {
        let at = paths.index(index);
        let route = entry.text("path");
        let at_path = at.child("path");
        match entry.given_text("pathType") {
            None => errors.required(&at.child("pathType"), "pathType must be specified"),
            Some("Exact" | "Prefix") => {
                if !route.starts_with('/') {
                    errors.invalid(&at_path, route, "must be an absolute path");
                }
                for banned in ["//", "/./", "/../", "%2f", "%2F"] {
                    if route.contains(banned) {
                        errors.invalid(&at_path, route, format!("must not contain '{banned}'"));
                    }
                }
                for banned in ["/..", "/."] {
                    if route.ends_with(banned) {
                        errors.invalid(&at_path, route, format!("cannot end with '{banned}'"));
                    }
                }
            }
            Some("ImplementationSpecific") => {
                if !route.is_empty() && !route.starts_with('/') {
                    errors.invalid(&at_path, route, "must be an absolute path");
                }
            }
            Some(other) => {
                let known = ["Exact", "ImplementationSpecific", "Prefix"];
                errors.not_supported(&at.child("pathType"), other, &known);
            }
        }
        ingress_backend(errors, &at.child("backend"), entry.part("backend"));
    }
}

fn ingress_backend(errors: &mut Errors, path: &Path<'_>, backend: &Value) {
    let (service, resource) = (backend.field("service"), backend.field("resource"));
    match (service, resource) {
        (Some(_), Some(_)) => {
            errors.invalid(path, "", "cannot set both resource and service backends");
        }
        (None, None) => errors.invalid(path, "", "resource or service backend is required"),
        (None, Some(resource)) => {
            for field in ["kind", "name"] {
                if resource.text(field).is_empty() {
                    errors.required(&path.child("resource").child(field), "");
                }
            }
        }
        (Some(service), None) => {
            let backend = path;
            let path = backend.child("service");
            let name = service.text("name");
            if name.is_empty() {
                errors.required(&path.child("name"), "");
            } else {
                errors.invalid_each(&path.child("name"), name, formats::dns_label(name));
            }
            let port = service.part("port");
            let (name, number) = (port.text("name"), port.count("number"));
            if !name.is_empty() && number != 0 {
                let detail = "cannot set both port name & port number";
                errors.invalid(backend, "", detail);
            } else if !name.is_empty() {
                errors.invalid_each(&path.child("port.name"), name, formats::port_name(name));
            } else if number == 0 {
                errors.required(backend, "port name or number is required");
            } else {
                port_number(errors, &path.child("port.number"), number);
            }
        }
    }
}

pub(super) fn autoscaler(errors: &mut Errors, autoscaler: &Value) {
    let (path, spec) = (Path::new("spec"), autoscaler.part("spec"));
    let (least, most) = (spec.number("minReplicas"), spec.count("maxReplicas"));
    let at = path.child("maxReplicas");
    if let Some(least) = least.filter(|least| *least < 1) {
        let detail = "must be greater than or equal to 1";
        errors.invalid(&path.child("minReplicas"), least, detail);
    }
    if most == 0 {
        errors.required(&at, "must be set and greater than 0");
    } else if most < 0 {
        errors.invalid(&at, most, "must be greater than or equal to 1");
    }
    if least.is_some_and(|least| most < least) {
        errors.invalid(&at, most, "must be greater than or equal to `minReplicas`");
    }
    let target = spec.part("scaleTargetRef");
    let target_path = path.child("scaleTargetRef");
    for field in ["kind", "name"] {
        let (at, value) = (target_path.child(field), target.text(field));
        if value.is_empty() {
            errors.required(&at, "");
        } else {
            errors.invalid_each(&at, value, formats::path_segment(value));
        }
    }
    let version = target.text("apiVersion");
    let core = target.text("kind") == "ReplicationController";
    if !version.contains('/') && (version != "v1" || !core) {
        let detail = "apiVersion must specify API group";
        errors.invalid(&target_path.child("apiVersion"), version, detail);
    }
    let other_metric = |metric: &Value| ["Object", "External"].contains(&metric.text("type"));
    if least == Some(0) && !spec.list("metrics").iter().any(other_metric) {
        let detail = "must specify at least one Object or External metric to support scaling to \
             zero replicas";
        errors.forbidden(&path.child("metrics"), detail);
    }
}
