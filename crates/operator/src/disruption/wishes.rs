//! Wishes not to be disrupted that do not mean what their authors expect.

use k8s_openapi::api::core::v1::Node;

use crate::{
    context::Context,
    events::{Event, Subject},
    marks::DO_NOT_DISRUPT,
    pods::{DoNotDisrupt, is_active},
    world::World,
};

/// What to tell of pods whose wish cannot be read, and of nodes whose wish is none: now, and not when they are disrupted.
pub(super) fn unclear(context: &Context, world: &World) -> Vec<Event> {
    let pods = world.pods.values().filter(|pod| is_active(pod)).filter_map(|pod| {
        let DoNotDisrupt::Invalid(error) = DoNotDisrupt::of(pod) else { return None };
        Some(Event::invalid_do_not_disrupt(&Subject::of(&**pod), &error.to_string()).reminding())
    });
    let nodes = world.nodes.values().filter_map(|node| {
        let wish = unclear_wish(node)?;
        // Of other nodes nobody expects that we read it.
        context.provider_of(world.claim_of(node)?)?;
        Some(Event::invalid_do_not_disrupt_of_node(&Subject::of(&**node), wish))
    });
    pods.chain(nodes).collect()
}

/// What a node's annotation says, if it says neither yes nor no.
fn unclear_wish(node: &Node) -> Option<&str> {
    let wish = node.metadata.annotations.as_ref()?.get(DO_NOT_DISRUPT)?;
    (wish != "true" && wish != "false").then_some(wish)
}
