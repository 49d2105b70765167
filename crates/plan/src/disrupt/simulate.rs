//! Simulation: what happens to the pods of instances that are removed?
//!
//! Everything is prepared once, for all pods that any question may concern. The snapshot's pending pods are placed
//! first, in the planner's usual order. Then the pods of the removed instances are placed in the remaining
//! capacity, the largest first. They may use existing instances that are ready, and new instances for them alone.
//! Instances that are not ready, or that are planned for pending pods, may never come.
//!
//! The cost of a question depends on the pods it moves, and not on the size of the cluster. Afterwards exactly its
//! changes are undone.
//!
//! COMPAT: upstream sorts pending pods and moving pods together, so a pod that need not move can take the place of
//! a pending pod. It also accepts that a pending pod loses its place because of the removal. Here such a pod counts
//! as homeless.

use std::ops::Range;

use jiff::Timestamp;
use joiner_core::{
    disruption::{Fleet, Instance, PoolRules, VALIDATION_DELAY},
    plan::{ExistingPlacement, PlannedClaim, Unplaced},
    settings::{MinValuesPolicy, PlanSettings},
    snapshot::Snapshot,
};

use crate::{
    provision::Sorted,
    solve::{Placements, Pods, Refused, Rules, Shapes, Solver, unplaced},
};

/// The rules of a simulated removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Question {
    /// Whether the question is about consolidation. Then instances that were busy within their pool's
    /// `consolidateAfter` take no pods, and `minValues` is never lowered.
    pub respect_quiet: bool,
    /// With more new instances than this, the answer no longer matters.
    pub claims_max: Option<usize>,
}

/// Where the pods of removed instances would be.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// New instances that would be needed. If there are more than `claims_max`, the rest of the answer is
    /// incomplete.
    pub claims: Vec<PlannedClaim>,
    /// Existing instances that would take pods.
    pub existing: Vec<ExistingPlacement>,
    /// `namespace/name` of the pods that would have no place, in order.
    pub homeless: Vec<String>,
}

/// Answers questions about one snapshot, and keeps the effects of decisions.
#[derive(Debug)]
pub struct Simulator<'s> {
    solver: Solver<'s>,
    shapes: Shapes,
    planning: PlanSettings,
    /// For each instance, the range of its movable pods among the solver's pods.
    movable: Vec<Range<u32>>,
    /// For each of the solver's pods, whether it is ever placed.
    considered: Vec<bool>,
    /// The pods that are never placed, with their reasons.
    set_aside: Vec<Unplaced>,
}

impl<'s> Simulator<'s> {
    /// Prepares for questions by placing the snapshot's pending pods once. Drifted instances take pods only if no
    /// other instance can, because those pods would have to move again.
    pub fn new(snapshot: &'s Snapshot, fleet: &'s Fleet, planning: &PlanSettings) -> Self {
        Self::carried_out_at(fleet.now, snapshot, fleet, planning)
    }

    /// As [`Simulator::new`], for proposals, which are validated before they are carried out. Instances that will
    /// be quiet by then, if nothing happens to them, take pods. Otherwise new instances would be proposed that are
    /// not needed a moment later.
    pub(super) fn of_proposals(
        snapshot: &'s Snapshot,
        fleet: &'s Fleet,
        planning: &PlanSettings,
    ) -> Self {
        let then = fleet.now.checked_add(VALIDATION_DELAY).unwrap_or(Timestamp::MAX);
        Self::carried_out_at(then, snapshot, fleet, planning)
    }

    fn carried_out_at(
        moment: Timestamp,
        snapshot: &'s Snapshot,
        fleet: &'s Fleet,
        planning: &PlanSettings,
    ) -> Self {
        let has_drifted = |at: usize| {
            let claim = fleet.instances.get(at).and_then(|instance| instance.claim.as_ref());
            claim.is_some_and(|claim| claim.drifted.is_some())
        };
        Self::ranked(snapshot, fleet, planning, moment, |at| u32::from(has_drifted(at)))
    }

    /// As [`Simulator::new`], but drifted instances take pods like any other.
    pub(super) fn taking_all_alike(
        snapshot: &'s Snapshot,
        fleet: &'s Fleet,
        planning: &PlanSettings,
    ) -> Self {
        Self::ranked(snapshot, fleet, planning, fleet.now, |_| 0)
    }

