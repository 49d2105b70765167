//! What is ordered.

use std::sync::Arc;

use joiner_cloud::{
    bootstrap::{Distro, Facts, GuestLookup, ProviderId},
    class::NodeClass,
    inputs::OrderInputs,
    order::{ClaimId, Order},
};
use joiner_core::{quantity::Quantity, resources::CPU};

const POOL: &str = "bench";

/// The n-th order: an instance of one core at least, which joins an RKE2 cluster.
pub(super) fn order(class: &Arc<NodeClass>, number: u32) -> Order {
    let claim = ClaimId {
        name: format!("{POOL}-{number}"),
        uid: format!("6b1c7f20-3333-4444-8555-{number:012x}"),
    };
    let endpoint = "https://10.0.0.10:9345";
    let joining = Facts {
        provider_id: Some(ProviderId::Guest(GuestLookup::Dmi)),
        ..Facts::given(Distro::Rke2, endpoint, "v1.33.4+rke2r1", "nobody-takes-this-token")
    };
    let mut order = Order::plain(claim, POOL, Arc::clone(class));
    order.requests.set(CPU, Quantity::whole(1));
    order.inputs = OrderInputs::joining(joining);
    order
}
