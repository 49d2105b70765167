//! Claims that carry a hash of what they were made from, when the way of hashing changes: they did not
//! drift because of it.

use std::sync::Arc;

use joiner_api::{condition::find as find_condition, node_claim::NodeClaim};
use joiner_cloud::class::SpecHash;

use crate::{
    cluster::Lock,
    conditions::{Conditioned, DRIFTED},
    context::Context,
    trouble::Trouble,
};

/// Lets the claims that are meant take over a hash, where theirs was made in another way. Of those that
/// have drifted the hash is not known.
pub(crate) async fn take_over(
    context: &Context,
    hash: &SpecHash,
    is_meant: impl Fn(&NodeClaim) -> bool,
    has_drifted: impl Fn(&NodeClaim) -> bool,
) -> Result<(), Trouble> {
    let is_old = |claim: &NodeClaim| {
        !claim.metadata.annotations.as_ref().is_some_and(|own| hash.is_current(own))
    };
    let old: Vec<Arc<NodeClaim>> = context.cache.read(|world| {
        let claims = world.node_claims.values();
        claims.filter(|claim| is_meant(claim) && is_old(claim)).cloned().collect()
    });
    for claim in old {
        let drifted = has_drifted(&claim) || find_condition(claim.conditions(), DRIFTED).is_some();
        context.cluster.patch(&*claim, &adopted(&claim, hash, drifted), Lock::None).await?;
    }
    Ok(())
}

/// The claim with the version of the new hash, and with the hash itself unless it has drifted: what
/// it was made from is known to be something else then.
fn adopted(claim: &NodeClaim, hash: &SpecHash, drifted: bool) -> NodeClaim {
    let mut adopted = NodeClaim::clone(claim);
    let mut marks = hash.annotations();
    if drifted {
        marks.remove(hash.key);
    }
    adopted.metadata.annotations.get_or_insert_default().extend(marks);
    adopted
}
