//! Whether nothing has happened on a node for long enough.

use jiff::{SignedDuration, Timestamp};
use joiner_api::{node_claim::NodeClaim, node_pool::NodePool};

use crate::conditions::{Conditioned, INITIALIZED};

/// Whether a claim may be consolidated as far as time is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quiet {
    /// It may not, however long nothing happens.
    No,
    /// It may not before then.
    Until(Timestamp),
    /// It may.
    Yes,
}

/// Whether a claim may be consolidated, on whose node something last happened at `last_event`.
pub fn of(
    claim: &NodeClaim,
    pool: &NodePool,
    last_event: Option<Timestamp>,
    now: Timestamp,
) -> Quiet {
    // A pool that keeps so many nodes is never consolidated.
    if pool.spec.replicas.is_some() || !claim.holds(INITIALIZED) {
        return Quiet::No;
    }
    let written = pool.spec.disruption.as_ref().and_then(|all| all.consolidate_after.as_ref());
    let wait = match written.map(joiner_api::duration::NillableDuration::nanos) {
        // What is left out is the definition's default.
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
        // What lies beyond the end of time never comes.
        Err(_) => Quiet::No,
    }
}
