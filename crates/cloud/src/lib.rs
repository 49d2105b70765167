//! What all clouds have in common, whatever their machines are made of.
//!
//! [`bootstrap`] makes the text that turns a fresh virtual machine into a worker of a cluster.
//! Clouds deliver it; none of them writes its own.
//!
//! This crate knows nothing of Kubernetes clients, controllers and any one cloud's interface.

pub mod bootstrap;
