//! Join data: tokens and similar data in the guest. Clouds erase it once the node has registered.

use std::{collections::BTreeMap, sync::Arc};

use joiner_api::node_claim::NodeClaim;
use joiner_cloud::{CloudProvider, ProviderIds, instance::Instance, order::ClaimId};

use super::{GarbageCollection, some_at_once};
use crate::{
    claims::{self, is_deleting, provider_id},
    conditions::{Conditioned, REGISTERED},
    rounds::Rounds,
};

impl GarbageCollection {
    /// Erases join data of registered instances. A failure is tried again in the next round and
    /// does not stop the others.
    pub(super) async fn empty_join_data(
        &self,
        provider: &Arc<dyn CloudProvider>,
        claims: &[Arc<NodeClaim>],
        instances: &[Instance],
    ) {
        let ids = self.context.providers.ids();
        let emptying = joined(&ids, claims, instances).into_iter().map(async |(claim, id)| {
            let empty = provider.empty_join_data(&claim, id);
            let emptied = self.context.ask(Self::NAME, "EmptyJoinData", provider.as_ref(), empty);
            if let Err(error) = emptied.await {
                tracing::warn!(
                    NodeClaim = claim.name,
                    "provider-id" = id,
                    "what the instance joined with can still be read in the cloud: {error}"
                );
            }
            Ok(())
        });
        // Each operation has logged its own error.
        let _ = some_at_once(emptying.collect()).await;
    }
}

/// Instances whose node has registered and that still have join data.
fn joined<'m>(
    ids: &ProviderIds,
    claims: &[Arc<NodeClaim>],
    instances: &'m [Instance],
) -> Vec<(ClaimId, &'m str)> {
    let registered =
        claims.iter().filter(|claim| claim.holds(REGISTERED) && !is_deleting(&***claim));
    let registered: BTreeMap<ClaimId, Option<&str>> =
        registered.map(|claim| (claims::id(claim), provider_id(claim))).collect();
    let kept = instances.iter().filter(|instance| instance.holds_join_data && !instance.deleting);
    let joined = kept.filter_map(|instance| {
        let (claim, id) = (instance.claim.as_ref()?, instance.provider_id.as_str());
        let named = registered.get(claim)?.as_ref()?;
        ids.are_same(named, id).then(|| (claim.clone(), id))
    });
    joined.collect()
}
