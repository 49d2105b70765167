//! Nodes that no one gives a provider id: neither their guests nor a controller of their cloud.
//!
//! An id that was written once stays, so all evidence is needed: the node has the name of a claim's
//! instance and the UUID that the cloud says its guest reads, and no cloud controller was seen.

use std::{sync::Arc, time::Duration};

use jiff::SignedDuration;
use joiner_api::node_claim::NodeClaim;
use k8s_openapi::api::core::v1::{Node, NodeSpec};

use crate::{
    claims::{self, is_deleting, name, provider_id},
    cluster::Lock,
    conditions::{Conditioned, LAUNCHED, REGISTERED},
    context::Context,
    controller::{Controller, Next},
    trouble::Trouble,
    world::{Change, Kept, Key, World},
};

/// How long a node waits for whatever else may write its id.
const PATIENCE: SignedDuration = SignedDuration::from_secs(30);
/// How often it is looked again while evidence is missing.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// The taint by which a kubelet says that it expects a cloud controller.
const EXPECTS_CONTROLLER: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// Writes provider ids on nodes.
#[derive(Debug)]
pub struct NodeIds(pub Context);

impl Controller for NodeIds {
    type Key = Key;

    const NAME: &'static str = "node.providerid";

    fn affected(&self, world: &World, change: &Change, add: &mut dyn FnMut(Key)) {
        match change {
            Change::Node(diff) => {
                let nameless = diff.new.iter().filter(|node| lacks_id(node));
                nameless.for_each(|node| add(node.key()));
            }
            Change::NodeClaim(diff) => {
                let waiting = diff.new.iter().filter(|claim| waits_for_node(claim));
                let names = waiting.filter_map(|claim| self.node_name(claim));
                let nodes = names.filter_map(|name| world.nodes.named(&name));
                nodes.filter(|node| lacks_id(node)).for_each(|node| add(node.key()));
            }
            _ => {}
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Trouble> {
        let Some((node, claim)) = self.facts(key) else { return Ok(Next::Done) };
        let since = node.metadata.creation_timestamp.as_ref().map(|time| time.0);
        let age = since.map(|since| self.0.now().duration_since(since)).unwrap_or_default();
        if let Ok(left) = Duration::try_from(PATIENCE - age)
            && !left.is_zero()
        {
            return Ok(Next::After(left));
        }
        let (Some(provider), Some(id)) = (self.0.provider_of(&claim), provider_id(&claim)) else {
            return Ok(Next::Done);
        };
        if self.0.cloud_controller_seen(provider.cloud_controllers()).await != Some(false) {
            return Ok(Next::After(LOOK_AGAIN));
        }
        let named = claims::id(&claim);
        let get = provider.get(&named, id);
        let found = self.0.ask(Self::NAME, "Get", provider.as_ref(), get).await?;
        let uuid = found.and_then(|instance| instance.system_uuid);
        if !uuid.is_some_and(|uuid| is_same_uuid(&uuid, system_uuid(&node))) {
            // The hypervisor may not say it yet, and another node may have the name.
            return Ok(Next::After(LOOK_AGAIN));
        }
        let mut identified = Node::clone(&node);
        let spec: &mut NodeSpec = identified.spec.get_or_insert_default();
        spec.provider_id = Some(id.to_owned());
        self.0.cluster.patch(&*node, &identified, Lock::Version).await?;
        tracing::info!(
            Node = %key, NodeClaim = %claim.key(), "provider-id" = id,
            "wrote the provider id of a node that had none"
        );
        Ok(Next::Done)
    }
}

impl NodeIds {
    /// A node without an id, and the one claim whose instance has its name.
    fn facts(&self, key: &Key) -> Option<(Arc<Node>, Arc<NodeClaim>)> {
        self.0.cache.read(|world| {
            let node = world.nodes.get(key).filter(|node| lacks_id(node))?;
            let is_its = |claim: &&Arc<NodeClaim>| {
                waits_for_node(claim)
                    && self.node_name(claim).is_some_and(|own| own == name(&node.metadata))
            };
            let mut claims = world.node_claims.values().filter(is_its);
            let claim = claims.next()?;
            claims.next().is_none().then(|| (Arc::clone(node), Arc::clone(claim)))
        })
    }

    /// The name that the node of a claim gets.
    fn node_name(&self, claim: &NodeClaim) -> Option<String> {
        Some(self.0.provider_of(claim)?.instance_name(&claims::id(claim)))
    }
}

/// Whether a node has no id and nothing has announced that it will write one.
fn lacks_id(node: &Node) -> bool {
    let spec = node.spec.as_ref();
    let id = spec.and_then(|spec| spec.provider_id.as_deref()).unwrap_or_default();
    let mut taints = spec.into_iter().flat_map(|spec| spec.taints.iter().flatten());
    id.is_empty() && !is_deleting(node) && !taints.any(|taint| taint.key == EXPECTS_CONTROLLER)
}

/// Whether a claim has an instance and no node yet.
fn waits_for_node(claim: &NodeClaim) -> bool {
    claim.holds(LAUNCHED) && !claim.holds(REGISTERED) && !is_deleting(claim)
}

fn system_uuid(node: &Node) -> &str {
    let info = node.status.as_ref().and_then(|status| status.node_info.as_ref());
    info.map(|info| info.system_uuid.as_str()).unwrap_or_default()
}

fn is_same_uuid(cloud: &str, node: &str) -> bool {
    !cloud.is_empty() && cloud.eq_ignore_ascii_case(node)
}
