//! CloudStack: the instances that `CloudStackNodeClass`es describe.
//!
//! [`client`] talks to a management server and knows nothing of classes. [`labels`], [`names`] and
//! [`provider_id`] say how objects and instances are known to Kubernetes.
//!
//! This crate knows nothing of Kubernetes clients and controllers.

pub mod client;
pub mod labels;
pub mod names;
pub mod provider_id;

use joiner_cloud::class::ClassKind;

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
};

/// Keeps a class until no claim refers to it.
pub const FINALIZER: &str = "karpenter.k8s.cloudstack/termination";
/// Annotation of classes and claims: the class's hash.
pub const HASH: &str = "karpenter.k8s.cloudstack/nodeclass-hash";
/// Annotation of classes and claims: how the hash was made.
pub const HASH_VERSION_KEY: &str = "karpenter.k8s.cloudstack/nodeclass-hash-version";
