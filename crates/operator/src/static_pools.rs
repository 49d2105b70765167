//! Static pools: they keep a fixed number of nodes, independent of pods.
//!
//! [`StaticProvisioning`] creates missing claims, and [`StaticDeprovisioning`] removes surplus
//! ones. Both use the state of the pool's claims (`standing`). `removal` orders the removals, and
//! [`Reservations`] keep all creators of claims within the pool's limit.

mod deprovisioning;
mod drift;
mod provisioning;
mod removal;
mod reservations;
mod standing;

use joiner_api::node_pool::NodePool;
use joiner_core::resources::NODES;

pub use self::{
    deprovisioning::StaticDeprovisioning,
    drift::deletes_first,
    provisioning::StaticProvisioning,
    reservations::{Reservations, Reserved},
    standing::{Standing, Standings},
};
use crate::{
    claims,
    index::resources,
    world::{Change, Kept, Key, World},
};

/// How many nodes the pool keeps; none if it has as many as pods need.
pub fn replicas(pool: &NodePool) -> Option<u32> {
    // Beyond what a cluster can have, one number is as good as another.
    pool.spec.replicas.map(|replicas| u32::try_from(replicas.max(0)).unwrap_or(u32::MAX))
}

/// How many nodes the pool may have at most.
pub fn nodes_max(pool: &NodePool) -> Option<u32> {
    let limits = resources(Some(&pool.spec.limits));
    let limit = limits.contains(NODES).then(|| limits.get(NODES).floor().max(0))?;
    Some(u32::try_from(limit).unwrap_or(u32::MAX))
}

/// The static pool whose numbers a change touches: the pool itself, or the one of a claim that came,
/// went, or stands otherwise than before.
fn touched(world: &World, change: &Change) -> Option<Key> {
    match change {
        Change::NodePool(diff) => {
            let pool = diff.new.as_ref().filter(|pool| pool.spec.replicas.is_some())?;
            Some(pool.key())
        }
        Change::NodeClaim(diff) => {
            let standing = |claim: &Option<_>| claim.as_deref().map(Standing::of);
            if standing(&diff.old) == standing(&diff.new) {
                return None;
            }
            let pool = world.node_pools.named(claims::pool(diff.latest())?)?;
            pool.spec.replicas.is_some().then(|| pool.key())
        }
        _ => None,
    }
}
