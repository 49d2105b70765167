//! Deletes claims that exceed a timeout.

use std::time::Duration;

use jiff::Timestamp;
use joiner_api::node_claim::NodeClaim;

use super::timeouts::Timeouts;
use crate::{
    conditions::{Conditioned, INITIALIZED, LAUNCHED, REGISTERED},
    reboot,
};

/// Whether a claim is within its timeouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Liveness {
    /// All steps are done.
    Settled,
    /// This much time is left.
    Waits(Duration),
    /// This step has exceeded its timeout.
    Overdue(Step),
}

/// The next step of a claim.
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
    /// The reason of the deletion in metrics.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Launch => "launch_timeout",
            Self::Registration => "registration_timeout",
            Self::Initialization => "initialization_timeout",
        }
    }
}

/// Whether a claim is within the timeout of its next step. Each timeout counts from the end of the
/// previous step, so a slow launch does not shorten the registration.
///
/// COMPAT: upstream counts the registration timeout from the claim's creation, and has no timeout
/// for the initialization.
pub(super) fn liveness(claim: &NodeClaim, timeouts: &Timeouts, now: Timestamp) -> Liveness {
    let (step, since, time) = if !claim.holds(LAUNCHED) {
        // A condition without a transition has the time of the claim's creation.
        (Step::Launch, claim.since(LAUNCHED), timeouts.launch)
    } else if !claim.holds(REGISTERED) {
        (Step::Registration, claim.since(LAUNCHED), timeouts.registration)
    } else if !claim.holds(INITIALIZED)
        && let Some(time) = timeouts.initialization
    {
        // A rebooted node is initialized again.
        (Step::Initialization, reboot::ended(claim).max(claim.since(REGISTERED)), time)
    } else {
        return Liveness::Settled;
    };
    let passed = now.duration_since(since.unwrap_or(now));
    // A clock that was set back extends the timeout.
    let passed = Duration::try_from(passed).unwrap_or_default();
    match time.checked_sub(passed).filter(|left| !left.is_zero()) {
        Some(left) => Liveness::Waits(left),
        None => Liveness::Overdue(step),
    }
}
