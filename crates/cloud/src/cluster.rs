//! What providers know of the cluster that their instances join.

use std::{net::IpAddr, sync::Arc};

use joiner_core::label::Labels;

use crate::{
    class::{NodeClass, ObjectName},
    order::ClaimId,
};

/// A cluster as it is when its engine starts to act.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cluster {
    /// The UID of the namespace `kube-system`, which is unique. Two clusters may have the same name.
    pub uid: String,
    /// The provider's classes and their ingredients.
    pub classes: Vec<Arc<NodeClass>>,
    /// The claims that the provider serves.
    pub claims: Vec<ClaimFacts>,
    /// Every node, including nodes that Joiner did not make.
    pub nodes: Vec<NodeFacts>,
}

impl Cluster {
    /// A cluster with nothing in it.
    pub fn new(uid: impl Into<String>) -> Self {
        Self { uid: uid.into(), ..Self::default() }
    }
}

/// A change of the cluster since it [began](crate::CloudProvider::begin).
#[derive(Debug, Clone, PartialEq)]
pub enum ClusterChange {
    /// A class, or an ingredient of classes, was added or changed.
    Class(Arc<NodeClass>),
    /// It is gone.
    ClassGone(ObjectName),
    /// A claim was added or changed.
    Claim(ClaimFacts),
    /// It is gone.
    ClaimGone(ClaimId),
    /// A node was added or changed.
    Node(NodeFacts),
    /// The node of this name is gone.
    NodeGone(String),
}

/// The facts about a claim that a provider may use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClaimFacts {
    /// The claim.
    pub claim: ClaimId,
    /// Its class.
    pub class: ObjectName,
    /// The provider id, once it is known.
    pub provider_id: Option<String>,
    /// Labels, such as type and zone.
    pub labels: Labels,
    /// Annotations, such as what a provider kept in its notebook.
    pub annotations: Labels,
    /// Whether it is being deleted.
    pub deleting: bool,
}

/// The facts about a node that a provider may use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodeFacts {
    /// The name.
    pub name: String,
    /// The provider id; none until it is written.
    pub provider_id: Option<String>,
    /// Internal and external addresses.
    pub addresses: Vec<IpAddr>,
}
