//! Who is where, as far as spread and affinity ask.
//!
//! A group is one question about domains: how are the pods that a selector selects spread over the values of a label?
//! Pods with the same constraint share one group. Counts are arrays over the label's values; for the host name, whose
//! values are the instances themselves, over nodes and claims.

mod filters;
mod group;
mod hosts;
mod namespaces;

use std::rc::Rc;

use joiner_core::{
    label::Labels,
    pod::{AffinityTerm, InclusionPolicy, Pod, PodSpec, Role, SpreadConstraint},
    selector::LabelSelector,
    snapshot::Snapshot,
    taint::{Taint, first_untolerated},
};
use rustc_hash::FxHashMap;

pub(crate) use self::{
    filters::Filters,
    group::{Instance, Kind, Standing, Way},
};
use self::{
    filters::{Filter, FilterId},
    group::{Definition, Group},
    namespaces::{NamespaceSets, Selectable},
};
use super::{
    bits::Bits,
    journal::{Extent, Journal},
    labels::{Key, LabelSpace, ReqId},
    nodes::{Nodes, Seen, Site},
    template::Template,
};
use crate::work::Meter;

/// A group, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct GroupId(u32);

/// Something that has changed about a group.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// A pod in one of its domains.
    Domain(GroupId, usize, Way),
    /// A pod on an instance, if it is one that takes pods.
    Host(GroupId, Option<Instance>, Way),
    /// The last node of a site has gone from one of its domains.
    Unanchored(GroupId, usize),
}

/// A group as one pod meets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) group: GroupId,
    /// Whether the pod itself is counted.
    pub(crate) selects_self: bool,
}

/// Groups by the specification and namespace of the pods that declare them.
type Declared = FxHashMap<(*const PodSpec, *const str), Vec<GroupId>>;

/// Pods that share their specification and namespace declare the same groups.
fn identity(pod: &Pod) -> (*const PodSpec, *const str) {
    (&raw const *pod.spec, &raw const *pod.namespace)
}

fn size(selector: Option<&LabelSelector>) -> usize {
    selector.map_or(0, |selector| selector.keys().count())
}

/// All groups of a pass.
#[derive(Debug, Clone, Default)]
pub(crate) struct Topology {
    pub(super) groups: Vec<Group>,
    lookup: FxHashMap<Rc<Definition>, GroupId>,
    filters: Vec<Rc<Filter>>,
    filter_lookup: FxHashMap<Rc<Filter>, FilterId>,
    namespaces: NamespaceSets,
    /// Groups by a label that every pod they select has.
    by_label: FxHashMap<String, FxHashMap<String, Vec<GroupId>>>,
    /// Groups that are not in `by_label`.
    elsewhere: Vec<GroupId>,
    filter_verdicts: FxHashMap<(FilterId, ReqId, usize), bool>,
    /// The groups in which bound pods keep others away.
    declared: Declared,
    /// The groups that count the pods which stay on nodes: once per pod, node after node.
    bound: Vec<GroupId>,
    /// Where the groups of each node end in `bound`.
    bound_ends: Vec<usize>,
    /// The groups that look on which instance their pods are fewest.
    counted: Vec<GroupId>,
    work: Meter,
    journal: Journal<Change>,
}

impl Topology {
    pub(crate) fn group(&self, id: GroupId) -> &Group {
        &self.groups[id.0 as usize]
    }

    /// How much has been looked at so far, in entries of lists.
    pub(crate) fn work(&self) -> u64 {
        self.work.units() + self.namespaces.work.units()
    }

    /// The group of a spread constraint.
    ///
    /// COMPAT: upstream takes two constraints for the same that differ only in `minDomains` or in the values of the
    /// owner's node affinity (D1), and starts a new count when an alternative of the affinity is dropped. Here all
    /// alternatives of the pod's own specification count, always.
    pub(crate) fn spread(
        &mut self,
        constraint: &SpreadConstraint,
        pod: &Pod,
        filters: &mut Filters<'_>,
        labels: &mut LabelSpace,
    ) -> GroupId {
        let honors = [constraint.node_affinity_policy, constraint.node_taints_policy]
            .map(|policy| policy == InclusionPolicy::Honor);
        let filter = filters.filter(honors, self, labels);
        self.work.count(1 + constraint.match_label_keys.len() + size(constraint.selector.as_ref()));
        let definition = Definition {
            kind: Kind::Spread {
                max_skew: i64::from(constraint.max_skew),
                min_domains: constraint.min_domains.and_then(|n| usize::try_from(n).ok()),
            },
            key: labels.key(&constraint.topology_key),
            namespaces: self.namespaces.own(&pod.namespace),
            selector: constraint.effective_selector(&pod.labels),
            filter,
        };
        self.intern(definition)
    }

