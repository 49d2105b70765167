//! vSphere: the instances that `VsphereNodeClass`es describe.
//!
//! A vCenter has no list of instance types; each class brings its own sizes. [`NodeClass::read`]
//! reads a class in every documented spelling, and [`NodeClass::instances`] makes instance types of
//! its sizes, with what the kubelet keeps for itself, a price, and an offering for each zone.
//!
//! This crate knows nothing of Kubernetes clients and controllers.

#![cfg_attr(
    test,
    expect(clippy::needless_pass_by_value, reason = "values of tests are made for one call")
)]

mod choose;
mod clone_spec;
pub mod doctor;
mod drift;
mod faults;
mod glob;
mod groups;
mod image;
mod instances;
mod inventory;
mod kubelet;
mod limiter;
mod load;
mod marks;
mod measured;
mod metrics;
mod names;
mod networks;
mod node_class;
mod passthrough;
mod places;
mod privileges;
mod provider;
mod resources;
mod room;
pub mod settings;
mod size;
mod tags;
mod text;
mod types;
mod unavailable;
mod user_data;
mod vm;
mod vm_settings;
mod zones;

use std::fmt::{self, Display, Formatter};

use joiner_cloud::class::ClassKind;
use joiner_core::price::UnitPrices;

pub use crate::{
    instances::{Hardware, Instances},
    metrics::Metrics,
    node_class::{NodeClass, crd::crd, hash::HASH_VERSION},
    passthrough::HostDevice,
    provider::{Limits, ProviderSettings, Vsphere},
    tags::TopologyCategories,
    types::{ClassSizes, labels_of},
};

/// API group of vSphere's `NodeClass`.
pub const NODE_CLASS_GROUP: &str = "karpenter.vsphere.com";
/// Kind of vSphere's `NodeClass`.
pub const NODE_CLASS_KIND: &str = "VsphereNodeClass";

/// vSphere's `NodeClass`.
pub const NODE_CLASS: ClassKind = ClassKind {
    group: NODE_CLASS_GROUP,
    version: "v1alpha1",
    kind: NODE_CLASS_KIND,
    plural: "vspherenodeclasses",
};

/// Label: the name of the instance's type.
pub const INSTANCE_SIZE: &str = "karpenter.vsphere.com/instance-size";
/// Label: virtual CPUs.
pub const INSTANCE_CPU: &str = "karpenter.vsphere.com/instance-cpu";
/// Label: memory of the virtual machine in MiB.
pub const INSTANCE_MEMORY: &str = "karpenter.vsphere.com/instance-memory";

/// Keeps a class until no claim refers to it.
pub const FINALIZER: &str = "karpenter.vsphere.com/termination";
/// Annotation of classes and claims: the class's fingerprint.
pub const HASH: &str = "karpenter.vsphere.com/vspherenodeclass-hash";
/// Annotation of classes and claims: the way in which the fingerprint was made.
pub const HASH_VERSION_KEY: &str = "karpenter.vsphere.com/vspherenodeclass-hash-version";

/// The labels that this provider fills in besides Karpenter's own.
pub const WELL_KNOWN_LABELS: [&str; 3] = [INSTANCE_SIZE, INSTANCE_CPU, INSTANCE_MEMORY];

const MIB: i64 = 1 << 20;
const GIB: i64 = 1 << 30;

/// What the user can choose about instances for all classes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Prices of sizes that bring none of their own.
    pub prices: UnitPrices,
    /// The share of an instance's memory that its guest does not see, from 0 to below 1.
    pub memory_overhead: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { prices: UnitPrices::default(), memory_overhead: 0.075 }
    }
}

/// An object that the API server would refuse: a field has a value of the wrong type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{NODE_CLASS_KIND} {class:?}: {field}: {problem}")]
pub struct NotANodeClass {
    /// Name of the object.
    pub class: String,
    /// Path of the field.
    pub field: String,
    /// What is wrong and what to write.
    pub problem: String,
}

/// Why a condition of a class is false, in a word for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// An entry of `spec.instanceTypes` cannot be meant, or there is none.
    InvalidInstanceType,
    /// `spec.diskSize` cannot be meant.
    InvalidDiskSize,
    /// `spec.kubelet` cannot be meant.
    InvalidKubelet,
    /// An entry of `spec.zones` cannot be meant.
    InvalidZone,
    /// `spec.networks` cannot be meant.
    InvalidNetwork,
    /// A selector that has to say something says nothing.
    SelectorMissing,
    /// A selector is not written as one.
    InvalidSelector,
    /// Two spellings of one field say different things.
    AmbiguousSpelling,
    /// `spec.userData` cannot be meant.
    InvalidUserData,
    /// Two tags for the one zone of an instance.
    ConflictingZoneTags,
    /// A field about the virtual machine cannot be meant.
    InvalidInstance,
}

impl Display for Reason {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Something about a class that keeps it from being used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The word for it.
    pub reason: Reason,
    /// Path of the field.
    pub field: String,
    /// What is wrong and what to write.
    pub text: String,
}

impl Problem {
    pub(crate) fn new(reason: Reason, field: impl Into<String>, text: impl Into<String>) -> Self {
        Self { reason, field: field.into(), text: text.into() }
    }
}

impl Display for Problem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.reason, self.field, self.text)
    }
}

/// A class that the API server accepts, but of which no instance can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotReady {
    /// Name of the class.
    pub class: String,
    /// Everything that keeps it from being used.
    pub problems: Vec<Problem>,
}

impl Display for NotReady {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{NODE_CLASS_KIND} {:?} is not ready: ", self.class)?;
        for (i, problem) in self.problems.iter().enumerate() {
            let separator = if i == 0 { "" } else { "; " };
            write!(f, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for NotReady {}
