//! Lost instances: claims whose instances are gone.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use joiner_api::node_claim::NodeClaim;
use joiner_cloud::{CloudProvider, instance::Instance, listing::Listing};

use super::{GarbageCollection, some_at_once};
use crate::{
    claims::{self, is_deleting, is_ready, provider_id},
    conditions::{Conditioned, REGISTERED},
    disrupted,
    events::{Event, Subject},
    rounds::Rounds,
    text::first_of,
    trouble::Trouble,
    world::Kept,
};

/// The reason of the disruption in metrics.
const REASON: &str = "garbage_collected";

impl GarbageCollection {
    /// The current claims of one cloud.
    pub(super) fn claims_of(&self, provider: &dyn CloudProvider) -> Vec<Arc<NodeClaim>> {
        let is_own = |claim: &NodeClaim| {
            self.context.provider_of(claim).is_some_and(|own| own.name() == provider.name())
        };
        self.context.cache.read(|world| {
            world.node_claims.values().filter(|claim| is_own(claim)).cloned().collect()
        })
    }

    /// Deletes claims whose instances are gone.
    pub(super) async fn remove_lost_claims(
        &self,
        provider: &Arc<dyn CloudProvider>,
        claims: &[Arc<NodeClaim>],
        listing: &Listing,
    ) -> Result<(), Trouble> {
        let lost = lost(provider.as_ref(), claims, listing).into_iter();
        let (with_ready_nodes, gone): (Vec<_>, Vec<_>) =
            lost.partition(|claim| self.has_ready_node(claim));
        if !with_ready_nodes.is_empty() {
            log_unlisted(provider.name(), &with_ready_nodes);
        }
        some_at_once(gone.into_iter().map(|claim| self.remove_lost(provider, claim)).collect())
            .await
    }

    fn has_ready_node(&self, claim: &NodeClaim) -> bool {
        let Some(id) = provider_id(claim) else { return false };
        self.context.cache.read(|world| world.nodes_of(id).any(|node| is_ready(node)))
    }

    async fn remove_lost(
        &self,
        provider: &Arc<dyn CloudProvider>,
        claim: &Arc<NodeClaim>,
    ) -> Result<(), Trouble> {
        let Some(id) = provider_id(claim) else { return Ok(()) };
        if self.has_ready_node(claim) {
            return Ok(());
        }
        // A list may be incomplete. A direct query for this one instance is reliable.
        let named = claims::id(claim);
        let get = provider.get(&named, id);
        let found = self.context.ask(Self::NAME, "Get", provider.as_ref(), get).await?;
        if found.is_some_and(|instance| instance.lost.is_none()) {
            return Ok(());
        }
        self.context.cluster.delete(&**claim).await?;
        let why = format!("the cloud has no instance {id} any more");
        let event = Event::disruption_terminating(&Subject::of(&**claim), &why);
        self.context.events.tell(event);
        disrupted::count_claim(&self.context, claim, REASON);
        disrupted::count_pods(&self.context, claim, REASON);
        tracing::info!(
            NodeClaim = %claim.key(), "provider-id" = id,
            "garbage collecting nodeclaim with no cloudprovider representation"
        );
        Ok(())
    }
}

/// Logs, in one line, claims with ready nodes for which the cloud lists no instance.
fn log_unlisted(provider: &str, claims: &[&Arc<NodeClaim>]) {
    let names: Vec<String> = claims.iter().map(|claim| claim.key().to_string()).collect();
    tracing::warn!(
        provider,
        claims = claims.len(),
        "the cloud does not list the instances of nodes that are ready, so their nodeclaims stay: {}",
        first_of(&names)
    );
}

/// Claims with a registered node and without an instance in a listed place. Claims without a node
/// have their own timeouts.
fn lost<'c>(
    provider: &dyn CloudProvider,
    claims: &'c [Arc<NodeClaim>],
    listing: &Listing,
) -> Vec<&'c Arc<NodeClaim>> {
    let is_there = |instance: &&Instance| !instance.deleting && instance.lost.is_none();
    let mut there: BTreeMap<Cow<'_, str>, Vec<&Instance>> = BTreeMap::new();
    for instance in listing.instances.iter().filter(is_there) {
        there.entry(provider.canonical(&instance.provider_id)).or_default().push(instance);
    }
    let is_missing = |claim: &NodeClaim, id: &str| {
        let named = there.get(&provider.canonical(id)).into_iter().flatten();
        let mut own = named.filter(|instance| counts_for(instance, claim));
        own.next().is_none() && listing.covers(provider.place_of(id).as_deref())
    };
    let is_lost = |claim: &&Arc<NodeClaim>| {
        claim.holds(REGISTERED)
            && !is_deleting(&***claim)
            && provider_id(claim).is_some_and(|id| is_missing(claim, id))
    };
    claims.iter().filter(is_lost).collect()
}

/// Whether a listed instance with a claim's id belongs to the claim: its mark names the claim.
/// Without a complete mark, the id alone decides.
pub(super) fn counts_for(instance: &Instance, claim: &NodeClaim) -> bool {
    instance.cluster_unproven || instance.may_be_of(&claims::id(claim))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::{
        log::{Form, tests::written},
        settings::LogLevel,
    };

    #[test]
    fn many_claims_that_the_cloud_does_not_list_are_one_line() {
        let claims: Vec<Arc<NodeClaim>> = (1..=149)
            .map(|number| {
                let mut claim =
                    NodeClaim::new("", joiner_api::node_claim::NodeClaimSpec::default());
                claim.metadata.name = Some(format!("web-{number}"));
                Arc::new(claim)
            })
            .collect();
        let claims: Vec<&Arc<NodeClaim>> = claims.iter().collect();
        let told = written(Form::Short, LogLevel::Info, || log_unlisted("vsphere", &claims));
        expect![[r#"
            12:00:00.123 WARN  the cloud does not list the instances of nodes that are ready, so their nodeclaims stay: web-1, web-2, web-3 and 146 more  provider=vsphere  claims=149
        "#]]
        .assert_eq(&told);
    }
}
