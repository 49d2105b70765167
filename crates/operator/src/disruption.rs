//! Instances that are not needed, or wrong, go: decide, look again, make room, remove.
//!
//! [`looking`] is the loop: it looks at the cluster when something has changed, asks the planner
//! ([`pass`], pure), and keeps what it proposes until it was looked at once more. [`commands`] is
//! the list of everything proposed and begun. What is begun is carried out by [`carrying_out`], one
//! step after the other: the candidates are marked, replacements are made and waited for, and only
//! then are the candidates deleted; [`step`] decides which step is next, from what there is to see.
//! A command is written on the claims it is about ([`record`]), so that whoever acts next can carry
//! it on or take it back. [`memory`] knows which moves did no good, [`pause`] who has asked for a
//! pause.

pub mod carrying_out;
mod changes;
pub mod commands;
pub mod looking;
mod marking;
pub mod memory;
pub mod pass;
pub mod pause;
pub mod record;
pub mod step;
mod telling;
mod wishes;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use joiner_clock::Clock;

pub use self::{carrying_out::CommandQueue, looking::DisruptionLoop};
use self::{
    commands::Commands,
    memory::{DriftBackoff, Moves, Unrest},
    pause::Pause,
};
use crate::static_pools::Reservations;

/// What who proposes and who carries out have in common. Clones are the same.
#[derive(Debug, Clone)]
pub struct Disruption {
    /// Everything proposed and begun.
    pub commands: Commands,
    /// Who may have paused it.
    pause: Pause,
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
    pub fn new(clock: &Clock, pause: Pause, reservations: Reservations) -> Self {
        Self { commands: Commands::new(clock), pause, reservations, memory: Arc::default() }
    }

    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
