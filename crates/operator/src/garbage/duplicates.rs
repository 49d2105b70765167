//! Duplicates: a second instance for the same claim. Two processes may have created one at the same
//! moment.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use joiner_api::node_claim::NodeClaim;
use joiner_cloud::{CloudProvider, instance::Instance, order::ClaimId};

use super::{GarbageCollection, orphans::LEAST_AGE, some_at_once};
use crate::{
    claims::{provider_id, uid},
    rounds::Rounds,
    trouble::Trouble,
};

impl GarbageCollection {
    /// Removes the later instances of claims that have an older one.
    pub(super) async fn remove_duplicates(
        &self,
        provider: &Arc<dyn CloudProvider>,
        instances: &[Instance],
    ) -> Result<(), Trouble> {
        let found = duplicates(instances, self.context.now()).into_iter();
        some_at_once(found.map(|double| self.remove_duplicate(provider, double)).collect()).await
    }

    async fn remove_duplicate(
        &self,
        provider: &Arc<dyn CloudProvider>,
        Double { claim, older, younger }: Double<'_>,
    ) -> Result<(), Trouble> {
        // The API server decides which one belongs to the claim; the cache may be outdated.
        let known: Option<NodeClaim> = self.context.cluster.get(&claim.name).await?;
        let named = known.as_ref().filter(|known| uid(&known.metadata) == claim.uid);
        let names = named.and_then(provider_id);
        if !names.is_some_and(|id| self.context.providers.ids().are_same(id, older)) {
            tracing::warn!(
                NodeClaim = claim.name,
                older,
                younger,
                "two instances were made for one nodeclaim, and it does not name the older one, so \
                 both stay: remove the one that is no node of the cluster"
            );
            return Ok(());
        }
        let delete = provider.delete(claim, Some(younger));
        self.context.ask(Self::NAME, "Delete", provider.as_ref(), delete).await?;
        tracing::info!(
            NodeClaim = claim.name,
            "provider-id" = younger,
            "garbage collecting the younger of two instances of one nodeclaim"
        );
        Ok(())
    }
}

/// An older instance of a claim, and a later one.
#[derive(Debug, PartialEq, Eq)]
struct Double<'m> {
    claim: &'m ClaimId,
    older: &'m str,
    younger: &'m str,
}

/// Instances whose claim has an older one. Both need a readable mark and a certain age.
fn duplicates(instances: &[Instance], now: Timestamp) -> Vec<Double<'_>> {
    let mut by_claim: BTreeMap<&ClaimId, Vec<(Timestamp, &str)>> = BTreeMap::new();
    for instance in instances.iter().filter(|instance| !instance.deleting) {
        if let (Some(claim), Some(created)) = (&instance.claim, instance.created)
            && !claim.uid.is_empty()
        {
            by_claim.entry(claim).or_default().push((created, &instance.provider_id));
        }
    }
    let mut found = Vec::new();
    for (claim, mut own) in by_claim {
        own.sort_unstable();
        let Some(((first, older), rest)) = own.split_first() else { continue };
        let is_double = |(created, id): &&(Timestamp, &str)| {
            created > first && id != older && now.duration_since(*created) >= LEAST_AGE
        };
        let doubles = rest.iter().filter(is_double);
        found.extend(doubles.map(|(_, younger)| Double { claim, older, younger }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(minute * 60).unwrap()
    }

    fn instance(id: &str, uid: &str, created: Option<i64>) -> Instance {
        let claim = ClaimId { name: "web-1".to_owned(), uid: uid.to_owned() };
        Instance {
            provider_id: id.to_owned(),
            claim: Some(claim),
            created: created.map(at),
            ..Instance::default()
        }
    }

    fn younger(instances: &[Instance], minute: i64) -> Vec<&str> {
        duplicates(instances, at(minute)).iter().map(|double| double.younger).collect()
    }

    #[test]
    fn the_younger_of_two_instances_of_one_claim_is_one_too_many() {
        let two = [instance("b", "uid", Some(2)), instance("a", "uid", Some(1))];
        assert_eq!(younger(&two, 10), ["b"]);
        assert_eq!(younger(&two, 6), Vec::<&str>::new(), "not before it is five minutes old");
    }

    #[test]
    fn where_there_is_doubt_there_is_no_duplicate() {
        let first = || instance("a", "uid", Some(1));
        for second in [
            instance("b", "another", Some(2)),
            instance("b", "uid", None),
            instance("b", "uid", Some(1)),
            instance("a", "uid", Some(2)),
            Instance { claim: None, ..instance("b", "uid", Some(2)) },
            Instance { deleting: true, ..instance("b", "uid", Some(2)) },
        ] {
            assert_eq!(younger(&[first(), second.clone()], 10), Vec::<&str>::new(), "{second:?}");
        }
    }
}
