//! Endpoints and `EndpointSlices`.

use serde_json::Value;

use super::{
    errors::{Errors, IMMUTABLE, Path},
    formats, ip,
    pod::containers::{PROTOCOLS, port_number},
    selectors,
};
use crate::fields::{Fields, same};

pub(super) fn create_endpoints(errors: &mut Errors, endpoints: &Value) {
    let path = Path::new("subsets");
    for (index, subset) in endpoints.list("subsets").iter().enumerate() {
        let path = path.index(index);
        let kinds = ["addresses", "notReadyAddresses"];
        if kinds.iter().all(|kind| subset.list(kind).is_empty()) {
            errors.required(&path, "must specify `addresses` or `notReadyAddresses`");
        }
        for kind in kinds {
            let path = path.child(kind);
            for (index, address) in subset.list(kind).iter().enumerate() {
                endpoint_address(errors, &path.index(index), address);
            }
        }
        let ports = path.child("ports");
        let many = subset.list("ports").len() > 1;
        for (index, port) in subset.list("ports").iter().enumerate() {
            endpoint_port(errors, &ports.index(index), port, many);
        }
    }
}

/// Subsets that are wrong may stay as they are.
pub(super) fn update_endpoints(errors: &mut Errors, new: &Value, old: &Value) {
    if !same(new.part("subsets"), old.part("subsets")) {
        create_endpoints(errors, new);
    }
}

fn endpoint_address(errors: &mut Errors, path: &Path<'_>, address: &Value) {
    ip::address(errors, &path.child("ip"), address.text("ip"), &[]);
    let host = address.text("hostname");
    if !host.is_empty() {
        errors.invalid_each(&path.child("hostname"), host, formats::dns_label(host));
    }
    if let Some(node) = address.given_text("nodeName") {
        errors.invalid_each(&path.child("nodeName"), node, formats::dns_subdomain(node));
    }
    ip::endpoint(errors, &path.child("ip"), address.text("ip"));
}

fn endpoint_port(errors: &mut Errors, path: &Path<'_>, port: &Value, many: bool) {
    let name = port.text("name");
    if many && name.is_empty() {
        errors.required(&path.child("name"), "");
    } else if !name.is_empty() {
        errors.invalid_each(&path.child("name"), name, formats::dns_label(name));
    }
    port_number(errors, &path.child("port"), port.count("port"));
    errors.one_of(&path.child("protocol"), port.text("protocol"), &PROTOCOLS);
    app_protocol(errors, path, port);
}

fn app_protocol(errors: &mut Errors, path: &Path<'_>, port: &Value) {
    if let Some(protocol) = port.given_text("appProtocol") {
        let at = path.child("appProtocol");
        errors.invalid_each(&at, protocol, formats::qualified_name(protocol));
    }
}

pub(super) fn create_slice(errors: &mut Errors, slice: &Value) {
    address_type(errors, slice);
    slice_ports(errors, slice);
    slice_endpoints(errors, slice);
}

pub(super) fn update_slice(errors: &mut Errors, new: &Value, old: &Value) {
    address_type(errors, new);
    slice_ports(errors, new);
    if !same(new.part("endpoints"), old.part("endpoints")) {
        slice_endpoints(errors, new);
    }
    if new.text("addressType") != old.text("addressType") {
        errors.invalid(&Path::new("addressType"), new.text("addressType"), IMMUTABLE);
    }
}

fn address_type(errors: &mut Errors, slice: &Value) {
    let kinds = ["FQDN", "IPv4", "IPv6"];
    errors.one_of(&Path::new("addressType"), slice.text("addressType"), &kinds);
}

fn slice_ports(errors: &mut Errors, slice: &Value) {
    let path = Path::new("ports");
    let ports = slice.list("ports");
    if ports.len() > 20_000 {
        errors.too_many(&path, ports.len(), 20_000);
        return;
    }
    for (index, port) in ports.iter().enumerate() {
        let path = path.index(index);
        let name = port.text("name");
        if !name.is_empty() {
            errors.invalid_each(&path.child("name"), name, formats::dns_label(name));
        }
        if ports[..index].iter().any(|other| other.text("name") == name) {
            errors.duplicate(&path.child("name"), name);
        }
        errors.one_of(&path.child("protocol"), port.text("protocol"), &PROTOCOLS);
        app_protocol(errors, &path, port);
    }
}

fn slice_endpoints(errors: &mut Errors, slice: &Value) {
    let path = Path::new("endpoints");
    let endpoints = slice.list("endpoints");
    if endpoints.len() > 1000 {
        errors.too_many(&path, endpoints.len(), 1000);
        return;
    }
    let kind = slice.text("addressType");
    for (index, endpoint) in endpoints.iter().enumerate() {
        let path = path.index(index);
        let addresses = path.child("addresses");
        let count = endpoint.list("addresses").len();
        if count == 0 {
            errors.required(&addresses, "must contain at least 1 address");
        } else if count > 100 {
            errors.too_many(&addresses, count, 100);
        }
        for (index, address) in endpoint.texts("addresses").enumerate() {
            slice_address(errors, &addresses, index, kind, address);
        }
        if let Some(node) = endpoint.given_text("nodeName") {
            errors.invalid_each(&path.child("nodeName"), node, formats::dns_subdomain(node));
        }
        let topology = path.child("deprecatedTopology");
        selectors::labels(errors, &topology, endpoint, "deprecatedTopology");
        if let Some(host) = endpoint.given_text("hostname") {
            errors.invalid_each(&path.child("hostname"), host, formats::dns_label(host));
        }
    }
}

fn slice_address(
    errors: &mut Errors,
    addresses: &Path<'_>,
    index: usize,
    kind: &str,
    address: &str,
) {
    let path = addresses.index(index);
    let before = errors.len();
    match kind {
        "IPv4" => ip::address(errors, &path, address, &[]),
        "IPv6" => ip::canonical_address(errors, &path, address),
        "FQDN" => {
            domain_name(errors, &path, address);
            return;
        }
        _ => return,
    }
    if errors.len() > before {
        return;
    }
    if ip::is_v6(address) != (kind == "IPv6") {
        errors.invalid(addresses, address, format!("must be an {kind} address"));
    }
    ip::endpoint(errors, &path, address);
}

fn domain_name(errors: &mut Errors, path: &Path<'_>, name: &str) {
    if name.is_empty() {
        errors.required(path, "");
        return;
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let wrong = formats::dns_subdomain(name);
    if !wrong.is_empty() {
        errors.invalid(path, name, wrong.join(","));
    } else if !name.contains('.') {
        let detail = "should be a domain with at least two segments separated by dots";
        errors.invalid(path, name, detail);
    }
}
