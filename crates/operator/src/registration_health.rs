//! Whether the instances of a pool have joined lately.
//!
//! How the last few instances of each pool ended is remembered ([`Outcomes`]). Whoever sees an instance
//! join or fail to tells [`RegistrationHealth`]; [`PoolRegistrationHealth`] keeps the pools'
//! conditions as that memory says. The memory begins anew whenever the pool or its class changes.

mod controller;
mod outcomes;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use joiner_api::{node_claim::NodeClaim, node_pool::NodePool};

pub use self::{
    controller::PoolRegistrationHealth,
    outcomes::{Failure, Health, Outcome, Outcomes},
};
use crate::claims::{owning_pool, uid};

/// How the last instances of each pool ended. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct RegistrationHealth(Arc<Mutex<BTreeMap<String, Outcomes>>>);

impl RegistrationHealth {
    /// A claim's node has joined, or will not. What a claim has told counts once, however often it
    /// is told; a claim that the pool does not own tells nothing of it.
    pub fn tell(&self, pool: &NodePool, claim: &NodeClaim, outcome: Outcome) {
        let is_own = owning_pool(claim).is_some_and(|owner| owner.uid == uid(&pool.metadata));
        if is_own {
            self.with(pool, |outcomes| outcomes.insert(uid(&claim.metadata), outcome));
        }
    }

    /// How a pool is doing.
    pub fn of(&self, pool: &NodePool) -> Health {
        self.with(pool, |outcomes| outcomes.health())
    }

    /// Nothing that happened before counts.
    fn reset(&self, pool: &NodePool) {
        self.with(pool, Outcomes::clear);
    }

    /// There is no such pool any more.
    fn forget(&self, pool: &NodePool) {
        self.lock().remove(uid(&pool.metadata));
    }

    /// What is remembered of a pool; what a process before this one remembered is in its condition.
    fn with<R>(&self, pool: &NodePool, look: impl FnOnce(&mut Outcomes) -> R) -> R {
        let pools = &mut *self.lock();
        let outcomes = pools
            .entry(uid(&pool.metadata).to_owned())
            .or_insert_with(|| controller::remembered(pool));
        look(outcomes)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Outcomes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