    /// The group of an affinity term.
    pub(crate) fn affinity(
        &mut self,
        kind: Kind,
        term: &AffinityTerm,
        namespace: &str,
        snapshot: &Snapshot,
        labels: &mut LabelSpace,
    ) -> GroupId {
        self.work.count(1 + term.namespaces.len() + size(term.selector.as_ref()));
        let definition = Definition {
            kind,
            key: labels.key(&term.topology_key),
            namespaces: self.namespaces.of_term(term, namespace, snapshot),
            selector: term.selector.clone(),
            filter: FilterId::OPEN,
        };
        self.intern(definition)
    }

    fn intern(&mut self, definition: Definition) -> GroupId {
        if let Some(id) = self.lookup.get(&definition) {
            return *id;
        }
        let id = GroupId(self.groups.len() as u32);
        match definition.selector.as_ref().and_then(LabelSelector::exact) {
            Some((key, value)) => {
                let by_value = self.by_label.entry(key.to_owned()).or_default();
                by_value.entry(value.to_owned()).or_default().push(id);
            }
            // Without a selector nothing is ever selected.
            None if definition.selector.is_some() => self.elsewhere.push(id),
            None => {}
        }
        let filter = self.filter(definition.filter);
        let definition = Rc::new(definition);
        self.groups.push(Group::new(Rc::clone(&definition), filter));
        self.lookup.insert(definition, id);
        id
    }

    fn filter(&mut self, id: FilterId) -> Rc<Filter> {
        if self.filters.is_empty() {
            self.intern_filter(Filter::default());
        }
        Rc::clone(&self.filters[id.0 as usize])
    }

    fn intern_filter(&mut self, filter: Filter) -> FilterId {
        if self.filters.is_empty() && !filter.is_open() {
            self.intern_filter(Filter::default());
        }
        if let Some(id) = self.filter_lookup.get(&filter) {
            return *id;
        }
        let id = FilterId(self.filters.len() as u32);
        let filter = Rc::new(filter);
        self.filters.push(Rc::clone(&filter));
        self.filter_lookup.insert(filter, id);
        id
    }

    /// The groups whose selector selects a pod, in order.
    pub(crate) fn selecting(&self, namespace: &str, pod_labels: &Labels) -> Vec<GroupId> {
        let hooked = pod_labels
            .iter()
            .filter_map(|(key, value)| self.by_label.get(key)?.get(value))
            .flatten();
        self.work.count(pod_labels.len());
        let mut selecting: Vec<GroupId> = hooked
            .chain(&self.elsewhere)
            .copied()
            .filter(|id| {
                self.work.count(1);
                let definition = &self.group(*id).definition;
                self.namespaces.contains(definition.namespaces, namespace)
                    && definition
                        .selector
                        .as_ref()
                        .is_some_and(|selector| selector.matches(pod_labels))
            })
            .collect();
        selecting.sort_unstable();
        selecting
    }

