//! Node pools: the templates of new instances.

use crate::{label::Labels, requirement::RequirementSpec, resources::Resources, taint::Taint};

/// A pool and the template of its instances.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NodePool {
    /// Name.
    pub name: String,
    /// UID, for owner references.
    pub uid: String,
    /// Heavier pools are tried first.
    pub weight: u32,
    /// Whether the pool keeps a fixed number of instances and takes no part in placing pods.
    pub is_static: bool,
    /// Whether the pool can be used.
    pub readiness: Readiness,
    /// Why its last instances have not joined, if too many have not. The pool is then tried after all others.
    pub failing: Option<String>,
    /// The class of its instances.
    pub node_class: NodeClassRef,
    /// Labels of its instances.
    pub labels: Labels,
    /// Annotations of its claims.
    pub annotations: Labels,
    /// Taints of its instances.
    pub taints: Vec<Taint>,
    /// Taints that are removed soon after the instance has started.
    pub startup_taints: Vec<Taint>,
    /// Requirements on its instances.
    pub requirements: Vec<RequirementSpec>,
    /// The most of each resource that the pool may have in total.
    pub limits: Resources,
    /// The hash of this template, which its claims carry.
    pub hash: String,
}

/// Whether a pool can be used, and if not, why.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Readiness {
    /// The pool can be used.
    #[default]
    Ready,
    /// The pool cannot be used; a sentence with the reason.
    NotReady(String),
    /// The pool is being deleted.
    Deleting,
}

/// A reference to a NodeClass.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct NodeClassRef {
    /// API group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
}
