//! How many pods of which sort are on which node.
//!
//! Spread and affinity between pods ask again and again for the same few sorts of pods. Each sort
//! that was ever asked for is counted per node from then on, so that a question costs a walk over
//! numbers instead of a walk over all pods.

use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use joiner_core::label::Labels;

use super::{
    pod::{Pod, PodTerm, Scope},
    state::{Node, NodeId, pods_of},
};

/// How many sorts are counted before all are forgotten and counted anew when asked for. Rollouts
/// make new ones all the time.
const SORTS_KEPT: usize = 2048;

/// The number of a sort of pods.
type SortId = usize;

/// The number of a value of a label; zero where a node does not have the label.
pub(super) type ValueId = usize;

/// Pods on a node: all, and those that are not being deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) all: u32,
    pub(super) staying: u32,
}

/// Pods that are in all of some scopes.
#[derive(Debug)]
struct Sort {
    scopes: Vec<Scope>,
    per_node: Vec<Count>,
}

/// A label of all nodes, as numbers.
#[derive(Debug, Default)]
pub(super) struct Column {
    values: BTreeMap<String, ValueId>,
    per_node: Vec<ValueId>,
}

impl Column {
    /// The number of a node's value, zero if it has none.
    pub(super) fn value(&self, node: NodeId) -> ValueId {
        self.per_node.get(node).copied().unwrap_or_default()
    }

    /// One more than the largest number of a value.
    pub(super) fn width(&self) -> usize {
        self.values.len() + 1
    }

    fn set(&mut self, node: NodeId, value: Option<&String>) {
        if self.per_node.len() <= node {
            self.per_node.resize(node + 1, 0);
        }
        let next = self.values.len() + 1;
        self.per_node[node] = value.map_or(0, |value| match self.values.get(value) {
            Some(id) => *id,
            None => {
                self.values.insert(value.clone(), next);
                next
            }
        });
    }
}

/// What pods on nodes hold against, or for, pods to come.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Held {
    /// They must not be in the same domain.
    Anti(PodTerm),
    /// They like to be, or with a weight below zero not to be, in the same domain.
    Likes(i64, PodTerm),
}

impl Held {
    fn term(&self) -> &PodTerm {
        match self {
            Self::Anti(term) | Self::Likes(_, term) => term,
        }
    }
}

/// All counts.
#[derive(Debug, Default)]
pub(super) struct Counts {
    namespaces: BTreeMap<String, Labels>,
    columns: BTreeMap<String, Column>,
    sorts: Vec<Sort>,
    numbers: BTreeMap<Vec<Scope>, SortId>,
    /// Sorts by a label that all their pods have.
    by_label: BTreeMap<String, BTreeMap<String, Vec<SortId>>>,
    /// Sorts that no label gives away.
    other: Vec<SortId>,
    held: BTreeMap<Held, Vec<u32>>,
}

impl Counts {
    /// Whether a pod is in a scope.
    pub(super) fn is_in(&self, scope: &Scope, pod: &Pod) -> bool {
        let namespace = &*pod.key.namespace;
        let by_label = || {
            let selector = scope.namespace_selector.as_ref()?;
            self.namespaces.get(namespace).map(|labels| selector.matches(labels))
        };
        (scope.namespaces.contains(namespace) || by_label() == Some(true))
            && scope.selector.matches(&pod.labels)
    }

    /// Takes note of a namespace, or that it is gone. Says whether anything changed.
    pub(super) fn put_namespace(&mut self, name: &str, labels: Option<&Labels>) -> bool {
        let before = match labels {
            Some(labels) => self.namespaces.insert(name.to_owned(), labels.clone()),
            None => self.namespaces.remove(name),
        };
        let by_label = |sort: &Sort| sort.scopes.iter().any(|s| s.namespace_selector.is_some());
        let changed = before.as_ref() != labels;
        if changed && self.sorts.iter().any(by_label) {
            self.forget_sorts();
        }
        changed
    }

    /// Takes note of the labels of a node.
    pub(super) fn set_labels(&mut self, node: NodeId, nodes: &[Node]) {
        for (key, column) in &mut self.columns {
            column.set(node, nodes[node].facts.labels.get(key));
            // Values of nodes that are gone pile up, host names above all.
            if column.values.len() > 2 * nodes.len() + 64 {
                *column = column_of(key, nodes);
            }
        }
    }