    fn ranked(
        snapshot: &'s Snapshot,
        fleet: &'s Fleet,
        planning: &PlanSettings,
        carried_out: Timestamp,
        rank: impl Fn(usize) -> u32,
    ) -> Self {
        let planning = PlanSettings { reserved_fallback: true, ..planning.clone() };
        let mut pods = Pods { own: &snapshot.pods, others: Vec::new() };
        let mut movable = Vec::with_capacity(snapshot.nodes.len());
        for (node, instance) in snapshot.nodes.iter().zip(&fleet.instances) {
            let first = pods.len() as u32;
            let facts = node.pods.iter().zip(&instance.pods);
            pods.others.extend(facts.filter(|(_, facts)| facts.movable).map(|(pod, _)| pod));
            movable.push(first..pods.len() as u32);
        }
        let sorted = Sorted::new(pods.iter(), snapshot, &planning);
        let mut considered = vec![false; pods.len()];
        sorted.considered.iter().for_each(|pod| considered[*pod as usize] = true);
        let mut solver = Solver::over(pods, snapshot, &planning, &sorted.considered, rank);
        solver.leave_alone(busy_instances(snapshot, fleet, carried_out));
        let mut simulator = Self {
            solver,
            shapes: Shapes::default(),
            planning,
            movable,
            considered,
            set_aside: [sorted.refused, sorted.deferred].concat(),
        };
        let mut first = sorted.considered;
        first.retain(|pod| simulator.solver.is_own(*pod));
        simulator.place_first(&first);
        simulator
    }

    fn place_first(&mut self, pods: &[u32]) {
        self.solver.begin(self.rules(Question::default()));
        // Pods that have no place before anything is removed do not matter here.
        let _ = self.solver.solve(pods);
        self.solver.keep();
    }

    /// Positions of the pending pods that were placed on an instance. They need another place if the instance is
    /// removed.
    pub fn guests(&self, instance: usize) -> &[u32] {
        let there = self.solver.put_on(instance);
        &there[..there.iter().take_while(|pod| self.solver.is_own(**pod)).count()]
    }

    /// The outcome if these instances are removed. The simulator is unchanged.
    pub fn without(&mut self, instances: &[usize], question: Question) -> Outcome {
        let answer = self.ask(instances, self.rules(question));
        self.solver.take_back();
        answer.into_outcome()
    }

    /// As [`Simulator::without`], but with the scheduler's placement. Large pods are evicted first, so they arrive
    /// first. Each goes to the instance with the highest score, busy or not.
    pub fn scheduled(&mut self, instances: &[usize], question: Question) -> Outcome {
        let rules = Rules { respect_quiet: false, scheduled: true, ..self.rules(question) };
        let answer = self.ask(instances, rules);
        self.solver.take_back();
        answer.into_outcome()
    }

    /// Removes instances one after the other, without new ones. The simulator is unchanged afterwards.
    pub(super) fn walk(&mut self, question: Question) -> Walk<'_, 's> {
        self.solver.begin(Rules { ready_nodes_only: true, ..self.rules(question) });
        Walk { simulator: self }
    }

    /// Removes an instance. The result is the pods that need another place, and the pods that are never placed.
    fn displace(&mut self, instance: usize) -> (Vec<u32>, Vec<u32>) {
        let Some(mut pods) = self.solver.remove(instance) else { return Default::default() };
        let movable = self.movable.get(instance).cloned().into_iter().flatten();
        let (considered, never_placed): (Vec<u32>, Vec<u32>) =
            movable.partition(|pod| self.considered[*pod as usize]);
        pods.extend(considered);
        (pods, never_placed)
    }

    /// Removes these instances for all later questions. New instances take no pods of later questions.
    pub fn commit(&mut self, instances: &[usize], question: Question) -> Outcome {
        // The decision must include every pod, so it has no limit of new instances.
        let rules = self.rules(Question { claims_max: None, ..question });
        let answer = self.ask(instances, rules);
        self.solver.keep();
        answer.into_outcome()
    }

