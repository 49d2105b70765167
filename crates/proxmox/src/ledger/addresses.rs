//! Addresses of instances, from networks that templates name.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Display, Formatter},
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

use jiff::Timestamp;

/// How long an address is not given out again: neighbours remember whose it was, and an instance that
/// shuts down may still use it.
pub const QUARANTINE: Duration = Duration::from_mins(5);

/// The word by which plans and conditions say that a network has no address left.
pub const EXHAUSTED: &str = "ip.exhausted";

/// An IPv4 network that addresses are taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subnet {
    network: u32,
    prefix: u8,
}

impl Subnet {
    /// Reads an address with its prefix length when it means a network: when it is the network's own.
    /// An address of a host means that host.
    pub fn of_pool(text: &str) -> Option<Self> {
        let (subnet, address) = Self::with_address(text)?;
        (u32::from(address) == subnet.network && subnet.prefix < 31).then_some(subnet)
    }

    /// The network of an address with its prefix length, and the address.
    pub fn with_address(text: &str) -> Option<(Self, Ipv4Addr)> {
        let (address, prefix) = text.split_once('/')?;
        let address: Ipv4Addr = address.parse().ok()?;
        let prefix: u8 = prefix.parse().ok().filter(|prefix| (1..=32).contains(prefix))?;
        let mask = u32::MAX << (32 - u32::from(prefix));
        Some((Self { network: u32::from(address) & mask, prefix }, address))
    }

    /// Whether an address belongs to the network.
    pub fn contains(self, address: Ipv4Addr) -> bool {
        let mask = u32::MAX << (32 - u32::from(self.prefix));
        u32::from(address) & mask == self.network
    }

    /// An address with the network's prefix length.
    pub fn with_prefix(self, address: Ipv4Addr) -> String {
        format!("{address}/{}", self.prefix)
    }

    /// The first and the last address of a host: neither the network's own nor the broadcast address.
    fn hosts(self) -> (u32, u32) {
        let broadcast = self.network | !(u32::MAX << (32 - u32::from(self.prefix)));
        (self.network + 1, broadcast - 1)
    }
}

impl Display for Subnet {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", Ipv4Addr::from(self.network), self.prefix)
    }
}

/// A network has no address left.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{EXHAUSTED}: network {subnet} has no free address{}", remedy(.next.as_ref()))]
pub struct Exhausted {
    /// The network.
    pub subnet: Subnet,
    /// When an address that was given back lately can be given out again.
    pub next: Option<Timestamp>,
}

fn remedy(at: Option<&Timestamp>) -> String {
    match at {
        Some(at) => format!("; the next one is free at {at}"),
        None => "; remove instances, or give the template a larger network".to_owned(),
    }
}

/// Who has an address.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Holder {
    /// A claim, by its identity. The instance may have it once it is bound.
    Claim { uid: String, is_bound: bool },
    /// Something that is none of our instances, such as a gateway.
    Other,
}

/// Addresses that were given back before the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Released {
    /// These, and when; none of a time means the start.
    Known(Vec<(IpAddr, Option<Timestamp>)>),
    /// It is not known which: any address may have been in use a moment ago.
    Unknown,
}

impl Released {
    /// What a record says. Where there is none, nothing was given back if there was never an
    /// instance; otherwise it is not known.
    pub fn of_record(
        record: Option<Vec<(IpAddr, Option<Timestamp>)>>,
        has_instances: bool,
    ) -> Self {
        match record {
            Some(record) => Self::Known(record),
            None if has_instances => Self::Unknown,
            None => Self::Known(Vec::new()),
        }
    }
}

/// Addresses that cannot be given out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Addresses {
    held: BTreeMap<IpAddr, Holder>,
    /// Until when an address that was given back is not given out.
    quarantined: BTreeMap<IpAddr, Timestamp>,
    /// Until when no address is given out, because any may have been given back.
    all_until: Option<Timestamp>,
    started: Option<Timestamp>,
}

impl Addresses {
    /// Takes an address of a network for a claim: the first free one from `start` on, such as the
    /// address of the host's bridge, so that hosts begin in different places. A claim that has an
    /// address of the network keeps it.
    pub fn reserve(
        &mut self,
        subnet: Subnet,
        start: Option<Ipv4Addr>,
        uid: &str,
        now: Timestamp,
    ) -> Result<Ipv4Addr, Exhausted> {
        if let Some(own) = self.of_claim(uid).find(|own| subnet.contains(*own)) {
            return Ok(own);
        }
        let (first, last) = subnet.hosts();
        let start = start.map(u32::from).filter(|start| (first..=last).contains(start));
        let start = start.unwrap_or(first);
        if self.all_until.is_some_and(|until| until > now) {
            return Err(Exhausted { subnet, next: self.all_until });
        }
        let blocked = self.blocked(subnet, now);
        let free = (start..=last).chain(first..start).find(|address| !blocked.contains(address));
        let Some(free) = free else {
            return Err(Exhausted { subnet, next: self.next_free(subnet, now) });
        };
        let address = Ipv4Addr::from(free);
        self.quarantined.remove(&IpAddr::V4(address));
        let holder = Holder::Claim { uid: uid.to_owned(), is_bound: false };
        self.held.insert(IpAddr::V4(address), holder);
        Ok(address)
    }

