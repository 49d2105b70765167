//! Trials: what happens to pods if instances are removed, on a pass that is prepared once.
//!
//! A trial begins, instances are removed, and pods are placed as usual. Then the trial is kept or undone. It may
//! have steps, and the last step can be undone alone. The cost of undoing depends on the changes, and not on the
//! size of the cluster. The parts that change record how ([`super::journal`]), and this module does the rest.
//!
//! Results about pods, labels, types and nodes stay cached between trials if no trial changes them. Capacity of a
//! node without new pods only shrinks when a trial is kept. Whether a sort of node fits a pod never changes.

use joiner_core::{
    plan::{ExistingPlacement, PlannedClaim, Unplaced},
    reason::{Reason, ReasonId},
    settings::MinValuesPolicy,
};

use super::{
    Shapes, Solver, bits::Bits, claims::Claims, finish::unplaced, journal::Extent,
    limits::Remaining, nodes::Candidate, topology::Way,
};

/// How a trial differs from an ordinary pass.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rules {
    /// Whether pods of removed instances avoid busy nodes.
    pub(crate) respect_quiet: bool,
    /// The trial ends with more new claims than this.
    pub(crate) claims_max: Option<usize>,
    pub(crate) min_values: MinValuesPolicy,
    /// Whether pods are placed as the scheduler would: on the node with the highest score.
    pub(crate) scheduled: bool,
    /// Whether only ready nodes take pods. The trial ends at the first pod without a place.
    pub(crate) ready_nodes_only: bool,
}

/// The state of a trial, and the changes to undo that the parts do not record.
#[derive(Debug, Clone, Default)]
pub(super) struct Trial {
    on: bool,
    rules: Rules,
    /// Nodes that were found not to fit a form of a class after they had received pods.
    dead_nodes: Vec<(usize, usize, usize)>,
    /// Forms of classes that claims have refused.
    dead_claims: Vec<(usize, usize)>,
    /// Classes that were refused.
    refused: Vec<usize>,
    /// The remaining limits before each change.
    limits: Vec<(usize, Remaining)>,
    /// How many pods were placed at the beginning.
    placed: u64,
    /// The state before the last step.
    before_step: Before,
}

/// The part of a trial before its last step.
#[derive(Debug, Clone, Copy, Default)]
struct Before {
    dead_nodes: usize,
    limits: usize,
    placed: u64,
}

/// The places of a trial's pods.
#[derive(Debug, Default)]
pub(crate) struct Placements {
    pub(crate) claims: Vec<PlannedClaim>,
    pub(crate) existing: Vec<ExistingPlacement>,
    /// Pods with a place that is not good enough.
    pub(crate) unplaced: Vec<Unplaced>,
}

impl Trial {
    pub(super) fn respects_quiet(&self) -> bool {
        self.rules.respect_quiet
    }

    /// Whether pods are placed as the scheduler would.
    pub(super) fn is_scheduled(&self) -> bool {
        self.rules.scheduled
    }

    /// Whether only ready nodes take pods.
    pub(super) fn knows_ready_nodes_only(&self) -> bool {
        self.rules.ready_nodes_only
    }

    /// Whether there are more new claims than the question allows.
    pub(super) fn is_over(&self, claims: &Claims<'_>) -> bool {
        self.rules.claims_max.is_some_and(|max| claims.unsettled().len() > max)
    }

    pub(super) fn note_dead_node(&mut self, class: usize, form: usize, position: usize) {
        if self.on {
            self.dead_nodes.push((class, form, position));
        }
    }

    pub(super) fn note_dead_claim(&mut self, class: usize, form: usize) {
        if self.on {
            self.dead_claims.push((class, form));
        }
    }

    pub(super) fn note_refused(&mut self, class: usize) {
        if self.on {
            self.refused.push(class);
        }
    }

    /// Records a template's remaining limits before they change.
    pub(super) fn note_limits(&mut self, template: usize, remaining: &[Remaining]) {
        if self.on {
            self.limits.push((template, remaining[template].clone()));
        }
    }
}

