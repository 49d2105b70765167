//! CloudStack: the instances that `CloudStackNodeClass`es describe.
//!
//! [`client`] talks to a management server and knows nothing of classes. What follows from a class
//! and from what was listed is decided by pure functions: [`resolve`] finds what the class's
//! selectors mean, [`offerings`] makes instance types of service offerings, [`labels`] writes names
//! as labels, [`names`], [`provider_id`] and [`marks`] say how an instance is known.
//! [`CloudStack`] is the provider: it asks the server and carries out what they decide.
//! [`settings`] are the flags and variables of all of it.
//!
//! This crate knows nothing of Kubernetes clients and controllers.

pub mod client;
pub mod labels;
pub mod marks;
mod metrics;
pub mod names;
mod node_class;
pub mod offerings;
mod provider;
pub mod provider_id;
pub mod resolve;
pub mod settings;
mod types;
pub mod user_data;
mod vm;

use joiner_cloud::class::{ClassKind, Role};

pub use self::metrics::Metrics;
pub use self::node_class::{
    Bootstrap, CustomShape, GroupRef, NodeClass, ResolvedStatus, SelectorTerm, Spec, StatusGpu,
    StatusNetwork, StatusOffering, StatusTemplate, TemplateSelectorTerm, TokenSecretRef, crd::crd,
    hash::HASH_VERSION,
};
pub use self::provider::{CloudStack, Expunge, ProviderSettings};
pub use self::types::StatusOfferings;

/// API group of CloudStack's `NodeClass`.
pub const NODE_CLASS_GROUP: &str = "karpenter.k8s.cloudstack";
/// Kind of CloudStack's `NodeClass`.
pub const NODE_CLASS_KIND: &str = "CloudStackNodeClass";

/// CloudStack's `NodeClass`.
pub const NODE_CLASS: ClassKind = ClassKind {
    group: NODE_CLASS_GROUP,
    version: "v1",
    kind: NODE_CLASS_KIND,
    plural: "cloudstacknodeclasses",
    role: Role::NodeClass,
};

/// Keeps a class until no claim refers to it.
pub const FINALIZER: &str = "karpenter.k8s.cloudstack/termination";
/// Annotation of classes and claims: the class's hash.
pub const HASH: &str = "karpenter.k8s.cloudstack/nodeclass-hash";
/// Annotation of classes and claims: how the hash was made.
pub const HASH_VERSION_KEY: &str = "karpenter.k8s.cloudstack/nodeclass-hash-version";

const MIB: i64 = 1 << 20;
const GIB: i64 = 1 << 30;
