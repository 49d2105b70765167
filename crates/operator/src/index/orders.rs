//! Claims as clouds read them, and what clouds answer as claims write it down.

use std::sync::Arc;

use joiner_api::{ResourceList, node_claim::NodeClaim};
use joiner_cloud::{class::NodeClass, inputs::OrderInputs, notebook::Notebook, order::Order};
use joiner_core::{label::Labels, requirement::Requirements, resources::Resources};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::convert;
use crate::claims;

/// The instance that a claim asks for, before anything is fetched for it.
pub fn order(claim: &NodeClaim, class: Arc<NodeClass>) -> Order {
    Order {
        claim: claims::id(claim),
        node_pool: claims::pool(claim).map(str::to_owned),
        labels: convert::labels(&claim.metadata),
        annotations: claim.metadata.annotations.clone().unwrap_or_default(),
        requirements: requirements(claim),
        requests: requests(claim),
        taints: convert::taints(&claim.spec.taints),
        startup_taints: convert::taints(&claim.spec.startup_taints),
        corrected: Vec::new(),
        class,
        inputs: OrderInputs::default(),
        kept: claim.metadata.annotations.clone().unwrap_or_default(),
        notebook: Notebook::default(),
    }
}

/// What a claim asks its node to offer.
pub fn requests(claim: &NodeClaim) -> Resources {
    convert::resources(claim.spec.resources.as_ref().map(|resources| &resources.requests))
}

/// Amounts as objects write them.
pub fn resource_list(resources: &Resources) -> ResourceList {
    resources.iter().map(|(name, amount)| (name.to_owned(), Quantity(amount.to_string()))).collect()
}

/// The labels that a claim leaves no choice of.
pub fn single_values(claim: &NodeClaim) -> Labels {
    requirements(claim).single_values()
}

fn requirements(claim: &NodeClaim) -> Requirements {
    Requirements::from_specs(&convert::requirements(&claim.spec.requirements))
}