    /// The reasons why pods would have no place if these instances were removed, in the order of
    /// [`Outcome::homeless`].
    pub fn explain_homeless(&mut self, instances: &[usize], question: Question) -> Vec<Unplaced> {
        let mut answer = self.ask(instances, self.rules(question));
        for (pod, refusal) in &answer.refused {
            let reasons = self.solver.reasons(*pod, *refusal);
            answer.unplaced.push(unplaced(self.solver.pod(*pod).key(), reasons));
        }
        self.solver.take_back();
        let aside = self.set_aside.iter().filter(|each| answer.never_placed.contains(&each.pod));
        answer.unplaced.extend(aside.cloned());
        answer.unplaced.sort_by(|left, right| left.pod.cmp(&right.pod));
        answer.unplaced
    }

    /// Simulates the removal. The caller must then take it back or keep it.
    fn ask(&mut self, instances: &[usize], rules: Rules) -> Answer {
        self.solver.begin(rules);
        let mut pods = Vec::new();
        let mut never_placed = Vec::new();
        for instance in instances {
            let (displaced, never) = self.displace(*instance);
            pods.extend(displaced);
            never_placed.extend(never.iter().map(|pod| self.solver.pod(*pod).key()));
        }
        let refused = self.solver.solve(&pods);
        self.shapes.tidy();
        let Placements { claims, existing, unplaced } = self.solver.placements(&mut self.shapes);
        let mut homeless = never_placed.clone();
        homeless.extend(unplaced.iter().map(|each| each.pod.clone()));
        homeless.extend(refused.iter().map(|(pod, _)| self.solver.pod(*pod).key()));
        homeless.sort_unstable();
        Answer { claims, existing, homeless, unplaced, refused, never_placed }
    }

    fn rules(&self, question: Question) -> Rules {
        Rules {
            respect_quiet: question.respect_quiet,
            claims_max: question.claims_max,
            min_values: if question.respect_quiet {
                MinValuesPolicy::Strict
            } else {
                self.planning.min_values
            },
            scheduled: false,
            ready_nodes_only: false,
        }
    }
}

/// Instances that are removed one after the other, until this is dropped.
#[derive(Debug)]
pub(super) struct Walk<'w, 's> {
    simulator: &'w mut Simulator<'s>,
}

impl Walk<'_, '_> {
    /// Whether an instance can be removed after the previous ones, without a new instance. If so, it is removed.
    /// The cost depends on its own pods alone: pods placed earlier stay, unless they are on this instance.
    pub(super) fn can_go_too(&mut self, instance: usize) -> bool {
        self.simulator.solver.step();
        let (pods, never_placed) = self.simulator.displace(instance);
        let solver = &mut self.simulator.solver;
        let can_go = never_placed.is_empty() && solver.solve(&pods).is_empty();
        if !can_go {
            solver.take_back_step();
        }
        can_go
    }
}

impl Drop for Walk<'_, '_> {
    fn drop(&mut self) {
        self.simulator.solver.take_back();
    }
}

/// An outcome with the details that explain it.
#[derive(Debug)]
struct Answer {
    claims: Vec<PlannedClaim>,
    existing: Vec<ExistingPlacement>,
    homeless: Vec<String>,
    /// Pods with a place that is not good enough.
    unplaced: Vec<Unplaced>,
    /// Pods that found no place.
    refused: Refused,
    /// Pods that are never placed.
    never_placed: Vec<String>,
}

impl Answer {
    fn into_outcome(self) -> Outcome {
        Outcome { claims: self.claims, existing: self.existing, homeless: self.homeless }
    }
}

/// Positions of instances that are busy at a moment.
fn busy_instances<'s>(
    snapshot: &'s Snapshot,
    fleet: &'s Fleet,
    at_moment: Timestamp,
) -> impl Iterator<Item = usize> + use<'s> {
    let instances = snapshot.nodes.iter().zip(&fleet.instances).enumerate();
    instances.filter_map(move |(at, (node, instance))| {
        let rules = fleet.pools.get(node.pool.as_ref()?)?;
        is_busy(instance, rules, at_moment).then_some(at)
    })
}

/// Whether something has happened on an instance within its pool's `consolidateAfter`, seen from a moment.
pub(crate) fn is_busy(instance: &Instance, rules: &PoolRules, at_moment: Timestamp) -> bool {
    let quiet_since = instance.claim.as_ref().and_then(|claim| claim.quiet_since);
    let (Some(since), Some(after)) = (quiet_since, rules.consolidate_after) else { return false };
    at_moment.duration_since(since) < after
}

#[cfg(test)]
mod tests;
