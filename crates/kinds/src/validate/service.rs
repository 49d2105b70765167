//! Services.

use serde_json::Value;

use super::{
    errors::{Errors, Path},
    formats, ip,
    pod::{
        containers::{PROTOCOLS, port_number},
        handlers::port,
    },
    selectors,
};
use crate::fields::Fields;

const SPEC: Path<'static> = Path::new("spec");
const ONLY_LOAD_BALANCER: &str = "may only be used when `type` is 'LoadBalancer'";

fn is_headless(spec: &Value) -> bool {
    let addresses = spec.list("clusterIPs");
    addresses.len() == 1 && addresses[0] == "None"
}

/// A Service that is created.
pub(super) fn create(errors: &mut Errors, service: &Value) {
    service_spec(errors, service, None);
}

/// What keeps a Service from getting addresses, which is looked at before all else. `reserves` says
/// whether they are set aside for it, as they are not for a service that is only tried.
pub(super) fn addressing(
    errors: &mut Errors,
    service: &Value,
    old: Option<&Value>,
    reserves: bool,
) {
    let (spec, before) = (service.part("spec"), old.map(|old| old.part("spec")));
    cluster_addresses(errors, spec, before);
    let headless = spec.text("clusterIP") == "None";
    if !errors.is_empty()
        || spec.text("type") == "ExternalName"
        || (headless && spec.entries("selector").next().is_none())
    {
        return;
    }
    if spec.text("ipFamilyPolicy") == "RequireDualStack" {
        let path = SPEC.child("ipFamilyPolicy");
        let detail = "this cluster is not configured for dual-stack services";
        errors.invalid(&path, "RequireDualStack", detail);
    }
    let path = SPEC.child("ipFamilies");
    for (index, family) in spec.texts("ipFamilies").enumerate().filter(|(_, one)| *one != "IPv4") {
        errors.invalid(&path.index(index), family, "not configured on this cluster");
    }
    if errors.is_empty()
        && reserves
        && !headless
        && service.part("metadata").text("name").is_empty()
    {
        let detail = format!(
            "failed to allocate IP: IPAddress.networking.k8s.io {} is invalid: \
             spec.parentRef.name: Required value",
            spec.part("clusterIP")
        );
        errors.invalid(&SPEC.child("clusterIPs"), serde_json::json!([""]), detail);
    }
}

fn service_spec(errors: &mut Errors, service: &Value, old: Option<&Value>) {
    let spec = service.part("spec");
    let old_spec = old.map(|old| old.part("spec"));
    let kind = spec.text("type");
    let ports = spec.list("ports");
    if ports.is_empty() && !is_headless(spec) && kind != "ExternalName" {
        errors.required(&SPEC.child("ports"), "");
    }
    by_type(errors, spec);
    let path = SPEC.child("ports");
    for (index, port) in ports.iter().enumerate() {
        service_port(errors, &path.index(index), port, &ports[..index], ports.len() > 1);
    }
    selectors::labels(errors, &SPEC.child("selector"), spec, "selector");
    session_affinity(errors, spec);
    cluster_addresses(errors, spec, old_spec);
    let path = SPEC.child("externalIPs");
    let stored: Vec<&str> =
        old_spec.map(|old| old.texts("externalIPs").collect()).unwrap_or_default();
    for (index, address) in spec.texts("externalIPs").enumerate() {
        let before = errors.len();
        ip::address(errors, &path.index(index), address, &stored);
        if errors.len() == before {
            ip::endpoint(errors, &path.index(index), address);
        }
    }
    let kinds = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    errors.one_of(&SPEC.child("type"), kind, &kinds);
    unique_ports(errors, spec);
    source_ranges(errors, service, old_spec);
    if spec.has("allocateLoadBalancerNodePorts") && kind != "LoadBalancer" {
        errors.forbidden(&SPEC.child("allocateLoadBalancerNodePorts"), ONLY_LOAD_BALANCER);
    }
    if kind == "LoadBalancer" && !spec.has("allocateLoadBalancerNodePorts") {
        errors.required(&Path::new("allocateLoadBalancerNodePorts"), "");
    }
    load_balancer_class(errors, spec, None);
    traffic_policies(errors, spec);
}

fn by_type(errors: &mut Errors, spec: &Value) {
    match spec.text("type") {
        kind @ ("LoadBalancer" | "NodePort") if is_headless(spec) => {
            let path = SPEC.child("clusterIPs");
            let detail = format!("may not be set to 'None' for {kind} services");
            errors.invalid(&path.index(0), "None", detail);
        }
        "ExternalName" => {
            for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                let given = !spec.list(field).is_empty() || spec.given_text(field).is_some();
                if given {
                    let detail = "may not be set for ExternalName services";
                    errors.forbidden(&SPEC.child(field), detail);
                }
            }
            let name = spec.text("externalName");
            let name = name.strip_suffix('.').unwrap_or(name);
            let path = SPEC.child("externalName");
            if name.is_empty() {
                errors.required(&path, "");
            } else {
                errors.invalid_each(&path, name, formats::dns_subdomain(name));
            }
        }
        _ => {}
    }
}

