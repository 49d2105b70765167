//! What simulated clouds have in common, tried with a cloud of one counter.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod agenda;
mod counter;
mod script;
mod served;
mod simulation;
mod trouble;
