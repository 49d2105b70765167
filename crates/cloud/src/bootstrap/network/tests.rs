use serde_json::{Value, json};

use super::*;
use crate::inputs::Address;

/// Adapters as a class writes them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Written {
    dhcp4: Option<bool>,
    dhcp6: Option<bool>,
    addresses_from_pools: Vec<PoolReference>,
    nameservers: Vec<String>,
    search_domains: Vec<String>,
    routes: Vec<Route>,
    mtu: Option<i64>,
    mac_addr: Option<String>,
}

/// Has something done with the adapters of a class.
fn with<T>(networks: Value, work: impl FnOnce(&[Adapter<'_>]) -> T) -> T {
    let written: Vec<Written> = serde_json::from_value(networks).unwrap();
    let adapters: Vec<Adapter<'_>> = written
        .iter()
        .map(|own| Adapter {
            dhcp4: own.dhcp4,
            dhcp6: own.dhcp6,
            pools: &own.addresses_from_pools,
            nameservers: &own.nameservers,
            search_domains: &own.search_domains,
            routes: &own.routes,
            mtu: own.mtu,
            mac: own.mac_addr.as_deref(),
        })
        .collect();
    work(&adapters)
}

fn told(networks: Value) -> Vec<String> {
    let problems = with(networks, |adapters| problems(adapters, 10));
    problems.iter().map(ToString::to_string).collect()
}

fn address(nic: usize, text: &str, gateway: Option<&str>) -> Address {
    let (address, prefix) = text.split_once('/').unwrap();
    Address {
        nic,
        address: address.parse().unwrap(),
        prefix: prefix.parse().unwrap(),
        gateway: gateway.map(|text| text.parse().unwrap()),
    }
}

fn told_guest(networks: Value, addresses: &[Address]) -> Value {
    with(networks, |adapters| {
        let macs: Vec<String> =
            (1..=adapters.len()).map(|n| format!("00:50:56:00:00:0{n}")).collect();
        Value::Object(netplan(adapters, &macs, addresses))
    })
}

#[test]
fn an_adapter_without_settings_uses_dhcp() {
    assert_eq!(
        told_guest(json!([{}]), &[]),
        json!({
            "network": {"version": 2, "ethernets": {"id0": {
                "match": {"macaddress": "00:50:56:00:00:01"},
                "set-name": "eth0",
                "dhcp4": true,
                "dhcp6": false,
            }}},
            "wait-on-network": {"ipv4": true, "ipv6": false},
        })
    );
}

#[test]
fn addresses_of_pools_come_with_the_gateway_of_their_network() {
    let pool = json!({"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "a"});
    let networks = json!([
        {"dhcp4": true},
        {
            "addressesFromPools": [pool, pool],
            "nameservers": ["10.0.0.2"],
            "searchDomains": ["example.com"],
            "routes": [{"to": "10.1.0.0/16", "via": "10.0.1.254", "metric": 50}],
            "mtu": 9000,
        },
    ]);
    let addresses =
        [address(1, "10.0.1.7/24", Some("10.0.1.1")), address(1, "fd00::7/64", Some("fd00::1"))];
    let told = told_guest(networks, &addresses);
    assert_eq!(
        told["network"]["ethernets"]["id1"],
        json!({
            "match": {"macaddress": "00:50:56:00:00:02"},
            "set-name": "eth1",
            "dhcp4": false,
            "dhcp6": false,
            "addresses": ["10.0.1.7/24", "fd00::7/64"],
            "routes": [
                {"to": "0.0.0.0/0", "via": "10.0.1.1"},
                {"to": "::/0", "via": "fd00::1"},
                {"to": "10.1.0.0/16", "via": "10.0.1.254", "metric": 50},
            ],
            "nameservers": {"addresses": ["10.0.0.2"], "search": ["example.com"]},
            "mtu": 9000,
        })
    );
    assert_eq!(told["wait-on-network"], json!({"ipv4": true, "ipv6": true}));
}

#[test]
fn two_addresses_of_one_network_share_the_gateway() {
    let addresses =
        [address(0, "10.0.1.7/24", Some("10.0.1.1")), address(0, "10.0.1.8/24", Some("10.0.1.1"))];
    let told = told_guest(json!([{"dhcp4": false}]), &addresses);
    assert_eq!(
        told["network"]["ethernets"]["id0"]["routes"],
        json!([{"to": "0.0.0.0/0", "via": "10.0.1.1"}])
    );
}

#[test]
fn each_pool_of_each_adapter_is_one_need() {
    let pool = |name: &str| json!({"apiGroup": "ipam.example.com", "kind": "Pool", "name": name});
    let networks = json!([
        {},
        {"addressesFromPools": [pool("a"), pool("b")]},
    ]);
    let needs = with(networks, address_needs);
    let names: Vec<String> = needs.iter().map(|need| need.claim_name("vm")).collect();
    assert_eq!(names, ["vm-1-0", "vm-1-1"]);
    assert_eq!(needs[1].pool.name, "b");
}

#[test]
fn invalid_settings_are_refused_with_a_remedy() {
    assert_eq!(
        told(json!([
            {"nameservers": ["dns"], "searchDomains": ["a b"], "mtu": 12, "macAddr": "00:50"},
            {"addressesFromPools": [{"name": "a"}]},
            {"routes": [
                {"to": "10.1.0.0", "via": "10.0.0.1"},
                {"to": "10.1.0.0/40", "via": "10.0.0.1"},
                {"to": "fd00::/8", "via": "10.0.0.1"},
                {"to": "default"},
                {"to": "default", "via": "10.0.0.1", "metric": -1},
            ]},
            {"macAddr": "01:50:56:00:00:01"},
            {"macAddr": "00:50:56:00:00:AA"},
            {"macAddr": "00:50:56:00:00:aa"},
        ])),
        [
            "InvalidNetwork: spec.networks[0].nameservers[0]: \"dns\" is not an IP address; \
             write one such as 10.0.0.2",
            "InvalidNetwork: spec.networks[0].searchDomains[0]: \"a b\" is not a domain; write \
             one such as example.com",
            "InvalidNetwork: spec.networks[0].mtu: 12 is not an MTU; write bytes from 576 to 9000",
            "InvalidNetwork: spec.networks[0].macAddr: \"00:50\" is not a MAC address of one \
             adapter; write one like 00:50:56:01:02:03",
            "InvalidNetwork: spec.networks[1].addressesFromPools[0].apiGroup: is missing; write \
             {apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: …}",
            "InvalidNetwork: spec.networks[1].addressesFromPools[0].kind: is missing; write \
             {apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: …}",
            "InvalidNetwork: spec.networks[2].routes[0]: to is \"10.1.0.0\", which has no \
             prefix; write {to: 10.1.0.0/16, via: 10.0.0.1}, or default as to",
            "InvalidNetwork: spec.networks[2].routes[1]: to is \"10.1.0.0/40\", whose prefix is \
             not from 0 to 32; write {to: 10.1.0.0/16, via: 10.0.0.1}, or default as to",
            "InvalidNetwork: spec.networks[2].routes[2]: to is fd00::/8 and via is 10.0.0.1, which \
             are of different IP families; write {to: 10.1.0.0/16, via: 10.0.0.1}, or default as \
             to",
            "InvalidNetwork: spec.networks[2].routes[3]: via is \"\", which is not an IP \
             address; write {to: 10.1.0.0/16, via: 10.0.0.1}, or default as to",
            "InvalidNetwork: spec.networks[2].routes[4]: has a negative or too large metric; \
             write 0 or more, or leave it out",
            "InvalidNetwork: spec.networks[3].macAddr: \"01:50:56:00:00:01\" is not a MAC \
             address of one adapter; write one like 00:50:56:01:02:03",
            "InvalidNetwork: spec.networks[5].macAddr: is also the address of another adapter; \
             give each its own",
        ]
    );
}

#[test]
fn an_instance_needs_at_least_one_address() {
    assert_eq!(
        told(json!([{"dhcp4": false}, {"dhcp4": false}])),
        ["InvalidNetwork: spec.networks: gives no adapter an IP address, so that no node can \
          join; write dhcp4: true for one of them, or name a pool in addressesFromPools"]
    );
    assert_eq!(told(json!([{"dhcp4": true}, {"dhcp4": false}])), Vec::<String>::new());
}

#[test]
fn guests_without_cloud_init_cannot_receive_adapter_settings() {
    let untold = |networks: Value| {
        let found = with(networks, |adapters| untold(adapters, Format::Ignition));
        found.map(|problem| problem.to_string())
    };
    assert_eq!(untold(json!([{"dhcp4": true}, {}])), None);
    assert_eq!(
        untold(json!([{}, {"mtu": 9000}])).as_deref(),
        Some(
            "InvalidNetwork: spec.networks[1]: has more settings than dhcp4, which only guests \
             with cloud-init receive, not those with ignition; use DHCP, or write the adapter's \
             settings into the user data"
        )
    );
}
