//! What a cloud has to do for Joiner.
//!
//! A [`CloudProvider`] makes instances, finds them again and removes them. It never talks to
//! Kubernetes: the operator reads claims, classes, secrets and join tokens and hands over what a
//! provider [needs] as plain data ([`order::Order`], [`class::NodeClass`], [`inputs`]). KWOK, whose cloud is the
//! API server itself, is the one exception. Several providers serve one process; [`Providers`]
//! finds the one that a `NodeClass` belongs to.
//!
//! [`bootstrap`] makes the text that turns a fresh virtual machine into a worker of a cluster. Clouds
//! deliver it; none of them writes its own.

pub mod adoption;
pub mod bootstrap;
pub mod choice;
pub mod class;
#[cfg(feature = "testing")]
pub mod conformance;
pub mod doctor;
mod error;
pub mod homes;
pub mod inputs;
pub mod instance;
pub mod needs;
pub mod notes;
pub mod order;
mod provider;
mod providers;
pub mod shape;
#[cfg(feature = "testing")]
pub mod testing;
pub mod types;

pub use error::CloudError;
pub use provider::{
    CloudProvider, Deletion, InstanceTypes, LabelCorrection, RepairPolicy, Updated,
};
pub use providers::{Off, Providers, Served};
