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
    requirement::Requirements,
    resources::Resources,
    settings::{MinValuesPolicy, PlanSettings},
    snapshot::{Node, Snapshot},
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
    /// What is left of the snapshot, with every pod at its place. Machines keep their positions, and
    /// those that are planned come after them.
    state: Snapshot,
    gone: BTreeSet<usize>,
}

impl<'s> Simulator<'s> {
    /// Prepares questions. The snapshot's own pods are placed once.
    pub(crate) fn new(snapshot: &'s Snapshot, fleet: &'s Fleet, planning: &PlanSettings) -> Self {
        let settings = PlanSettings { reserved_fallback: true, ..planning.clone() };
        let considered = Sorted::new(snapshot, &settings).considered;
        let mut solver = Solver::new(snapshot, &settings, &considered);
        let _ = solver.solve(&considered);
        let plan = solver.finish(&Vec::new());
        let positions: BTreeMap<String, u32> =
            snapshot.pods.iter().map(Pod::key).zip(0..).collect();
        let mut simulator = Self {
            snapshot,
            fleet,
            settings,
            guests: vec![Vec::new(); snapshot.nodes.len()],
            state: Snapshot { pods: Vec::new(), ..snapshot.clone() },
            gone: BTreeSet::new(),
        };
        for to in &plan.existing {
            if let Some(at) = simulator.position(to) {
                simulator.guests[at] = to.pods.iter().map(|pod| positions[pod]).collect();
            }
        }
        simulator.place(&plan.claims, &plan.existing, &snapshot.pods);
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
        let moved = self.moved(machines);
        self.gone.extend(machines);
        self.place(&outcome.claims, &outcome.existing, &moved);
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

    fn ask(
        &self,
        machines: &[usize],
        question: Question,
        explain: bool,
    ) -> (Outcome, Vec<Unplaced>) {
        let mut changed = self.state.clone();
        let stays = |at: &usize| !self.gone.contains(at) && !machines.contains(at);
        let nodes = std::mem::take(&mut changed.nodes).into_iter().enumerate();
        changed.nodes = nodes.filter(|(at, _)| stays(at)).map(|(_, node)| node).collect();
        changed.pods = self.moved(machines);

        let mut settings = self.settings.clone();
        if question.respect_quiet {
            settings.min_values = MinValuesPolicy::Strict;
        }
        let sorted = Sorted::new(&changed, &settings);
        let mut solver = Solver::new(&changed, &settings, &sorted.considered);
        if question.respect_quiet {
            let busy = self.busy();
            solver.bar_nodes(|node| busy.contains(node.name()));
        }
        let refused = solver.solve(&sorted.considered);
        let plan = solver.finish(if explain { &refused } else { const { &Vec::new() } });

        let mut homeless: Vec<Unplaced> = refused
            .iter()
            .filter(|_| !explain)
            .map(|(pod, _)| unplaced(changed.pods[*pod as usize].key(), Vec::new()))
            .collect();
        homeless.extend(plan.unschedulable.into_iter().chain(plan.deferred));
        homeless.extend(sorted.refused.into_iter().chain(sorted.deferred));
        let mut existing = Vec::new();
        for to in plan.existing {
            if self.position(&to).is_some_and(|at| !self.snapshot.nodes[at].initialized) {
                homeless.extend(to.pods.iter().map(|pod| on_its_way(pod, &to)));
            } else {
                existing.push(to);
            }
        }
        homeless.sort_by(|a, b| a.pod.cmp(&b.pod));
        let names = homeless.iter().map(|each| each.pod.clone()).collect();
        (Outcome { claims: plan.claims, existing, homeless: names }, homeless)
    }

    /// The pods that need another place when these machines go.
    fn moved(&self, machines: &[usize]) -> Vec<Pod> {
        let mut moved = Vec::new();
        for machine in machines {
            let facts = &self.fleet.machines[*machine].pods;
            let pods = self.snapshot.nodes[*machine].pods.iter().zip(facts);
            let movable = pods.filter(|(_, facts)| facts.movable).map(|(pod, _)| pod);
            moved.extend(movable.map(|pod| Pod { role: Role::Moving, ..pod.clone() }));
            let guests = self.guests[*machine].iter();
            moved.extend(guests.map(|at| self.snapshot.pods[*at as usize].clone()));
        }
        moved
    }

    /// Puts pods where they were found a place. New machines have room for nobody else.
    fn place(&mut self, claims: &[PlannedClaim], existing: &[ExistingPlacement], pods: &[Pod]) {
        let bound = Role::Bound { daemon_set: None, terminating: false };
        let pods: BTreeMap<String, Pod> = pods
            .iter()
            .map(|pod| (pod.key(), Pod { role: bound.clone(), ..pod.clone() }))
            .collect();
        let of = |keys: &[String]| -> Vec<Pod> {
            keys.iter().filter_map(|key| pods.get(key).cloned()).collect()
        };
        for to in existing {
            if let Some(at) = self.position(to) {
                self.state.nodes[at].pods.extend(of(&to.pods));
            }
        }
        for claim in claims {
            let name = format!("planned-{}", self.state.nodes.len());
            let requirements = Requirements::from_specs(claim.requirements.iter());
            let mut labels = requirements.single_values();
            labels.extend((*claim.labels).clone());
            let types = self.snapshot.catalog.types(&claim.node_pool).iter();
            let largest = types
                .filter(|each| claim.instance_types.contains(&each.name))
                .fold(Resources::new(), |largest, each| largest.higher(&each.capacity));
            self.state.nodes.push(Node {
                hostname: name.clone(),
                claim: Some(name),
                pool: Some(claim.node_pool.clone()),
                labels,
                taints: claim.taints.to_vec(),
                object_taints: claim.taints.to_vec(),
                capacity: largest,
                pods: of(&claim.pods),
                ..Node::default()
            });
        }
    }

    fn position(&self, to: &ExistingPlacement) -> Option<usize> {
        self.snapshot.nodes.iter().position(|node| {
            node.node.as_deref().unwrap_or_default() == to.node
                && node.claim.as_deref().unwrap_or_default() == to.node_claim
        })
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