    /// Makes the groups in which bound pods keep some of `pods` away. Has to come before nodes are looked at: of their
    /// labels only those are seen that something asks for.
    pub(crate) fn declare_bound<'p>(
        &mut self,
        snapshot: &Snapshot,
        pods: impl Iterator<Item = &'p Pod>,
        labels: &mut LabelSpace,
    ) {
        let selectable = Selectable::new(pods);
        for pod in snapshot.nodes.iter().flat_map(|node| &node.pods) {
            if !pod.spec.anti_affinity.is_empty() && !self.declared.contains_key(&identity(pod)) {
                let terms = pod.spec.anti_affinity.iter();
                let declared = terms
                    .filter(|term| selectable.any(term, &pod.namespace, snapshot))
                    .map(|term| {
                        self.affinity(Kind::KeptAway, term, &pod.namespace, snapshot, labels)
                    })
                    .collect();
                self.declared.insert(identity(pod), declared);
            }
        }
    }

    /// Makes the domains of pools and nodes known to every group, and counts the pods that stay where they are.
    pub(crate) fn observe(
        &mut self,
        snapshot: &Snapshot,
        templates: &[Template<'_>],
        nodes: &Nodes<'_>,
        labels: &LabelSpace,
    ) {
        self.register_domains(templates, nodes, labels);
        self.count_bound_pods(snapshot, nodes, labels);
    }

    /// The groups in which a pod keeps others away.
    pub(crate) fn declared(
        &mut self,
        pod: &Pod,
        snapshot: &Snapshot,
        labels: &mut LabelSpace,
    ) -> Vec<GroupId> {
        let terms = pod.spec.anti_affinity.iter();
        terms
            .map(|term| self.affinity(Kind::KeptAway, term, &pod.namespace, snapshot, labels))
            .collect()
    }

    fn register_domains(
        &mut self,
        templates: &[Template<'_>],
        nodes: &Nodes<'_>,
        labels: &LabelSpace,
    ) {
        let mut universe: FxHashMap<(Key, usize), Bits> = FxHashMap::default();
        // Groups with one key and one filter have the same domains.
        let mut alike: FxHashMap<(Key, FilterId), usize> = FxHashMap::default();
        for at in 0..self.groups.len() {
            self.work.count(1);
            let definition = &self.groups[at].definition;
            let key = definition.key;
            if key == Key::HOSTNAME {
                continue;
            }
            let first = *alike.entry((key, definition.filter)).or_insert(at);
            if first != at {
                let domains = self.groups[first].domains();
                self.work.count(domains.1.len());
                self.groups[at].set_domains(domains);
                continue;
            }
            let group = &mut self.groups[at];
            for (at, template) in templates.iter().enumerate() {
                let tolerated = group.filter.tolerations.as_ref().is_none_or(|tolerations| {
                    first_untolerated(&template.pool.taints, tolerations).is_none()
                });
                if tolerated {
                    let domains =
                        universe.entry((key, at)).or_insert_with(|| template.domains(key, labels));
                    domains.iter().for_each(|domain| group.anchor(domain));
                }
            }
            for site in nodes.sites() {
                self.work.count(1);
                if let Some(domain) = group.domain_of(site, labels) {
                    group.anchor(domain);
                }
            }
            group.by_name = group.registered.iter().collect();
            group
                .by_name
                .sort_by(|a, b| labels.value_name(key, *a).cmp(labels.value_name(key, *b)));
        }
    }

    fn count_bound_pods(&mut self, snapshot: &Snapshot, nodes: &Nodes<'_>, labels: &LabelSpace) {
        let mut selecting: FxHashMap<(*const str, *const Labels), Vec<GroupId>> =
            FxHashMap::default();
        for (node, seen) in snapshot.nodes.iter().zip(nodes.seen()) {
            let mut counts: FxHashMap<FilterId, bool> = FxHashMap::default();
            for pod in &node.pods {
                let known = self.bound.len();
                self.bound.extend(self.declared.get(&identity(pod)).into_iter().flatten());
                if !matches!(pod.role, Role::Bound { terminating: false, .. })
                    || node.node.is_none()
                {
                    continue;
                }
                let groups = selecting
                    .entry((&raw const *pod.namespace, &raw const *pod.labels))
                    .or_insert_with(|| self.selecting(&pod.namespace, &pod.labels));
                let groups = groups.iter().copied().filter(|id| {
                    let Group { definition, filter, .. } = &self.groups[id.0 as usize];
                    definition.kind != Kind::KeptAway
                        && *counts.entry(definition.filter).or_insert_with(|| {
                            filter.accepts(seen.requirements, &node.object_taints, labels)
                        })
                });
                self.bound.extend(groups);
                self.work.count(self.bound.len() - known);
            }
            self.bound_ends.push(self.bound.len());
            self.shift_bound(self.bound_ends.len() - 1, seen, Way::In, labels);
        }
    }

    /// Counts the pods that stay on a node, or counts them no more. `node` is its position in the snapshot.
    pub(crate) fn shift_bound(&mut self, node: usize, seen: Seen, way: Way, labels: &LabelSpace) {
        let start = node.checked_sub(1).map_or(0, |before| self.bound_ends[before]);
        let instance = seen.position.map(Instance::Node);
        for at in start..self.bound_ends[node] {
            self.shift(self.bound[at], instance, seen.requirements, way, labels);
        }
    }

    /// Whether pods that are spread over hosts are bound, so that it matters where they are fewest.
    pub(crate) fn can_count_hosts(&self) -> bool {
        self.groups.iter().any(|group| group.lowest_bound() > 0)
    }

    /// From now on groups that spread over hosts look where their pods are fewest, as the scheduler does: hosts that have
    /// one each may have a second. That goes as far as the pods that are bound, and no further, so that a group without
    /// bound pods gets a host for each. Only before the first pod is placed, and what is opened then cannot be taken back.
    pub(crate) fn count_hosts(&mut self, nodes: &Nodes<'_>, labels: &LabelSpace) {
        for (id, group) in self.groups.iter_mut().enumerate() {
            let most = group.lowest_bound();
            if most > 0 && group.count_lowest_host(most, nodes, labels) {
                self.counted.push(GroupId(id as u32));
            }
        }
    }

    /// A claim is opened that has no pods yet: for the time being there is no host with fewer.
    pub(crate) fn open_host(
        &mut self,
        claim: usize,
        requirements: ReqId,
        taints: &[Taint],
        labels: &LabelSpace,
    ) {
        for id in &self.counted {
            self.groups[id.0 as usize].open_host(claim, requirements, taints, labels);
        }
    }

    /// From now on pods that come change nothing about where pods are fewest.
    pub(crate) fn finish_lowest_hosts(&mut self) {
        for id in &self.counted {
            self.groups[id.0 as usize].finish_lowest_host();
        }
    }

    /// Instances that have more pods of a group than its skew allows, for the groups that look where they are fewest.
    pub(crate) fn too_crowded_hosts(&self) -> impl Iterator<Item = (GroupId, Instance)> + '_ {
        let crowded = |id: GroupId| self.group(id).too_crowded_hosts().map(move |on| (id, on));
        self.counted.iter().copied().flat_map(crowded)
    }

    /// Forgets that a site has nodes: domains that only they were in are gone.
    pub(crate) fn abandon(&mut self, site: &Site<'_>, labels: &LabelSpace) {
        let Self { groups, journal, .. } = self;
        for (id, group) in groups.iter_mut().enumerate() {
            if group.definition.key != Key::HOSTNAME
                && let Some(domain) = group.domain_of(site, labels)
            {
                group.anchors[domain] -= 1;
                group.drop_unless_used(domain);
                journal.note(|| Change::Unanchored(GroupId(id as u32), domain));
            }
        }
    }

    /// From now on what changes can be taken back.
    pub(crate) fn begin(&mut self) {
        self.journal.begin();
    }

    /// What has changed stays so.
    pub(crate) fn keep(&mut self) {
        self.journal.keep();
    }

    /// What changes from now on can be taken back by itself.
    pub(crate) fn step(&mut self) {
        self.journal.step();
    }

    /// Everything is as it was at the beginning, or before the last step.
    pub(crate) fn take_back(&mut self, extent: Extent, labels: &LabelSpace) {
        while let Some(change) = self.journal.take_back(extent) {
            match change {
                Change::Domain(id, domain, way) => {
                    self.group_mut(id).shift_domain(domain, way.back(), labels);
                }
                Change::Host(id, instance, way) => {
                    self.group_mut(id).shift_host(instance, way.back());
                }
                Change::Unanchored(id, domain) => {
                    let group = self.group_mut(id);
                    group.anchors[domain] += 1;
                    group.register(domain, labels);
                }
            }
        }
    }

    fn group_mut(&mut self, id: GroupId) -> &mut Group {
        &mut self.groups[id.0 as usize]
    }

    /// Whether an instance counts for a group.
    fn counts(
        &mut self,
        id: GroupId,
        requirements: ReqId,
        taints: (usize, &[Taint]),
        labels: &LabelSpace,
    ) -> bool {
        let Group { definition, filter, .. } = &self.groups[id.0 as usize];
        if filter.is_open() {
            return true;
        }
        let slot = (definition.filter, requirements, taints.0);
        if let Some(known) = self.filter_verdicts.get(&slot) {
            return *known;
        }
        let verdict = filter.accepts(requirements, taints.1, labels);
        self.filter_verdicts.insert(slot, verdict);
        verdict
    }

    /// Takes note of a pod that comes to an instance which has these requirements now that the pod is there, or leaves it.
    ///
    /// `selecting` are the groups that select the pod, `declared` those in which it keeps others away. `taints` are the
    /// instance's, with a number that stands for them.
    pub(crate) fn record(
        &mut self,
        (selecting, declared): (&[GroupId], &[GroupId]),
        way: Way,
        instance: Instance,
        requirements: ReqId,
        taints: (usize, &[Taint]),
        labels: &LabelSpace,
    ) {
        self.work.count(selecting.len() + declared.len());
        for id in selecting {
            if self.group(*id).definition.kind != Kind::KeptAway
                && self.counts(*id, requirements, taints, labels)
            {
                self.shift(*id, Some(instance), requirements, way, labels);
            }
        }
        for id in declared {
            self.shift(*id, Some(instance), requirements, way, labels);
        }
    }

    /// Counts a pod in a group, or counts it no more. An instance that takes no pods is none, but its pods are somewhere.
    fn shift(
        &mut self,
        id: GroupId,
        instance: Option<Instance>,
        requirements: ReqId,
        way: Way,
        labels: &LabelSpace,
    ) {
        let Self { groups, journal, .. } = self;
        let group = &mut groups[id.0 as usize];
        if group.definition.key == Key::HOSTNAME {
            group.shift_host(instance, way);
            journal.note(|| Change::Host(id, instance, way));
            return;
        }
        let Some(req) = labels.get(requirements, group.definition.key) else { return };
        let kind = group.definition.kind;
        let shift = |domain| {
            group.shift_domain(domain, way, labels);
            journal.note(|| Change::Domain(id, domain, way));
        };
        match kind {
            // The pod may come to be in any of them.
            Kind::AntiAffinity | Kind::KeptAway => {
                req.listed().into_iter().flat_map(Bits::iter).for_each(shift);
            }
            Kind::Spread { .. } | Kind::Affinity => req.single().into_iter().for_each(shift),
        }
    }
}
