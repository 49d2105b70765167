//! Spread over domains, and affinity between pods.

use joiner_core::taint::{Effect, first_untolerated};

use super::{
    counts::{Column, Held},
    pod::{Pod, Scope, Spread},
    refusal::Refusal,
    state::{Node, NodeId, State},
};

/// What spread and affinity say about one pod, worked out once for all nodes.
#[derive(Debug)]
pub(super) struct Topology<'s> {
    spread: Vec<SpreadRule<'s>>,
    affinity: Vec<Domains<'s>>,
    /// No pod meets the affinity yet but this one would: it may be the first.
    first: bool,
    anti: Vec<Domains<'s>>,
    held: Vec<Domains<'s>>,
}

/// A required spread, counted.
#[derive(Debug)]
struct SpreadRule<'s> {
    column: &'s Column,
    /// Pods by number of the domain.
    counts: Vec<i64>,
    least: i64,
    /// One if the pod itself counts.
    adds: i64,
    max_skew: i64,
}

/// Domains with pods of a sort.
#[derive(Debug)]
struct Domains<'s> {
    column: &'s Column,
    /// By number of the domain.
    has: Vec<bool>,
}

impl State {
    /// Makes sure that everything is counted that the placement of a pod asks for.
    pub(super) fn prepare(&mut self, pod: &Pod) {
        self.counts.trim();
        let own = pod.affinity.iter().chain(&pod.anti_affinity);
        let own = own.chain(pod.preferred.iter().map(|(_, term)| term));
        let keys = own.map(|term| &term.topology_key);
        for key in keys.chain(pod.spread.iter().map(|spread| &spread.topology_key)) {
            self.counts.ensure_column(key, &self.nodes);
        }
        for key in self.counts.held_keys() {
            self.counts.ensure_column(&key, &self.nodes);
        }
        if !pod.affinity.is_empty() {
            self.counts.ensure_sort(&together(pod), &self.nodes);
        }
        let single = pod.anti_affinity.iter().chain(pod.preferred.iter().map(|(_, term)| term));
        let scopes = single.map(|term| &term.scope);
        for scope in scopes.chain(pod.spread.iter().map(|spread| &spread.scope)) {
            self.counts.ensure_sort(std::slice::from_ref(scope), &self.nodes);
        }
    }
}

/// A pod must meet all terms of an affinity at once to count for any of them.
fn together(pod: &Pod) -> Vec<Scope> {
    pod.affinity.iter().map(|term| term.scope.clone()).collect()
}

impl<'s> Topology<'s> {
    /// What spread and affinity say about a pod for which everything is counted.
    pub(super) fn new(state: &'s State, pod: &Pod) -> Self {
        let counts = &state.counts;
        let hard: Vec<_> = pod.spread.iter().filter(|spread| spread.hard).collect();
        let spread = hard.iter().map(|spread| SpreadRule::new(state, pod, spread, &hard));
        let affinity: Vec<_> = if pod.affinity.is_empty() {
            Vec::new()
        } else {
            let sort = together(pod);
            let keys = pod.affinity.iter().map(|term| term.topology_key.as_str());
            keys.map(|key| Domains::with_sort(state, key, &sort)).collect()
        };
        let nobody = affinity.iter().all(|domains| !domains.has.contains(&true));
        let first = nobody && pod.affinity.iter().all(|term| counts.is_in(&term.scope, pod));
        let anti = pod.anti_affinity.iter().map(|term| {
            Domains::with_sort(state, &term.topology_key, std::slice::from_ref(&term.scope))
        });
        let held = counts.held_for(pod).into_iter().filter_map(|(held, per_node)| match held {
            Held::Anti(term) => {
                let nodes = per_node.iter().map(|count| *count > 0);
                Some(Domains::with(counts.column(&term.topology_key), nodes))
            }
            Held::Likes(..) => None,
        });
        Self {
            spread: spread.collect(),
            affinity,
            first,
            anti: anti.collect(),
            held: held.collect(),
        }
    }

