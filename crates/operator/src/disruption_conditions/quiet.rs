//! Whether a node was quiet for long enough to be consolidated.

use jiff::{SignedDuration, Timestamp};
use joiner_api::{node_claim::NodeClaim, node_pool::NodePool};

use crate::conditions::{Conditioned, INITIALIZED};

/// Whether the time allows the consolidation of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quiet {
    /// Never.
    No,
    /// Not before then.
    Until(Timestamp),
    /// Now.
    Yes,
}

/// Whether a claim may be consolidated, given the time of the last pod event on its node.
pub fn of(
    claim: &NodeClaim,
    pool: &NodePool,
    last_event: Option<Timestamp>,
    now: Timestamp,
) -> Quiet {
    // Static pools are never consolidated.
    if pool.spec.replicas.is_some() || !claim.holds(INITIALIZED) {
        return Quiet::No;
    }
    let written = pool.spec.disruption.as_ref().and_then(|all| all.consolidate_after.as_ref());
    let wait = match written.map(joiner_api::duration::NillableDuration::nanos) {
        // An unset field has the CRD's default.
        None => SignedDuration::ZERO,
        Some(Some(nanos)) => SignedDuration::from_nanos(nanos),
        Some(None) => return Quiet::No,
    };
    if wait <= SignedDuration::ZERO {
        return Quiet::Yes;
    }
    let Some(since) = last_event.or_else(|| claim.since(INITIALIZED)) else { return Quiet::No };
    match since.checked_add(wait) {
        Ok(end) if end <= now => Quiet::Yes,
        Ok(end) => Quiet::Until(end),
        // A time that overflows never comes.
        Err(_) => Quiet::No,
    }
}
