//! Counts of pods for spread and affinity.
//!
//! A group counts the pods that a selector selects, for each domain of a label. Pods with the same constraint share
//! one group. Counts are arrays over the label's values. The values of the host name are the instances themselves,
//! so its counts are arrays over nodes and claims.

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

/// A change of a group.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// A pod in one of its domains.
    Domain(GroupId, usize, Way),
    /// A pod on an instance; `None` for an instance that takes no pods.
    Host(GroupId, Option<Instance>, Way),
    /// The last node of a site was removed from one of its domains.
    Unanchored(GroupId, usize),
}

/// The use of a group by one pod.
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
    /// The groups of bound pods' anti-affinity.
    declared: Declared,
    /// The groups that count the pods which stay on nodes: once per pod, node after node.
    bound: Vec<GroupId>,
    /// The end of each node's groups in `bound`.
    bound_ends: Vec<usize>,
    /// The groups that compare hosts with the one that has fewest pods.
    counted: Vec<GroupId>,
    work: Meter,
    journal: Journal<Change>,
}

impl Topology {
    pub(crate) fn group(&self, id: GroupId) -> &Group {
        &self.groups[id.0 as usize]
    }

    /// The work done so far, in comparisons of list entries.
    pub(crate) fn work(&self) -> u64 {
        self.work.units() + self.namespaces.work.units()
    }

    /// The group of a spread constraint.
    ///
    /// COMPAT: upstream treats two constraints as equal if they differ only in `minDomains` or in the pod's node
    /// affinity (D1). It also counts anew when an alternative of the affinity is dropped. Here all alternatives of
    /// the pod's specification always count.
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
                min_domains: constraint
                    .min_domains
                    .and_then(|domains| usize::try_from(domains).ok()),
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
            // Without a selector no pod is ever selected.
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

    /// Creates the groups of bound pods' anti-affinity against some of `pods`. This must happen before nodes are
    /// read, because only labels that a group or pod names are read.
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

    /// Registers the domains of pools and nodes with every group, and counts the pods that stay.
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

    /// The groups of a pod's anti-affinity.
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
        // Groups with equal key and filter have the same domains.
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
            group.by_name.sort_by(|left, right| {
                labels.value_name(key, *left).cmp(labels.value_name(key, *right))
            });
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

    /// Adds or removes the counts of the pods that stay on a node. `node` is its position in the snapshot.
    pub(crate) fn shift_bound(&mut self, node: usize, seen: Seen, way: Way, labels: &LabelSpace) {
        let start = node.checked_sub(1).map_or(0, |before| self.bound_ends[before]);
        let instance = seen.position.map(Instance::Node);
        for at in start..self.bound_ends[node] {
            self.shift(self.bound[at], instance, seen.requirements, way, labels);
        }
    }

    /// Whether pods that are spread over hosts are bound, so that the lowest count matters.
    pub(crate) fn can_count_hosts(&self) -> bool {
        self.groups.iter().any(|group| group.lowest_bound() > 0)
    }

    /// Starts comparing hosts with the one that has fewest pods, as the scheduler does. Hosts with one pod each may
    /// then have a second. The lowest count rises no higher than the bound pods allow, so a group without bound
    /// pods gets a host for each pod. Call it before the first pod is placed; claims opened afterwards cannot be
    /// undone.
    pub(crate) fn count_hosts(&mut self, nodes: &Nodes<'_>, labels: &LabelSpace) {
        for (id, group) in self.groups.iter_mut().enumerate() {
            let most = group.lowest_bound();
            if most > 0 && group.count_lowest_host(most, nodes, labels) {
                self.counted.push(GroupId(id as u32));
            }
        }
    }

    /// Registers a claim without pods. Until it has pods, the lowest count is 0.
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

    /// Stops raising the lowest count when pods arrive.
    pub(crate) fn finish_lowest_hosts(&mut self) {
        for id in &self.counted {
            self.groups[id.0 as usize].finish_lowest_host();
        }
    }

    /// Instances with more pods of a group than its skew allows, among groups that count hosts.
    pub(crate) fn too_crowded_hosts(&self) -> impl Iterator<Item = (GroupId, Instance)> + '_ {
        let crowded = |id: GroupId| self.group(id).too_crowded_hosts().map(move |on| (id, on));
        self.counted.iter().copied().flat_map(crowded)
    }

    /// Removes a site without nodes. Domains that only its nodes were in no longer exist.
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

    /// Starts recording changes, so that they can be undone.
    pub(crate) fn begin(&mut self) {
        self.journal.begin();
    }

    /// Makes the recorded changes permanent.
    pub(crate) fn keep(&mut self) {
        self.journal.keep();
    }

    /// Starts a step that can be undone alone.
    pub(crate) fn step(&mut self) {
        self.journal.step();
    }

    /// Undoes all recorded changes, or those of the last step.
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

    /// Counts a pod that comes to an instance, or leaves it. `requirements` are those of the instance with the pod.
    ///
    /// `selecting` are the groups that select the pod, `declared` those of its anti-affinity. `taints` are the
    /// instance's, with a number that identifies them.
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

    /// Adds a pod to a group's count, or removes it. An instance that takes no pods is `None`, but its pods count
    /// in their domains.
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
            // The pod may be in any of them.
            Kind::AntiAffinity | Kind::KeptAway => {
                req.listed().into_iter().flat_map(Bits::iter).for_each(shift);
            }
            Kind::Spread { .. } | Kind::Affinity => req.single().into_iter().for_each(shift),
        }
    }
}
