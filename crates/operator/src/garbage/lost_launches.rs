//! Instances that were launched and will never run, for example after a failed deployment. Their
//! claims are deleted as for missing capacity, before the registration timeout.

use std::sync::Arc;

use joiner_api::node_claim::NodeClaim;
use joiner_cloud::{
    CloudError, CloudProvider,
    instance::{Instance, Lost},
    order::ClaimId,
};
use joiner_core::label::{self, Labels};

use super::{GarbageCollection, lost::counts_for, some_at_once};
use crate::{
    claims::{self, is_deleting, provider_id},
    conditions::{Conditioned, LAUNCHED, REGISTERED},
    context::Context,
    disrupted,
    events::{Event, Subject},
    rounds::Rounds,
    trouble::Trouble,
    world::{Kept, Key},
};

/// The reason of the disruption in metrics.
const REASON: &str = "insufficient_capacity";
/// The labels that identify an offering.
const OF_OFFERING: [&str; 3] = [label::INSTANCE_TYPE, label::ZONE, label::CAPACITY_TYPE];

impl GarbageCollection {
    /// Deletes claims whose launched instances are lost.
    pub(super) async fn give_up_lost_launches(
        &self,
        provider: &Arc<dyn CloudProvider>,
        claims: &[Arc<NodeClaim>],
        instances: &[Instance],
    ) -> Result<(), Trouble> {
        let ids = self.context.providers.ids();
        let is_lost = |claim: &&Arc<NodeClaim>| {
            let Some(id) = provider_id(claim).filter(|_| waits_for_node(claim)) else {
                return false;
            };
            let lost = instances.iter().filter(|instance| instance.lost.is_some());
            let mut own = lost.filter(|instance| ids.are_same(&instance.provider_id, id));
            own.any(|instance| counts_for(instance, claim))
        };
        let lost = claims.iter().filter(is_lost);
        let look = |claim: &'_ Arc<NodeClaim>| {
            let claim = Arc::clone(claim);
            async move { look(&self.context, Self::NAME, provider, &claim).await }
        };
        some_at_once(lost.map(look).collect()).await
    }
}

/// Checks whether the instance of one claim is lost, after a note from its cloud.
pub(crate) async fn look_at(context: &Context, claim: &ClaimId) -> Result<(), Trouble> {
    let known =
        context.cache.read(|world| world.node_claims.get(&Key::cluster(&claim.name)).cloned());
    let known = known.filter(|known| claims::id(known) == *claim && waits_for_node(known));
    let Some(known) = known else { return Ok(()) };
    match context.provider_of(&known) {
        Some(provider) => look(context, GarbageCollection::NAME, provider, &known).await,
        None => Ok(()),
    }
}

/// Whether a claim has an instance and no node yet.
fn waits_for_node(claim: &NodeClaim) -> bool {
    claim.holds(LAUNCHED) && !claim.holds(REGISTERED) && !is_deleting(claim)
}

/// Deletes a claim if the cloud confirms that its instance is lost.
async fn look(
    context: &Context,
    controller: &str,
    provider: &Arc<dyn CloudProvider>,
    claim: &NodeClaim,
) -> Result<(), Trouble> {
    let (Some(id), named) = (provider_id(claim), claims::id(claim)) else { return Ok(()) };
    let get = provider.get(&named, id);
    let found = context.ask(controller, "Get", provider.as_ref(), get).await?;
    let Some(lost) = found.and_then(|instance| instance.lost) else { return Ok(()) };
    let lost = with_offering(lost, claim);
    // The cloud is told before pods are planned again, so that they use another offering.
    if let Some(class) = context.class_of(claim) {
        provider.lost_before_it_joined(&class, &lost);
    }
    let error = CloudError::InsufficientCapacity(lost.why);
    tracing::error!(
        NodeClaim = %claim.key(), "provider-id" = id,
        "the instance is lost before its node joined, giving the nodeclaim up: {error}"
    );
    context.events.tell(Event::insufficient_capacity(&Subject::of(claim), &error.to_string()));
    context.cluster.delete(claim).await?;
    disrupted::count_claim(context, claim, REASON);
    Ok(())
}

/// The lost instance's offering, completed from the claim where the cloud does not name one.
fn with_offering(lost: Lost, claim: &NodeClaim) -> Lost {
    if !lost.offering.is_empty() {
        return lost;
    }
    let labels = claim.metadata.labels.as_ref();
    let of_claim = |key: &str| Some((key.to_owned(), labels?.get(key)?.clone()));
    let offering: Labels = OF_OFFERING.into_iter().filter_map(of_claim).collect();
    Lost { offering, ..lost }
}
