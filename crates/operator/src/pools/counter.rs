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
    index::{self, orders::resource_list},
    objects::Objects,
    rounds::Rounds,
    trouble::Trouble,
    world::World,
};

/// How often it is counted.
const PERIOD: Duration = Duration::from_secs(5);
/// What is shown even where there is none of it.
const ALWAYS: [&str; 5] = [CPU, MEMORY, PODS, EPHEMERAL_STORAGE, NODES];

/// Counts what the nodes of all pools have, at one go.
#[derive(Debug)]
pub struct PoolCounter(pub Context);

impl Rounds for PoolCounter {
    const NAME: &'static str = "nodepool.counter";

    async fn round(&self) -> Result<Duration, Trouble> {
        let (pools, mut used) = self.0.cache.read(|world| {
            let served = world.node_pools.values().filter(|pool| self.0.serves(pool));
            let pools: Vec<Arc<NodePool>> = served.cloned().collect();
            (pools, usage(world))
        });
        // One that cannot be written does not stop the others.
        let mut outcome = Ok(PERIOD);
        for pool in &pools {
            let name = pool.metadata.name.as_deref().unwrap_or_default();
            let counted = count(pool, &used.remove(name).unwrap_or_default());
            match self.0.cluster.patch_status(&**pool, &counted, Lock::None).await {
                Err(trouble) if !trouble.is_not_found() => outcome = outcome.and(Err(trouble)),
                _ => {}
            }
        }
        outcome
    }
}

fn usage(world: &World) -> BTreeMap<String, Resources> {
    let mut objects = Objects::default();
    objects.nodes = world.nodes.values().cloned().collect();
    objects.node_claims = world.node_claims.values().cloned().collect();
    objects.leaving.clone_from(world.intended.leaving());
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
    for (name, amount) in resource_list(&all) {
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
