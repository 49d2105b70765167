//! Pools.

use std::collections::BTreeMap;

use joiner_api::node_pool::NodePool;
use joiner_core::resources::CPU;
use joiner_operator::index::resources;

use super::{Change, View};
use crate::scene::{Node, Pool};

/// What matters of a pool.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PoolFacts {
    cpu_limit: Option<f64>,
}

impl View {
    pub(super) fn see_pool(&mut self, pool: &NodePool, change: Change) {
        let name = pool.metadata.name.clone().unwrap_or_default();
        if change == Change::Gone {
            self.pools.remove(&name);
            return;
        }
        let limits = resources(Some(&pool.spec.limits));
        let cpu_limit = limits.contains(CPU).then(|| limits.get(CPU).as_f64());
        self.pools.insert(name, PoolFacts { cpu_limit });
    }

    /// The pools that there are and those that instances say they belong to.
    pub(super) fn pools_of(&self, nodes: &[Node]) -> Vec<Pool> {
        let mut pools: BTreeMap<&str, Pool> = BTreeMap::new();
        for (name, facts) in &self.pools {
            let cpu_limit = facts.cpu_limit;
            pools.insert(name, Pool { name: name.clone(), cpu_limit, ..Pool::default() });
        }
        for node in nodes {
            let pool = pools.entry(&node.pool).or_default();
            pool.name.clone_from(&node.pool);
            pool.nodes += 1;
            pool.pods += node.pods.iter().filter(|pod| !pod.daemon).count();
            pool.cpu = pool.cpu.plus(node.cpu.covered());
            pool.memory = pool.memory.plus(node.memory.covered());
            pool.price += node.price.unwrap_or_default();
        }
        pools.into_values().collect()
    }
}
