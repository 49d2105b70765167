//! Who is where, as far as spread and affinity ask.
//!
//! A group is one question about domains: how are the pods that a selector selects spread over the values of a label?
//! Pods with the same constraint share one group. Counts are arrays over the label's values; for the host name, whose
//! values are the machines themselves, over nodes and claims.

use std::collections::BTreeSet;

use joiner_core::{
    label::Labels,
    pod::{AffinityTerm, InclusionPolicy, Pod, PodSpec, Role, SpreadConstraint},
    selector::LabelSelector,
    snapshot::Snapshot,
    taint::{Taint, Toleration, first_untolerated},
};
use rustc_hash::FxHashMap;

use super::{
    bits::Bits,
    labels::{Key, LabelSpace, Req, ReqId},
    nodes::Nodes,
    template::Template,
};

/// A group, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct GroupId(u32);

/// What a group asks of the domain a pod goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Domains may differ by at most `max_skew` pods.
    Spread { max_skew: i64, min_domains: Option<usize> },
    /// There must be one of the selected pods.
    Affinity,
    /// There must be none of the selected pods.
    AntiAffinity,
    /// There must be no pod that keeps the selected pods away: anti-affinity seen from the other side. The counts are
    /// of the pods that declare it.
    KeptAway,
}

/// What makes two constraints the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Definition {
    kind: Kind,
    key: Key,
    namespaces: BTreeSet<String>,
    selector: Option<LabelSelector>,
    filter: Filter,
}

/// Which machines count.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
struct Filter {
    /// Machines that meet any of these; empty: all.
    terms: Vec<ReqId>,
    /// Machines whose taints these tolerate; `None`: all.
    tolerations: Option<Vec<Toleration>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Group {
    definition: Definition,
    /// Domains that exist, whether or not something is there.
    registered: Bits,
    /// The registered domains in order of name.
    by_name: Vec<usize>,
    counts: Vec<i64>,
    occupied: Bits,
    hosts: HostCounts,
}

/// Counts per machine.
#[derive(Debug, Clone, Default)]
struct HostCounts {
    nodes: PerMachine,
    claims: PerMachine,
    /// Machines with a count, also those that take no pods.
    occupied: usize,
}

#[derive(Debug, Clone, Default)]
struct PerMachine {
    counts: Vec<i64>,
    /// At least one.
    occupied: Bits,
    /// No room for one more pod that counts itself.
    full: Bits,
    /// No room even for a pod that does not.
    over: Bits,
}

/// A machine that pods can be placed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Machine {
    Node(usize),
    Claim(usize),
}

/// A group as one pod meets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) group: GroupId,
    /// Whether the pod itself is counted.
    pub(crate) selects_self: bool,
}

/// The domains a group allows.
#[derive(Debug)]
pub(crate) struct Allowed {
    pub(crate) domains: Bits,
    /// Whether the machine has to settle for one of them.
    pub(crate) one: bool,
}

/// Groups by the specification and namespace of the pods that declare them.
type Declared = FxHashMap<(*const PodSpec, *const str), Vec<GroupId>>;

/// Pods that share their specification and namespace declare the same groups.
fn identity(pod: &Pod) -> (*const PodSpec, *const str) {
    (&raw const *pod.spec, &raw const *pod.namespace)
}

/// All groups of a pass.
#[derive(Debug, Clone, Default)]
pub(crate) struct Topology {
    groups: Vec<Group>,
    lookup: FxHashMap<Definition, GroupId>,
    /// Groups by a label that every pod they select has.
    by_label: FxHashMap<(String, String), Vec<GroupId>>,
    /// Groups that are not in `by_label`.
    elsewhere: Vec<GroupId>,
    filter_verdicts: FxHashMap<(GroupId, ReqId, usize), bool>,
}

impl Topology {
    pub(crate) fn group(&self, id: GroupId) -> &Group {
        &self.groups[id.0 as usize]
    }

