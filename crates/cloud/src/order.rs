//! The order of an instance.

use std::sync::Arc;

use joiner_core::{
    instance_type::InstanceType,
    label::{self, Labels},
    requirement::Requirements,
    resources::Resources,
    taint::Taint,
};

use crate::{class::NodeClass, inputs::OrderInputs, notebook::Notebook};

/// The identity of the claim that an instance is made for. Instances carry it in their mark, so each
/// can be found again from its claim.
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
    /// The claim that it is made for.
    pub claim: ClaimId,
    /// The pool it is made from; none for a claim that was written by hand.
    pub node_pool: Option<String>,
    /// Labels that the node gets.
    pub labels: Labels,
    /// Annotations that the node gets.
    pub annotations: Labels,
    /// The requirements on its type and its offering.
    pub requirements: Requirements,
    /// The least resources that it must offer to pods.
    pub requests: Resources,
    /// Taints that the node registers with, besides the one that marks it as not registered yet.
    pub taints: Vec<Taint>,
    /// Taints that it starts with and that other programs remove.
    pub startup_taints: Vec<Taint>,
    /// Types of its pool with corrected prices or capacities.
    pub corrected: Vec<Arc<InstanceType>>,
    /// How instances of this class are made.
    pub class: Arc<NodeClass>,
    /// What its provider needs of the cluster.
    pub inputs: OrderInputs,
    /// The annotations that the claim has now. What a creation that was interrupted wrote into its
    /// notebook is among them.
    pub kept: Labels,
    /// Where the provider stores data that must survive a kill.
    pub notebook: Notebook,
}

impl Order {
    /// An order of a pool without requirements besides the class.
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

    /// The corrected form of a type, if it was corrected.
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
