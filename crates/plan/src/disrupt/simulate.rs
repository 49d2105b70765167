//! What happens to the pods of instances that go?
//!
//! Everything is prepared once, for all pods that any question may be about. The pods that the snapshot itself wants
//! placed come first, in the planner's usual order; then the pods of the instances in question, largest first, on what is
//! left. Their places are instances that exist and are ready, and instances that would be made for them alone: those that
//! are on their way, or that are only planned for pods that wait, are promised to others and may never come.
//!
//! A question costs as much as it moves, however large the cluster is: afterwards exactly what it has changed is taken
//! back.
//!
//! COMPAT: upstream sorts pods that wait and pods that move together, so that a pod that waits can be kept from its
//! place by one that need not move at all. It also forgives when a pod that waits loses its place to the removal of the
//! instance; here that pod is homeless like any other.

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

/// How a removal is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Question {
    /// Whether it is about consolidation: instances on which something has happened within their pool's
    /// `consolidateAfter` are left alone, and `minValues` is never lowered.
    pub respect_quiet: bool,
    /// Above how many new instances the answer does not matter any more.
    pub claims_max: Option<usize>,
}

/// Where the pods of instances that go would be.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// Instances that would have to be made. When there are more than the question cares for, the rest of the answer is
    /// incomplete.
    pub claims: Vec<PlannedClaim>,
    /// Instances that would take pods.
    pub existing: Vec<ExistingPlacement>,
    /// `namespace/name` of the pods that would have no place, in order.
    pub homeless: Vec<String>,
}

/// Answers questions about one snapshot, and remembers what was decided.
#[derive(Debug)]
pub struct Simulator<'s> {
    solver: Solver<'s>,
    shapes: Shapes,
    planning: PlanSettings,
    /// For each instance, where its movable pods are among the solver's.
    movable: Vec<Range<u32>>,
    /// For each pod of the solver, whether it is ever placed.
    considered: Vec<bool>,
    /// The pods that are not, and why.
    set_aside: Vec<Unplaced>,
}

impl<'s> Simulator<'s> {
    /// Prepares questions. The snapshot's own pods are placed once. Instances that will be replaced take pods only where
    /// no other can: those would have to move again.
    pub fn new(snapshot: &'s Snapshot, fleet: &'s Fleet, planning: &PlanSettings) -> Self {
        Self::carried_out_at(fleet.now, snapshot, fleet, planning)
    }

    /// The same for proposals, on which nobody acts before they were looked at once more: instances that will have been
    /// quiet for long enough by then, if nothing happens to them, take pods. Otherwise new instances would be proposed for
    /// which there is no need a moment later.
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

    /// The same where all instances take pods alike.
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
        // Pods that have no place before anything is removed are nobody's concern here.
        let _ = self.solver.solve(pods);
        self.solver.keep();
    }

    /// Positions of the snapshot's own pods that were put on an instance to begin with. When the instance goes, they need
    /// another place as its movable pods do.
    pub fn guests(&self, instance: usize) -> &[u32] {
        let there = self.solver.put_on(instance);
        &there[..there.iter().take_while(|pod| self.solver.is_own(**pod)).count()]
    }

    /// What happens if these instances go. Leaves no trace.
    pub fn without(&mut self, instances: &[usize], question: Question) -> Outcome {
        let answer = self.ask(instances, self.rules(question));
        self.solver.take_back();
        answer.into_outcome()
    }

    /// The same question with the scheduler's answer: it takes pods as they come, which is the largest first, since they
    /// are asked to leave in that order; and it puts each on the instance that it likes best, whether something has
    /// happened there or not. Leaves no trace.
    pub fn scheduled(&mut self, instances: &[usize], question: Question) -> Outcome {
        let rules = Rules { respect_quiet: false, scheduled: true, ..self.rules(question) };
        let answer = self.ask(instances, rules);
        self.solver.take_back();
        answer.into_outcome()
    }

    /// Lets instances go one after the other, none of which gets a new one in its place. Leaves no trace.
    pub(super) fn walk(&mut self, question: Question) -> Walk<'_, 's> {
        self.solver.begin(Rules { ready_nodes_only: true, ..self.rules(question) });
        Walk { simulator: self }
    }

    /// Takes an instance away. Answers with the pods that need another place, and with those that are never placed.
    fn displace(&mut self, instance: usize) -> (Vec<u32>, Vec<u32>) {
        let Some(mut pods) = self.solver.remove(instance) else { return Default::default() };
        let movable = self.movable.get(instance).cloned().into_iter().flatten();
        let (considered, never_placed): (Vec<u32>, Vec<u32>) =
            movable.partition(|pod| self.considered[*pod as usize]);
        pods.extend(considered);
        (pods, never_placed)
    }

    /// These instances go: later questions are about what is left then. New instances are on their way and take no pods of
    /// others.
    pub fn commit(&mut self, instances: &[usize], question: Question) -> Outcome {
        // Nothing is decided about pods that were not looked at.
        let rules = self.rules(Question { claims_max: None, ..question });
        let answer = self.ask(instances, rules);
        self.solver.keep();
        answer.into_outcome()
    }

    /// Why pods would have no place if these instances went, in the order of [`Outcome::homeless`].
    pub fn explain_homeless(&mut self, instances: &[usize], question: Question) -> Vec<Unplaced> {
        let mut answer = self.ask(instances, self.rules(question));
        for (pod, refusal) in &answer.refused {
            let reasons = self.solver.reasons(*pod, *refusal);
            answer.unplaced.push(unplaced(self.solver.pod(*pod).key(), reasons));
        }
        self.solver.take_back();
        let aside = self.set_aside.iter().filter(|each| answer.never_placed.contains(&each.pod));
        answer.unplaced.extend(aside.cloned());
        answer.unplaced.sort_by(|a, b| a.pod.cmp(&b.pod));
        answer.unplaced
    }

    /// Tries it; what was tried has to be taken back or kept.
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

/// Instances that have gone one after the other, until this is dropped.
#[derive(Debug)]
pub(super) struct Walk<'w, 's> {
    simulator: &'w mut Simulator<'s>,
}

impl Walk<'_, '_> {
    /// Whether an instance can go after those before it, without a new one. If so, it is gone. This costs as much as it
    /// moves by itself: the pods of those before stay where they are, unless they are on this one.
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

/// An outcome, and what its reasons can be found out from.
#[derive(Debug)]
struct Answer {
    claims: Vec<PlannedClaim>,
    existing: Vec<ExistingPlacement>,
    homeless: Vec<String>,
    /// Pods whose place is not good enough.
    unplaced: Vec<Unplaced>,
    /// Pods that found no place.
    refused: Refused,
    /// Pods that were not considered.
    never_placed: Vec<String>,
}

impl Answer {
    fn into_outcome(self) -> Outcome {
        Outcome { claims: self.claims, existing: self.existing, homeless: self.homeless }
    }
}

/// Positions of instances on which something has happened too short a while before a moment.
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
