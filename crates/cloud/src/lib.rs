//! The interface between Joiner and its clouds.
//!
//! A [`CloudProvider`] makes instances, finds them again and removes them. It never talks to
//! Kubernetes: the operator reads claims, classes, secrets and join tokens and hands over what a
//! provider [needs] as plain data ([`order::Order`], [`class::NodeClass`], [`inputs`]). KWOK is the
//! one exception: its cloud is the API server itself. Several providers serve one process;
//! [`Providers`] finds the one that a `NodeClass` belongs to.
//!
//! [`bootstrap`] makes the text that turns a fresh virtual machine into a worker of a cluster. Every
//! cloud delivers this text to its instances.
//!
//! # How a new cloud uses this crate
//!
//! A cloud brings its client, its spec and its errors. The rest is here:
//!
//! | Task | Use |
//! |---|---|
//! | decode and check a class | [`spec`], [`scalar`], [`kubelet`] with the cloud's [`Defaults`](kubelet::Defaults) |
//! | hash a class | [`spec::hash`], after removing the fields that replace no instance |
//! | user data, adapters | [`bootstrap::class_text`], [`bootstrap::network`] |
//! | conditions of a class | [`judgement`], [`resolutions`] |
//! | types that are not available | [`unavailable`], [`measured`] |
//! | make an instance | [`choice`], [`homes`], [`attempts::Ways`], [`limiter`], [`deadline`] |
//! | know it again | [`mark`], [`names`] |
//! | events and progress | [`notes`], [`deadline::reporting_progress`] |
//! | `joiner doctor` | [`doctor`] |
//! | metrics | [`metrics`], with the cloud's prefix |
//! | tests | `conformance`, `testing::scenes`, `testing::mishaps` |
//!
//! A creation goes like this: look for the claim's [`mark`]; if there is none, put the
//! [choices](choice::in_order) in order and let [`attempts::first_that_works`] try them; wait at a
//! [gate](limiter::Gates) before each expensive call.

pub mod adoption;
pub mod attempts;
pub mod bootstrap;
pub mod catalog_file;
pub mod choice;
pub mod class;
pub mod cluster;
#[cfg(feature = "testing")]
pub mod conformance;
pub mod deadline;
pub mod doctor;
mod error;
pub mod glob;
pub mod homes;
pub mod inputs;
pub mod instance;
pub mod judgement;
pub mod kubelet;
pub mod limiter;
pub mod listing;
pub mod mark;
pub mod measured;
pub mod metrics;
pub mod names;
pub mod needs;
pub mod notebook;
pub mod notes;
pub mod order;
pub mod progress;
mod provider;
mod provider_ids;
mod providers;
pub mod registration;
pub mod resolutions;
pub mod scalar;
pub mod shape;
pub mod spec;
#[cfg(feature = "testing")]
pub mod testing;
pub mod types;
pub mod unavailable;

pub use error::CloudError;
pub use provider::{CloudProvider, Deletion, InstanceTypes, RepairPolicy};
pub use provider_ids::ProviderIds;
pub use providers::{Off, Providers, Served};