impl Solver<'_> {
    /// Starts recording changes, so that they can be undone.
    pub(crate) fn begin(&mut self, rules: Rules) {
        self.settings.min_values = rules.min_values;
        self.trial.on = true;
        self.trial.rules = rules;
        self.trial.placed = self.placed;
        self.nodes.begin();
        self.topology.begin();
        self.reservations.begin();
    }

    /// Starts a step that can be undone alone. Only for trials that open no claims.
    pub(crate) fn step(&mut self) {
        self.nodes.step();
        self.topology.step();
        let Trial { dead_nodes, limits, .. } = &self.trial;
        self.trial.before_step =
            Before { dead_nodes: dead_nodes.len(), limits: limits.len(), placed: self.placed };
    }

    /// Undoes the last step. The previous steps stay.
    pub(crate) fn take_back_step(&mut self) {
        let before = self.trial.before_step;
        self.nodes.take_back(Extent::Step);
        self.topology.take_back(Extent::Step, &self.labels);
        self.revive_nodes(before.dead_nodes);
        self.give_back_limits(before.limits);
        self.placed = before.placed;
        self.forget_refusals();
    }

    /// Makes the trial permanent. Its claims were launched then, and pods of other instances do not use them.
    pub(crate) fn keep(&mut self) {
        self.nodes.keep();
        self.topology.keep();
        self.reservations.keep();
        self.claims.settle();
        self.trial.dead_nodes.clear();
        self.trial.limits.clear();
        self.end();
    }

    /// Undoes the trial.
    pub(crate) fn take_back(&mut self) {
        self.nodes.take_back(Extent::All);
        self.topology.take_back(Extent::All, &self.labels);
        self.reservations.take_back();
        self.claims.take_back();
        self.revive_nodes(0);
        self.give_back_limits(0);
        self.placed = self.trial.placed;
        self.end();
    }

    /// Clears nodes that were found not to fit, except for the first `left`.
    fn revive_nodes(&mut self, left: usize) {
        for (class, form, position) in self.trial.dead_nodes.drain(left..) {
            if let Some(form) = self.classes.all[class].known_form_mut(form) {
                form.dead_nodes.remove(position);
                form.first_node_word = form.first_node_word.min(position / 64);
            }
        }
    }

    /// Undoes changes of limits, except for the first `left`.
    fn give_back_limits(&mut self, left: usize) {
        for (template, before) in self.trial.limits.drain(left..).rev() {
            self.remaining[template] = before;
        }
    }

    /// Clears cached results about settled or removed claims, and refusals. The next trial removes other instances.
    fn end(&mut self) {
        for (class, form) in self.trial.dead_claims.drain(..) {
            if let Some(form) = self.classes.all[class].known_form_mut(form) {
                form.dead_claims.clear();
            }
        }
        self.forget_refusals();
        self.trial.on = false;
        self.trial.rules = Rules::default();
    }

    fn forget_refusals(&mut self) {
        for class in self.trial.refused.drain(..) {
            self.classes.all[class].refused_at = None;
        }
    }

    /// Removes an instance with every pod that stays on it. The result is the pods that the pass had placed there:
    /// they need another place. `None` if the instance is missing or takes no pods anyway.
    pub(crate) fn remove(&mut self, instance: usize) -> Option<Vec<u32>> {
        let seen = self.nodes.seen_at(instance);
        let position = seen.position.filter(|position| !self.nodes.is_gone(*position))?;
        if let Some(site) = self.nodes.remove(position) {
            self.topology.abandon(&site, &self.labels);
        }
        self.topology.shift_bound(instance, seen, Way::Out, &self.labels);
        let displaced = self.nodes.candidate(position).pods.clone();
        for pod in &displaced {
            let class = self.classes.of_pod[*pod as usize] as usize;
            self.record_on_node(class, position, Way::Out);
        }
        let node = &self.snapshot.nodes[instance];
        let template = self
            .templates
            .iter()
            .position(|template| node.pool.as_ref() == Some(&template.pool.name))
            .filter(|template| !self.remaining[*template].unlimited());
        if let Some(template) = template {
            self.trial.note_limits(template, &self.remaining);
            self.remaining[template].give_back(&node.counted_capacity(), &self.columns);
        }
        Some(displaced)
    }

    /// Sets the instances that pods of other instances must avoid.
    pub(crate) fn leave_alone(&mut self, instances: impl Iterator<Item = usize>) {
        let positions = instances.filter_map(|instance| self.nodes.seen_at(instance).position);
        let quiet: Bits = positions.collect();
        self.nodes.quiet = quiet;
    }

    /// The pods that the pass has placed on an instance.
    pub(crate) fn put_on(&self, instance: usize) -> &[u32] {
        let position = self.nodes.seen_at(instance).position;
        position.map_or(&[], |position| self.nodes.candidate(position).pods.as_slice())
    }

    /// The current places of the trial's pods.
    pub(crate) fn placements(&mut self, shapes: &mut Shapes) -> Placements {
        let (claims, mut unplaced) = self.finish_claims(self.claims.unsettled(), shapes);
        let mut existing = Vec::new();
        for candidate in self.nodes.touched() {
            let trusted = |pod: &u32| candidate.node.initialized || self.is_own(*pod);
            let (kept, others): (Vec<u32>, Vec<u32>) =
                candidate.newcomers().iter().copied().partition(trusted);
            if !kept.is_empty() {
                existing.push(self.placement(candidate, &kept));
            }
            unplaced.extend(others.iter().map(|pod| self.not_ready(*pod, candidate)));
        }
        Placements { claims, existing, unplaced }
    }

    /// Whether a pod is always placed, rather than only if its instance is removed.
    pub(crate) fn is_own(&self, pod: u32) -> bool {
        (pod as usize) < self.pods.own.len()
    }

    /// Pods are never moved to an instance that is not ready and may never be.
    fn not_ready(&self, pod: u32, candidate: &Candidate<'_>) -> Unplaced {
        let name = |name: &Option<String>| name.clone().unwrap_or_default();
        let (claim, node) = (name(&candidate.node.claim), name(&candidate.node.node));
        let message =
            format!("would schedule against uninitialized nodeclaim/{claim}, node/{node}");
        let reason = Reason::new(ReasonId::NodeUninitialized, message);
        unplaced(self.pod(pod).key(), vec![reason])
    }
}

#[cfg(test)]
mod state;
