//! How the CPUs and the memory of a host hang together.

mod guess;
mod topology_vm;

use std::collections::BTreeMap;

use super::cpu_set::CpuSet;
use crate::configuration::node_settings::{HostSettings, NumaNode};

/// What Proxmox VE says of the processors of a host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Processors {
    /// The model's name.
    pub model: String,
    /// Processors.
    pub sockets: u32,
    /// Cores of all processors.
    pub cores: u32,
    /// CPUs of all cores.
    pub cpus: u32,
}

/// Where a topology comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Source {
    /// From the model's name. It is good for counting, and nothing is pinned by it.
    #[default]
    Guess,
    /// From the file of node settings.
    Settings,
    /// From the virtual machine that describes its host.
    TopologyVm,
}

/// The CPUs and the memory of a host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Topology {
    /// Where it comes from.
    pub source: Source,
    /// All CPUs.
    pub cpus: CpuSet,
    /// CPUs of each NUMA node.
    pub numa_nodes: BTreeMap<u32, CpuSet>,
    /// Bytes of memory of each NUMA node.
    pub numa_memory: BTreeMap<u32, u64>,
    /// CPUs of each processor.
    pub sockets: BTreeMap<u32, CpuSet>,
    /// CPUs of each core.
    pub cores: BTreeMap<u32, CpuSet>,
    /// CPUs of each cache that cores share.
    pub caches: BTreeMap<u32, CpuSet>,
    /// Cores that there are when all have as many CPUs as the host's cores have.
    pub core_count: u32,
    /// Processors that the host says to have.
    pub socket_count: u32,
}

/// Counts and NUMA nodes, from which all else follows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Shape {
    sockets: u32,
    threads: u32,
    caches: u32,
    numa: BTreeMap<u32, NumaNode>,
}

impl Topology {
    /// What is known of a host: what the file says, else what the virtual machine that describes the
    /// host says, else a guess. Numbers that the file does not have are taken from the others.
    ///
    /// `topology_vm` is the configuration of that virtual machine.
    ///
    /// COMPAT: upstream cannot use a host with a processor that it does not know.
    pub fn discover(
        processors: &Processors,
        memory: u64,
        settings: &HostSettings,
        topology_vm: Option<&crate::property_string::Config>,
    ) -> Self {
        let mut shape = guess::shape(processors, memory);
        let mut source = Source::Guess;
        if let Some(numa) = topology_vm.and_then(topology_vm::numa_nodes) {
            shape.numa = numa;
            source = Source::TopologyVm;
        }
        if !settings.numa_nodes.is_empty() {
            shape.numa.clone_from(&settings.numa_nodes);
            share_memory(&mut shape.numa, memory);
            source = Source::Settings;
        }
        shape.sockets = settings.sockets.unwrap_or(shape.sockets);
        shape.threads = settings.threads.unwrap_or(shape.threads);
        shape.caches = settings.uncore_caches.unwrap_or(shape.caches);
        shape.topology(source)
    }

    /// Whether CPUs can be given out by it.
    pub fn is_known(&self) -> bool {
        self.source != Source::Guess
    }

    /// Bytes of memory of the host.
    pub fn memory(&self) -> u64 {
        self.numa_memory.values().sum()
    }

    /// CPUs of each core.
    pub fn cpus_per_core(&self) -> u32 {
        self.cpus.len() / self.core_count.max(1)
    }

    /// CPUs of each processor.
    pub fn cpus_per_socket(&self) -> u32 {
        self.cpus.len() / self.socket_count.max(1)
    }

    /// CPUs of each cache that cores share.
    pub fn cpus_per_cache(&self) -> u32 {
        self.cpus.len() / (self.caches.len() as u32).max(1)
    }
}

impl Shape {
    fn topology(self, source: Source) -> Topology {
        let sockets = self.sockets.max(1);
        let threads = self.threads.max(1);
        let cores: u32 = self.numa.values().map(|node| node.cpus.len() / threads).sum();
        let cores_per_socket = (cores / sockets).max(1);
        let cores_per_cache = (cores / self.caches.max(1)).max(1);
        let mut topology =
            Topology { source, core_count: cores, socket_count: sockets, ..Topology::default() };
        for (id, node) in self.numa {
            for cpu in node.cpus.iter() {
                // The second threads of all cores come after the first ones.
                let core = if cpu < cores { cpu } else { cpu - cores };
                let socket = (cpu / cores_per_socket) % sockets;
                topology.sockets.entry(socket).or_default().insert(cpu);
                topology.cores.entry(core).or_default().insert(cpu);
                topology.caches.entry(core / cores_per_cache).or_default().insert(cpu);
            }
            topology.cpus = topology.cpus.union(&node.cpus);
            topology.numa_memory.insert(id, node.memory);
            topology.numa_nodes.insert(id, node.cpus);
        }
        topology
    }
}

/// Gives NUMA nodes of which no memory is known an equal share of what the others leave.
fn share_memory(numa: &mut BTreeMap<u32, NumaNode>, total: u64) {
    let known: u64 = numa.values().map(|node| node.memory).sum();
    let without = numa.values().filter(|node| node.memory == 0).count() as u64;
    let share = total.saturating_sub(known) / without.max(1);
    numa.values_mut().filter(|node| node.memory == 0).for_each(|node| node.memory = share);
}

#[cfg(test)]
mod tests;
