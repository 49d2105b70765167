//! The plan: claims to create, pods for existing nodes, and pods without a place.
//!
//! Other programs read the serialised form (`joiner plan -o json`), so fields are only ever added.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    label::Labels, reason::Reason, requirement::RequirementSpec, resources::Resources, taint::Taint,
};

/// The answer to: which instances do these pods need?
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Plan {
    /// Claims to create, in the order they were opened.
    pub claims: Vec<PlannedClaim>,
    /// Instances that exist or were launched, and receive pods.
    pub existing: Vec<ExistingPlacement>,
    /// Pods that were considered and have no place.
    pub unschedulable: Vec<Unplaced>,
    /// Pods that were not considered in this pass.
    pub deferred: Vec<Unplaced>,
}

/// A claim to create. Fields that equal claims share are behind an `Arc`, because a large plan has thousands of
/// claims.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedClaim {
    /// The pool it is created from.
    pub node_pool: String,
    /// `namespace/name` of its pods, in the order they were placed.
    pub pods: Vec<String>,
    /// Instance types it may be launched as, cheapest first.
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

/// Pods for an instance that exists or was launched.
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
    /// The name of the instance, as [`Node::name`](crate::snapshot::Node::name).
    pub fn name(&self) -> &str {
        if self.node.is_empty() { &self.node_claim } else { &self.node }
    }
}

/// A pod without a place, with the reasons.
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
        // An empty sum of floats is -0.0, and would be printed with its sign.
        self.claims.iter().fold(0.0, |sum, claim| sum + claim.price)
    }

    /// The number of pods with a place.
    pub fn placed(&self) -> usize {
        self.claims.iter().map(|claim| claim.pods.len()).sum::<usize>()
            + self.existing.iter().map(|existing| existing.pods.len()).sum::<usize>()
    }
}
