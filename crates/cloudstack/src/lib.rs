//! CloudStack: the instances that `CloudStackNodeClass`es describe.
//!
//! [`client`] talks to a management server and knows nothing of classes. What follows from a class
//! and from what was listed is decided by pure functions.
//!
//! This crate knows nothing of Kubernetes clients and controllers.

pub mod client;