    /// The group of a spread constraint.
    ///
    /// COMPAT: upstream takes two constraints for the same that differ only in `minDomains` or in the values of the
    /// owner's node affinity (D1), and starts a new count when an alternative of the affinity is dropped. Here all
    /// alternatives of the pod's own specification count, always.
    pub(crate) fn spread(
        &mut self,
        constraint: &SpreadConstraint,
        namespace: &str,
        pod_labels: &Labels,
        spec: &PodSpec,
        labels: &mut LabelSpace,
    ) -> GroupId {
        let mut filter = Filter::default();
        if constraint.node_affinity_policy == InclusionPolicy::Honor {
            filter.terms =
                spec.requirement_alternatives().iter().map(|term| labels.encode(term)).collect();
            filter.terms.sort_unstable();
            filter.terms.dedup();
            if filter.terms.contains(&ReqId::ANY) {
                filter.terms.clear();
            }
        }
        if constraint.node_taints_policy == InclusionPolicy::Honor {
            filter.tolerations = Some(spec.tolerations.clone());
        }
        self.intern(Definition {
            kind: Kind::Spread {
                max_skew: i64::from(constraint.max_skew),
                min_domains: constraint.min_domains.and_then(|n| usize::try_from(n).ok()),
            },
            key: labels.key(&constraint.topology_key),
            namespaces: BTreeSet::from([namespace.to_owned()]),
            selector: constraint.effective_selector(pod_labels),
            filter,
        })
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
        let namespaces = match &term.namespace_selector {
            None if term.namespaces.is_empty() => BTreeSet::from([namespace.to_owned()]),
            None => term.namespaces.clone(),
            Some(_) => snapshot
                .namespaces
                .iter()
                .filter(|(name, own)| term.covers_namespace(namespace, name, Some(own)))
                .map(|(name, _)| name.clone())
                .chain(term.namespaces.iter().cloned())
                .collect(),
        };
        self.intern(Definition {
            kind,
            key: labels.key(&term.topology_key),
            namespaces,
            selector: term.selector.clone(),
            filter: Filter::default(),
        })
    }

    fn intern(&mut self, definition: Definition) -> GroupId {
        if let Some(id) = self.lookup.get(&definition) {
            return *id;
        }
        let id = GroupId(self.groups.len() as u32);
        match definition.selector.as_ref().and_then(LabelSelector::exact) {
            Some((key, value)) => {
                self.by_label.entry((key.to_owned(), value.to_owned())).or_default().push(id);
            }
            // Without a selector nothing is ever selected.
            None if definition.selector.is_some() => self.elsewhere.push(id),
            None => {}
        }
        self.groups.push(Group {
            definition: definition.clone(),
            registered: Bits::new(),
            by_name: Vec::new(),
            counts: Vec::new(),
            occupied: Bits::new(),
            hosts: HostCounts::default(),
        });
        self.lookup.insert(definition, id);
        id
    }

    /// The groups whose selector selects a pod, in order.
    pub(crate) fn selecting(&self, namespace: &str, pod_labels: &Labels) -> Vec<GroupId> {
        let hooked = pod_labels
            .iter()
            .filter_map(|(key, value)| self.by_label.get(&(key.clone(), value.clone())))
            .flatten();
        let mut selecting: Vec<GroupId> = hooked
            .chain(&self.elsewhere)
            .copied()
            .filter(|id| {
                let definition = &self.group(*id).definition;
                definition.namespaces.contains(namespace)
                    && definition
                        .selector
                        .as_ref()
                        .is_some_and(|selector| selector.matches(pod_labels))
            })
            .collect();
        selecting.sort_unstable();
        selecting
    }

