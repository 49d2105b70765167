//! Machines that are not needed, or wrong, go: decide, look again, make room, remove.
//!
//! [`looking`] is the loop: it looks at the cluster when something has changed, asks the planner
//! ([`pass`], pure), and keeps what it proposes until it was looked at once more. [`commands`] is
//! the list of everything proposed and begun. What is begun is carried out by [`carrying_out`], one
//! step after the other: the candidates are marked, replacements are made and waited for, and only
//! then are the candidates deleted; [`step`] decides which step is next, from what there is to see.
//! A command is written on the claims it is about ([`record`]), so that whoever acts next can carry
//! it on or take it back. [`memory`] knows which moves did no good.

pub mod carrying_out;
mod changes;
pub mod commands;
pub mod looking;
mod marking;
pub mod memory;
pub mod pass;
pub mod record;
pub mod step;
mod telling;

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use joiner_clock::Clock;

pub use self::{carrying_out::CommandQueue, looking::DisruptionLoop};
use self::{
    commands::Commands,
    memory::{DriftBackoff, Moves, Unrest},
};
use crate::{index::fleet::pause, static_pools::Reservations, world::World};

/// What who proposes and who carries out have in common. Clones are the same.
#[derive(Debug, Clone)]
pub struct Disruption {
    /// Everything proposed and begun.
    pub commands: Commands,
    /// The namespace that the lease lives in, whose annotation pauses everything.
    namespace: Arc<str>,
    reservations: Reservations,
    memory: Arc<Mutex<Memory>>,
}

/// What is remembered.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    moves: Moves,
    drift: DriftBackoff,
    unrest: Unrest,
}

impl Disruption {
    /// Nothing is proposed, begun or remembered yet. Replacements stay within limits of static pools
    /// together with whoever else reserves room there.
    pub fn new(clock: &Clock, namespace: &str, reservations: Reservations) -> Self {
        Self {
            commands: Commands::new(clock),
            namespace: namespace.into(),
            reservations,
            memory: Arc::default(),
        }
    }

    /// The namespace that the lease lives in.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who has paused the removal of machines of one of these pools, or of all, if somebody has.
    pub(crate) fn paused(&self, world: &World, pools: &BTreeSet<&str>) -> Option<String> {
        let namespace = world.namespaces.named(&self.namespace);
        let everywhere = namespace.and_then(|namespace| pause(&namespace.metadata));
        let mut pools = pools.iter().filter_map(|pool| world.node_pools.named(pool));
        everywhere.or_else(|| pools.find_map(|pool| pause(&pool.metadata))).map(str::to_owned)
    }
}
