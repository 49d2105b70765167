//! Claims whose machines are gone.

use std::{collections::BTreeSet, sync::Arc};

use joiner_api::node_claim::NodeClaim;
use joiner_cloud::{CloudProvider, machine::Machine};
use k8s_openapi::api::core::v1::Node;

use super::{GarbageCollection, some_at_once};
use crate::{
    claims::{is_deleting, is_ready, provider_id},
    conditions::{Conditioned, REGISTERED},
    disrupted,
    rounds::Rounds,
    trouble::Trouble,
    world::Kept,
};

/// Why a claim is disrupted, as metrics call it.
const REASON: &str = "garbage_collected";

impl GarbageCollection {
    /// The claims of one cloud, as they are known now.
    pub(super) fn claims_of(&self, provider: &dyn CloudProvider) -> Vec<Arc<NodeClaim>> {
        let is_own = |claim: &NodeClaim| {
            self.context.provider_of(claim).is_some_and(|own| own.name() == provider.name())
        };
        self.context.cache.read(|world| {
            world.node_claims.values().filter(|claim| is_own(claim)).cloned().collect()
        })
    }

    /// Deletes claims whose machines are gone.
    pub(super) async fn remove_lost_claims(
        &self,
        provider: &Arc<dyn CloudProvider>,
        claims: &[Arc<NodeClaim>],
        machines: &[Machine],
    ) -> Result<(), Trouble> {
        let lost = lost(claims, machines).into_iter();
        some_at_once(lost.map(|claim| self.remove_lost(provider, claim)).collect()).await
    }

    async fn remove_lost(
        &self,
        provider: &Arc<dyn CloudProvider>,
        claim: &Arc<NodeClaim>,
    ) -> Result<(), Trouble> {
        let Some(id) = provider_id(claim) else { return Ok(()) };
        let nodes: Vec<Arc<Node>> =
            self.context.cache.read(|world| world.nodes_of(id).cloned().collect());
        if nodes.iter().any(|node| is_ready(node)) {
            tracing::warn!(
                NodeClaim = %claim.key(), "provider-id" = id,
                "the cloud does not list a machine whose node is ready; the claim stays"
            );
            return Ok(());
        }
        // The list may have been taken at a bad moment; about this one machine the cloud is sure.
        let get = self.context.ask(Self::NAME, "Get", provider.as_ref(), provider.get(id));
        if get.await?.is_some_and(|machine| !machine.lost) {
            return Ok(());
        }
        self.context.cluster.delete(&**claim).await?;
        disrupted::count_claim(&self.context, claim, REASON);
        disrupted::count_pods(&self.context, claim, REASON);
        tracing::info!(
            NodeClaim = %claim.key(), "provider-id" = id,
            "garbage collecting nodeclaim with no cloudprovider representation"
        );
        Ok(())
    }
}

/// Claims with a node that has joined, and without a machine. Those that have not got so far are
/// given up when they take too long.
fn lost<'c>(claims: &'c [Arc<NodeClaim>], machines: &[Machine]) -> Vec<&'c Arc<NodeClaim>> {
    let there = machines.iter().filter(|machine| !machine.deleting && !machine.lost);
    let there: BTreeSet<&str> = there.map(|machine| machine.provider_id.as_str()).collect();
    let is_lost = |claim: &&Arc<NodeClaim>| {
        claim.holds(REGISTERED)
            && !is_deleting(&***claim)
            && provider_id(claim).is_some_and(|id| !there.contains(id))
    };
    claims.iter().filter(is_lost).collect()
}