fn service_port(errors: &mut Errors, path: &Path<'_>, given: &Value, before: &[Value], many: bool) {
    let name = given.text("name");
    if many && name.is_empty() {
        errors.required(&path.child("name"), "");
    } else if !name.is_empty() {
        errors.invalid_each(&path.child("name"), name, formats::dns_label(name));
        if before.iter().any(|other| other.text("name") == name) {
            errors.duplicate(&path.child("name"), name);
        }
    }
    port_number(errors, &path.child("port"), given.count("port"));
    errors.one_of(&path.child("protocol"), given.text("protocol"), &PROTOCOLS);
    port(errors, &path.child("targetPort"), given.part("targetPort"));
    if let Some(protocol) = given.given_text("appProtocol") {
        let at = path.child("appProtocol");
        errors.invalid_each(&at, protocol, formats::qualified_name(protocol));
    }
}

fn session_affinity(errors: &mut Errors, spec: &Value) {
    let kind = spec.text("sessionAffinity");
    errors.one_of(&SPEC.child("sessionAffinity"), kind, &["ClientIP", "None"]);
    let path = SPEC.child("sessionAffinityConfig");
    let config = spec.field("sessionAffinityConfig");
    if kind == "None" && config.is_some() {
        errors.forbidden(&path, "must not be set when session affinity is None");
    }
    if kind != "ClientIP" {
        return;
    }
    let detail = "when session affinity type is ClientIP";
    let Some(config) = config else {
        errors.required(&path, detail);
        return;
    };
    let Some(client) = config.field("clientIP") else {
        errors.required(&path.child("clientIP"), detail);
        return;
    };
    let path = path.child("clientIP.timeoutSeconds");
    match client.number("timeoutSeconds") {
        None => errors.required(&path, detail),
        Some(seconds) if !(1..=86400).contains(&seconds) => {
            errors.invalid(&path, seconds, "must be greater than 0 and less than 86400");
        }
        Some(_) => {}
    }
}

fn cluster_addresses(errors: &mut Errors, spec: &Value, old: Option<&Value>) {
    if spec.text("type") == "ExternalName" {
        return;
    }
    let path = SPEC.child("clusterIPs");
    let addresses: Vec<&str> = spec.texts("clusterIPs").collect();
    let shown = || spec.part("clusterIPs").clone();
    match (spec.text("clusterIP"), addresses.first()) {
        ("", None) => {}
        ("", Some(_)) => {
            errors.invalid(&path, shown(), "must be empty when `clusterIP` is not specified");
        }
        (_, None) => errors.required(&path, ""),
        (first, Some(address)) if first != *address => {
            errors.invalid(&path, shown(), "first value must match `clusterIP`");
        }
        _ => {}
    }
    let families: Vec<&str> = spec.texts("ipFamilies").collect();
    let at = SPEC.child("ipFamilies");
    for (index, family) in families.iter().enumerate() {
        errors.supported(&at.index(index), family, &["IPv4", "IPv6"]);
        if families[..index].contains(family) {
            errors.duplicate(&at.index(index), *family);
        }
    }
    if let Some(policy) = spec.given_text("ipFamilyPolicy") {
        let policies = ["PreferDualStack", "RequireDualStack", "SingleStack"];
        errors.supported(&SPEC.child("ipFamilyPolicy"), policy, &policies);
    }
    let stored: Vec<&str> = old.map(|old| old.texts("clusterIPs").collect()).unwrap_or_default();
    let before = errors.len();
    for (index, address) in addresses.iter().enumerate() {
        if index == 0 && *address == "None" {
            if addresses.len() > 1 {
                errors.invalid(&path, shown(), "'None' must be the first and only value");
            }
        } else {
            ip::address(errors, &path.index(index), address, &stored);
        }
    }
    let invalid = errors.len() > before;
    if addresses.len() > 2 {
        errors.invalid(&path, shown(), "may only hold up to 2 values");
    }
    if invalid {
        return;
    }
    if addresses.len() > 1 && !ip::is_dual_stack(addresses.iter().copied()) {
        let detail = "may specify no more than one IP for each IP family";
        errors.invalid(&path, shown(), detail);
    }
    if is_headless(spec) {
        return;
    }
    for (index, (address, family)) in addresses.iter().zip(&families).enumerate() {
        if ["IPv4", "IPv6"].contains(family) && ip::is_v6(address) != (*family == "IPv6") {
            let article = "an";
            let detail =
                format!("expected {article} {family} value as indicated by `ipFamilies[{index}]`");
            errors.invalid(&path.index(index), *address, detail);
        }
    }
}

