//! What an instance is to be like.

use std::sync::Arc;

use joiner_core::{
    instance_type::InstanceType,
    label::{self, Labels},
    requirement::Requirements,
    resources::Resources,
    taint::Taint,
};

use crate::{class::NodeClass, inputs::OrderInputs, notebook::Notebook};

/// Whom an instance is made for. Instances carry this as a mark, so that each can be found again from
/// its claim whatever happened in between.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct ClaimId {
    /// The `NodeClaim`'s name.
    pub name: String,
    /// The `NodeClaim`'s identity: a claim of the same name that is made later has another.
    pub uid: String,
}

/// An instance that is asked for: everything about its claim that a provider may act on.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// Whom it is made for.
    pub claim: ClaimId,
    /// The pool it is made from; none for a claim that somebody wrote by hand.
    pub node_pool: Option<String>,
    /// Labels that the node gets.
    pub labels: Labels,
    /// Annotations that the node gets.
    pub annotations: Labels,
    /// What its type and the terms on which it is had must be compatible with.
    pub requirements: Requirements,
    /// The least that it has to offer to pods.
    pub requests: Resources,
    /// Taints that the node registers with, besides the one that marks it as not registered yet.
    pub taints: Vec<Taint>,
    /// Taints that it starts with and that others take off.
    pub startup_taints: Vec<Taint>,
    /// Types of its pool whose price or capacity somebody has corrected, as corrected.
    pub corrected: Vec<Arc<InstanceType>>,
    /// How instances of this class are made.
    pub class: Arc<NodeClass>,
    /// What its provider needs of the cluster.
    pub inputs: OrderInputs,
    /// The annotations that the claim has now. What a creation that was interrupted wrote into its
    /// notebook is among them.
    pub kept: Labels,
    /// Where the provider writes what has to survive a kill, before it goes on.
    pub notebook: Notebook,
}

impl Order {
    /// An instance of a pool of which nothing is asked but that it is one of the class.
    pub fn plain(claim: ClaimId, node_pool: &str, class: Arc<NodeClass>) -> Self {
        Self {
            claim,
            node_pool: Some(node_pool.to_owned()),
            labels: [(label::NODE_POOL.to_owned(), node_pool.to_owned())].into(),
            annotations: Labels::new(),
            requirements: Requirements::new(),
            requests: Resources::new(),
            taints: Vec::new(),
            startup_taints: Vec::new(),
            corrected: Vec::new(),
            class,
            inputs: OrderInputs::default(),
            kept: Labels::new(),
            notebook: Notebook::default(),
        }
    }

    /// A type as somebody has corrected it, if somebody has.
    pub fn corrected_type(&self, name: &str) -> Option<&Arc<InstanceType>> {
        self.corrected.iter().find(|each| each.name == name)
    }

    /// Every taint that the node registers with, the one that marks it as not registered yet among
    /// them.
    pub fn all_taints(&self) -> Vec<Taint> {
        let own = self.taints.iter().chain(&self.startup_taints).cloned();
        own.chain([Taint::unregistered()]).collect()
    }
}
