//! What happens to the pods of machines that go?
//!
//! The pods that the snapshot itself wants placed come first, in the planner's usual order; then the
//! pods of the machines in question, on what is left. Their places are machines that exist and are
//! ready, and machines that would be made for them alone: those that are on their way, or that are
//! only planned for pods that wait, are promised to others and may never come.
//!
//! COMPAT: upstream sorts pods that wait and pods that move together, so that a pod that waits can
//! be kept from its place by one that need not move at all.

use std::collections::{BTreeMap, BTreeSet};

use joiner_core::{
    disruption::{Fleet, Machine, PoolRules},
    plan::{ExistingPlacement, PlannedClaim, Unplaced},
    pod::{Pod, Role},
    reason::{Reason, ReasonId},
    settings::{MinValuesPolicy, PlanSettings},
    snapshot::Snapshot,
};

use crate::{
    provision::Sorted,
    solve::{Solver, unplaced},
};

/// How a removal is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Question {
    /// Whether it is about consolidation: machines on which something has happened within their
    /// pool's `consolidateAfter` are left alone, and `minValues` is never lowered.
    pub(crate) respect_quiet: bool,
    /// Above how many new machines the answer does not matter any more.
    pub(crate) claims_max: Option<usize>,
}

/// Where the pods of machines that go would be.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Outcome {
    /// Machines that would have to be made. When there are more than the question cares for, the
    /// rest of the answer may be incomplete.
    pub(crate) claims: Vec<PlannedClaim>,
    /// Machines that would take pods.
    pub(crate) existing: Vec<ExistingPlacement>,
    /// `namespace/name` of the pods that would have no place.
    pub(crate) homeless: Vec<String>,
}

/// Answers questions about one snapshot, and remembers what was decided.
#[derive(Debug)]
pub(crate) struct Simulator<'s> {
    snapshot: &'s Snapshot,
    fleet: &'s Fleet,
    settings: PlanSettings,
    /// For each machine, the pods of the snapshot that the base state has put there.
    guests: Vec<Vec<u32>>,
    /// Removals that are settled, in order.
    settled: Vec<(Vec<usize>, Question)>,
}

impl<'s> Simulator<'s> {
    /// Prepares questions. The snapshot's own pods are placed once.
    pub(crate) fn new(snapshot: &'s Snapshot, fleet: &'s Fleet, planning: &PlanSettings) -> Self {
        let settings = PlanSettings { reserved_fallback: true, ..planning.clone() };
        let mut simulator =
            Self { snapshot, fleet, settings, guests: Vec::new(), settled: Vec::new() };
        simulator.guests = simulator.place_guests();
        simulator
    }

    /// Positions of the snapshot's own pods that the base state has put on a machine. When the
    /// machine goes, they need another place as its movable pods do.
    pub(crate) fn guests(&self, machine: usize) -> &[u32] {
        &self.guests[machine]
    }

    /// What happens if these machines go. Leaves no trace.
    pub(crate) fn without(&mut self, machines: &[usize], question: Question) -> Outcome {
        self.ask(machines, question, false).0
    }

    /// These machines go: later questions are about what is left then.
    pub(crate) fn commit(&mut self, machines: &[usize], question: Question) -> Outcome {
        let (outcome, _) = self.ask(machines, question, false);
        self.settled.push((machines.to_vec(), question));
        outcome
    }

    /// Why pods would have no place if these machines went.
    pub(crate) fn explain_homeless(
        &mut self,
        machines: &[usize],
        question: Question,
    ) -> Vec<Unplaced> {
        self.ask(machines, question, true).1
    }

    fn place_guests(&self) -> Vec<Vec<u32>> {
        let considered = Sorted::new(self.snapshot, &self.settings).considered;
        let mut solver = Solver::new(self.snapshot, &self.settings, &considered);
        let _ = solver.solve(&considered);
        let plan = solver.finish(&Vec::new());
        let positions: BTreeMap<String, u32> =
            self.snapshot.pods.iter().map(Pod::key).zip(0..).collect();
        let received: BTreeMap<(&str, &str), &[String]> = plan
            .existing
            .iter()
            .map(|at| ((&*at.node, &*at.node_claim), at.pods.as_slice()))
            .collect();
        let nodes = self.snapshot.nodes.iter();
        nodes
            .map(|node| {
                let name = (
                    node.node.as_deref().unwrap_or_default(),
                    node.claim.as_deref().unwrap_or_default(),
                );
                let pods = received.get(&name).copied().unwrap_or_default();
                pods.iter().map(|pod| positions[pod]).collect()
            })
            .collect()
    }