    /// The address is written for the claim's instance, which may use it from now on. It is taken
    /// even where something else was seen to have it: the instance is told so anyway.
    pub fn bind(&mut self, uid: &str, address: IpAddr) {
        self.quarantined.remove(&address);
        self.held.insert(address, Holder::Claim { uid: uid.to_owned(), is_bound: true });
    }

    /// Something else has the address: a host, a gateway, a name server, another virtual machine.
    /// What a claim has stays the claim's.
    pub fn occupy(&mut self, address: IpAddr) {
        self.held.entry(address).or_insert(Holder::Other);
    }

    /// Forgets what else has addresses, before it is looked at again. Addresses that are not seen
    /// again count as given back now.
    pub fn see_others(&mut self, seen: &BTreeSet<IpAddr>, now: Timestamp) {
        let gone: Vec<IpAddr> = self
            .held
            .iter()
            .filter(|(address, holder)| **holder == Holder::Other && !seen.contains(*address))
            .map(|(address, _)| *address)
            .collect();
        for address in gone {
            self.held.remove(&address);
            self.quarantine(address, now);
        }
        for address in seen {
            self.occupy(*address);
        }
    }

    /// Gives back the addresses of a claim. One that was never bound can be given out at once, since
    /// no instance had it. Says whether there was any.
    pub fn release(&mut self, uid: &str, now: Timestamp) -> bool {
        let own: Vec<(IpAddr, bool)> = self
            .held
            .iter()
            .filter_map(|(address, holder)| match holder {
                Holder::Claim { uid: own, is_bound } if own == uid => Some((*address, *is_bound)),
                _ => None,
            })
            .collect();
        for (address, is_bound) in &own {
            self.held.remove(address);
            if *is_bound {
                self.quarantine(*address, now);
            }
        }
        !own.is_empty()
    }

    /// The process has started.
    pub fn begin(&mut self, now: Timestamp) {
        self.started = Some(now);
    }

    /// Takes over what was given back before the start. Where the time is not known the start counts
    /// as the time.
    pub fn take_over(&mut self, released: &Released, now: Timestamp) {
        let start = self.started.unwrap_or(now);
        match released {
            Released::Unknown => self.all_until = Some(end(start)),
            Released::Known(released) => {
                for (address, at) in released {
                    let until = end(at.unwrap_or(start));
                    if until > now && !self.held.contains_key(address) {
                        self.quarantined.insert(*address, until);
                    }
                }
            }
        }
    }

    /// What is to be written down for the next start: addresses that were given back, and when. None
    /// while that is not known of all addresses; a record would say that it were.
    pub fn released(&self, now: Timestamp) -> Option<Vec<(IpAddr, Timestamp)>> {
        if self.all_until.is_some_and(|until| until > now) {
            return None;
        }
        let waiting = self.quarantined.iter().filter(|(_, until)| **until > now);
        Some(waiting.map(|(address, until)| (*address, begin(*until))).collect())
    }

    /// The IPv4 addresses of a claim.
    pub fn of_claim<'a>(&'a self, uid: &'a str) -> impl Iterator<Item = Ipv4Addr> + 'a {
        self.held.iter().filter_map(move |(address, holder)| match (address, holder) {
            (IpAddr::V4(address), Holder::Claim { uid: own, .. }) if own == uid => Some(*address),
            _ => None,
        })
    }

    fn quarantine(&mut self, address: IpAddr, now: Timestamp) {
        self.quarantined.retain(|_, until| *until > now);
        self.quarantined.insert(address, end(now));
    }

    /// Addresses of a network that cannot be given out.
    fn blocked(&self, subnet: Subnet, now: Timestamp) -> BTreeSet<u32> {
        let waiting = self.quarantined.iter().filter(|(_, until)| **until > now);
        let blocked = self.held.keys().chain(waiting.map(|(address, _)| address));
        blocked
            .filter_map(|address| match address {
                IpAddr::V4(address) if subnet.contains(*address) => Some(u32::from(*address)),
                _ => None,
            })
            .collect()
    }

    /// When the first address of a network that was given back can be given out again.
    fn next_free(&self, subnet: Subnet, now: Timestamp) -> Option<Timestamp> {
        let (first, last) = subnet.hosts();
        let of_subnet = self.quarantined.iter().filter(|(address, until)| {
            **until > now
                && matches!(address, IpAddr::V4(own) if (first..=last).contains(&u32::from(*own)))
                && !self.held.contains_key(*address)
        });
        of_subnet.map(|(_, until)| *until).min()
    }
}

fn end(at: Timestamp) -> Timestamp {
    at.saturating_add(QUARANTINE).unwrap_or(Timestamp::MAX)
}

fn begin(until: Timestamp) -> Timestamp {
    until.saturating_sub(QUARANTINE).unwrap_or(Timestamp::MIN)
}
