//! Addresses in the configuration of a virtual machine: `ipconfig0` and its like, and name servers.

use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use super::addresses::Subnet;
use crate::property_string::{Config, PropertyString, indexed};

/// The option of an adapter.
const KIND: &str = "ipconfig";

/// Every address that a virtual machine has or needs: its own, those of its gateways and of its name
/// servers. None of them can be given to another.
pub fn addresses(config: &Config) -> BTreeSet<IpAddr> {
    let mut found = BTreeSet::new();
    for (_, text) in indexed(config, KIND) {
        let adapter = PropertyString::parse(text);
        let is_pool = adapter.get("ip").is_some_and(|own| Subnet::of_pool(own).is_some());
        let own = ["ip", "ip6"].iter().filter_map(|key| adapter.get(key));
        let own = own.filter_map(|own| own.split_once('/')?.0.parse::<IpAddr>().ok());
        found.extend(own.filter(|own| !(is_pool && own.is_ipv4())));
        let gateways = ["gw", "gw6"].iter().filter_map(|key| adapter.get(key));
        found.extend(gateways.filter_map(|gateway| gateway.parse::<IpAddr>().ok()));
    }
    let servers = config.get("nameserver").map(String::as_str).unwrap_or_default();
    found.extend(servers.split_whitespace().filter_map(|server| server.parse::<IpAddr>().ok()));
    found
}

/// The networks that adapters of a template take an address from, by the adapter's index.
pub fn pools(template: &Config) -> Vec<(u32, Subnet)> {
    let adapters = indexed(template, KIND).into_iter();
    adapters
        .filter_map(|(index, text)| {
            Some((index, Subnet::of_pool(PropertyString::parse(text).get("ip")?)?))
        })
        .collect()
}

/// What an instance's adapter is told instead of a network: the address it has of it, and the
/// gateway, unless there is one. The rest stays.
///
/// COMPAT: upstream drops what is not a network, such as the address of a host.
pub fn with_address(
    option: &str,
    subnet: Subnet,
    address: Ipv4Addr,
    gateway: Option<Ipv4Addr>,
) -> String {
    let mut adapter = PropertyString::parse(option);
    adapter.set("ip", subnet.with_prefix(address));
    if adapter.get("gw").is_none()
        && let Some(gateway) = gateway.filter(|gateway| subnet.contains(*gateway))
    {
        adapter.set("gw", gateway.to_string());
    }
    adapter.to_string()
}

/// The IPv6 network of an adapter that takes its address from its hardware address, and the prefix
/// length.
pub fn pool6(option: &str) -> Option<(Ipv6Addr, u8)> {
    let adapter = PropertyString::parse(option);
    let (address, prefix) = adapter.get("ip6")?.split_once('/')?;
    let (address, prefix): (Ipv6Addr, u8) = (address.parse().ok()?, prefix.parse().ok()?);
    let host_bits = u128::MAX.checked_shr(u32::from(prefix)).unwrap_or_default();
    ((1..128).contains(&prefix) && address.to_bits() & host_bits == 0).then_some((address, prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(options: &[(&str, &str)]) -> Config {
        options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn every_address_of_a_virtual_machine_is_found() {
        let found = addresses(&config(&[
            ("ipconfig0", "ip=10.0.0.5/24,gw=10.0.0.1,ip6=auto"),
            ("ipconfig1", "ip=dhcp,ip6=fd00::5/64,gw6=fd00::1"),
            ("ipconfig2", "ip=10.1.0.0/24,gw=10.1.0.1"),
            ("ipconfig", "ip=10.9.0.9/24"),
            ("nameserver", "10.0.0.53 2001:db8::53 x"),
        ]));
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            ["10.0.0.1", "10.0.0.5", "10.0.0.53", "10.1.0.1", "2001:db8::53", "fd00::1", "fd00::5"]
        );
    }

    #[test]
    fn a_networks_own_address_stands_for_the_network() {
        let template = config(&[
            ("ipconfig10", "ip=10.1.0.0/24"),
            ("ipconfig2", "ip6=fd00::/64,ip=10.0.0.0/24"),
            ("ipconfig0", "ip=10.0.0.5/24"),
        ]);
        let found: Vec<String> =
            pools(&template).iter().map(|(index, own)| format!("{index} {own}")).collect();
        assert_eq!(found, ["2 10.0.0.0/24", "10 10.1.0.0/24"]);
        assert_eq!(pool6("ip6=fd00::/64"), Some(("fd00::".parse().unwrap(), 64)));
        for option in ["ip6=fd00::5/64", "ip6=auto", "ip=10.0.0.0/24", "ip6=::/0", "ip6=::/200"] {
            assert_eq!(pool6(option), None, "{option}");
        }
    }

    #[test]
    fn the_address_takes_the_networks_place() {
        let subnet = Subnet::of_pool("10.0.0.0/24").unwrap();
        let address = "10.0.0.7".parse().unwrap();
        let told = |option: &str, gateway: &str| {
            with_address(option, subnet, address, gateway.parse().ok())
        };
        assert_eq!(
            told("ip=10.0.0.0/24,ip6=auto", "10.0.0.1"),
            "ip=10.0.0.7/24,ip6=auto,gw=10.0.0.1"
        );
        assert_eq!(
            told("ip=10.0.0.0/24,gw=10.0.0.254", "10.0.0.1"),
            "ip=10.0.0.7/24,gw=10.0.0.254"
        );
        assert_eq!(told("ip=10.0.0.0/24", "192.168.0.1"), "ip=10.0.0.7/24");
        assert_eq!(told("ip=10.0.0.0/24", ""), "ip=10.0.0.7/24");
    }
}