    /// Makes the domains of pools and nodes known to every group, and counts the pods that stay where they are.
    pub(crate) fn observe(
        &mut self,
        snapshot: &Snapshot,
        templates: &[Template<'_>],
        nodes: &Nodes<'_>,
        labels: &mut LabelSpace,
    ) {
        let declared = self.declared_by_bound_pods(snapshot, labels);
        self.register_domains(templates, nodes, labels);
        self.count_bound_pods(snapshot, nodes, &declared, labels);
    }

    /// The groups in which bound pods keep others away, by specification and namespace.
    fn declared_by_bound_pods(&mut self, snapshot: &Snapshot, labels: &mut LabelSpace) -> Declared {
        let mut declared = Declared::default();
        for pod in snapshot.nodes.iter().flat_map(|node| &node.pods) {
            if !pod.spec.anti_affinity.is_empty() {
                declared
                    .entry(identity(pod))
                    .or_insert_with(|| self.declared(pod, snapshot, labels));
            }
        }
        declared
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
        for group in &mut self.groups {
            let key = group.definition.key;
            if key == Key::HOSTNAME {
                continue;
            }
            for (at, template) in templates.iter().enumerate() {
                let tolerated =
                    group.definition.filter.tolerations.as_ref().is_none_or(|tolerations| {
                        first_untolerated(&template.pool.taints, tolerations).is_none()
                    });
                if tolerated {
                    let domains =
                        universe.entry((key, at)).or_insert_with(|| template.domains(key, labels));
                    group.registered = group.registered.or(domains);
                }
            }
            for node in nodes.active() {
                if group.definition.filter.accepts(node.requirements, node.object_taints, labels)
                    && let Some(domain) = labels.get(node.requirements, key).and_then(Req::single)
                    && node.has_object
                {
                    group.registered.insert(domain);
                }
            }
            group.by_name = group.registered.iter().collect();
            group
                .by_name
                .sort_by(|a, b| labels.value_name(key, *a).cmp(labels.value_name(key, *b)));
        }
    }

    fn count_bound_pods(
        &mut self,
        snapshot: &Snapshot,
        nodes: &Nodes<'_>,
        declared: &Declared,
        labels: &LabelSpace,
    ) {
        let mut selecting: FxHashMap<(*const str, *const Labels), Vec<GroupId>> =
            FxHashMap::default();
        for (node, seen) in snapshot.nodes.iter().zip(nodes.seen()) {
            for pod in &node.pods {
                for id in declared.get(&identity(pod)).into_iter().flatten() {
                    self.group_mut(*id).count_on_node(seen.requirements, seen.position, labels);
                }
                if !matches!(pod.role, Role::Bound { terminating: false, .. })
                    || node.node.is_none()
                {
                    continue;
                }
                let groups = selecting
                    .entry((&raw const *pod.namespace, &raw const *pod.labels))
                    .or_insert_with(|| self.selecting(&pod.namespace, &pod.labels))
                    .clone();
                for id in groups {
                    let group = self.group_mut(id);
                    if group.definition.kind == Kind::KeptAway
                        || !group.definition.filter.accepts(
                            seen.requirements,
                            &node.object_taints,
                            labels,
                        )
                    {
                        continue;
                    }
                    group.count_on_node(seen.requirements, seen.position, labels);
                }
            }
        }
    }

    fn group_mut(&mut self, id: GroupId) -> &mut Group {
        &mut self.groups[id.0 as usize]
    }

    /// Whether a machine counts for a group.
    fn counts(
        &mut self,
        id: GroupId,
        requirements: ReqId,
        taints: (usize, &[Taint]),
        labels: &LabelSpace,
    ) -> bool {
        let filter = &self.groups[id.0 as usize].definition.filter;
        if filter.terms.is_empty() && filter.tolerations.is_none() {
            return true;
        }
        let slot = (id, requirements, taints.0);
        if let Some(known) = self.filter_verdicts.get(&slot) {
            return *known;
        }
        let verdict = filter.accepts(requirements, taints.1, labels);
        self.filter_verdicts.insert(slot, verdict);
        verdict
    }

    /// Takes note of a pod on a machine that has these requirements now that the pod is there.
    ///
    /// `selecting` are the groups that select the pod, `declared` those in which it keeps others away. `taints` are the
    /// machine's, with a number that stands for them.
    pub(crate) fn record(
        &mut self,
        selecting: &[GroupId],
        declared: &[GroupId],
        machine: Machine,
        requirements: ReqId,
        taints: (usize, &[Taint]),
        labels: &LabelSpace,
    ) {
        for id in selecting {
            if self.group(*id).definition.kind != Kind::KeptAway
                && self.counts(*id, requirements, taints, labels)
            {
                self.group_mut(*id).count(machine, requirements, labels);
            }
        }
        for id in declared {
            self.group_mut(*id).count(machine, requirements, labels);
        }
    }
}

impl Filter {
    fn accepts(&self, requirements: ReqId, taints: &[Taint], labels: &LabelSpace) -> bool {
        // COMPAT: nothing is left open here, not even what a provider will fill in (D24).
        (self.terms.is_empty()
            || self.terms.iter().any(|term| labels.compatible(requirements, *term, false)))
            && self
                .tolerations
                .as_ref()
                .is_none_or(|tolerations| first_untolerated(taints, tolerations).is_none())
    }
}

impl Group {
    pub(crate) fn kind(&self) -> Kind {
        self.definition.kind
    }

