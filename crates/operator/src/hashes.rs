//! Updates the hashes on claims when the hash version changes, so that claims do not drift because
//! of it.

use std::sync::Arc;

use joiner_api::{condition::find as find_condition, node_claim::NodeClaim};
use joiner_cloud::class::SpecHash;

use crate::{
    cluster::Lock,
    conditions::{Conditioned, DRIFTED},
    context::Context,
    trouble::Trouble,
};

/// Writes a new hash to the selected claims with another hash version. The hash of a drifted claim
/// stays unknown.
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

/// The claim with the new hash version. It also gets the hash, unless it has drifted: its real hash
/// then differs.
fn adopted(claim: &NodeClaim, hash: &SpecHash, drifted: bool) -> NodeClaim {
    let mut adopted = NodeClaim::clone(claim);
    let mut marks = hash.annotations();
    if drifted {
        marks.remove(hash.key);
    }
    adopted.metadata.annotations.get_or_insert_default().extend(marks);
    adopted
}
