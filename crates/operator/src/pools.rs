//! The controllers of pools: validation, class readiness, usage, and template hashes.

mod budgets;
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
    world::{Change, Kept, Key},
};

/// A pool that is known.
fn find(context: &Context, key: &Key) -> Option<Arc<NodePool>> {
    context.cache.read(|world| world.node_pools.get(key).cloned())
}

/// A pool that is known and ours to care for.
fn find_ours(context: &Context, key: &Key) -> Option<Arc<NodePool>> {
    find(context, key).filter(|pool| context.serves(pool))
}

/// The pool that is there after a change of one.
fn pool_of(change: &Change) -> Option<Key> {
    let Change::NodePool(diff) = change else { return None };
    diff.new.as_ref().map(|pool| pool.key())
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
