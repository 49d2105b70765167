//! What a host's processors are like, by the model's name.

use std::collections::BTreeMap;

use super::{Processors, Shape};
use crate::{capacity::cpu_set::CpuSet, configuration::node_settings::NumaNode};

/// What the name says: NUMA nodes, and caches that cores share.
struct Model {
    numa_nodes: u32,
    caches: u32,
}

/// The shape of a host with these processors. A model that is not known has one NUMA node.
pub(super) fn shape(processors: &Processors, memory: u64) -> Shape {
    let sockets = processors.sockets.max(1);
    let cores = processors.cores.max(1);
    let threads = (processors.cpus / cores).max(1);
    let known = model(&processors.model, sockets, cores);
    let numa = match &known {
        Some(model) => numa_nodes(model.numa_nodes, cores, threads, memory),
        None => {
            let cpus = CpuSet::range(0, processors.cpus);
            BTreeMap::from([(0, NumaNode { cpus, memory })])
        }
    };
    Shape { sockets, threads, caches: known.map_or(0, |model| model.caches), numa }
}

fn model(name: &str, sockets: u32, cores: u32) -> Option<Model> {
    if name.contains("AMD EPYC") {
        return epyc(name, sockets, cores);
    }
    if name.contains("AMD") {
        return Some(Model { numa_nodes: sockets, caches: 0 });
    }
    name.contains("Intel").then_some(Model { numa_nodes: sockets, caches: sockets })
}

/// An EPYC's number has four digits: the second tells how many cores share a cache, the fourth the
/// generation, of which most have four NUMA nodes.
fn epyc(name: &str, sockets: u32, cores: u32) -> Option<Model> {
    let (_, number) = name.split_once("AMD EPYC")?;
    let digits: Vec<u32> =
        number.split_whitespace().next()?.chars().map_while(|char| char.to_digit(10)).collect();
    let [_, second, _, fourth] = digits[..] else { return None };
    let cores_per_cache = match second {
        2 | 3 => Some(4),
        4 => Some(6),
        5..=8 => Some(8),
        _ => None,
    };
    let nodes_per_socket = if matches!(fourth, 1 | 2 | 4 | 5) { 4 } else { 1 };
    Some(Model {
        numa_nodes: sockets * nodes_per_socket,
        caches: cores_per_cache.map_or(0, |per_cache| cores / sockets / per_cache),
    })
}

/// Nodes with consecutive cores each; the second threads come after all cores.
fn numa_nodes(count: u32, cores: u32, threads: u32, memory: u64) -> BTreeMap<u32, NumaNode> {
    let count = count.clamp(1, cores);
    let cores_per_node = cores / count;
    let node = |id: u32| {
        let first = id * cores_per_node;
        let mut cpus = CpuSet::range(first, cores_per_node);
        if threads > 1 {
            cpus = cpus.union(&CpuSet::range(first + cores, cores_per_node));
        }
        (id, NumaNode { cpus, memory: memory / u64::from(count) })
    };
    (0..count).map(node).collect()
}
