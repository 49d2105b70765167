//! Settings of adapters as netplan version 2, which cloud-init reads.

use serde_json::{Map, Value, json};

use super::{Adapter, Hop};
use crate::inputs::Address;

/// The fields of cloud-init's metadata about adapters. `macs` are the MAC addresses of the instance's
/// adapters, in the order of the class.
pub fn netplan(
    adapters: &[Adapter<'_>],
    macs: &[String],
    addresses: &[Address],
) -> Map<String, Value> {
    let ethernets: Map<String, Value> = adapters
        .iter()
        .zip(macs)
        .enumerate()
        .map(|(i, (adapter, mac))| {
            let own: Vec<&Address> = addresses.iter().filter(|own| own.nic == i).collect();
            (format!("id{i}"), ethernet(i, adapter, mac, &own))
        })
        .collect();
    let is_had = |dhcp: bool, fits: fn(&Address) -> bool| dhcp || addresses.iter().any(fits);
    // The guest waits for its addresses before it joins.
    let wait = json!({
        "ipv4": is_had(adapters.iter().any(Adapter::uses_dhcp4), |own| own.address.is_ipv4()),
        "ipv6": is_had(adapters.iter().any(Adapter::uses_dhcp6), |own| own.address.is_ipv6()),
    });
    Map::from_iter([
        ("network".to_owned(), json!({"version": 2, "ethernets": ethernets})),
        ("wait-on-network".to_owned(), wait),
    ])
}

fn ethernet(i: usize, adapter: &Adapter<'_>, mac: &str, addresses: &[&Address]) -> Value {
    let mut ethernet = json!({
        "match": {"macaddress": mac.to_lowercase()},
        "set-name": format!("eth{i}"),
        "dhcp4": adapter.uses_dhcp4(),
        "dhcp6": adapter.uses_dhcp6(),
    });
    if !addresses.is_empty() {
        let texts = addresses.iter().map(|own| format!("{}/{}", own.address, own.prefix));
        ethernet["addresses"] = texts.collect();
    }
    let mut hops: Vec<Hop> = addresses.iter().filter_map(|own| own.gateway).map(Hop::out).collect();
    // Two addresses of one network share the gateway.
    hops.dedup();
    let written = adapter.routes.iter().filter_map(|route| Hop::read(route).ok());
    let routes: Vec<Value> = hops.into_iter().chain(written).map(|hop| route(&hop)).collect();
    if !routes.is_empty() {
        ethernet["routes"] = routes.into();
    }
    let (servers, domains) = (adapter.nameservers, adapter.search_domains);
    if !servers.is_empty() || !domains.is_empty() {
        ethernet["nameservers"] = json!({"addresses": servers, "search": domains});
    }
    if let Some(mtu) = adapter.mtu() {
        ethernet["mtu"] = mtu.into();
    }
    ethernet
}

fn route(hop: &Hop) -> Value {
    let mut route = json!({"to": hop.to, "via": hop.via});
    if let Some(metric) = hop.metric {
        route["metric"] = metric.into();
    }
    route
}
