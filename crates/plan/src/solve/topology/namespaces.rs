//! The namespaces that a term selects, and whether it can select any pod at all.

use std::collections::BTreeSet;

use joiner_core::{
    pod::{AffinityTerm, Pod},
    selector::LabelSelector,
    snapshot::Snapshot,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::work::Meter;

/// A set of namespaces, by number. Equal sets have equal numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct NamespaceSet(u32);

/// The sets of namespaces of all terms. Each selector is evaluated once for all namespaces.
#[derive(Debug, Clone, Default)]
pub(super) struct NamespaceSets {
    sets: Vec<BTreeSet<String>>,
    lookup: FxHashMap<BTreeSet<String>, NamespaceSet>,
    own: FxHashMap<String, NamespaceSet>,
    /// By selector, and by the namespaces that are listed in addition.
    selected: FxHashMap<LabelSelector, FxHashMap<BTreeSet<String>, NamespaceSet>>,
    /// Counts namespaces that were compared with a selector.
    pub(super) work: Meter,
}

impl NamespaceSets {
    /// The set of a single namespace.
    pub(super) fn own(&mut self, namespace: &str) -> NamespaceSet {
        if let Some(known) = self.own.get(namespace) {
            return *known;
        }
        let set = self.intern(BTreeSet::from([namespace.to_owned()]));
        self.own.insert(namespace.to_owned(), set);
        set
    }

    /// The namespaces of a term of a pod in namespace `own`.
    pub(super) fn of_term(
        &mut self,
        term: &AffinityTerm,
        own: &str,
        snapshot: &Snapshot,
    ) -> NamespaceSet {
        let Some(selector) = &term.namespace_selector else {
            return if term.namespaces.is_empty() {
                self.own(own)
            } else {
                self.intern(term.namespaces.clone())
            };
        };
        let known = self.selected.get(selector).and_then(|sets| sets.get(&term.namespaces));
        if let Some(known) = known {
            return *known;
        }
        self.work.count(snapshot.namespaces.len());
        let covered = snapshot.namespaces.iter().filter(|(_, labels)| selector.matches(labels));
        let all = covered.map(|(name, _)| name).chain(&term.namespaces).cloned().collect();
        let set = self.intern(all);
        let sets = self.selected.entry(selector.clone()).or_default();
        sets.insert(term.namespaces.clone(), set);
        set
    }

    pub(super) fn contains(&self, set: NamespaceSet, namespace: &str) -> bool {
        self.sets[set.0 as usize].contains(namespace)
    }

    fn intern(&mut self, set: BTreeSet<String>) -> NamespaceSet {
        if let Some(known) = self.lookup.get(&set) {
            return *known;
        }
        let id = NamespaceSet(self.sets.len() as u32);
        self.sets.push(set.clone());
        self.lookup.insert(set, id);
        id
    }
}

/// Pods that terms may select, by namespace and by label.
#[derive(Debug, Default)]
pub(super) struct Selectable<'p> {
    all: Vec<&'p Pod>,
    by_namespace: FxHashMap<&'p str, Vec<&'p Pod>>,
    labels: FxHashSet<(&'p str, &'p str)>,
}

impl<'p> Selectable<'p> {
    pub(super) fn new(pods: impl Iterator<Item = &'p Pod>) -> Self {
        let mut selectable = Self { all: pods.collect(), ..Self::default() };
        for pod in &selectable.all {
            selectable.by_namespace.entry(&pod.namespace).or_default().push(pod);
            let labels = pod.labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
            selectable.labels.extend(labels);
        }
        selectable
    }

    /// Whether a term of a pod in namespace `own` selects any of them.
    pub(super) fn any(&self, term: &AffinityTerm, own: &str, snapshot: &Snapshot) -> bool {
        let Some(selector) = &term.selector else { return false };
        if selector.exact().is_some_and(|label| !self.labels.contains(&label)) {
            return false;
        }
        let in_own = term.namespaces.is_empty() && term.namespace_selector.is_none();
        let pods = if in_own { self.by_namespace.get(own) } else { Some(&self.all) };
        pods.into_iter().flatten().any(|pod| {
            let labels = snapshot.namespaces.get(&*pod.namespace);
            selector.matches(&pod.labels) && term.covers_namespace(own, &pod.namespace, labels)
        })
    }
}
