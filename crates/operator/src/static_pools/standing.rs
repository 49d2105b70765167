//! How the claims of a static pool stand.

use std::sync::Arc;

use joiner_api::node_claim::NodeClaim;

use crate::{
    claims::{self, is_deleting},
    conditions::{Conditioned, DISRUPTION_REASON, REBOOTING},
    world::World,
};

/// How a claim of a static pool counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It counts towards the pool's fixed number.
    Active,
    /// A command replaces it: its successor counts in its place as soon as there is one.
    PendingDisruption,
    /// It is on its way out, and counts only against the limit.
    Deleting,
}

impl Standing {
    /// How a claim counts. One whose node is being rebooted comes back, so it has no successor.
    ///
    /// A command marks its claims before it makes their successors. So no successor ever counts as
    /// one too many.
    pub fn of(claim: &NodeClaim) -> Self {
        if is_deleting(claim) {
            Self::Deleting
        } else if claim.holds(DISRUPTION_REASON) && !claim.holds(REBOOTING) {
            Self::PendingDisruption
        } else {
            Self::Active
        }
    }
}

/// The claims of a pool, by how they stand.
#[derive(Debug, Clone, Default)]
pub struct Standings {
    /// The claims that count towards the pool's fixed number.
    pub active: Vec<Arc<NodeClaim>>,
    /// How many a command replaces.
    pub pending_disruption: u32,
    /// How many are on their way out.
    pub deleting: u32,
}

impl Standings {
    /// How all claims of a pool stand, in order of name.
    pub fn of(world: &World, pool: &str) -> Self {
        let mut found = Self::default();
        let claims = world.node_claims.values();
        for claim in claims.filter(|claim| claims::pool(claim) == Some(pool)) {
            match Standing::of(claim) {
                Standing::Active => found.active.push(Arc::clone(claim)),
                Standing::PendingDisruption => found.pending_disruption += 1,
                Standing::Deleting => found.deleting += 1,
            }
        }
        found
    }

    /// How many are to stay.
    pub fn active(&self) -> u32 {
        u32::try_from(self.active.len()).unwrap_or(u32::MAX)
    }

    /// The number of claims that stay or are being replaced.
    ///
    /// COMPAT: upstream treats claims that are being replaced as missing when it creates any, and
    /// so creates their replacements twice.
    pub fn kept(&self) -> u32 {
        self.active().saturating_add(self.pending_disruption)
    }

    /// The number of claims that count against the pool's limit.
    pub fn all(&self) -> u32 {
        self.kept().saturating_add(self.deleting)
    }
}
