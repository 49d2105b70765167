//! What simulated clouds have in common.
//!
//! A simulated cloud is a [`World`] behind one lock. Its [`Agenda`] says what will happen and when.
//! A [`Simulation`] lets the world catch up with a clock before anything looks at it, so answers
//! depend on what was asked and when, and on nothing else. [`trouble`] is what goes wrong, from a
//! [`script`]; the [`log`] has all calls. Clients reach a [`Server`] in the process, or over HTTP
//! where it is [served](serve::serve).

mod agenda;
pub mod log;
pub mod script;
pub mod serve;
mod server;
mod simulation;
pub mod trouble;

pub use agenda::Agenda;
pub use server::{Answered, InProcess, KeepAlive, NoAnswer, Server};
pub use simulation::{Simulation, World};