fn unique_ports(errors: &mut Errors, spec: &Value) {
    let path = SPEC.child("ports");
    let ports = spec.list("ports");
    let same = |a: &Value, b: &Value, field: &str| {
        a.text("protocol") == b.text("protocol") && a.count(field) == b.count(field)
    };
    for (index, port) in ports.iter().enumerate() {
        if spec.text("type") == "ClusterIP" && port.count("nodePort") != 0 {
            let detail = "may not be used when `type` is 'ClusterIP'";
            errors.forbidden(&path.index(index).child("nodePort"), detail);
        }
    }
    for (index, port) in ports.iter().enumerate().filter(|(_, port)| port.count("nodePort") != 0) {
        if ports[..index].iter().any(|other| same(other, port, "nodePort")) {
            errors.duplicate(&path.index(index).child("nodePort"), port.count("nodePort"));
        }
    }
    for (index, port) in ports.iter().enumerate() {
        if ports[..index].iter().any(|other| same(other, port, "port")) {
            let shown = format!(
                "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{},\
                 \"TargetPort\":0,\"NodePort\":0}}",
                port.part("protocol"),
                port.part("port")
            );
            errors.duplicate_shown(&path.index(index), &shown);
        }
    }
}

fn source_ranges(errors: &mut Errors, service: &Value, old: Option<&Value>) {
    let spec = service.part("spec");
    if spec.list("loadBalancerSourceRanges").is_empty() {
        return;
    }
    let path = SPEC.child("LoadBalancerSourceRanges");
    if spec.text("type") != "LoadBalancer" {
        errors.forbidden(&path, ONLY_LOAD_BALANCER);
    }
    let stored: Vec<&str> = old
        .map(|old| old.texts("loadBalancerSourceRanges").map(str::trim).collect())
        .unwrap_or_default();
    for (index, range) in spec.texts("loadBalancerSourceRanges").enumerate() {
        ip::network(errors, &path.index(index), range.trim(), &stored);
    }
}

fn load_balancer_class(errors: &mut Errors, spec: &Value, old: Option<&Value>) {
    let path = SPEC.child("loadBalancerClass");
    let is_balanced = |spec: &Value| spec.text("type") == "LoadBalancer";
    if let Some(old) = old
        && is_balanced(spec)
        && is_balanced(old)
        && spec.field("loadBalancerClass") != old.field("loadBalancerClass")
    {
        let class = spec.part("loadBalancerClass").clone();
        errors.invalid(&path, class, "may not change once set");
    }
    let Some(class) = spec.given_text("loadBalancerClass") else { return };
    if is_balanced(spec) {
        errors.invalid_each(&path, class, formats::qualified_name(class));
    } else {
        errors.forbidden(&path, ONLY_LOAD_BALANCER);
    }
}

fn needs_health_check(spec: &Value) -> bool {
    spec.text("type") == "LoadBalancer" && spec.text("externalTrafficPolicy") == "Local"
}

