//! Addresses and ports of services.

use serde_json::{Map, Value, json};

use super::World;
use crate::edit::{entries, is_blank, object_at, set_missing, text, text_at};

/// COMPAT: the cluster has IPv4 addresses only.
pub(super) fn create(service: &mut Value, world: &dyn World) {
    let Some(spec) = object_at(service, "/spec") else { return };
    allocate(spec, world);
}

fn allocate(spec: &mut Map<String, Value>, world: &dyn World) {
    if text(spec, "type") == "ExternalName" {
        return;
    }
    let headless = text(spec, "clusterIP") == "None";
    if headless && !spec.contains_key("selector") {
        set_missing(spec, "ipFamilyPolicy", "RequireDualStack");
    }
    set_missing(spec, "ipFamilyPolicy", "SingleStack");
    let families = if headless && text(spec, "ipFamilyPolicy") == "RequireDualStack" {
        json!(["IPv4", "IPv6"])
    } else {
        json!(["IPv4"])
    };
    set_missing(spec, "ipFamilies", families);
    if spec.get("clusterIP").is_none_or(is_blank) {
        let first = spec.get("clusterIPs").and_then(|ips| ips.get(0)).cloned();
        let ip = first.unwrap_or_else(|| world.allocate_cluster_ip().into());
        spec.insert("clusterIP".to_owned(), ip);
    }
    let ips = json!([spec["clusterIP"]]);
    set_missing(spec, "clusterIPs", ips);
    let shared = spec.get("allocateLoadBalancerNodePorts") != Some(&Value::Bool(false));
    if has_node_ports(spec) && (text(spec, "type") == "NodePort" || shared) {
        for port in entries(spec, "ports") {
            if port.get("nodePort").is_none_or(is_blank) {
                port.insert("nodePort".to_owned(), world.allocate_node_port().into());
            }
        }
    }
    let watched =
        text(spec, "type") == "LoadBalancer" && text(spec, "externalTrafficPolicy") == "Local";
    if watched && spec.get("healthCheckNodePort").is_none_or(is_blank) {
        spec.insert("healthCheckNodePort".to_owned(), world.allocate_node_port().into());
    }
}

fn has_node_ports(spec: &Map<String, Value>) -> bool {
    matches!(text(spec, "type"), "NodePort" | "LoadBalancer")
}

fn is_reached_from_outside(spec: &Map<String, Value>) -> bool {
    has_node_ports(spec) || (text(spec, "type") == "ClusterIP" && spec.contains_key("externalIPs"))
}

/// A service that gives up its second family of addresses need not say what goes with it.
fn leave_second_family(spec: &mut Map<String, Value>, before: &Map<String, Value>) {
    let single = |spec: &Map<String, Value>| text(spec, "ipFamilyPolicy") == "SingleStack";
    if single(before) || !single(spec) {
        return;
    }
    for field in ["clusterIPs", "ipFamilies"] {
        if spec.get(field) == before.get(field)
            && let Some(list) = spec.get_mut(field).and_then(Value::as_array_mut)
        {
            list.truncate(1);
        }
    }
}

/// What was allocated stays allocated when a client leaves it out, and goes when the new type has no
/// use for it.
pub(super) fn update(new: &mut Value, old: &Value, world: &dyn World) {
    let balanced = text_at(new, "/spec/type") == "LoadBalancer";
    if let Some(status) = object_at(new, "/status").filter(|_| !balanced) {
        status.insert("loadBalancer".to_owned(), json!({}));
    }
    let (Some(spec), Some(Value::Object(before))) = (object_at(new, "/spec"), old.get("spec"))
    else {
        return;
    };
    let addressed = |spec: &Map<String, Value>| text(spec, "type") != "ExternalName";
    let allocated = ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"];
    if addressed(before) && !addressed(spec) {
        drop_same(spec, before, &allocated);
        drop_same(spec, before, &["internalTrafficPolicy"]);
    } else if addressed(before) {
        for field in allocated {
            if let (Some(value), None) = (before.get(field), spec.get(field)) {
                spec.insert(field.to_owned(), value.clone());
            }
        }
    }
    if text(spec, "clusterIP") != text(before, "clusterIP")
        && spec.get("clusterIPs") == before.get("clusterIPs")
        && addressed(spec)
    {
        // Whoever changes the first address need not say it twice.
        let first = json!([text(spec, "clusterIP")]);
        spec.insert("clusterIPs".to_owned(), first);
    }
    leave_second_family(spec, before);
    update_node_ports(spec, before);
    if text(before, "type") == "LoadBalancer" && !balanced {
        drop_same(spec, before, &["allocateLoadBalancerNodePorts", "loadBalancerClass"]);
        drop_same(spec, before, &["healthCheckNodePort"]);
    }
    if is_reached_from_outside(before) && !is_reached_from_outside(spec) {
        drop_same(spec, before, &["externalTrafficPolicy"]);
    }
    allocate(spec, world);
}

fn drop_same(spec: &mut Map<String, Value>, before: &Map<String, Value>, fields: &[&str]) {
    for field in fields {
        if spec.get(*field) == before.get(*field) {
            spec.remove(*field);
        }
    }
}

fn update_node_ports(spec: &mut Map<String, Value>, before: &Map<String, Value>) {
    if !has_node_ports(before) {
        return;
    }
    let empty = Vec::new();
    let old_ports = before.get("ports").and_then(Value::as_array).unwrap_or(&empty);
    if !has_node_ports(spec) {
        let used = |ports: &[Value]| -> Vec<Value> {
            ports.iter().map(|port| port["nodePort"].clone()).collect()
        };
        let new_ports = spec.get("ports").and_then(Value::as_array).unwrap_or(&empty);
        if used(new_ports) == used(old_ports) {
            entries(spec, "ports").for_each(|port| {
                port.remove("nodePort");
            });
        }
        return;
    }
    let taken: Vec<Value> =
        entries(spec, "ports").filter_map(|port| port.get("nodePort").cloned()).collect();
    for port in entries(spec, "ports") {
        let old = old_ports.iter().find(|old| text_at(old, "/name") == text(port, "name"));
        if port.get("nodePort").is_none_or(is_blank)
            && let Some(number) = old.and_then(|old| old.get("nodePort"))
            && !taken.contains(number)
        {
            port.insert("nodePort".to_owned(), number.clone());
        }
    }
}
