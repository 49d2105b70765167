//! Which machines do these pods need?

use joiner_core::{
    plan::{Plan, Unplaced},
    pod::{Pod, Role},
    pool::Readiness,
    reason::{Reason, ReasonId},
    settings::PlanSettings,
    snapshot::Snapshot,
};

use crate::{
    solve::{Solver, unplaced},
    validate,
};

/// A plan and the reasons behind it.
#[must_use = "a plan without its report cannot be explained"]
#[derive(Debug, Clone, Default)]
pub struct Planned {
    /// What is intended, and why pods are left out.
    pub plan: Plan,
    /// What was noticed about pools on the way.
    pub report: Report,
}

/// What was noticed about pools: why one of them could not be used.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Reasons, each with its pool.
    pub pools: Vec<Reason>,
}

/// Decides which claims to create, and which machines that exist to use, for the pods of a
/// snapshot.
///
/// Pure: equal inputs give equal outputs, including every order in them. Every pod of the snapshot
/// is in the plan exactly once. A pod or pool that makes no sense is refused with a reason, and the
/// rest is planned.
pub fn provision(snapshot: &Snapshot, settings: &PlanSettings) -> Planned {
    let sorted = Sorted::new(snapshot, settings);
    let report = Report { pools: unusable_pools(snapshot) };
    let mut plan = if snapshot.usable_pools().is_empty() {
        // COMPAT: without a pool that machines could be made from, upstream does not look at nodes
        // that exist either.
        Plan { unschedulable: without_pools(snapshot, &sorted.considered), ..Plan::default() }
    } else {
        let mut solver = Solver::new(snapshot, settings, &sorted.considered);
        let refused = solver.solve(&sorted.considered);
        solver.finish(&refused)
    };
    plan.unschedulable.extend(sorted.refused);
    plan.deferred.extend(sorted.deferred);
    for list in [&mut plan.unschedulable, &mut plan.deferred] {
        list.sort_by(|a, b| a.pod.cmp(&b.pod));
    }
    Planned { plan, report }
}

/// The pods of a snapshot, those that can be considered apart from those that cannot.
#[derive(Debug, Default)]
pub(crate) struct Sorted {
    /// Positions of the pods to place.
    pub(crate) considered: Vec<u32>,
    refused: Vec<Unplaced>,
    deferred: Vec<Unplaced>,
}

impl Sorted {
    pub(crate) fn new(snapshot: &Snapshot, settings: &PlanSettings) -> Self {
        let mut sorted = Self::default();
        let mut validated = validate::Validated::default();
        for (index, pod) in snapshot.pods.iter().enumerate() {
            if let Some(waiting) = &pod.volumes.waiting {
                let reason = Reason::new(ReasonId::WaitingVolume, waiting.clone());
                sorted.deferred.push(unplaced(pod.key(), vec![reason]));
            } else if let Some(reasons) = refusal(pod, snapshot, settings, &mut validated) {
                sorted.refused.push(unplaced(pod.key(), reasons));
            } else {
                sorted.considered.push(index as u32);
            }
        }
        sorted
    }
}

fn refusal(
    pod: &Pod,
    snapshot: &Snapshot,
    settings: &PlanSettings,
    validated: &mut validate::Validated,
) -> Option<Vec<Reason>> {
    if pod.spec.uses_dra && settings.ignore_dra {
        let message = "pod has Dynamic Resource Allocation requirements that are not yet supported";
        return Some(vec![Reason::new(ReasonId::DraIgnored, message)]);
    }
    // Pods that have been running were accepted once.
    if pod.role != Role::Pending {
        return None;
    }
    validated.reasons(pod, &snapshot.catalog.well_known)
}

fn without_pools(snapshot: &Snapshot, considered: &[u32]) -> Vec<Unplaced> {
    let mut reasons = vec![Reason::new(ReasonId::PoolNone, "no dynamic nodepools found")];
    reasons.extend(unusable_pools(snapshot));
    considered
        .iter()
        .map(|pod| unplaced(snapshot.pods[*pod as usize].key(), reasons.clone()))
        .collect()
}

fn unusable_pools(snapshot: &Snapshot) -> Vec<Reason> {
    let reason = |pool: &joiner_core::pool::NodePool| {
        let name = &pool.name;
        let (id, message) = match &pool.readiness {
            Readiness::NotReady(why) => {
                (ReasonId::PoolNotReady, format!("pool {name:?} is not ready: {why}"))
            }
            Readiness::Deleting => {
                (ReasonId::PoolNotReady, format!("pool {name:?} is being deleted"))
            }
            Readiness::Ready if snapshot.catalog.types(name).is_empty() => {
                (ReasonId::PoolNoTypes, format!("pool {name:?} has no instance types"))
            }
            Readiness::Ready => return None,
        };
        Some(Reason::new(id, message).in_pool(name))
    };
    snapshot.pools.iter().filter(|pool| !pool.is_static).filter_map(reason).collect()
}
