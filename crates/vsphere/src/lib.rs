//! vSphere: the instances that `VsphereNodeClass`es describe.
//!
//! A vCenter has no list of instance types; each class brings its own sizes. [`NodeClass::read`]
//! reads a class in every documented spelling, and [`NodeClass::instances`] makes instance types of
//! its sizes, with what the kubelet keeps for itself, a price, and an offering for each zone.
//!
//! This crate contains no Kubernetes clients and no controllers.

#![cfg_attr(
    test,
    expect(clippy::needless_pass_by_value, reason = "values of tests are made for one call")
)]

mod choose;
mod clone_spec;
pub mod doctor;
mod drift;
mod faults;
mod groups;
mod image;
mod instances;
mod inventory;
mod load;
mod marks;
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
mod types;
mod user_data;
mod vm;
mod vm_settings;
mod zones;

use joiner_core::price::UnitPrices;

use joiner_cloud::class::{ClassKind, Role};
pub use joiner_cloud::spec::{NotANodeClass, NotReady, Problem, Reason};

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
    role: Role::NodeClass,
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

/// The user's settings for the instances of all classes.
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
