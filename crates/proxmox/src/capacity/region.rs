//! The hosts of a region and what runs on them.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    host::{Demand, Host, OutOfUse},
    pinning::Pinning,
    rows::{HostRow, Rows},
    storage::Storages,
    topology::{Processors, Topology},
};
use crate::{
    configuration::{node_settings::NodeSettings, settings::Policy},
    property_string::Config,
};

/// A region as it was seen.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Region {
    /// Its name.
    pub name: String,
    /// How CPUs are given out.
    pub policy: Policy,
    /// Its hosts by name. A zone is a host.
    pub hosts: BTreeMap<String, Host>,
    /// Its storages.
    pub storages: Storages,
    /// Its resource list.
    pub rows: Rows,
}

/// What was read of a host besides its row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostFacts {
    /// Its processors.
    pub processors: Processors,
    /// Its memory in bytes.
    pub memory: u64,
    /// The configuration of the virtual machine that describes it.
    pub topology_vm: Option<Config>,
    /// The most that ZFS caches on it, in bytes, where it tells.
    pub arc_max: Option<u64>,
}

/// What a region is made of.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'s> {
    /// Its resource list.
    pub rows: &'s Rows,
    /// What was read of hosts, by name. Of a host that is not there the row is all that is known.
    pub facts: &'s BTreeMap<String, HostFacts>,
    /// The file of node settings.
    pub settings: &'s NodeSettings,
    /// Configurations of virtual machines by number, as far as they were read. The policy `static`
    /// needs those of all that run.
    pub configs: &'s BTreeMap<u32, Config>,
}

impl Region {
    /// The region of what was seen.
    pub fn new(name: &str, policy: Policy, seen: &Seen<'_>) -> Self {
        let hosts = seen.rows.hosts.iter();
        let mut hosts: BTreeMap<String, Host> =
            hosts.map(|row| (row.name.clone(), host(name, row, seen))).collect();
        // Containers take room like virtual machines do.
        for guest in seen.rows.guests.iter().filter(|guest| guest.is_running) {
            if let Some(host) = hosts.get_mut(&guest.host) {
                let config = seen.configs.get(&guest.vmid).filter(|_| !guest.is_container);
                if config.is_none() && !guest.is_container {
                    host.unread.insert(guest.vmid);
                }
                let demand = Demand {
                    cpus: guest.cpus,
                    memory: guest.memory,
                    pinning: config.and_then(Pinning::of_config),
                };
                host.guests.insert(guest.vmid, demand);
            }
        }
        Self {
            name: name.to_owned(),
            policy,
            hosts,
            storages: Storages::new(&seen.rows.storages),
            rows: seen.rows.clone(),
        }
    }
}

fn host(region: &str, row: &HostRow, seen: &Seen<'_>) -> Host {
    let settings = seen.settings.of(region, &row.name);
    let from_row = || HostFacts {
        processors: Processors {
            sockets: 1,
            cores: row.cpus,
            cpus: row.cpus,
            ..Processors::default()
        },
        memory: row.memory,
        ..HostFacts::default()
    };
    let facts = seen.facts.get(&row.name).cloned().unwrap_or_else(from_row);
    let vm = facts.topology_vm.as_ref();
    let topology = Topology::discover(&facts.processors, facts.memory, &settings, vm);
    let arc = facts.arc_max.filter(|_| settings.keeps_arc).unwrap_or_default();
    Host {
        out_of_use: if !row.is_online {
            Some(OutOfUse::Offline)
        } else if row.is_in_maintenance {
            Some(OutOfUse::Maintenance)
        } else {
            None
        },
        load_percent: (row.load * 100.0).floor().clamp(0.0, 100.0) as u32,
        reserved_memory: settings.reserved_memory.of(topology.memory()).saturating_add(arc),
        reserved_cpus: settings.reserved_cpus,
        cpu_overcommit: settings.cpu_overcommit,
        memory_overcommit: settings.memory_overcommit,
        topology,
        guests: BTreeMap::new(),
        unread: BTreeSet::new(),
    }
}
