//! Claims that take too long are given up.

use std::time::Duration;

use jiff::Timestamp;
use joiner_api::node_claim::NodeClaim;

use super::timeouts::Timeouts;
use crate::{
    conditions::{Conditioned, INITIALIZED, LAUNCHED, REGISTERED},
    reboot,
};

/// Whether a claim still has time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Liveness {
    /// Nothing is waited for.
    Settled,
    /// So much is left.
    Waits(Duration),
    /// None, for this step.
    Overdue(Step),
}

/// What a claim waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The instance.
    Launch,
    /// The node.
    Registration,
    /// The node's being ready for pods.
    Initialization,
}

impl Step {
    /// Why the claim is given up, as metrics call it.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Launch => "launch_timeout",
            Self::Registration => "registration_timeout",
            Self::Initialization => "initialization_timeout",
        }
    }
}

/// Whether a claim still has time for its next step. Each step has its own, from the end of the one
/// before: an instance that was made slowly takes nothing from the time its node has to join.
///
/// COMPAT: upstream counts the time to join from the claim's creation, and has no end for the last
/// step.
pub(super) fn liveness(claim: &NodeClaim, timeouts: &Timeouts, now: Timestamp) -> Liveness {
    let (step, since, time) = if !claim.holds(LAUNCHED) {
        // A condition that never changed has the time of the claim's creation.
        (Step::Launch, claim.since(LAUNCHED), timeouts.launch)
    } else if !claim.holds(REGISTERED) {
        (Step::Registration, claim.since(LAUNCHED), timeouts.registration)
    } else if !claim.holds(INITIALIZED)
        && let Some(time) = timeouts.initialization
    {
        // A node that was rebooted is initialized anew.
        (Step::Initialization, reboot::ended(claim).max(claim.since(REGISTERED)), time)
    } else {
        return Liveness::Settled;
    };
    let passed = now.duration_since(since.unwrap_or(now));
    // A clock that was set back gives more time, not less.
    let passed = Duration::try_from(passed).unwrap_or_default();
    match time.checked_sub(passed).filter(|left| !left.is_zero()) {
        Some(left) => Liveness::Waits(left),
        None => Liveness::Overdue(step),
    }
}
