//! One group: its constraint and its counts.

use std::rc::Rc;

use joiner_core::{selector::LabelSelector, taint::Taint};

use super::{
    filters::{Filter, FilterId},
    hosts::HostCounts,
    namespaces::NamespaceSet,
};
use crate::solve::{
    bits::Bits,
    labels::{Key, LabelSpace, Req, ReqId},
    nodes::{Nodes, Site},
};

/// The constraint of a group on the domain of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// The counts of domains may differ by at most `max_skew`.
    Spread { max_skew: i64, min_domains: Option<usize> },
    /// The domain must have a selected pod.
    Affinity,
    /// The domain must have no selected pod.
    AntiAffinity,
    /// The domain must have no pod whose anti-affinity selects this pod. The counts are of the pods that declare
    /// the anti-affinity.
    KeptAway,
}

/// The key of a group: constraints with equal definitions share it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Definition {
    pub(super) kind: Kind,
    pub(super) key: Key,
    pub(super) namespaces: NamespaceSet,
    pub(super) selector: Option<LabelSelector>,
    pub(super) filter: FilterId,
}

#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(super) definition: Rc<Definition>,
    pub(super) filter: Rc<Filter>,
    /// Domains that exist, with or without pods.
    pub(super) registered: Bits,
    /// The registered domains in order of name.
    pub(super) by_name: Vec<usize>,
    /// The number of pools and sites of nodes in each domain. A domain without any exists as long as it has pods.
    pub(super) anchors: Vec<u32>,
    counts: Vec<i64>,
    occupied: Bits,
    hosts: HostCounts,
}

/// The state of a group that trials may change, for tests to compare.
#[cfg(test)]
impl Group {
    pub(in crate::solve) fn state(&self) -> String {
        let counted = super::hosts::counted;
        format!(
            "{:?} {:?} {:?} {:?} {:?} {}",
            self.registered,
            self.by_name,
            self.anchors,
            counted(&self.counts),
            self.occupied,
            self.hosts.state()
        )
    }
}

/// An instance that pods can be placed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Instance {
    Node(usize),
    Claim(usize),
}

/// Whether pods are added or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    In,
    Out,
}

impl Way {
    pub(super) fn back(self) -> Self {
        match self {
            Self::In => Self::Out,
            Self::Out => Self::In,
        }
    }
}

/// The fact that is equal for all domains of a group.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Standing {
    /// The lowest count among the domains that the pod may use.
    Lowest(i64),
    /// Whether the pod may be the first that is selected.
    MayBeFirst(bool),
    /// The domain must be empty.
    Empty,
}

/// The domains that a group allows.
#[derive(Debug)]
pub(crate) struct Allowed {
    pub(crate) domains: Bits,
    /// Whether the instance must choose one of them.
    pub(crate) one: bool,
}

impl Group {
    pub(super) fn new(definition: Rc<Definition>, filter: Rc<Filter>) -> Self {
        let hosts = match definition.kind {
            Kind::Spread { max_skew, .. } if definition.key == Key::HOSTNAME => {
                HostCounts::spread(max_skew)
            }
            _ => HostCounts::default(),
        };
        Self {
            definition,
            filter,
            registered: Bits::new(),
            by_name: Vec::new(),
            anchors: Vec::new(),
            counts: Vec::new(),
            occupied: Bits::new(),
            hosts,
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.definition.kind
    }

    pub(crate) fn key(&self) -> Key {
        self.definition.key
    }

    pub(crate) fn selector(&self) -> Option<&LabelSelector> {
        self.definition.selector.as_ref()
    }

    /// Domains in order of name with their counts, for messages.
    pub(crate) fn census(&self) -> impl Iterator<Item = (usize, i64)> + '_ {
        self.by_name.iter().map(|domain| (*domain, self.count_in(*domain)))
    }

    pub(crate) fn domain_count(&self) -> usize {
        self.by_name.len()
    }

    fn count_in(&self, domain: usize) -> i64 {
        self.counts.get(domain).copied().unwrap_or(0)
    }

    /// The domain of a site's nodes, if they count for the group and have a Node object with the label.
    pub(super) fn domain_of(&self, site: &Site<'_>, labels: &LabelSpace) -> Option<usize> {
        let domain = labels.get(site.requirements, self.definition.key).and_then(Req::single)?;
        self.filter.accepts(site.requirements, site.object_taints, labels).then_some(domain)
    }

