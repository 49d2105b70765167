//! Provisioning: which instances do the pending pods need?

use joiner_core::{
    plan::{Plan, Unplaced},
    pod::{Pod, Role},
    reason::{Reason, ReasonId},
    settings::PlanSettings,
    snapshot::Snapshot,
};

use crate::{
    solve::{Choices, Solver, unplaced},
    validate,
    work::{self, Affordable},
};

/// A plan with its report.
#[must_use = "a plan without its report cannot be explained"]
#[derive(Debug, Clone, Default)]
pub struct Planned {
    /// The claims and placements, with the reasons of pods that have no place.
    pub plan: Plan,
    /// Observations about pools.
    pub report: Report,
}

/// Observations about pools: the reasons why some could not be used.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Reasons, each with its pool.
    pub pools: Vec<Reason>,
    /// The work done, in comparisons of list entries. It is equal for equal inputs, on every computer.
    pub work: u64,
}

/// Decides which claims to create, and which existing instances to use, for the pods of a snapshot.
///
/// Pure: equal inputs give equal outputs, including every order in them. Every pod of the snapshot is in the plan
/// exactly once. An invalid pod or pool is refused with a reason, and the rest is planned.
pub fn provision(snapshot: &Snapshot, settings: &PlanSettings) -> Planned {
    planned(snapshot, settings).planned
}

/// A plan, with the choices that reproduce it.
#[derive(Debug)]
pub(crate) struct Reproducible {
    pub(crate) planned: Planned,
    /// Positions of the pods that were considered.
    pub(crate) considered: Vec<u32>,
    /// The rules for choices among equals.
    pub(crate) choices: Choices,
}

pub(crate) fn planned(snapshot: &Snapshot, settings: &PlanSettings) -> Reproducible {
    let sorted = Sorted::new(&snapshot.pods, snapshot, settings);
    let Passed { mut plan, pools, choices, work, .. } = best_pass(snapshot, settings, &sorted);
    plan.unschedulable.extend(sorted.refused);
    plan.deferred.extend(sorted.deferred);
    for list in [&mut plan.unschedulable, &mut plan.deferred] {
        list.sort_by(|left, right| left.pod.cmp(&right.pod));
    }
    Reproducible {
        planned: Planned { plan, report: Report { pools, work } },
        considered: sorted.considered,
        choices,
    }
}

/// Up to this many pods, a pass is repeated with every rule for choices among equals. The value was chosen and not
/// measured separately: with more pods the differences shrink, and time matters more. Pods with long lists also
/// limit a pass to one rule.
const EVERY_WAY_PODS_MAX: usize = 2_000;

/// The result of one pass.
#[derive(Debug, Default)]
struct Passed {
    plan: Plan,
    /// The reasons why pools could not be used.
    pools: Vec<Reason>,
    /// The rules for choices among equals.
    choices: Choices,
    /// The number of pods without a place, not counting buffer pods.
    left_out: usize,
    /// Whether all placements are valid in whatever order pods and instances arrive.
    holds: bool,
    /// The work done.
    work: u64,
}

