//! The label by which a class's machines are known, on claims and nodes that do not have it.
//!
//! Claims of older versions lack it, and so do their nodes; without it a node counts as somebody
//! else's.

use std::sync::Arc;

use joiner_api::node_claim::NodeClaim;
use joiner_cloud::class::class_label;
use joiner_core::label::Labels;
use k8s_openapi::api::core::v1::Node;

use crate::{
    cluster::Lock,
    context::Context,
    controller::{Controller, Next},
    queue::Backoff,
    trouble::Trouble,
    world::{Change, Kept, Key, World},
};

/// Labels claims.
#[derive(Debug)]
pub struct ClaimHydration(pub Context);

/// Labels nodes.
#[derive(Debug)]
pub struct NodeHydration(pub Context);

impl Controller for ClaimHydration {
    type Key = Key;

    const NAME: &'static str = "nodeclaim.hydration";
    const BACKOFF: Backoff = Backoff::REASONABLE;
    const AT_ONCE: usize = 1000;

    fn affected(&self, _world: &World, change: &Change, add: &mut dyn FnMut(Key)) {
        if let Change::NodeClaim(diff) = change
            && let Some(claim) = &diff.new
            && self.missing(claim).is_some()
        {
            add(claim.key());
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Trouble> {
        let claim = self.0.cache.read(|world| world.node_claims.get(key).cloned());
        let Some(claim) = claim else { return Ok(Next::Done) };
        let Some((label, class)) = self.missing(&claim) else { return Ok(Next::Done) };
        let mut labelled = NodeClaim::clone(&claim);
        labelled.metadata.labels.get_or_insert_default().insert(label, class);
        self.0.cluster.patch(&*claim, &labelled, Lock::None).await?;
        Ok(Next::Done)
    }
}

impl ClaimHydration {
    /// The label that a claim should have and does not.
    fn missing(&self, claim: &NodeClaim) -> Option<(String, String)> {
        self.0.provider_of(claim)?;
        wanted(claim).filter(|wanted| !has(claim.metadata.labels.as_ref(), wanted))
    }
}

impl Controller for NodeHydration {
    type Key = Key;

    const NAME: &'static str = "node.hydration";
    const BACKOFF: Backoff = Backoff::REASONABLE;
    const AT_ONCE: usize = 1000;

    fn affected(&self, world: &World, change: &Change, add: &mut dyn FnMut(Key)) {
        match change {
            Change::Node(diff) => diff.new.iter().for_each(|node| add(node.key())),
            Change::NodeClaim(diff) => {
                let id = diff
                    .new
                    .as_ref()
                    .and_then(|claim| claim.status.as_ref()?.provider_id.as_deref());
                id.into_iter().flat_map(|id| world.nodes_of(id)).for_each(|node| add(node.key()));
            }
            _ => {}
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Trouble> {
        let found = self.0.cache.read(|world| {
            let node = world.nodes.get(key)?;
            Some((Arc::clone(node), self.missing(world, node)?))
        });
        let Some((node, (label, class))) = found else { return Ok(Next::Done) };
        let mut labelled = Node::clone(&node);
        labelled.metadata.labels.get_or_insert_default().insert(label, class);
        self.0.cluster.patch(&*node, &labelled, Lock::Version).await?;
        Ok(Next::Done)
    }
}

impl NodeHydration {
    /// The label that a node should have and does not.
    fn missing(&self, world: &World, node: &Node) -> Option<(String, String)> {
        let id = node.spec.as_ref()?.provider_id.as_deref()?;
        let claim = world.claims_of(id).next()?;
        self.0.provider_of(claim)?;
        wanted(claim).filter(|wanted| !has(node.metadata.labels.as_ref(), wanted))
    }
}

fn wanted(claim: &NodeClaim) -> Option<(String, String)> {
    let class = claim.spec.node_class_ref.as_ref()?;
    Some((class_label(&class.group, &class.kind), class.name.clone()))
}

fn has(labels: Option<&Labels>, (label, class): &(String, String)) -> bool {
    labels.and_then(|labels| labels.get(label)) == Some(class)
}
