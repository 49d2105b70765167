//! What is ordered.

use std::sync::Arc;

use joiner_cloud::{
    bootstrap::{
        Distro, Facts, GuestLookup, ProviderId, Secret,
        token::{Token, TokenSource},
    },
    class::NodeClass,
    inputs::{ClassInputs, OrderInputs},
    order::{ClaimId, Order},
};
use joiner_core::{
    label::{self, Labels},
    quantity::Quantity,
    requirement::Requirements,
    resources::{CPU, Resources},
};

const POOL: &str = "bench";

/// The n-th order: a machine of one core at least, which joins an RKE2 cluster.
pub(super) fn order(class: &Arc<NodeClass>, number: u32) -> Order {
    let token = Secret::from("nobody-takes-this-token");
    let joining = Facts {
        distro: Distro::Rke2,
        endpoint: Some("https://10.0.0.10:9345".to_owned()),
        version: Some("v1.33.4+rke2r1".to_owned()),
        ca: None,
        pin_ca: false,
        token: Some(TokenSource::Given(token.clone())),
        provider_id: Some(ProviderId::Guest(GuestLookup::Dmi)),
    };
    let inputs = ClassInputs { joining: Some(joining), ..ClassInputs::default() };
    Order {
        claim: ClaimId {
            name: format!("{POOL}-{number}"),
            uid: format!("6b1c7f20-3333-4444-8555-{number:012x}"),
        },
        node_pool: Some(POOL.to_owned()),
        labels: [(label::NODE_POOL.to_owned(), POOL.to_owned())].into(),
        annotations: Labels::new(),
        requirements: Requirements::new(),
        requests: Resources::from_iter([(CPU, Quantity::whole(1))]),
        taints: Vec::new(),
        startup_taints: Vec::new(),
        class: Arc::clone(class),
        inputs: OrderInputs {
            class: Arc::new(inputs),
            token: Some(Token::Given(token)),
            ..OrderInputs::default()
        },
    }
}
