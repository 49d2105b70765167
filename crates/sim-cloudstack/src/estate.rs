//! What there is: zones, hosts, networks, templates, offerings, accounts, VMs and their volumes.

mod build;
pub(crate) mod capacity;
mod find;
pub(crate) mod limit;
mod network;
mod objects;
mod tags;
mod vm;

use std::collections::BTreeMap;

use joiner_random::SplitMix64;

pub(crate) use objects::{
    Account, AffinityGroup, DiskOffering, Domain, Host, KeyPair, Network, Project, SecurityGroup,
    ServiceOffering, Template, Zone,
};
pub(crate) use tags::{Taggable, Tags};
pub use vm::VmState;
pub(crate) use vm::{Nic, Vm, Volume, VolumeState};

/// The number of an object inside of the server.
pub(crate) type Number = u64;

/// Kinds of objects that ids name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Domain,
    Account,
    User,
    Project,
    Zone,
    Host,
    Network,
    Template,
    ServiceOffering,
    DiskOffering,
    KeyPair,
    AffinityGroup,
    SecurityGroup,
    Vm,
    Volume,
    Job,
    /// Kinds of which there are none here.
    Other,
}

impl Kind {
    /// Reads a kind as the table of commands and tests call it.
    pub(crate) fn read(word: &str) -> Option<Self> {
        Some(match word {
            "domain" => Self::Domain,
            "account" => Self::Account,
            "user" => Self::User,
            "project" => Self::Project,
            "zone" => Self::Zone,
            "host" => Self::Host,
            "network" => Self::Network,
            "template" => Self::Template,
            "serviceoffering" => Self::ServiceOffering,
            "diskoffering" => Self::DiskOffering,
            "sshkeypair" => Self::KeyPair,
            "affinitygroup" => Self::AffinityGroup,
            "securitygroup" => Self::SecurityGroup,
            "vm" => Self::Vm,
            "volume" => Self::Volume,
            "job" => Self::Job,
            "other" => Self::Other,
            _ => return None,
        })
    }
}

/// Whose something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    Account(Number),
    Project(Number),
}

/// Everything that there is.
#[derive(Debug)]
pub(crate) struct Estate {
    ids: BTreeMap<String, (Kind, Number)>,
    last_number: Number,
    random: SplitMix64,
    pub(crate) domains: BTreeMap<Number, Domain>,
    pub(crate) accounts: BTreeMap<Number, Account>,
    pub(crate) projects: BTreeMap<Number, Project>,
    pub(crate) zones: BTreeMap<Number, Zone>,
    pub(crate) hosts: BTreeMap<Number, Host>,
    pub(crate) networks: BTreeMap<Number, Network>,
    pub(crate) templates: BTreeMap<Number, Template>,
    pub(crate) service_offerings: BTreeMap<Number, ServiceOffering>,
    pub(crate) disk_offerings: BTreeMap<Number, DiskOffering>,
    pub(crate) key_pairs: BTreeMap<Number, KeyPair>,
    pub(crate) affinity_groups: BTreeMap<Number, AffinityGroup>,
    pub(crate) security_groups: BTreeMap<Number, SecurityGroup>,
    pub(crate) vms: BTreeMap<Number, Vm>,
    pub(crate) volumes: BTreeMap<Number, Volume>,
    pub(crate) tags: Tags,
}

impl Estate {
    pub(crate) fn empty(seed: u64) -> Self {
        Self {
            ids: BTreeMap::new(),
            last_number: 0,
            random: SplitMix64::new(seed),
            domains: BTreeMap::new(),
            accounts: BTreeMap::new(),
            projects: BTreeMap::new(),
            zones: BTreeMap::new(),
            hosts: BTreeMap::new(),
            networks: BTreeMap::new(),
            templates: BTreeMap::new(),
            service_offerings: BTreeMap::new(),
            disk_offerings: BTreeMap::new(),
            key_pairs: BTreeMap::new(),
            affinity_groups: BTreeMap::new(),
            security_groups: BTreeMap::new(),
            vms: BTreeMap::new(),
            volumes: BTreeMap::new(),
            tags: Tags::default(),
        }
    }

    /// A new number and a new id. Ids of objects that are gone stay known.
    pub(crate) fn identify(&mut self, kind: Kind) -> (Number, String) {
        let uuid = uuid(&mut self.random);
        (self.register(kind, &uuid), uuid)
    }

    /// A new number for an id that was chosen by the client.
    pub(crate) fn register(&mut self, kind: Kind, uuid: &str) -> Number {
        self.last_number += 1;
        self.ids.insert(uuid.to_owned(), (kind, self.last_number));
        self.last_number
    }

    /// Whether an id is taken.
    pub(crate) fn knows(&self, uuid: &str) -> bool {
        self.ids.contains_key(uuid)
    }

    /// The object of a kind that an id names, or the number inside of the server does.
    pub(crate) fn resolve(&self, kind: Kind, text: &str) -> Option<Number> {
        let named = self.ids.get(&text.to_ascii_lowercase()).copied();
        let numbered = || {
            let number: Number = text.parse().ok()?;
            self.ids.values().copied().find(|(_, known)| *known == number)
        };
        let (found, number) = named.or_else(numbered)?;
        (found == kind).then_some(number)
    }
}

/// Whether a text has the form of an id.
pub(crate) fn is_uuid(text: &str) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    let parts: Vec<&str> = text.split('-').collect();
    parts.len() == lengths.len()
        && parts.iter().zip(lengths).all(|(part, length)| {
            part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
}

fn uuid(random: &mut SplitMix64) -> String {
    let (high, low) = (random.draw(), random.draw());
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xFFFF,
        high & 0xFFF,
        low >> 52,
        low & 0xFFFF_FFFF_FFFF
    )
}
