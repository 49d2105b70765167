//! Corrects labels of claims and nodes: the label of their class, and labels that a predecessor
//! wrote in another form.
//!
//! Claims of older versions and their nodes lack the class label; without it a node counts as
//! foreign.

use std::sync::Arc;

use joiner_api::node_claim::NodeClaim;
use joiner_cloud::{CloudProvider, class::class_label};
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
            && !self.missing(claim).is_empty()
        {
            add(claim.key());
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Trouble> {
        let claim = self.0.cache.read(|world| world.node_claims.get(key).cloned());
        let Some(claim) = claim else { return Ok(Next::Done) };
        let missing = self.missing(&claim);
        if missing.is_empty() {
            return Ok(Next::Done);
        }
        let mut labelled = NodeClaim::clone(&claim);
        labelled.metadata.labels.get_or_insert_default().extend(missing);
        self.0.cluster.patch(&*claim, &labelled, Lock::None).await?;
        Ok(Next::Done)
    }
}

impl ClaimHydration {
    /// Labels that a claim should have and does not.
    fn missing(&self, claim: &NodeClaim) -> Labels {
        let labels = claim.metadata.labels.as_ref();
        self.0.provider_of(claim).map_or_else(Labels::new, |own| missing(claim, &**own, labels))
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
        let Some((node, missing)) = found.filter(|(_, missing)| !missing.is_empty()) else {
            return Ok(Next::Done);
        };
        let mut labelled = Node::clone(&node);
        labelled.metadata.labels.get_or_insert_default().extend(missing);
        self.0.cluster.patch(&*node, &labelled, Lock::Version).await?;
        Ok(Next::Done)
    }
}

impl NodeHydration {
    /// Labels that a node should have and does not.
    fn missing(&self, world: &World, node: &Node) -> Option<Labels> {
        let id = node.spec.as_ref()?.provider_id.as_deref()?;
        let claim = world.claims_of(id).next()?;
        let provider = self.0.provider_of(claim)?;
        Some(missing(claim, &**provider, node.metadata.labels.as_ref()))
    }
}

/// Labels that a claim or its node should have and does not.
fn missing(claim: &NodeClaim, provider: &dyn CloudProvider, labels: Option<&Labels>) -> Labels {
    let mut missing = corrections(provider, labels);
    if let Some((label, class)) = of_class(claim)
        && labels.and_then(|labels| labels.get(&label)) != Some(&class)
    {
        missing.insert(label, class);
    }
    missing
}

/// The corrections of a predecessor's labels. Labels are corrected before any decision uses them.
pub(crate) fn corrections(provider: &dyn CloudProvider, labels: Option<&Labels>) -> Labels {
    let corrected = labels.into_iter().flatten().filter_map(|(key, value)| {
        let right = provider.corrected_label(key, value).filter(|right| right != value)?;
        Some((key.clone(), right))
    });
    corrected.collect()
}

/// The label by which instances of a claim's class are known.
pub(crate) fn of_class(claim: &NodeClaim) -> Option<(String, String)> {
    let class = claim.spec.node_class_ref.as_ref()?;
    Some((class_label(&class.group, &class.kind), class.name.clone()))
}
