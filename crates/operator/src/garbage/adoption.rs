//! Adoption: writes marks into instances that claims name. A predecessor's instances have no mark.
//! Older marks lack the cluster's UID.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use joiner_api::node_claim::NodeClaim;
use joiner_cloud::{CloudProvider, ProviderIds, adoption::Adoption, instance::Instance};

use super::{GarbageCollection, some_at_once};
use crate::{
    claims::{self, is_deleting, provider_id, uid},
    rounds::Rounds,
    trouble::Trouble,
};

impl GarbageCollection {
    /// Writes the mark of the claim into instances whose mark is missing or incomplete.
    pub(super) async fn adopt_unmarked(
        &self,
        provider: &Arc<dyn CloudProvider>,
        claims: &[Arc<NodeClaim>],
        instances: &[Instance],
    ) -> Result<(), Trouble> {
        let ids = self.context.providers.ids();
        let adopting =
            adoptions(&ids, claims, instances).into_iter().map(async |(instance, by)| {
                let adopt = provider.adopt(instance, &by);
                if self.context.ask(Self::NAME, "Adopt", provider.as_ref(), adopt).await? {
                    tracing::info!(
                        NodeClaim = by.claim.name,
                        "provider-id" = instance.provider_id,
                        "marked an instance as this cluster's"
                    );
                }
                Ok(())
            });
        some_at_once(adopting.collect()).await
    }
}

/// Instances with a missing or incomplete mark that exactly one claim names, with the mark to
/// write.
fn adoptions<'m>(
    ids: &ProviderIds,
    claims: &[Arc<NodeClaim>],
    instances: &'m [Instance],
) -> Vec<(&'m Instance, Adoption)> {
    let mut naming: BTreeMap<Cow<'_, str>, Vec<&NodeClaim>> = BTreeMap::new();
    for claim in claims {
        if let Some(id) = provider_id(claim) {
            naming.entry(ids.canonical(id)).or_default().push(claim);
        }
    }
    let by_uid: BTreeMap<&str, &NodeClaim> =
        claims.iter().map(|claim| (uid(&claim.metadata), &**claim)).collect();
    let lacks = |instance: &&Instance| instance.claim.is_none() || instance.cluster_unproven;
    let unmarked = instances.iter().filter(|instance| lacks(instance) && !instance.deleting);
    let adopted = unmarked.filter_map(|instance| {
        let own = instance.claim.as_ref().and_then(|own| by_uid.get(own.uid.as_str()).copied());
        let naming = || match naming.get(&ids.canonical(&instance.provider_id))?[..] {
            [claim] => Some(claim),
            _ => None,
        };
        let claim = own.or_else(naming)?;
        (!is_deleting(claim)).then(|| (instance, adoption(claim)))
    });
    adopted.collect()
}

fn adoption(claim: &NodeClaim) -> Adoption {
    let class = claim.spec.node_class_ref.as_ref();
    Adoption {
        claim: claims::id(claim),
        node_pool: claims::pool(claim).map(str::to_owned),
        class: class.map(|class| class.name.clone()).unwrap_or_default(),
        labels: claim.metadata.labels.clone().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use joiner_cloud::order::ClaimId;
    use serde_json::json;

    use super::*;

    fn claim(name: &str, id: &str) -> Arc<NodeClaim> {
        let claim = json!({
            "metadata": {"name": name, "uid": format!("uid-{name}"), "labels": {
                "karpenter.sh/nodepool": "general", "topology.kubernetes.io/zone": "az1",
            }},
            "spec": {"nodeClassRef": {"group": "g", "kind": "k", "name": "default"}},
            "status": {"providerID": id},
        });
        Arc::new(serde_json::from_value(claim).unwrap())
    }

    fn instance(id: &str, claim: Option<ClaimId>) -> Instance {
        Instance { provider_id: id.to_owned(), claim, ..Instance::default() }
    }

    #[test]
    fn an_instance_without_a_mark_is_adopted_by_the_claim_that_names_it() {
        let marked = Some(ClaimId { name: "b".to_owned(), uid: "uid-b".to_owned() });
        let instances = [instance("id-a", None), instance("id-b", marked), instance("id-c", None)];
        let claims = [claim("a", "id-a"), claim("b", "id-b")];
        let adopted = adoptions(&ProviderIds::default(), &claims, &instances);
        let [(adopted, by)] = &adopted[..] else { panic!("one of them: {adopted:?}") };
        assert_eq!(adopted.provider_id, "id-a");
        assert_eq!((by.claim.uid.as_str(), by.class.as_str()), ("uid-a", "default"));
        assert_eq!(by.node_pool.as_deref(), Some("general"));
        assert_eq!(by.labels["topology.kubernetes.io/zone"], "az1");
    }

    #[test]
    fn a_mark_without_a_cluster_is_completed_for_the_claim_that_it_or_that_names_it() {
        let old = |id: &str, uid: &str| Instance {
            cluster_unproven: true,
            ..instance(id, Some(ClaimId { name: "a".to_owned(), uid: uid.to_owned() }))
        };
        let claims = [claim("a", "id-a")];
        let adopted =
            |instance: Instance| adoptions(&ProviderIds::default(), &claims, &[instance]).len();
        assert_eq!(adopted(old("id-that-is-not-written-yet", "uid-a")), 1);
        assert_eq!(adopted(old("id-a", "uid-of-another-cluster")), 1);
        assert_eq!(adopted(old("id-b", "uid-of-another-cluster")), 0);
    }

    #[test]
    fn an_instance_that_two_claims_name_is_nobodys() {
        let claims = [claim("a", "id"), claim("b", "id")];
        let ids = ProviderIds::default();
        assert_eq!(adoptions(&ids, &claims, &[instance("id", None)]), []);
    }
}