/// The best of the valid passes: the fewest pods without a place, then the lowest price, then the fewest instances.
fn best_pass(snapshot: &Snapshot, settings: &PlanSettings, sorted: &Sorted) -> Passed {
    let considered = sorted.considered.as_slice();
    let prepared = Solver::new(snapshot, settings, considered);
    let pools = prepared.unusable_pools();
    // COMPAT: without a pool that can create instances, upstream does not use existing nodes either.
    if snapshot.usable_pools().is_empty() {
        let unschedulable = without_pools(snapshot, considered, &pools);
        return Passed {
            plan: Plan { unschedulable, ..Plan::default() },
            pools,
            ..Passed::default()
        };
    }
    let pass = |(solver, choices): (Solver<'_>, Choices)| {
        let mut solver = solver.with(choices);
        let refused = solver.solve(considered);
        let is_real = |pod: u32| snapshot.pods[pod as usize].role != Role::Buffer;
        let left_out = refused.iter().filter(|(pod, _)| is_real(*pod)).count();
        let holds = solver.holds();
        let work = solver.work();
        let plan = solver.finish(&refused);
        Passed { plan, pools: pools.clone(), choices, left_out, holds, work }
    };
    let every_way = considered.len() <= EVERY_WAY_PODS_MAX && !sorted.has_costly;
    let ways = ways(every_way, prepared.can_count_hosts());
    let worth = |passed: &Passed| {
        let plan = &passed.plan;
        let placed = std::cmp::Reverse(plan.placed());
        (!passed.holds, passed.left_out, placed, plan.price(), plan.claims.len())
    };
    // Placeholder: invalid, so any valid pass wins.
    let mut best = Passed::default();
    let mut work = 0;
    for passed in std::iter::repeat_n(prepared, ways.len()).zip(ways).map(pass) {
        work += passed.work;
        if worth(&passed) < worth(&best) {
            best = passed;
        }
        if best.holds && !every_way {
            break;
        }
    }
    Passed { work, ..best }
}

/// The rules to try, in order. Those that count hosts as upstream does are always valid, so they come last.
fn ways(every_way: bool, can_count_hosts: bool) -> Vec<Choices> {
    let ways = if every_way { &Choices::WAYS[..] } else { &Choices::WAYS[..1] };
    let counting = if can_count_hosts { ways } else { &[] };
    counting.iter().map(|way| way.counting_hosts()).chain(ways.iter().copied()).collect()
}

/// Pods, separated into those that can be considered and those that cannot.
#[derive(Debug, Default)]
pub(crate) struct Sorted {
    /// Positions of the pods to place.
    pub(crate) considered: Vec<u32>,
    pub(crate) refused: Vec<Unplaced>,
    pub(crate) deferred: Vec<Unplaced>,
    /// Whether some pods to place are much more expensive than ordinary ones.
    has_costly: bool,
}

impl Sorted {
    pub(crate) fn new<'p>(
        pods: impl IntoIterator<Item = &'p Pod>,
        snapshot: &Snapshot,
        settings: &PlanSettings,
    ) -> Self {
        let pods: Vec<&Pod> = pods.into_iter().collect();
        let mut affordable = Affordable::new(&pods, snapshot);
        let mut sorted = Self { has_costly: affordable.has_costly, ..Self::default() };
        let mut validated = validate::Validated::default();
        for (index, pod) in pods.into_iter().enumerate() {
            if let Some(waiting) = &pod.volumes.waiting {
                let reason = Reason::new(ReasonId::WaitingVolume, waiting.clone());
                sorted.deferred.push(unplaced(pod.key(), vec![reason]));
            } else if let Some(unread) = pod.spec.unread {
                sorted.deferred.push(unplaced(pod.key(), vec![work::left_unread(unread)]));
            } else if let Some(reason) = affordable.deferred.remove(&index) {
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
    if pod.spec.uses_dra {
        let message = "pod has Dynamic Resource Allocation requirements that are not yet supported";
        // Devices cannot be promised, so a pod that needs them waits. Starting it without them would be worse.
        let asked =
            if settings.ignore_dra { "" } else { ", also with --ignore-dra-requests=false" };
        return Some(vec![Reason::new(ReasonId::DraIgnored, format!("{message}{asked}"))]);
    }
    // Running pods were accepted before.
    if pod.role != Role::Pending {
        return None;
    }
    validated.reasons(pod, &snapshot.catalog.well_known)
}

fn without_pools(snapshot: &Snapshot, considered: &[u32], pools: &[Reason]) -> Vec<Unplaced> {
    let mut reasons = vec![Reason::new(ReasonId::PoolNone, "no dynamic nodepools found")];
    reasons.extend_from_slice(pools);
    considered
        .iter()
        .map(|pod| unplaced(snapshot.pods[*pod as usize].key(), reasons.clone()))
        .collect()
}
