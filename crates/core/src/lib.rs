//! The domain types of Joiner.
//!
//! All input and output of the planner has a type of this crate: requirements on labels ([`requirement`]), amounts
//! of resources ([`quantity`], [`resources`]), taints, and instance types. The [`snapshot`] is the input, [`plan`]
//! and [`disruption`] are the decisions, and [`reason`] explains them.
//!
//! This crate uses no Kubernetes clients, files, clocks or async. The index of `joiner-operator` is the one place
//! that converts Kubernetes objects to these types.

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
