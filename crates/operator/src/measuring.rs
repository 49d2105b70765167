//! Measured memory: nodes report how much memory a guest really has, and clouds learn it from them.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use joiner_api::node_claim::NodeClaim;
use joiner_cloud::instance::Measured;
use joiner_core::label::{INITIALIZED, INSTANCE_TYPE};
use k8s_openapi::{api::core::v1::Node, apimachinery::pkg::api::resource::Quantity};

use crate::{
    claims::{label, provider_id},
    context::Context,
    controller::{Controller, Next},
    index::convert,
    trouble::Trouble,
    world::{Change, Kept, Key, World},
};

/// How soon a cloud that did not know the instance yet is informed again. The value was chosen and
/// not measured separately.
const AGAIN: Duration = Duration::from_mins(1);

/// Passes the capacity of nodes to their clouds.
#[derive(Debug)]
pub struct Measuring(pub Context);

impl Controller for Measuring {
    type Key = Key;

    const NAME: &'static str = "node.measuring";

    fn affected(&self, _world: &World, change: &Change, add: &mut dyn FnMut(Key)) {
        if let Change::Node(diff) = change
            && let Some(node) = &diff.new
            && diff.old.as_ref().is_none_or(|old| shown(old) != shown(node))
        {
            add(node.key());
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Trouble> {
        let found = self.0.cache.read(|world| {
            let node = world.nodes.get(key).filter(|node| is_set_up(node))?;
            Some((Arc::clone(node), Arc::clone(world.claim_of(node)?)))
        });
        let Some((node, claim)) = found else { return Ok(Next::Done) };
        Ok(if self.tell(&node, &claim) { Next::Done } else { Next::After(AGAIN) })
    }
}

impl Measuring {
    /// Whether the cloud has all the information.
    fn tell(&self, node: &Node, claim: &NodeClaim) -> bool {
        let (Some(provider), Some(id)) = (self.0.provider_of(claim), provider_id(claim)) else {
            return true;
        };
        let image = claim.status.as_ref().and_then(|status| status.image_id.as_deref());
        let (_, capacity) = shown(node);
        let capacity = convert::resources(capacity);
        provider.measured(&Measured {
            provider_id: id,
            instance_type: label(claim, INSTANCE_TYPE),
            image_id: image.unwrap_or_default(),
            capacity: &capacity,
        })
    }
}

/// A node that lacks nothing shows all that it has.
fn is_set_up(node: &Node) -> bool {
    label(node, INITIALIZED) == "true"
}

/// What about a node a cloud could learn from.
fn shown(node: &Node) -> (bool, Option<&BTreeMap<String, Quantity>>) {
    (is_set_up(node), node.status.as_ref().and_then(|status| status.capacity.as_ref()))
}