    /// The registered domains, before any pod is counted.
    pub(super) fn domains(&self) -> (Bits, Vec<usize>, Vec<u32>) {
        (self.registered.clone(), self.by_name.clone(), self.anchors.clone())
    }

    pub(super) fn set_domains(&mut self, domains: (Bits, Vec<usize>, Vec<u32>)) {
        (self.registered, self.by_name, self.anchors) = domains;
    }

    /// Adds a pool or site to the domain. The caller keeps `by_name` in order.
    pub(super) fn anchor(&mut self, domain: usize) {
        if self.anchors.len() <= domain {
            self.anchors.resize(domain + 1, 0);
        }
        self.anchors[domain] += 1;
        self.registered.insert(domain);
    }

    pub(super) fn register(&mut self, domain: usize, labels: &LabelSpace) {
        if !self.registered.contains(domain) {
            self.registered.insert(domain);
            let name = |domain| labels.value_name(self.definition.key, domain);
            let at = self.by_name.partition_point(|known| name(*known) < name(domain));
            self.by_name.insert(at, domain);
        }
    }

    /// Removes the domain if it has no pool, no node and no pod.
    pub(super) fn drop_unless_used(&mut self, domain: usize) {
        if self.count_in(domain) == 0
            && self.anchors.get(domain).is_none_or(|anchors| *anchors == 0)
        {
            self.registered.remove(domain);
            self.by_name.retain(|known| *known != domain);
        }
    }

    /// Adds a pod to the count of a domain, or removes it. A domain with pods exists even without a pool.
    pub(super) fn shift_domain(&mut self, domain: usize, way: Way, labels: &LabelSpace) {
        if self.counts.len() <= domain {
            self.counts.resize(domain + 1, 0);
        }
        match way {
            Way::In => {
                self.counts[domain] += 1;
                self.occupied.insert(domain);
                self.register(domain, labels);
            }
            Way::Out => {
                self.counts[domain] -= 1;
                if self.counts[domain] == 0 {
                    self.occupied.remove(domain);
                    self.drop_unless_used(domain);
                }
            }
        }
    }

    #[inline]
    pub(super) fn shift_host(&mut self, instance: Option<Instance>, way: Way) {
        self.hosts.shift(instance, way);
    }

    /// The lowest number of bound pods among the occupied hosts, if the group spreads over hosts; otherwise 0.
    ///
    /// Only before the first pod is placed.
    pub(super) fn lowest_bound(&self) -> usize {
        match self.definition.kind {
            Kind::Spread { .. } => self.hosts.lowest_occupied(),
            _ => 0,
        }
    }

    /// Starts comparing hosts with the one that has fewest pods, whose count may rise up to `most`. The result is
    /// `false` if there are fewer hosts than `minDomains`: then each host counts from 0.
    ///
    /// A node that may not count in the end counts here, but not for `minDomains`. So the lowest count is never too
    /// high.
    pub(super) fn count_lowest_host(
        &mut self,
        most: usize,
        nodes: &Nodes<'_>,
        labels: &LabelSpace,
    ) -> bool {
        let Kind::Spread { min_domains, .. } = self.definition.kind else { return false };
        let filter = &self.filter;
        let certain =
            nodes.active().filter(|each| filter.counts_node(each.node, each.requirements, labels));
        if min_domains.is_some_and(|min| certain.count() < min) {
            return false;
        }
        let outsiders = if filter.is_open() {
            Bits::new()
        } else {
            let all = nodes.active().enumerate();
            let out = all
                .filter(|(_, each)| !filter.may_count_node(each.node, each.requirements, labels));
            out.map(|(position, _)| position).collect()
        };
        self.hosts.count_lowest(most, nodes.len(), outsiders);
        true
    }

    /// Registers a claim without pods.
    pub(super) fn open_host(
        &mut self,
        claim: usize,
        requirements: ReqId,
        taints: &[Taint],
        labels: &LabelSpace,
    ) {
        let counts = self.filter.may_count(requirements, taints, labels);
        self.hosts.open(claim, !counts);
    }

    /// Stops raising the lowest count when pods arrive.
    pub(super) fn finish_lowest_host(&mut self) {
        self.hosts.finish_lowest();
    }