    fn ask(
        &self,
        machines: &[usize],
        question: Question,
        explain: bool,
    ) -> (Outcome, Vec<Unplaced>) {
        let stages: Vec<(&[usize], Question)> = self
            .settled
            .iter()
            .map(|(machines, question)| (machines.as_slice(), *question))
            .chain([(machines, question)])
            .collect();
        let gone: BTreeSet<usize> = stages.iter().flat_map(|(each, _)| *each).copied().collect();
        let (changed, positions) = self.changed(&stages, &gone);
        let moved: BTreeSet<String> =
            positions.last().into_iter().flatten().map(|at| changed.pods[*at].key()).collect();

        let mut settings = self.settings.clone();
        if question.respect_quiet {
            settings.min_values = MinValuesPolicy::Strict;
        }
        let sorted = Sorted::new(&changed, &settings);
        let mut solver = Solver::new(&changed, &settings, &sorted.considered);
        let considered: BTreeSet<u32> = sorted.considered.iter().copied().collect();
        let pass = |of: &[usize]| -> Vec<u32> {
            of.iter().map(|at| *at as u32).filter(|at| considered.contains(at)).collect()
        };
        let own: BTreeSet<usize> = positions.iter().flatten().copied().collect();
        let base: Vec<usize> = (0..changed.pods.len()).filter(|at| !own.contains(at)).collect();
        let _ = solver.solve(&pass(&base));
        let busy = self.busy();
        let mut refused = Vec::new();
        for ((_, question), positions) in stages.iter().zip(&positions) {
            solver.close_claims();
            if question.respect_quiet {
                solver.bar_nodes(|node| busy.contains(node.name()));
            }
            refused = solver.solve(&pass(positions));
        }
        let plan = solver.finish(if explain { &refused } else { const { &Vec::new() } });

        let mut homeless: Vec<Unplaced> = refused
            .iter()
            .filter(|_| !explain)
            .map(|(pod, _)| unplaced(changed.pods[*pod as usize].key(), Vec::new()))
            .collect();
        let not_placed = plan.unschedulable.into_iter().chain(plan.deferred);
        let not_considered = sorted.refused.into_iter().chain(sorted.deferred);
        homeless.extend(not_placed.chain(not_considered).filter(|each| moved.contains(&each.pod)));
        let mut existing = Vec::new();
        for mut at in plan.existing {
            at.pods.retain(|pod| moved.contains(pod));
            if at.pods.is_empty() {
                continue;
            }
            if self.is_on_its_way(&at) {
                homeless.extend(at.pods.iter().map(|pod| on_its_way(pod, &at)));
            } else {
                existing.push(at);
            }
        }
        homeless.sort_by(|a, b| a.pod.cmp(&b.pod));
        let claims = plan.claims.into_iter();
        let outcome = Outcome {
            claims: claims
                .filter(|claim| claim.pods.iter().any(|pod| moved.contains(pod)))
                .collect(),
            existing,
            homeless: homeless.iter().map(|each| each.pod.clone()).collect(),
        };
        (outcome, homeless)
    }

    /// The snapshot without what is gone, with all pods that then need a place; and where the pods of
    /// each stage are in it.
    fn changed(
        &self,
        stages: &[(&[usize], Question)],
        gone: &BTreeSet<usize>,
    ) -> (Snapshot, Vec<Vec<usize>>) {
        let mut changed = Snapshot {
            pools: self.snapshot.pools.clone(),
            catalog: self.snapshot.catalog.clone(),
            daemons: self.snapshot.daemons.clone(),
            namespaces: self.snapshot.namespaces.clone(),
            ..Snapshot::default()
        };
        let nodes = self.snapshot.nodes.iter().enumerate();
        changed.nodes =
            nodes.filter(|(at, _)| !gone.contains(at)).map(|(_, n)| n.clone()).collect();
        let mut moved_guests: BTreeSet<u32> = BTreeSet::new();
        let mut positions = Vec::new();
        for (machines, _) in stages {
            let first = changed.pods.len();
            for machine in *machines {
                let facts = &self.fleet.machines[*machine].pods;
                let pods = self.snapshot.nodes[*machine].pods.iter().zip(facts);
                let movable = pods.filter(|(_, facts)| facts.movable).map(|(pod, _)| pod);
                changed.pods.extend(movable.map(|pod| Pod { role: Role::Moving, ..pod.clone() }));
                let guests = &self.guests[*machine];
                moved_guests.extend(guests);
                changed
                    .pods
                    .extend(guests.iter().map(|at| self.snapshot.pods[*at as usize].clone()));
            }
            positions.push((first..changed.pods.len()).collect());
        }
        let others = self.snapshot.pods.iter().zip(0..);
        let others = others.filter(|(_, at)| !moved_guests.contains(at));
        changed.pods.extend(others.map(|(pod, _)| pod.clone()));
        (changed, positions)
    }

    /// Names of machines on which something has happened too short a while ago.
    fn busy(&self) -> BTreeSet<&'s str> {
        let nodes = self.snapshot.nodes.iter().zip(&self.fleet.machines);
        nodes
            .filter(|(node, machine)| {
                let rules = node.pool.as_ref().and_then(|pool| self.fleet.pools.get(pool));
                rules.is_some_and(|rules| is_busy(machine, rules, self.fleet))
            })
            .map(|(node, _)| node.name())
            .collect()
    }

    fn is_on_its_way(&self, at: &ExistingPlacement) -> bool {
        let mut nodes = self.snapshot.nodes.iter();
        let known = nodes.find(|node| {
            node.node.as_deref().unwrap_or_default() == at.node
                && node.claim.as_deref().unwrap_or_default() == at.node_claim
        });
        known.is_some_and(|node| !node.initialized)
    }
}

/// Whether something has happened on a machine within its pool's `consolidateAfter`.
pub(crate) fn is_busy(machine: &Machine, rules: &PoolRules, fleet: &Fleet) -> bool {
    let quiet_since = machine.claim.as_ref().and_then(|claim| claim.quiet_since);
    let (Some(since), Some(after)) = (quiet_since, rules.consolidate_after) else { return false };
    fleet.now.duration_since(since) < after
}

fn on_its_way(pod: &str, at: &ExistingPlacement) -> Unplaced {
    let message = format!(
        "would schedule against uninitialized nodeclaim/{}, node/{}",
        at.node_claim, at.node
    );
    unplaced(pod.to_owned(), vec![Reason::new(ReasonId::NodeUninitialized, message)])
}
