//! Orphans: instances without a claim.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use joiner_api::node_claim::NodeClaim;
use joiner_cloud::{CloudProvider, ProviderIds, instance::Instance, order::ClaimId};
use k8s_openapi::api::core::v1::Node;
use kube::{Api, api::ListParams};

use super::{GarbageCollection, some_at_once, unclaimed::REMOVED_WITHOUT_CLAIMS};
use crate::{
    claims::{self, is_deleting, provider_id},
    events::{Event, Subject},
    rounds::Rounds,
    trouble::Trouble,
};

/// The age at which an orphan may be removed: slow creations and slow watches need time. The value
/// was chosen and not measured separately.
pub(super) const LEAST_AGE: SignedDuration = SignedDuration::from_mins(5);

/// Indexes to find the claim of an instance.
#[derive(Debug, Default)]
struct Claimed {
    ids: ProviderIds,
    uids: BTreeSet<String>,
    /// The claims with each canonical provider ID.
    by_provider_id: BTreeMap<String, Vec<ClaimId>>,
}

impl Claimed {
    fn by<'c>(ids: &ProviderIds, claims: impl IntoIterator<Item = &'c NodeClaim>) -> Self {
        let mut claimed = Self { ids: ids.clone(), ..Self::default() };
        for claim in claims {
            claimed.uids.extend(claim.metadata.uid.clone());
            if let Some(id) = provider_id(claim) {
                let id = ids.canonical(id).into_owned();
                claimed.by_provider_id.entry(id).or_default().push(claims::id(claim));
            }
        }
        claimed
    }

    /// Whether there are no claims.
    fn is_nothing(&self) -> bool {
        self.uids.is_empty()
    }

    /// Whether an instance has a claim: the one in its mark. Without a complete mark, a claim with
    /// its provider ID counts.
    fn has(&self, instance: &Instance) -> bool {
        let marked = instance.claim.as_ref().is_some_and(|claim| self.uids.contains(&claim.uid));
        let naming = || self.by_provider_id.get(&*self.ids.canonical(&instance.provider_id));
        let counts = |claim: &ClaimId| instance.cluster_unproven || instance.may_be_of(claim);
        marked || naming().is_some_and(|claims| claims.iter().any(counts))
    }
}

impl GarbageCollection {
    /// Removes instances that have no claim, and their nodes.
    pub(super) async fn remove_orphans(
        &self,
        provider: &Arc<dyn CloudProvider>,
        instances: Vec<Instance>,
    ) -> Result<(), Trouble> {
        let ids = self.context.providers.ids();
        let claimed = self
            .context
            .cache
            .read(|world| Claimed::by(&ids, world.node_claims.values().map(AsRef::as_ref)));
        let now = self.context.now();
        let is_owned = |instance: &&Instance| !instance.deleting && !instance.cluster_unproven;
        let owned = instances.iter().filter(is_owned).count();
        let mut orphans: Vec<Instance> = instances
            .into_iter()
            .filter(|instance| {
                let seen = self.first_seen(provider.name(), &instance.provider_id);
                is_orphan(instance, seen, &claimed, now)
            })
            .collect();
        if orphans.is_empty() {
            self.storms.none(provider.name());
            return Ok(());
        }
        // An unreadable claim may belong to any of these instances.
        self.context.sure_of::<NodeClaim>()?;
        // The cache may be outdated. Before a removal, the API server's identity is confirmed, and
        // then it must confirm that the claim is absent.
        self.context.identity.confirm(&self.context.cluster).await?;
        let claimed = self.claimed_by_api_server().await?;
        orphans.retain(|instance| !claimed.has(instance));
        let (unproven, orphans): (Vec<Instance>, Vec<Instance>) =
            orphans.into_iter().partition(|instance| instance.cluster_unproven);
        self.leave_unproven(provider.as_ref(), &unproven);
        if orphans.is_empty() {
            self.storms.none(provider.name());
            return Ok(());
        }
        let needs_leave = claimed.is_nothing() && owned > REMOVED_WITHOUT_CLAIMS;
        if needs_leave {
            if !self.may_remove_unclaimed(provider.as_ref(), owned) {
                return Ok(());
            }
        } else if self.storms.forbid(provider.name(), orphans.len(), owned) {
            self.tell_storm(provider.as_ref(), orphans.len(), owned);
            return Ok(());
        }
        let orphans = orphans.iter();
        some_at_once(orphans.map(|instance| self.remove_orphan(provider, instance)).collect()).await
    }

    /// Reports too many orphans by events on every class of the cloud.
    fn tell_storm(&self, provider: &dyn CloudProvider, orphans: usize, owned: usize) {
        tracing::error!(
            provider = provider.name(),
            orphans,
            instances = owned,
            "too many instances have no nodeclaim, so none of them is removed for now: look whether \
             nodeclaims were lost, or this controller looks at the wrong cluster"
        );
        for class in self.context.classes_of(provider.name()) {
            let class = Subject::of_class(&class);
            self.context.events.tell(Event::orphan_storm(&class, orphans, owned));
        }
    }

    async fn claimed_by_api_server(&self) -> Result<Claimed, Trouble> {
        let cluster = &self.context.cluster;
        let claims: Api<NodeClaim> = Api::all(cluster.client().clone());
        let everything = ListParams::default();
        let listed =
            cluster.call(|| "list NodeClaims".to_owned(), claims.list(&everything)).await?;
        Ok(Claimed::by(&self.context.providers.ids(), &listed.items))
    }

    async fn remove_orphan(
        &self,
        provider: &Arc<dyn CloudProvider>,
        instance: &Instance,
    ) -> Result<(), Trouble> {
        let id = &instance.provider_id;
        let claim = instance.claim.clone().unwrap_or_default();
        let delete = provider.delete(&claim, Some(id));
        self.context.ask(Self::NAME, "Delete", provider.as_ref(), delete).await?;
        tracing::info!(
            provider = provider.name(),
            "provider-id" = id,
            NodeClaim = claim.name,
            "garbage collecting instance without nodeclaim"
        );
        if let Some(deleted) = self.context.metrics.orphans_deleted(provider.name()) {
            deleted.inc();
        }
        let nodes: Vec<Arc<Node>> =
            self.context.cache.read(|world| world.nodes_of(id).cloned().collect());
        for node in nodes.iter().filter(|node| !is_deleting(&***node)) {
            self.context.cluster.delete(&**node).await?;
            tracing::info!(
                Node = claims::name(&node.metadata),
                "provider-id" = id,
                "garbage collecting node of an instance without nodeclaim"
            );
        }
        Ok(())
    }
}

/// Whether an instance has no claim and is old enough to have one. A creation time in the future is
/// no age: a clock is wrong.
fn is_orphan(
    instance: &Instance,
    first_seen: Option<Timestamp>,
    claimed: &Claimed,
    now: Timestamp,
) -> bool {
    let since = instance.created.or(first_seen).unwrap_or(now);
    !instance.deleting && !claimed.has(instance) && now.duration_since(since) >= LEAST_AGE
}
