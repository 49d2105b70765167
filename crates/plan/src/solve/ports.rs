//! The host ports that are taken on an instance.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use joiner_core::pod::HostPort;
use rustc_hash::FxHashMap;

/// An IP address, or the text if it cannot be parsed.
type Address<'s> = Result<IpAddr, &'s str>;

/// The wildcard addresses of IPv4 and IPv6.
const EVERYWHERE: [Address<'_>; 2] =
    [Ok(IpAddr::V4(Ipv4Addr::UNSPECIFIED)), Ok(IpAddr::V6(Ipv6Addr::UNSPECIFIED))];

/// Ports by number and protocol, so a lookup is fast even if many are taken.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ports<'s> {
    /// In the order in which they were taken.
    taken: Vec<&'s HostPort>,
    /// How often each address is taken, by number and protocol.
    by_number: FxHashMap<(i32, &'s str), FxHashMap<Address<'s>, usize>>,
}

impl<'s> Ports<'s> {
    pub(crate) fn taken(&self) -> &[&'s HostPort] {
        &self.taken
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.taken.is_empty()
    }

    pub(crate) fn take(&mut self, ports: impl IntoIterator<Item = &'s HostPort>) {
        for port in ports {
            let addresses = self.by_number.entry((port.port, &port.protocol)).or_default();
            *addresses.entry(port.address()).or_default() += 1;
            self.taken.push(port);
        }
    }

    /// Releases all ports except the first `left`.
    pub(crate) fn truncate(&mut self, left: usize) {
        while self.taken.len() > left
            && let Some(port) = self.taken.pop()
        {
            let number = (port.port, port.protocol.as_str());
            let Some(addresses) = self.by_number.get_mut(&number) else { continue };
            let address = port.address();
            if let Some(times) = addresses.get_mut(&address) {
                *times -= 1;
                if *times == 0 {
                    addresses.remove(&address);
                }
            }
        }
    }

    /// Whether none of these ports conflicts with one that is taken.
    pub(crate) fn are_free<'p>(&self, mut ports: impl Iterator<Item = &'p HostPort>) -> bool {
        self.is_empty() || ports.all(|port| self.is_free(port))
    }

    fn is_free(&self, port: &HostPort) -> bool {
        let taken = self.by_number.get(&(port.port, port.protocol.as_str()));
        let Some(taken) = taken.filter(|taken| !taken.is_empty()) else { return true };
        let address = port.address();
        let in_the_way = |each: &Address<'_>| taken.contains_key(each);
        !(EVERYWHERE.contains(&address)
            || EVERYWHERE.iter().any(in_the_way)
            || in_the_way(&address))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn port() -> impl Strategy<Value = HostPort> {
        let ips = &["", "0.0.0.0", "::", "10.0.0.1", "10.0.0.2", "::ffff:10.0.0.1", "fd00::1", "x"];
        let parts =
            (prop::sample::select(&ips[..]), 1..4, prop::sample::select(&["TCP", "UDP"][..]));
        parts.prop_map(|(ip, port, protocol)| HostPort {
            ip: ip.to_owned(),
            port,
            protocol: protocol.to_owned(),
        })
    }

    proptest! {
        #[test]
        fn a_port_is_free_if_it_conflicts_with_none(
            taken in prop::collection::vec(port(), 0..6),
            left in 0usize..6,
            wanted in port(),
        ) {
            let mut ports = Ports::default();
            ports.take(&taken);
            ports.truncate(left);
            let rest = &taken[..left.min(taken.len())];
            let conflicts = rest.iter().any(|other| other.conflicts(&wanted));
            prop_assert_eq!(ports.are_free(std::iter::once(&wanted)), !conflicts);
            prop_assert_eq!(ports.taken().len(), rest.len());
        }
    }
}
