//! Where VMs run, are stored, and are connected.

use std::collections::{BTreeMap, BTreeSet};

use crate::reference::Ref;

/// A cluster of hosts.
#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) drs: bool,
    pub(crate) ha: bool,
    pub(crate) failover_hosts: usize,
    /// Groups of VMs by name.
    pub(crate) vm_groups: BTreeMap<String, BTreeSet<Ref>>,
}

/// What a resource pool may give to its VMs, of processors in MHz and of memory in MiB.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pool {
    pub(crate) cpu: PoolBounds,
    pub(crate) memory: PoolBounds,
}

/// How much of something a resource pool may give away. Without bounds it is as much as the cluster
/// has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolBounds {
    /// No more than this is used.
    pub limit: Option<u64>,
    /// This is set aside for the pool, and it may promise no more.
    pub reservation: Option<u64>,
}

impl PoolBounds {
    /// How much may be used, of so much.
    pub(crate) fn usable(self, total: u64) -> u64 {
        self.limit.map_or(total, |limit| limit.min(total))
    }

    /// How much may still be promised: of a total of which so much is left, and where the pool has
    /// promised so much itself.
    pub(crate) fn unreserved(self, left: u64, promised: u64) -> u64 {
        match self.reservation {
            Some(own) => self.usable(own).saturating_sub(promised),
            None => self.limit.map_or(left, |limit| left.min(limit.saturating_sub(promised))),
        }
    }
}

/// A host.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) cores: u32,
    pub(crate) mhz: u32,
    pub(crate) memory_mib: u64,
    pub(crate) connected: bool,
    pub(crate) maintenance: bool,
    pub(crate) uuid: String,
}

impl Host {
    /// Whether VMs can be started here.
    pub(crate) fn is_usable(&self) -> bool {
        self.connected && !self.maintenance
    }
}

/// A datastore.
#[derive(Debug)]
pub(crate) struct Datastore {
    pub(crate) capacity_bytes: u64,
    pub(crate) used_bytes: u64,
    pub(crate) hosts: BTreeSet<Ref>,
    pub(crate) accessible: bool,
    pub(crate) maintenance: bool,
    pub(crate) uuid: String,
}

impl Datastore {
    pub(crate) fn free_bytes(&self) -> u64 {
        self.capacity_bytes.saturating_sub(self.used_bytes)
    }

    pub(crate) fn is_usable(&self) -> bool {
        self.accessible && !self.maintenance
    }
}

/// A network.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) hosts: BTreeSet<Ref>,
    pub(crate) kind: NetworkKind,
}

#[derive(Debug)]
pub(crate) enum NetworkKind {
    Standard,
    Portgroup { key: String, switch: Ref, uplinks: bool },
    Opaque { id: String },
}

/// A distributed switch.
#[derive(Debug)]
pub(crate) struct Switch {
    pub(crate) uuid: String,
}
