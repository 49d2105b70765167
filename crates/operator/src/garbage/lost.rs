//! Claims whose instances are gone.

use std::{collections::BTreeSet, sync::Arc};

use joiner_api::node_claim::NodeClaim;
use joiner_cloud::{CloudProvider, instance::Instance};

use super::{GarbageCollection, some_at_once};
use crate::{
    claims::{is_deleting, is_ready, provider_id},
    conditions::{Conditioned, REGISTERED},
    disrupted,
    events::{Event, Subject},
    rounds::Rounds,
    text::first_of,
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

    /// Deletes claims whose instances are gone.
    pub(super) async fn remove_lost_claims(
        &self,
        provider: &Arc<dyn CloudProvider>,
        claims: &[Arc<NodeClaim>],
        instances: &[Instance],
    ) -> Result<(), Trouble> {
        let (with_ready_nodes, gone): (Vec<_>, Vec<_>) =
            lost(claims, instances).into_iter().partition(|claim| self.has_ready_node(claim));
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
        // The list may have been taken at a bad moment; about this one instance the cloud is sure.
        let get = self.context.ask(Self::NAME, "Get", provider.as_ref(), provider.get(id));
        if get.await?.is_some_and(|instance| !instance.lost) {
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

/// Tells the log, in one line, of claims that the cloud lists no instance for although their nodes
/// are ready.
fn log_unlisted(provider: &str, claims: &[&Arc<NodeClaim>]) {
    let names: Vec<String> = claims.iter().map(|claim| claim.key().to_string()).collect();
    tracing::warn!(
        provider,
        claims = claims.len(),
        "the cloud does not list the instances of nodes that are ready, so their nodeclaims stay: {}",
        first_of(&names)
    );
}

/// Claims with a node that has joined, and without an instance. Those that have not got so far are
/// given up when they take too long.
fn lost<'c>(claims: &'c [Arc<NodeClaim>], instances: &[Instance]) -> Vec<&'c Arc<NodeClaim>> {
    let there = instances.iter().filter(|instance| !instance.deleting && !instance.lost);
    let there: BTreeSet<&str> = there.map(|instance| instance.provider_id.as_str()).collect();
    let is_lost = |claim: &&Arc<NodeClaim>| {
        claim.holds(REGISTERED)
            && !is_deleting(&***claim)
            && provider_id(claim).is_some_and(|id| !there.contains(id))
    };
    claims.iter().filter(is_lost).collect()
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