    pub(crate) fn key(&self) -> Key {
        self.definition.key
    }

    pub(crate) fn selector(&self) -> Option<&LabelSelector> {
        self.definition.selector.as_ref()
    }

    /// Domains in order of name with what is there, for people to read.
    pub(crate) fn census(&self) -> impl Iterator<Item = (usize, i64)> + '_ {
        self.by_name.iter().map(|domain| (*domain, self.count_in(*domain)))
    }

    fn count_in(&self, domain: usize) -> i64 {
        self.counts.get(domain).copied().unwrap_or(0)
    }

    /// Counts a pod in a domain. Where pods are, there is a domain, also if no pool reaches it.
    fn add(&mut self, domain: usize, labels: &LabelSpace) {
        if self.counts.len() <= domain {
            self.counts.resize(domain + 1, 0);
        }
        self.counts[domain] += 1;
        self.occupied.insert(domain);
        if !self.registered.contains(domain) {
            self.registered.insert(domain);
            let name = |domain| labels.value_name(self.definition.key, domain);
            let at = self.by_name.partition_point(|known| name(*known) < name(domain));
            self.by_name.insert(at, domain);
        }
    }

    fn count_on_node(&mut self, requirements: ReqId, position: Option<usize>, labels: &LabelSpace) {
        if self.definition.key == Key::HOSTNAME {
            match position {
                Some(position) => self.count_host(Machine::Node(position)),
                // Its pods still count as being somewhere.
                None => self.hosts.occupied += 1,
            }
        } else if let Some(domain) =
            labels.get(requirements, self.definition.key).and_then(Req::single)
        {
            self.add(domain, labels);
        }
    }

    fn count_host(&mut self, machine: Machine) {
        let max_skew = match self.definition.kind {
            Kind::Spread { max_skew, .. } => max_skew,
            _ => 0,
        };
        let (machines, position) = match machine {
            Machine::Node(position) => (&mut self.hosts.nodes, position),
            Machine::Claim(position) => (&mut self.hosts.claims, position),
        };
        if machines.counts.len() <= position {
            machines.counts.resize(position + 1, 0);
        }
        let count = &mut machines.counts[position];
        *count += 1;
        if *count == 1 {
            machines.occupied.insert(position);
            self.hosts.occupied += 1;
        }
        if *count >= max_skew {
            machines.full.insert(position);
        }
        if *count > max_skew {
            machines.over.insert(position);
        }
    }

