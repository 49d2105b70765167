//! What is said of pools: whether they make sense, whether their class can be used, what they use,
//! and which template their claims were made from.

mod counter;
mod hash;
mod readiness;
mod validation;

use std::sync::Arc;

use jiff::Timestamp;
use joiner_api::node_pool::NodePool;

pub use self::{
    counter::PoolCounter, hash::PoolHash, readiness::PoolReadiness, validation::PoolValidation,
};
use crate::{
    cluster::Lock,
    conditions::{ConditionSet, Conditioned},
    context::Context,
    trouble::Trouble,
    world::Key,
};

/// A pool that is known.
fn find(context: &Context, key: &Key) -> Option<Arc<NodePool>> {
    context.cache.read(|world| world.node_pools.get(key).cloned())
}

/// Says something of a pool, if it is news.
async fn say(
    context: &Context,
    pool: &NodePool,
    say: impl FnOnce(&mut ConditionSet<'_>),
) -> Result<(), Trouble> {
    let now: Timestamp = context.now();
    let mut said = pool.clone();
    say(&mut said.conditions_mut(now));
    context.cluster.patch_status(pool, &said, Lock::Version).await?;
    Ok(())
}