    /// Why a node is not for the pod.
    pub(super) fn refusal(&self, node: NodeId) -> Option<Refusal> {
        if let Some(refusal) = self.spread.iter().find_map(|rule| rule.refusal(node)) {
            return Some(refusal);
        }
        let labelled = |domains: &Domains<'_>| domains.column.value(node) != 0;
        let met = self.affinity.iter().all(|domains| domains.has(node))
            || (self.first && self.affinity.iter().all(labelled));
        if !met {
            return Some(Refusal::Affinity);
        }
        if self.anti.iter().any(|domains| domains.has(node)) {
            return Some(Refusal::AntiAffinity);
        }
        if self.held.iter().any(|domains| domains.has(node)) {
            return Some(Refusal::ExistingAntiAffinity);
        }
        None
    }
}

impl<'s> Domains<'s> {
    fn with(column: &'s Column, nodes: impl Iterator<Item = bool>) -> Self {
        let mut has = vec![false; column.width()];
        for (node, _) in nodes.enumerate().filter(|(_, has)| *has) {
            has[column.value(node)] = true;
        }
        // Nodes without the label are in no domain.
        has[0] = false;
        Self { column, has }
    }

    fn with_sort(state: &'s State, key: &str, sort: &[Scope]) -> Self {
        let nodes = state.counts.per_node(sort).iter().map(|count| count.all > 0);
        Self::with(state.counts.column(key), nodes)
    }

    fn has(&self, node: NodeId) -> bool {
        self.has[self.column.value(node)]
    }
}

impl<'s> SpreadRule<'s> {
    fn new(state: &'s State, pod: &Pod, spread: &Spread, hard: &[&Spread]) -> Self {
        let column = state.counts.column(&spread.topology_key);
        let columns: Vec<_> =
            hard.iter().map(|spread| state.counts.column(&spread.topology_key)).collect();
        let per_node = state.counts.per_node(std::slice::from_ref(&spread.scope));
        let mut counts = vec![0; column.width()];
        let mut domains = vec![false; column.width()];
        for id in state.present() {
            let labelled = columns.iter().all(|column| column.value(id) != 0);
            if labelled && spread.counts_node(pod, &state.nodes[id]) {
                domains[column.value(id)] = true;
                let staying = per_node.get(id).map_or(0, |count| count.staying);
                counts[column.value(id)] += i64::from(staying);
            }
        }
        let numbers = domains.iter().zip(&counts).filter(|(is, _)| **is).map(|(_, count)| *count);
        let enough = numbers.clone().count() >= spread.min_domains.max(1);
        let least = if enough { numbers.min().unwrap_or_default() } else { 0 };
        let adds = i64::from(state.counts.is_in(&spread.scope, pod));
        Self { column, counts, least, adds, max_skew: spread.max_skew }
    }

    fn refusal(&self, node: NodeId) -> Option<Refusal> {
        let domain = self.column.value(node);
        if domain == 0 {
            return Some(Refusal::SpreadWithoutLabel);
        }
        let skew = self.counts[domain] + self.adds - self.least;
        (skew > self.max_skew).then_some(Refusal::Spread)
    }
}

impl Spread {
    /// Whether a node counts as part of a domain.
    pub(super) fn counts_node(&self, pod: &Pod, node: &Node) -> bool {
        let facts = &node.facts;
        (self.ignores_affinity || pod.nodes.allows(&node.name, &facts.labels))
            && (!self.honors_taints || tolerates(pod, node))
    }
}

/// Whether no taint of a node keeps a pod away.
pub(super) fn tolerates(pod: &Pod, node: &Node) -> bool {
    let keeps_away = |effect: &Effect| matches!(effect, Effect::NoSchedule | Effect::NoExecute);
    node.facts
        .taints
        .iter()
        .filter(|taint| keeps_away(&taint.effect))
        .all(|taint| first_untolerated(std::slice::from_ref(taint), &pod.tolerations).is_none())
}
