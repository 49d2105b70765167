//! Do-not-disrupt annotations that do not mean what their authors expect.

use k8s_openapi::api::core::v1::Node;

use crate::{
    context::Context,
    events::{Event, Subject},
    marks::DO_NOT_DISRUPT,
    pods::{DoNotDisrupt, is_active},
    world::World,
};

/// Events for pods and nodes whose annotation has an unknown value. They are reported now, before
/// the disruption.
pub(super) fn unclear(context: &Context, world: &World) -> Vec<Event> {
    let pods = world.pods.values().filter(|pod| is_active(pod)).filter_map(|pod| {
        let DoNotDisrupt::Invalid(error) = DoNotDisrupt::of(pod) else { return None };
        Some(Event::invalid_do_not_disrupt(&Subject::of(&**pod), &error.to_string()).reminding())
    });
    let nodes = world.nodes.values().filter_map(|node| {
        let wish = unclear_wish(node)?;
        // Annotations of foreign nodes are not read.
        context.provider_of(world.claim_of(node)?)?;
        Some(Event::invalid_do_not_disrupt_of_node(&Subject::of(&**node), wish))
    });
    pods.chain(nodes).collect()
}

/// The value of a node's annotation, if it is neither true nor false.
fn unclear_wish(node: &Node) -> Option<&str> {
    let wish = node.metadata.annotations.as_ref()?.get(DO_NOT_DISRUPT)?;
    (wish != "true" && wish != "false").then_some(wish)
}
