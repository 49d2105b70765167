//! CPUs and memory of a host that one instance has for itself.

use std::collections::BTreeMap;

use super::{cpu_set::CpuSet, host::Room, packed, topology::Topology};
use crate::{
    MIB,
    property_string::{Config, PropertyString, indexed},
};

/// Pages of this size are used where they can, so shares of memory are multiples of it.
const PAGE_MIB: u64 = 2;

/// What an instance is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pinning {
    /// The host's CPUs.
    pub cpus: CpuSet,
    /// What it has of each of the host's NUMA nodes, in the order of the instance's own.
    pub numa: Vec<Binding>,
}

/// What an instance has of a NUMA node of its host.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Binding {
    /// The host's node.
    pub node: u32,
    /// How many CPUs.
    pub cpus: u32,
    /// How much memory, in MiB.
    pub memory_mib: u64,
}

/// Why an instance gets no CPUs of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotPinned {
    /// No NUMA node has room for its memory.
    #[error("no NUMA node has {needed_mib} MiB of memory, the most that one has is {most_mib} MiB")]
    Memory {
        /// What is needed.
        needed_mib: u64,
        /// What the emptiest node has.
        most_mib: u64,
    },
    /// The NUMA nodes with room for its memory have too few CPUs.
    #[error("NUMA nodes with enough memory have {free} of {needed} CPUs")]
    Cpus {
        /// What is needed.
        needed: u32,
        /// What there is.
        free: u32,
    },
}

impl Pinning {
    /// Chooses CPUs for an instance: of NUMA nodes that have room for all of its memory, whole units
    /// first. Its memory is shared among its nodes as its CPUs are.
    ///
    /// COMPAT: upstream writes all of the memory for each node, and such an instance never starts.
    pub fn choose(
        topology: &Topology,
        room: &Room,
        cpus: u32,
        memory: u64,
    ) -> Result<Self, NotPinned> {
        let free = Self::candidates(topology, room, cpus, memory)?;
        let taken = packed::take(topology, &free, cpus)
            .ok_or(NotPinned::Cpus { needed: cpus, free: free.len() })?;
        Ok(Self { numa: shares(topology, &taken, memory / MIB), cpus: taken })
    }

    /// The CPUs that an instance is given some of. There are enough.
    pub(super) fn candidates(
        topology: &Topology,
        room: &Room,
        cpus: u32,
        memory: u64,
    ) -> Result<CpuSet, NotPinned> {
        let enough = |node: &&u32| room.numa.get(node).is_some_and(|free| *free >= memory);
        let nodes: Vec<&u32> = topology.numa_nodes.keys().filter(enough).collect();
        if nodes.is_empty() {
            let most = room.numa.values().max().copied().unwrap_or_default();
            return Err(NotPinned::Memory { needed_mib: memory / MIB, most_mib: most / MIB });
        }
        let mut with_memory = CpuSet::default();
        for node in nodes {
            with_memory.add(&topology.numa_nodes[node]);
        }
        let free = room.common.intersection(&with_memory);
        if cpus > free.len() {
            return Err(NotPinned::Cpus { needed: cpus, free: free.len() });
        }
        Ok(free)
    }

    /// What the configuration of a virtual machine binds it to; none where it may run anywhere.
    pub fn of_config(config: &Config) -> Option<Self> {
        let cpus: CpuSet = config.get("affinity").and_then(|text| text.parse().ok())?;
        (!cpus.is_empty()).then_some(())?;
        let numa = indexed(config, "numa").into_iter().filter_map(|(_, text)| {
            let numa = PropertyString::parse(text);
            let own: CpuSet = numa.default_value("cpus")?.parse().ok()?;
            Some(Binding {
                node: numa.get("hostnodes")?.parse().ok()?,
                cpus: own.len(),
                memory_mib: numa.get("memory")?.parse().ok()?,
            })
        });
        Some(Self { numa: numa.collect(), cpus })
    }

    /// The options of the virtual machine. The instance's NUMA nodes are numbered without a gap,
    /// whatever the numbers of the host's.
    pub fn options(&self) -> BTreeMap<String, String> {
        let mut options = BTreeMap::from([
            ("affinity".to_owned(), self.cpus.to_string()),
            ("numa".to_owned(), "1".to_owned()),
        ]);
        let mut first = 0;
        for (i, binding) in self.numa.iter().enumerate() {
            let Binding { node, cpus, memory_mib } = binding;
            let own = match cpus {
                1 => first.to_string(),
                _ => format!("{first}-{}", first + cpus.max(&1) - 1),
            };
            let numa = format!("cpus={own},hostnodes={node},memory={memory_mib},policy=bind");
            options.insert(format!("numa{i}"), numa);
            first += cpus;
        }
        options
    }
}

/// An instance's NUMA nodes, and the memory of each: its share by CPUs in whole pages. The last one
/// has what is left, so that nothing is lost.
fn shares(topology: &Topology, taken: &CpuSet, memory_mib: u64) -> Vec<Binding> {
    let mut bindings: Vec<Binding> = topology
        .numa_nodes
        .iter()
        .map(|(node, cpus)| (*node, cpus.intersection(taken).len()))
        .filter(|(_, cpus)| *cpus > 0)
        .map(|(node, cpus)| Binding { node, cpus, memory_mib: 0 })
        .collect();
    let all = u64::from(taken.len().max(1));
    let mut left = memory_mib;
    let count = bindings.len();
    for (i, binding) in bindings.iter_mut().enumerate() {
        let share = memory_mib * u64::from(binding.cpus) / all / PAGE_MIB * PAGE_MIB;
        binding.memory_mib = if i + 1 == count { left } else { share };
        left -= binding.memory_mib;
    }
    bindings
}
