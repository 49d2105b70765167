//! What would become of pods if instances went, tried on a pass that is prepared once.
//!
//! A trial begins, instances are removed, pods are placed as ever, and then it is either kept or taken back. It may have
//! steps, of which the last one can be taken back while what came before goes on. Taking back costs as much as has
//! changed, not as much as there is: the parts that change write down how ([`super::journal`]), and the rest of it is
//! here.
//!
//! What is remembered about pods, labels, types and nodes stays remembered from trial to trial where it is about what no
//! trial has changed: room on a node that received nothing only shrinks when a trial is kept, and a sort of node suits a
//! pod or does not.

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
    /// Whether pods of instances leave alone the nodes that should be left alone.
    pub(crate) respect_quiet: bool,
    /// With more new claims than this the trial ends.
    pub(crate) claims_max: Option<usize>,
    pub(crate) min_values: MinValuesPolicy,
    /// Whether the scheduler has its way: it puts each pod on the node that appeals to it most.
    pub(crate) scheduled: bool,
    /// Whether pods go to nodes that are ready and nowhere else; the first one that finds none is the end.
    pub(crate) ready_nodes_only: bool,
}

/// What is being tried, and what has to be taken back besides what the parts know of themselves.
#[derive(Debug, Clone, Default)]
pub(super) struct Trial {
    on: bool,
    rules: Rules,
    /// Nodes that a form of a class was found not to fit after they had received pods.
    dead_nodes: Vec<(usize, usize, usize)>,
    /// Forms of classes that claims have refused.
    dead_claims: Vec<(usize, usize)>,
    /// Classes that were refused.
    refused: Vec<usize>,
    /// What was left of limits before each change.
    limits: Vec<(usize, Remaining)>,
    /// How many pods were placed at the beginning.
    placed: u64,
    /// How far it had come before the last step.
    before_step: Before,
}

/// How much of a trial came before its last step.
#[derive(Debug, Clone, Copy, Default)]
struct Before {
    dead_nodes: usize,
    limits: usize,
    placed: u64,
}

/// Where the pods of a trial are.
#[derive(Debug, Default)]
pub(crate) struct Placements {
    pub(crate) claims: Vec<PlannedClaim>,
    pub(crate) existing: Vec<ExistingPlacement>,
    /// Pods whose place is not good enough.
    pub(crate) unplaced: Vec<Unplaced>,
}

impl Trial {
    pub(super) fn respects_quiet(&self) -> bool {
        self.rules.respect_quiet
    }

    /// Whether the scheduler has its way.
    pub(super) fn is_scheduled(&self) -> bool {
        self.rules.scheduled
    }

    /// Whether pods go to nodes that are ready and nowhere else.
    pub(super) fn knows_ready_nodes_only(&self) -> bool {
        self.rules.ready_nodes_only
    }

    /// Whether there are more new claims than anybody wants to know of.
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

    /// Notes what is left of a template's limits, which are about to change.
    pub(super) fn note_limits(&mut self, template: usize, remaining: &[Remaining]) {
        if self.on {
            self.limits.push((template, remaining[template].clone()));
        }
    }
}

impl Solver<'_> {
    /// From now on what changes can be taken back.
    pub(crate) fn begin(&mut self, rules: Rules) {
        self.settings.min_values = rules.min_values;
        self.trial.on = true;
        self.trial.rules = rules;
        self.trial.placed = self.placed;
        self.nodes.begin();
        self.topology.begin();
        self.reservations.begin();
    }

    /// What is tried from now on can be taken back by itself. Only for trials that open no claims.
    pub(crate) fn step(&mut self) {
        self.nodes.step();
        self.topology.step();
        let Trial { dead_nodes, limits, .. } = &self.trial;
        self.trial.before_step =
            Before { dead_nodes: dead_nodes.len(), limits: limits.len(), placed: self.placed };
    }

    /// What was tried in the last step has not happened; what was tried before may still happen.
    pub(crate) fn take_back_step(&mut self) {
        let before = self.trial.before_step;
        self.nodes.take_back(Extent::Step);
        self.topology.take_back(Extent::Step, &self.labels);
        self.revive_nodes(before.dead_nodes);
        self.give_back_limits(before.limits);
        self.placed = before.placed;
        self.forget_refusals();
    }

    /// What was tried has happened. The claims it has opened are on their way; pods of other instances do not count on
    /// them.
    pub(crate) fn keep(&mut self) {
        self.nodes.keep();
        self.topology.keep();
        self.reservations.keep();
        self.claims.settle();
        self.trial.dead_nodes.clear();
        self.trial.limits.clear();
        self.end();
    }

    /// What was tried has not happened.
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

    /// Forgets which nodes do not fit, but for the first `left` that were found not to.
    fn revive_nodes(&mut self, left: usize) {
        for (class, form, position) in self.trial.dead_nodes.drain(left..) {
            if let Some(form) = self.classes.all[class].known_form_mut(form) {
                form.dead_nodes.remove(position);
                form.first_node_word = form.first_node_word.min(position / 64);
            }
        }
    }

    /// Takes back what has changed about limits, but for the first `left` changes.
    fn give_back_limits(&mut self, left: usize) {
        for (template, before) in self.trial.limits.drain(left..).rev() {
            self.remaining[template] = before;
        }
    }

    /// Forgets what was true of claims that take no more pods or are no more, and of refusals: the next trial removes
    /// other instances.
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

    /// Takes an instance away, with every pod that stays on it. Answers with the pods that the pass itself had put there:
    /// they need another place. Nothing, if the instance is not there or takes no pods anyway.
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

    /// Chooses the instances that pods of other instances should leave alone.
    pub(crate) fn leave_alone(&mut self, instances: impl Iterator<Item = usize>) {
        let positions = instances.filter_map(|instance| self.nodes.seen_at(instance).position);
        let quiet: Bits = positions.collect();
        self.nodes.quiet = quiet;
    }

    /// The pods that the pass has put on an instance.
    pub(crate) fn put_on(&self, instance: usize) -> &[u32] {
        let position = self.nodes.seen_at(instance).position;
        position.map_or(&[], |position| self.nodes.candidate(position).pods.as_slice())
    }

    /// Where the pods of the trial are now.
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

    /// Whether a pod is to be placed whatever happens, rather than only if its instance goes.
    pub(crate) fn is_own(&self, pod: u32) -> bool {
        (pod as usize) < self.pods.own.len()
    }

    /// Nobody is moved to an instance that may never come.
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