    /// Counts a pod that came to a node, or no longer counts it.
    pub(super) fn add(&mut self, pod: &Pod, node: NodeId, by: i32) {
        let mut sorts = self.other.clone();
        for (key, value) in &pod.labels {
            sorts.extend(self.by_label.get(key).and_then(|v| v.get(value)).into_iter().flatten());
        }
        for sort in sorts {
            if self.sorts[sort].scopes.iter().all(|scope| self.is_in(scope, pod)) {
                self.sorts[sort].count(node, pod, by);
            }
        }
        for held in held_by(pod) {
            let mut entry = match self.held.entry(held) {
                Entry::Occupied(entry) => entry,
                Entry::Vacant(entry) => entry.insert_entry(Vec::new()),
            };
            let per_node = entry.get_mut();
            if per_node.len() <= node {
                per_node.resize(node + 1, 0);
            }
            per_node[node] = per_node[node].saturating_add_signed(by);
            if per_node[node] == 0 && per_node.iter().all(|count| *count == 0) {
                entry.remove();
            }
        }
    }

    /// Keeps a label of all nodes as numbers from now on.
    pub(super) fn ensure_column(&mut self, key: &str, nodes: &[Node]) {
        if !self.columns.contains_key(key) {
            self.columns.insert(key.to_owned(), column_of(key, nodes));
        }
    }

    /// The column of a label that was asked for before.
    pub(super) fn column(&self, key: &str) -> &Column {
        self.columns.get(key).expect("a column is made before it is used")
    }

    /// Counts a sort of pods from now on.
    pub(super) fn ensure_sort(&mut self, scopes: &[Scope], nodes: &[Node]) {
        if self.numbers.contains_key(scopes) {
            return;
        }
        let mut sort = Sort { scopes: scopes.to_vec(), per_node: Vec::new() };
        for (node, pod) in pods_of(nodes) {
            if scopes.iter().all(|scope| self.is_in(scope, pod)) {
                sort.count(node, pod, 1);
            }
        }
        let id = self.sorts.len();
        match scopes.iter().find_map(|scope| scope.selector.exact()) {
            Some((key, value)) => {
                let values = self.by_label.entry(key.to_owned()).or_default();
                values.entry(value.to_owned()).or_default().push(id);
            }
            None => self.other.push(id),
        }
        self.sorts.push(sort);
        self.numbers.insert(scopes.to_vec(), id);
    }

    /// How many pods of a sort that is counted each node has. The list ends where only zeros would
    /// follow.
    pub(super) fn per_node(&self, scopes: &[Scope]) -> &[Count] {
        let sort = self.numbers.get(scopes).expect("a sort is counted before it is asked for");
        &self.sorts[*sort].per_node
    }

    /// What pods on nodes hold against or for this pod, and how many on which node do.
    pub(super) fn held_for(&self, pod: &Pod) -> Vec<(&Held, &[u32])> {
        let concerns = |held: &&Held| self.is_in(&held.term().scope, pod);
        let all = self.held.iter().filter(|(held, _)| concerns(held));
        all.map(|(held, per_node)| (held, per_node.as_slice())).collect()
    }

    /// The labels of nodes that pods on nodes hold something by.
    pub(super) fn held_keys(&self) -> Vec<String> {
        let keys: BTreeSet<_> = self.held.keys().map(Held::topology_key).collect();
        keys.into_iter().map(ToOwned::to_owned).collect()
    }

    /// Starts over where too much is counted.
    pub(super) fn trim(&mut self) {
        if self.sorts.len() >= SORTS_KEPT {
            self.forget_sorts();
        }
    }

    fn forget_sorts(&mut self) {
        self.sorts.clear();
        self.numbers.clear();
        self.by_label.clear();
        self.other.clear();
    }
}

impl Held {
    /// The label that says what a domain is.
    pub(super) fn topology_key(&self) -> &str {
        &self.term().topology_key
    }
}

impl Sort {
    fn count(&mut self, node: NodeId, pod: &Pod, by: i32) {
        if self.per_node.len() <= node {
            self.per_node.resize(node + 1, Count::default());
        }
        let count = &mut self.per_node[node];
        count.all = count.all.saturating_add_signed(by);
        if !pod.deleting {
            count.staying = count.staying.saturating_add_signed(by);
        }
    }
}

fn column_of(key: &str, nodes: &[Node]) -> Column {
    let mut column = Column::default();
    for (id, node) in nodes.iter().enumerate() {
        column.set(id, node.facts.labels.get(key));
    }
    column
}

/// What a pod holds against or for others. A required affinity is a liking of weight one.
fn held_by(pod: &Pod) -> impl Iterator<Item = Held> + '_ {
    let anti = pod.anti_affinity.iter().map(|term| Held::Anti(term.clone()));
    let likes = pod.preferred.iter().map(|(weight, term)| Held::Likes(*weight, term.clone()));
    anti.chain(likes).chain(pod.affinity.iter().map(|term| Held::Likes(1, term.clone())))
}
