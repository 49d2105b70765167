//! Disruption: remove or replace instances that are empty, underused or drifted.
//!
//! [`looking`] is the loop. It asks the planner ([`pass`], pure) after relevant changes, and
//! validates each proposal once more before it begins. [`commands`] lists everything proposed and
//! begun. [`carrying_out`] executes a command step by step: mark the candidates, create the
//! replacements, wait for them, delete the candidates. [`step`] chooses the next step from what it
//! observes. The command is recorded on its claims ([`record`]), so the next process can continue
//! it or take it back. [`memory`] remembers moves that did not help, and [`pause`] finds pauses.

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

/// The state that the loop and the executor share. Clones share the same state.
#[derive(Debug, Clone)]
pub struct Disruption {
    /// Every command that is proposed or begun.
    pub commands: Commands,
    /// Finds out whether disruption is paused.
    pause: Pause,
    reservations: Reservations,
    memory: Arc<Mutex<Memory>>,
}

/// What is remembered of past commands.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    moves: Moves,
    drift: DriftBackoff,
    unrest: Unrest,
}

impl Disruption {
    /// An empty state. Replacements reserve room within the limits of static pools, like the
    /// static-pool controllers.
    pub fn new(clock: &Clock, pause: Pause, reservations: Reservations) -> Self {
        Self { commands: Commands::new(clock), pause, reservations, memory: Arc::default() }
    }

    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
