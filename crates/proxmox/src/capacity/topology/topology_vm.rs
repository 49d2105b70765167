//! The virtual machine that describes its host.
//!
//! It never runs. Its `affinity` lists the host's CPUs, NUMA node after NUMA node, and each of its
//! `numa` options says which positions of that list belong to a node, and how much memory.

use std::collections::BTreeMap;

use crate::{
    MIB,
    capacity::cpu_set,
    configuration::node_settings::NumaNode,
    property_string::{Config, PropertyString, indexed},
};

/// The host's NUMA nodes; none where the configuration does not describe any.
pub(super) fn numa_nodes(config: &Config) -> Option<BTreeMap<u32, NumaNode>> {
    let cpus = cpu_set::ordered(config.get("affinity")?).ok()?;
    let mut nodes = BTreeMap::new();
    for (index, text) in indexed(config, "numa") {
        let numa = PropertyString::parse(text);
        let positions = cpu_set::ordered(numa.default_value("cpus")?).ok()?;
        let of_node: Option<Vec<u32>> =
            positions.iter().map(|at| cpus.get(*at as usize).copied()).collect();
        let id = numa.get("hostnodes").and_then(|id| id.parse().ok()).unwrap_or(index);
        let mib: u64 = numa.get("memory").and_then(|mib| mib.parse().ok()).unwrap_or_default();
        let node =
            NumaNode { cpus: of_node?.into_iter().collect(), memory: mib.saturating_mul(MIB) };
        nodes.insert(id, node);
    }
    (!nodes.is_empty()).then_some(nodes)
}