    /// Instances with more of its pods than the skew allows.
    pub(super) fn too_crowded_hosts(&self) -> impl Iterator<Item = Instance> + '_ {
        self.hosts.too_crowded()
    }

    /// The lowest count among the domains that the pod may use.
    fn lowest(&self, pod: impl Fn(usize) -> bool, min_domains: Option<usize>) -> i64 {
        let mut usable = 0;
        let mut lowest = i64::MAX;
        for domain in self.by_name.iter().filter(|domain| pod(**domain)) {
            usable += 1;
            lowest = lowest.min(self.count_in(*domain));
        }
        if min_domains.is_some_and(|min| usable < min) { 0 } else { lowest }
    }

    /// Whether a pod with affinity to itself may be the first: none of the domains it may use has a selected pod.
    fn may_be_first(&self, selects_self: bool, pod: impl Fn(usize) -> bool) -> bool {
        selects_self && !self.occupied.iter().any(pod)
    }

    /// The fact that is equal for all domains, for a pod with the strict requirements `pod`.
    pub(crate) fn standing(
        &self,
        selects_self: bool,
        pod: impl Fn(usize) -> bool + Copy,
    ) -> Standing {
        match self.definition.kind {
            Kind::Spread { min_domains, .. } => Standing::Lowest(self.lowest(pod, min_domains)),
            Kind::Affinity => Standing::MayBeFirst(self.may_be_first(selects_self, pod)),
            Kind::AntiAffinity | Kind::KeptAway => Standing::Empty,
        }
    }

    /// Whether [`Group::allowed`] includes `domain` for an instance in this domain alone.
    pub(crate) fn allows(
        &self,
        standing: Standing,
        selects_self: bool,
        pod: impl Fn(usize) -> bool,
        domain: usize,
    ) -> bool {
        match (self.definition.kind, standing) {
            (Kind::Spread { max_skew, .. }, Standing::Lowest(lowest)) => {
                let added = i64::from(selects_self);
                self.registered.contains(domain)
                    && self.count_in(domain) + added - lowest <= max_skew
            }
            (Kind::Affinity, Standing::MayBeFirst(may_be_first)) => {
                let has_company = self.occupied.contains(domain);
                (has_company || (may_be_first && self.registered.contains(domain))) && pod(domain)
            }
            _ => self.registered.contains(domain) && !self.occupied.contains(domain) && pod(domain),
        }
    }

    /// The domains that a pod may use, among those that `pod` (its strict requirements) and `instance` allow. Not
    /// for the host name.
    pub(crate) fn allowed(
        &self,
        selects_self: bool,
        pod: impl Fn(usize) -> bool + Copy,
        instance: impl Fn(usize) -> bool + Copy,
    ) -> Allowed {
        let both = |domain: &usize| pod(*domain) && instance(*domain);
        match self.definition.kind {
            Kind::Spread { max_skew, min_domains } => {
                let lowest = self.lowest(pod, min_domains);
                let added = i64::from(selects_self);
                let within = |count: i64| count + added - lowest <= max_skew;
                let best = self
                    .by_name
                    .iter()
                    .filter(|domain| instance(**domain))
                    .map(|domain| self.count_in(*domain))
                    .filter(|count| within(*count))
                    .min();
                let domains = self
                    .by_name
                    .iter()
                    .copied()
                    .filter(|domain| instance(*domain) && Some(self.count_in(*domain)) == best)
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

    /// Which of 64 instances a pod must not use, for the host name. `word` is their position.
    #[inline]
    pub(crate) fn refused_hosts(&self, selects_self: bool, nodes: bool, word: usize) -> u64 {
        match self.definition.kind {
            Kind::Spread { .. } => self.hosts.crowded(selects_self, nodes, word),
            Kind::Affinity if selects_self && !self.hosts.is_anywhere() => 0,
            Kind::Affinity => !self.hosts.occupied(nodes, word),
            Kind::AntiAffinity | Kind::KeptAway => self.hosts.occupied(nodes, word),
        }
    }

    /// Whether a pod may use an instance without pods, for the host name. While it is empty, the lowest count is 0.
    pub(crate) fn allows_new_host(&self, selects_self: bool) -> bool {
        match self.definition.kind {
            Kind::Spread { max_skew, .. } => i64::from(selects_self) <= max_skew,
            Kind::Affinity => selects_self && !self.hosts.is_anywhere(),
            Kind::AntiAffinity | Kind::KeptAway => true,
        }
    }
}
