//! Objects that commands read and hardly change.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::{Number, Owner, limit::Limits};
use crate::inventory::{self, AccountKind};

/// A domain.
#[derive(Debug)]
pub(crate) struct Domain {
    pub(crate) id: String,
    pub(crate) name: String,
}

/// An account with its one user.
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) id: String,
    pub(crate) user_id: String,
    pub(crate) name: String,
    pub(crate) domain: Number,
    pub(crate) kind: AccountKind,
    pub(crate) api_key: String,
    pub(crate) secret_key: String,
    /// Commands that its role lacks, in lower case.
    pub(crate) lacks: BTreeSet<String>,
    pub(crate) limits: Limits,
    pub(crate) disabled: bool,
}

/// A project.
#[derive(Debug)]
pub(crate) struct Project {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) domain: Number,
    pub(crate) members: BTreeSet<Number>,
    pub(crate) limits: Limits,
}

/// A zone.
#[derive(Debug)]
pub(crate) struct Zone {
    pub(crate) id: String,
    pub(crate) facts: inventory::Zone,
}

/// A host.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) id: String,
    pub(crate) zone: Number,
    pub(crate) facts: inventory::Host,
    /// Whether the server reaches it.
    pub(crate) connected: bool,
}

/// A guest network.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) id: String,
    pub(crate) zone: Number,
    /// None for networks that all may use.
    pub(crate) owner: Option<Owner>,
    pub(crate) facts: inventory::Network,
    pub(crate) state: String,
    /// The last parts of the addresses that guests have.
    pub(crate) taken: BTreeSet<u32>,
}

/// A template.
#[derive(Debug)]
pub(crate) struct Template {
    pub(crate) id: String,
    pub(crate) owner: Number,
    pub(crate) facts: inventory::Template,
    /// Zones in which it is, and whether it is ready there.
    pub(crate) zones: BTreeMap<Number, bool>,
    pub(crate) os_type_id: String,
    pub(crate) created: Duration,
}

/// A service offering.
#[derive(Debug)]
pub(crate) struct ServiceOffering {
    pub(crate) id: String,
    pub(crate) facts: inventory::ServiceOffering,
    pub(crate) zones: BTreeSet<Number>,
    pub(crate) domain: Option<Number>,
    pub(crate) created: Duration,
}

impl ServiceOffering {
    /// Whether VMs choose how large they are.
    pub(crate) fn is_customized(&self) -> bool {
        self.facts.cpus.is_none() || self.facts.memory_mib.is_none()
    }
}

/// A disk offering.
#[derive(Debug)]
pub(crate) struct DiskOffering {
    pub(crate) id: String,
    pub(crate) facts: inventory::DiskOffering,
    pub(crate) zones: BTreeSet<Number>,
}

/// An SSH key pair.
#[derive(Debug)]
pub(crate) struct KeyPair {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) owner: Owner,
}

/// An affinity group.
#[derive(Debug)]
pub(crate) struct AffinityGroup {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) description: String,
    pub(crate) owner: Owner,
}

/// A security group.
#[derive(Debug)]
pub(crate) struct SecurityGroup {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) owner: Owner,
}
