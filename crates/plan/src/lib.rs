//! Pure decisions about machines.
//!
//! [`provision`] answers which machines the pods of a snapshot need. It knows nothing of Kubernetes clients, files,
//! clocks or async, and equal snapshots give equal plans, in the same order.

use joiner_core::{plan::Plan, settings::PlanSettings, snapshot::Snapshot};

/// A plan and the reasons behind it.
#[must_use = "a plan without its report cannot be explained"]
#[derive(Debug, Clone, Default)]
pub struct Planned {
    /// What is intended.
    pub plan: Plan,
    /// What was noticed about pools on the way.
    pub report: Report,
}

/// What was noticed about pools: why one of them could not be used.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Reasons, each with its pool.
    pub pools: Vec<joiner_core::reason::Reason>,
}

/// Decides which claims to create, and which machines that exist to use, for the pods of a snapshot.
pub fn provision(snapshot: &Snapshot, settings: &PlanSettings) -> Planned {
    let _ = (snapshot, settings);
    Planned::default()
}
