//! The network adapters of instances, and what guests with cloud-init are told about them.
//!
//! A cloud gives each adapter of a class as an [`Adapter`] and gets from here what is wrong with it
//! ([`problems`]), the addresses that it needs ([`address_needs`]), and the settings in the words of
//! netplan ([`netplan`]).

mod netplan;

pub use self::netplan::netplan;

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::Deserialize;

use super::Format;
use crate::{
    needs::{AddressNeed, AddressPool},
    spec::{Problem, Reason},
};

/// The smallest MTU of IPv4 hosts (RFC 791), and the largest of common jumbo frames.
const MTU: std::ops::RangeInclusive<i64> = 576..=9000;

/// What a class says about one adapter of its instances.
#[derive(Debug, Clone, Copy, Default)]
pub struct Adapter<'c> {
    /// Whether DHCP gives it an address; true where it gets none in another way.
    pub dhcp4: Option<bool>,
    /// Whether DHCP gives it an IPv6 address.
    pub dhcp6: Option<bool>,
    /// Pools that each instance gets an address of.
    pub pools: &'c [PoolReference],
    /// Addresses of name servers.
    pub nameservers: &'c [String],
    /// Domains in which short names are looked up.
    pub search_domains: &'c [String],
    /// Ways to other networks.
    pub routes: &'c [Route],
    /// The largest packet in bytes; 0 leaves it to the network.
    pub mtu: Option<i64>,
    /// Its hardware address.
    pub mac: Option<&'c str>,
}

/// A pool of addresses: an object that an IPAM provider of Cluster API serves.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolReference {
    /// API group, such as `ipam.cluster.x-k8s.io`.
    pub api_group: Option<String>,
    /// Kind, such as `InClusterIPPool`.
    pub kind: Option<String>,
    /// Name.
    pub name: Option<String>,
}

/// A way to another network.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub struct Route {
    /// The network, such as 10.1.0.0/16, or default.
    pub to: Option<String>,
    /// The address of the next hop.
    pub via: Option<String>,
    /// The lower, the more it is preferred.
    #[schemars(extend("format" = "int64"))]
    pub metric: Option<i64>,
}

impl Adapter<'_> {
    fn uses_dhcp6(&self) -> bool {
        self.dhcp6 == Some(true)
    }

    fn uses_dhcp4(&self) -> bool {
        self.dhcp4.unwrap_or(!self.uses_dhcp6() && self.pools.is_empty())
    }

    fn has_address(&self) -> bool {
        self.uses_dhcp4() || self.uses_dhcp6() || !self.pools.is_empty()
    }

    /// Whether this equals a guest's default behaviour.
    fn is_as_any_guest_does(&self) -> bool {
        self.uses_dhcp4()
            && !self.uses_dhcp6()
            && self.pools.is_empty()
            && self.routes.is_empty()
            && self.nameservers.is_empty()
            && self.search_domains.is_empty()
            && self.mtu().is_none()
    }

    /// The MTU, where it is not left to the network.
    fn mtu(&self) -> Option<i64> {
        self.mtu.filter(|mtu| *mtu != 0)
    }

    /// Its own hardware address, in lower case.
    pub fn mac(&self) -> Option<String> {
        self.mac.filter(|mac| !mac.is_empty()).map(str::to_lowercase)
    }
}

