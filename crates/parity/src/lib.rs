//! Generated scenarios on which Joiner and Karpenter are compared.
//!
//! [`generate`] makes a scenario out of a seed, [`trial`] puts it to both sides, [`compare`] says
//! what differs and what to think of it, [`shrink`] makes a scenario smaller while it still shows
//! what it showed, and [`fixture`] keeps it. [`disruption`] does the same for clusters whose instances
//! may go.

pub mod compare;
pub mod disruption;
pub mod fixture;
pub mod generate;
pub mod named;
pub mod oracle;
pub mod ours;
pub mod report;
pub mod scenario;
pub mod shrink;
pub mod trial;

pub use joiner_core::testing::rng;
