//! The words Joiner thinks in.
//!
//! Everything the planner decides on and everything it answers with is a type of this crate:
//! requirements on labels ([`requirement`]), amounts of resources ([`quantity`], [`resources`]),
//! taints, instance types, what was seen ([`snapshot`]), what is intended ([`plan`], [`disruption`])
//! and why ([`reason`]).
//!
//! This crate knows nothing of Kubernetes clients, of files, of clocks or of async. Kubernetes
//! objects become these types in one place, `joiner-operator`'s index.

pub mod disruption;
pub mod evenness;
pub mod instance_type;
pub mod label;
pub mod plan;
pub mod pod;
pub mod pool;
pub mod price;
pub mod quantity;
pub mod reason;
pub mod requirement;
pub mod resources;
pub mod selector;
pub mod settings;
pub mod snapshot;
pub mod taint;
#[cfg(feature = "testing")]
pub mod testing;
