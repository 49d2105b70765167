//! What is intended: claims to make, pods for nodes that exist, and pods that stay without a place.
//!
//! The serialised form is the one other programs read (`joiner plan -o json`), so a change to it is
//! additive.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    label::Labels, reason::Reason, requirement::RequirementSpec, resources::Resources, taint::Taint,
};

/// The answer to: which instances do these pods need?
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Plan {
    /// Claims to make, in the order they were opened.
    pub claims: Vec<PlannedClaim>,
    /// Instances that exist or are on their way and that receive pods.
    pub existing: Vec<ExistingPlacement>,
    /// Pods that were considered and have no place.
    pub unschedulable: Vec<Unplaced>,
    /// Pods that are not considered yet.
    pub deferred: Vec<Unplaced>,
}

/// A claim to make. What claims of one shape share is behind an `Arc`, since a large plan has
/// thousands of them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedClaim {
    /// The pool it is made from.
    pub node_pool: String,
    /// `namespace/name` of its pods, in the order they were placed.
    pub pods: Vec<String>,
    /// Types it may be launched as, cheapest first.
    pub instance_types: Arc<[String]>,
    /// The claim's `spec.requirements`.
    pub requirements: Arc<[RequirementSpec]>,
    /// The claim's `spec.resources.requests`.
    pub requests: Resources,
    /// The claim's labels.
    pub labels: Arc<Labels>,
    /// The claim's annotations.
    pub annotations: Arc<Labels>,
    /// The claim's taints.
    pub taints: Arc<[Taint]>,
    /// The claim's startup taints.
    pub startup_taints: Arc<[Taint]>,
    /// The price of the cheapest type.
    pub price: f64,
}

/// Pods for an instance that exists or is on its way.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExistingPlacement {
    /// The node's name, or empty.
    pub node: String,
    /// The claim's name, or empty.
    pub node_claim: String,
    /// `namespace/name` of the pods it receives, in the order they were placed.
    pub pods: Vec<String>,
}

impl ExistingPlacement {
    /// The name that the instance is known by, as [`Node::name`](crate::snapshot::Node::name).
    pub fn name(&self) -> &str {
        if self.node.is_empty() { &self.node_claim } else { &self.node }
    }
}

/// A pod that has no place, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Unplaced {
    /// `namespace/name`.
    pub pod: String,
    /// One sentence.
    pub message: String,
    /// Nearest miss first.
    pub reasons: Vec<Reason>,
}

impl Plan {
    /// The sum of the claims' prices.
    pub fn price(&self) -> f64 {
        // An empty sum of floats is -0.0, which would be printed as such.
        self.claims.iter().fold(0.0, |sum, claim| sum + claim.price)
    }

    /// How many pods have a place.
    pub fn placed(&self) -> usize {
        self.claims.iter().map(|claim| claim.pods.len()).sum::<usize>()
            + self.existing.iter().map(|existing| existing.pods.len()).sum::<usize>()
    }
}
