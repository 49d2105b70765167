//! Whether recent instances of a pool have registered.
//!
//! [`Outcomes`] remembers the last few results of each pool. Controllers report a registration or
//! failure to [`RegistrationHealth`]. [`PoolRegistrationHealth`] writes the pools' conditions from
//! that memory. The memory is cleared when the pool or its class changes.

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
    /// Records that a claim's node has registered, or will not. Each claim counts once, and only
    /// for the pool that owns it.
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

    /// The memory of a pool; a new process restores it from the pool's condition.
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