/// The addresses that each instance of a class needs.
pub fn address_needs(adapters: &[Adapter<'_>]) -> Vec<AddressNeed> {
    let adapters = adapters.iter().enumerate();
    adapters
        .flat_map(|(nic, adapter)| {
            adapter.pools.iter().enumerate().map(move |(index, pool)| AddressNeed {
                nic,
                index,
                pool: AddressPool {
                    group: pool.api_group.clone().unwrap_or_default(),
                    kind: pool.kind.clone().unwrap_or_default(),
                    name: pool.name.clone().unwrap_or_default(),
                },
            })
        })
        .collect()
}

/// The problem of adapter settings that guests of this format cannot receive; none where they can, or
/// need no settings.
pub fn untold(adapters: &[Adapter<'_>], format: Format) -> Option<Problem> {
    if format == Format::CloudInit {
        return None;
    }
    let i = adapters.iter().position(|adapter| !adapter.is_as_any_guest_does())?;
    Some(Problem::new(
        Reason::INVALID_NETWORK,
        format!("spec.networks[{i}]"),
        format!(
            "has more settings than dhcp4, which only guests with cloud-init receive, not those with \
             {format}; use DHCP, or write the adapter's settings into the user data"
        ),
    ))
}

/// What is wrong with `spec.networks`. An instance has at most `most` adapters.
pub fn problems(adapters: &[Adapter<'_>], most: usize) -> Vec<Problem> {
    let mut checker = Checker { at: "spec.networks".to_owned(), problems: Vec::new() };
    if adapters.len() > most {
        let text = format!("lists {} adapters; keep {most} at most", adapters.len());
        checker.refuse("", text);
    }
    if !adapters.is_empty() && !adapters.iter().any(Adapter::has_address) {
        let remedy = "write dhcp4: true for one of them, or name a pool in addressesFromPools";
        checker.refuse(
            "",
            format!("gives no adapter an IP address, so that no node can join; {remedy}"),
        );
    }
    for (i, adapter) in adapters.iter().enumerate() {
        checker.at = format!("spec.networks[{i}]");
        checker.adapter(adapter);
        let same = |other: &Adapter<'_>| other.mac().is_some() && other.mac() == adapter.mac();
        if adapters[..i].iter().any(same) {
            checker.refuse(".macAddr", "is also the address of another adapter; give each its own");
        }
    }
    checker.problems
}

struct Checker {
    at: String,
    problems: Vec<Problem>,
}

impl Checker {
    fn refuse(&mut self, field: &str, text: impl Into<String>) {
        let field = format!("{}{field}", self.at);
        self.problems.push(Problem::new(Reason::INVALID_NETWORK, field, text));
    }

    fn adapter(&mut self, adapter: &Adapter<'_>) {
        for (i, pool) in adapter.pools.iter().enumerate() {
            for (field, value) in
                [("apiGroup", &pool.api_group), ("kind", &pool.kind), ("name", &pool.name)]
            {
                if value.as_ref().is_none_or(String::is_empty) {
                    let example =
                        "{apiGroup: ipam.cluster.x-k8s.io, kind: InClusterIPPool, name: …}";
                    self.refuse(
                        &format!(".addressesFromPools[{i}].{field}"),
                        format!("is missing; write {example}"),
                    );
                }
            }
        }
        for (i, server) in adapter.nameservers.iter().enumerate() {
            if server.parse::<IpAddr>().is_err() {
                let text = format!("{server:?} is not an IP address; write one such as 10.0.0.2");
                self.refuse(&format!(".nameservers[{i}]"), text);
            }
        }
        for (i, domain) in adapter.search_domains.iter().enumerate() {
            if !is_domain(domain) {
                let text = format!("{domain:?} is not a domain; write one such as example.com");
                self.refuse(&format!(".searchDomains[{i}]"), text);
            }
        }
        for (i, route) in adapter.routes.iter().enumerate() {
            if let Err(text) = Hop::read(route) {
                self.refuse(&format!(".routes[{i}]"), text);
            }
        }
        if let Some(mtu) = adapter.mtu().filter(|mtu| !MTU.contains(mtu)) {
            let (least, most) = (MTU.start(), MTU.end());
            self.refuse(".mtu", format!("{mtu} is not an MTU; write bytes from {least} to {most}"));
        }
        if let Some(mac) = adapter.mac().filter(|mac| !is_mac(mac)) {
            let text = format!(
                "{mac:?} is not a MAC address of one adapter; write one like 00:50:56:01:02:03"
            );
            self.refuse(".macAddr", text);
        }
    }
}

fn is_domain(text: &str) -> bool {
    let is_part = |part: &str| {
        (1..=63).contains(&part.len())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    text.len() <= 253 && text.strip_suffix('.').unwrap_or(text).split('.').all(is_part)
}

/// Whether this is a unicast MAC address other than zero.
fn is_mac(text: &str) -> bool {
    let bytes: Vec<Option<u8>> = text
        .split(':')
        .map(|part| if part.len() == 2 { u8::from_str_radix(part, 16).ok() } else { None })
        .collect();
    let is_of_one = |first: u8| first & 1 == 0;
    bytes.len() == 6
        && bytes.iter().all(Option::is_some)
        && bytes.iter().any(|byte| *byte != Some(0))
        && bytes[0].is_some_and(is_of_one)
}

/// A valid route.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hop {
    /// The network with its prefix.
    to: String,
    via: IpAddr,
    metric: Option<u32>,
}

impl Hop {
    /// The default network of an address's IP family.
    fn everywhere(via: IpAddr) -> String {
        if via.is_ipv4() { "0.0.0.0/0" } else { "::/0" }.to_owned()
    }

    /// The default route by a gateway.
    fn out(via: IpAddr) -> Self {
        Self { to: Self::everywhere(via), via, metric: None }
    }

    fn read(route: &Route) -> Result<Self, String> {
        const REMEDY: &str = "write {to: 10.1.0.0/16, via: 10.0.0.1}, or default as to";
        let (to, via) = (route.to.as_deref(), route.via.as_deref());
        let (to, via) = (to.unwrap_or_default(), via.unwrap_or_default());
        let address: IpAddr = via
            .parse()
            .map_err(|_| format!("via is {via:?}, which is not an IP address; {REMEDY}"))?;
        let metric = match route.metric.map(u32::try_from) {
            None => None,
            Some(Ok(metric)) => Some(metric),
            Some(Err(_)) => {
                return Err("has a negative or too large metric; write 0 or more, or leave it out"
                    .to_owned());
            }
        };
        if to == "default" {
            return Ok(Self { metric, ..Self::out(address) });
        }
        let Some((network, prefix)) = to.split_once('/') else {
            return Err(format!("to is {to:?}, which has no prefix; {REMEDY}"));
        };
        let network: IpAddr = network
            .parse()
            .map_err(|_| format!("to is {to:?}, which is not a network; {REMEDY}"))?;
        let bits = if network.is_ipv4() { 32 } else { 128 };
        if !prefix.parse::<u8>().is_ok_and(|prefix| prefix <= bits) {
            return Err(format!("to is {to:?}, whose prefix is not from 0 to {bits}; {REMEDY}"));
        }
        if network.is_ipv4() != address.is_ipv4() {
            return Err(format!(
                "to is {to} and via is {via}, which are of different IP families; {REMEDY}"
            ));
        }
        Ok(Self { to: to.to_owned(), via: address, metric })
    }
}

#[cfg(test)]
mod tests;