    fn count(&mut self, machine: Machine, requirements: ReqId, labels: &LabelSpace) {
        if self.definition.key == Key::HOSTNAME {
            self.count_host(machine);
            return;
        }
        let Some(req) = labels.get(requirements, self.definition.key) else { return };
        match self.definition.kind {
            // The pod may come to be in any of them.
            Kind::AntiAffinity | Kind::KeptAway => {
                for domain in req.listed().into_iter().flat_map(Bits::iter) {
                    self.add(domain, labels);
                }
            }
            Kind::Spread { .. } | Kind::Affinity => {
                if let Some(domain) = req.single() {
                    self.add(domain, labels);
                }
            }
        }
    }

    /// The lowest count among the domains that the pod could use.
    fn lowest(&self, pod: impl Fn(usize) -> bool, min_domains: Option<usize>) -> i64 {
        let mut usable = 0;
        let mut lowest = i64::MAX;
        for domain in self.by_name.iter().filter(|domain| pod(**domain)) {
            usable += 1;
            lowest = lowest.min(self.count_in(*domain));
        }
        if min_domains.is_some_and(|min| usable < min) { 0 } else { lowest }
    }

    /// Whether a pod with affinity to its own kind may be the first somewhere: none of its kind is where it could be.
    fn may_be_first(&self, selects_self: bool, pod: impl Fn(usize) -> bool) -> bool {
        selects_self && !self.occupied.iter().any(pod)
    }

    /// The domains that a pod may go to, of those that `pod` (its own strict requirements) and `machine` allow. Not for
    /// the host name.
    pub(crate) fn allowed(
        &self,
        selects_self: bool,
        pod: impl Fn(usize) -> bool + Copy,
        machine: impl Fn(usize) -> bool + Copy,
    ) -> Allowed {
        let both = |domain: &usize| pod(*domain) && machine(*domain);
        match self.definition.kind {
            Kind::Spread { max_skew, min_domains } => {
                let lowest = self.lowest(pod, min_domains);
                let own = i64::from(selects_self);
                let within = |count: i64| count + own - lowest <= max_skew;
                let best = self
                    .by_name
                    .iter()
                    .filter(|domain| machine(**domain))
                    .map(|domain| self.count_in(*domain))
                    .filter(|count| within(*count))
                    .min();
                let domains = self
                    .by_name
                    .iter()
                    .copied()
                    .filter(|domain| machine(*domain) && Some(self.count_in(*domain)) == best)
                    .collect();
                Allowed { domains, one: true }
            }
            Kind::Affinity => {
                let domains: Bits = self.occupied.iter().filter(both).collect();
                if domains.is_empty() && self.may_be_first(selects_self, pod) {
                    // COMPAT: one domain, never two (D3).
                    return Allowed {
                        domains: self.by_name.iter().copied().filter(both).collect(),
                        one: true,
                    };
                }
                Allowed { domains, one: false }
            }
            Kind::AntiAffinity | Kind::KeptAway => {
                let empty = self.registered.and_not(&self.occupied);
                Allowed { domains: empty.iter().filter(both).collect(), one: false }
            }
        }
    }

    /// Which machines of 64 a pod may not go to, by host. `word` is their position.
    #[inline]
    pub(crate) fn refused_hosts(&self, selects_self: bool, nodes: bool, word: usize) -> u64 {
        let machines = if nodes { &self.hosts.nodes } else { &self.hosts.claims };
        match self.definition.kind {
            Kind::Spread { .. } if selects_self => machines.full.word(word),
            Kind::Spread { .. } => machines.over.word(word),
            Kind::Affinity if selects_self && self.hosts.occupied == 0 => 0,
            Kind::Affinity => !machines.occupied.word(word),
            Kind::AntiAffinity | Kind::KeptAway => machines.occupied.word(word),
        }
    }

    /// Whether a pod may go to a machine that has no pods yet, by host.
    pub(crate) fn allows_new_host(&self, selects_self: bool) -> bool {
        match self.definition.kind {
            Kind::Spread { max_skew, .. } => i64::from(selects_self) <= max_skew,
            Kind::Affinity => selects_self && self.hosts.occupied == 0,
            Kind::AntiAffinity | Kind::KeptAway => true,
        }
    }
}