fn traffic_policies(errors: &mut Errors, spec: &Value) {
    let kind = spec.text("type");
    let external = kind == "LoadBalancer"
        || kind == "NodePort"
        || (kind == "ClusterIP" && !spec.list("externalIPs").is_empty());
    let policy = spec.text("externalTrafficPolicy");
    let path = SPEC.child("externalTrafficPolicy");
    if external {
        errors.one_of(&path, policy, &["Cluster", "Local"]);
    } else if !policy.is_empty() {
        errors.invalid(&path, policy, "may only be set for externally-accessible services");
    }
    let check = spec.count("healthCheckNodePort");
    let path = SPEC.child("healthCheckNodePort");
    if needs_health_check(spec) {
        if check == 0 {
            errors.required(&path, "");
        } else {
            port_number(errors, &path, check);
        }
    } else if check != 0 {
        let detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` \
             is 'Local'";
        errors.invalid(&path, check, detail);
    }
    let path = SPEC.child("internalTrafficPolicy");
    match spec.given_text("internalTrafficPolicy") {
        None if ["NodePort", "LoadBalancer", "ClusterIP"].contains(&kind) => {
            errors.required(&path, "");
        }
        None => {}
        Some(policy) => errors.supported(&path, policy, &["Cluster", "Local"]),
    }
    if let Some(distribution) = spec.given_text("trafficDistribution") {
        let known = ["PreferClose", "PreferSameZone", "PreferSameNode"];
        errors.supported(&SPEC.child("trafficDistribution"), distribution, &known);
    }
}

/// An update of a Service's spec.
pub(super) fn update(errors: &mut Errors, new: &Value, old: &Value) {
    let (spec, before) = (new.part("spec"), old.part("spec"));
    addresses_kept(errors, spec, before);
    families_kept(errors, spec, before);
    load_balancer_class(errors, spec, Some(before));
    if needs_health_check(spec)
        && needs_health_check(before)
        && spec.count("healthCheckNodePort") != before.count("healthCheckNodePort")
    {
        errors.forbidden(&SPEC.child("healthCheckNodePort"), "field is immutable");
    }
    service_spec(errors, new, Some(old));
}

const CHANGED: &str = "may not change once set";

/// The first address stays; the second one may come and go.
fn addresses_kept(errors: &mut Errors, new: &Value, old: &Value) {
    let by_name = |spec: &Value| spec.text("type") == "ExternalName";
    if by_name(new) || by_name(old) || (is_headless(new) && is_headless(old)) {
        return;
    }
    let path = SPEC.child("clusterIPs");
    let (now, then) = (new.list("clusterIPs"), old.list("clusterIPs"));
    let shown = || new.part("clusterIPs").clone();
    if now.len() == then.len() {
        for index in (0..now.len()).filter(|&index| now[index] != then[index]) {
            errors.invalid(&path.index(index), shown(), CHANGED);
        }
        return;
    }
    if now.is_empty() {
        errors.invalid(&path.index(0), shown(), "primary clusterIP can not be unset");
    }
    if let (Some(now), Some(then)) = (now.first(), then.first())
        && now != then
    {
        errors.invalid(&path.index(0), shown(), CHANGED);
    }
    if now.len() == 1 && then.len() > 1 {
        single_stack(errors, new, "clusterIP");
    }
}

fn single_stack(errors: &mut Errors, spec: &Value, what: &str) {
    if spec.text("ipFamilyPolicy") != "SingleStack" {
        let detail = format!("must be set to 'SingleStack' when releasing the secondary {what}");
        let policy = spec.part("ipFamilyPolicy").clone();
        errors.invalid(&SPEC.child("ipFamilyPolicy"), policy, detail);
    }
}

fn families_kept(errors: &mut Errors, new: &Value, old: &Value) {
    let by_name = |spec: &Value| spec.text("type") == "ExternalName";
    if by_name(new) || by_name(old) || is_headless(new) || is_headless(old) {
        return;
    }
    let path = SPEC.child("ipFamilies");
    let at = path.index(0);
    let (now, then) = (new.list("ipFamilies"), old.list("ipFamilies"));
    if now.len() == then.len() {
        for _ in now.iter().zip(then).filter(|(now, then)| now != then) {
            errors.invalid(&at, new.part("ipFamilies").clone(), CHANGED);
        }
        return;
    }
    if now.len() < then.len() && new.list("clusterIPs").is_empty() {
        let detail = "primary ipFamily can not be unset";
        errors.invalid(&at, new.part("ipFamilies").clone(), detail);
    }
    if let (Some(now), Some(then)) = (now.first(), then.first())
        && now != then
    {
        errors.invalid(&at, new.part("clusterIPs").clone(), CHANGED);
    }
    if now.len() == 1 && then.len() > 1 {
        single_stack(errors, new, "ipFamily");
    }
}

/// An update of a Service's status.
pub(super) fn update_status(errors: &mut Errors, new: &Value, old: &Value) {
    let path = Path::new("status.loadBalancer.ingress");
    let points = new.part("status").part("loadBalancer").list("ingress");
    if new.part("spec").text("type") != "LoadBalancer" && !points.is_empty() {
        errors.forbidden(&path, "may only be used when `spec.type` is 'LoadBalancer'");
        return;
    }
    let old_points = old.part("status").part("loadBalancer").list("ingress");
    let stored: Vec<&str> = old_points.iter().map(|point| point.text("ip")).collect();
    for (index, point) in points.iter().enumerate() {
        let path = path.index(index);
        let (address, name) = (point.text("ip"), point.text("hostname"));
        if !address.is_empty() {
            ip::address(errors, &path.child("ip"), address, &stored);
        }
        let at = path.child("ipMode");
        match point.given_text("ipMode") {
            None if !address.is_empty() => {
                errors.required(&at, "must be specified when `ip` is set");
            }
            None => {}
            Some(_) if address.is_empty() => {
                errors.forbidden(&at, "may not be specified when `ip` is not set");
            }
            Some(mode) => errors.supported(&at, mode, &["Proxy", "VIP"]),
        }
        if !name.is_empty() {
            let at = path.child("hostname");
            errors.invalid_each(&at, name, formats::dns_subdomain(name));
            if ip::parse_sloppy(name).is_some() {
                errors.invalid(&at, name, "must be a DNS name, not an IP address");
            }
        }
    }
}
