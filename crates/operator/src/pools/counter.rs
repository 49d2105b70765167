//! How much the nodes of each pool have together.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use joiner_api::node_pool::NodePool;
use joiner_core::{
    quantity::Quantity,
    resources::{CPU, EPHEMERAL_STORAGE, MEMORY, NODES, PODS, Resources},
};

use crate::{
    cluster::Lock,
    context::Context,
    controller::{Controller, Next},
    convert::amounts,
    index,
    objects::Objects,
    trouble::Trouble,
    world::{Change, Key, World},
};

/// How often it is counted.
const PERIOD: Duration = Duration::from_secs(5);
/// What is shown even where there is none of it.
const ALWAYS: [&str; 5] = [CPU, MEMORY, PODS, EPHEMERAL_STORAGE, NODES];

/// Counts what the nodes of all pools have, at one go.
#[derive(Debug)]
pub struct PoolCounter(pub Context);

impl Controller for PoolCounter {
    type Key = Key;

    const NAME: &'static str = "nodepool.counter";
    const AT_ONCE: usize = 1;

    fn affected(&self, _world: &World, change: &Change, add: &mut dyn FnMut(Key)) {
        if let Change::NodePool(diff) = change
            && diff.old.is_none()
        {
            add(Key::cluster("all"));
        }
    }

    async fn reconcile(&self, _key: &Key) -> Result<Next, Trouble> {
        let (pools, mut used) = self.0.cache.read(|world| {
            let served = world.node_pools.values().filter(|pool| self.0.serves(pool));
            let pools: Vec<Arc<NodePool>> = served.cloned().collect();
            (pools, usage(world))
        });
        for pool in &pools {
            let name = pool.metadata.name.as_deref().unwrap_or_default();
            let counted = count(pool, &used.remove(name).unwrap_or_default());
            match self.0.cluster.patch_status(&**pool, &counted, Lock::None).await {
                Err(trouble) if !trouble.is_not_found() => return Err(trouble),
                _ => {}
            }
        }
        Ok(if pools.is_empty() { Next::Done } else { Next::After(PERIOD) })
    }
}

fn usage(world: &World) -> BTreeMap<String, Resources> {
    let objects = Objects {
        nodes: world.nodes.values().cloned().collect(),
        node_claims: world.node_claims.values().cloned().collect(),
        ..Objects::default()
    };
    index::usage_by_pool(&objects)
}

/// The pool with what its nodes have.
fn count(pool: &NodePool, used: &Resources) -> NodePool {
    let mut all: Resources = ALWAYS.iter().map(|name| (*name, Quantity::ZERO)).collect();
    all.add(used);
    let mut counted = pool.clone();
    let status = counted.status.get_or_insert_default();
    status.nodes = Some(all.get(NODES).floor());
    // What is the same amount in other words is left as it is written.
    for (name, amount) in amounts(&all) {
        let is_same = status.resources.get(&name).is_some_and(|known| {
            known.0.parse::<Quantity>().ok() == amount.0.parse::<Quantity>().ok()
        });
        if !is_same {
            status.resources.insert(name, amount);
        }
    }
    status.resources.retain(|name, _| all.contains(name));
    counted
}
