//! Required affinity.
//!
//! A pod may use a domain that certainly has a selected pod. If there is none anywhere, a pod that its own term
//! selects may be the first one.

use std::collections::{BTreeMap, BTreeSet};

use joiner_core::{label, pod::AffinityTerm};

use super::{Domains, Here, KeyDomains, Topology};
use crate::finding::{Findings, Rule};

pub(super) fn check(topology: &mut Topology<'_, '_>, findings: &mut Findings) {
    for (term, namespace, owners) in topology.terms(|spec| &spec.affinity) {
        if !topology.any_placed(&owners) {
            continue;
        }
        let domains = topology.domains(&term.topology_key);
        let selected = topology.selected_by_term(term, namespace);
        let group = Group::new(topology, term, namespace, &domains, &owners, &selected);
        let islands = group.check_owners(findings);
        group.check_islands(&islands, findings);
    }
}

/// A domain in which the owners of a term have only each other.
struct Island<'g, 'a> {
    here: &'g Here<'a>,
    /// Whether one of them may have been the first.
    founded: bool,
    /// Whether the owners that may have been first would have accepted every domain.
    open: bool,
}

struct Group<'g, 'c, 'a> {
    topology: &'g Topology<'c, 'a>,
    term: &'a AffinityTerm,
    domains: &'g KeyDomains,
    owners: &'g [usize],
    selected: &'g [usize],
    /// How many selected pods are certainly in a domain.
    certain: BTreeMap<usize, u32>,
    /// How many selected pods are on an instance.
    on_instance: BTreeMap<usize, u32>,
    /// Domains that had a selected pod before.
    bound: BTreeSet<usize>,
    /// Domains with a selected pod that does not have the term itself.
    independent: BTreeSet<usize>,
}

impl<'g, 'c, 'a> Group<'g, 'c, 'a> {
    fn new(
        topology: &'g Topology<'c, 'a>,
        term: &'a AffinityTerm,
        own: &str,
        domains: &'g KeyDomains,
        owners: &'g [usize],
        selected: &'g [usize],
    ) -> Self {
        let mut group = Self {
            topology,
            term,
            domains,
            owners,
            selected,
            certain: BTreeMap::new(),
            on_instance: BTreeMap::new(),
            bound: BTreeSet::new(),
            independent: BTreeSet::new(),
        };
        for &kind in selected {
            let independent = owners.binary_search(&kind).is_err();
            for here in &topology.kinds[kind].here {
                group.count(here, here.placed, independent);
            }
        }
        if term.selector.is_none() {
            // COMPAT: Karpenter counts every pod of the namespaces for a term without a selector.
            let namespaces = &topology.facts.snapshot.namespaces;
            for kind in &topology.kinds {
                let labels = namespaces.get(kind.namespace);
                if term.covers_namespace(own, kind.namespace, labels) {
                    kind.here.iter().for_each(|here| group.count(here, 0, true));
                }
            }
        }
        group
    }

    fn count(&mut self, here: &Here<'_>, placed: u32, independent: bool) {
        let count = here.bound + placed;
        *self.on_instance.entry(here.instance).or_default() += count;
        if let (Domains::Certain(domain), true) =
            (&self.domains.of_instance[here.instance], count > 0)
        {
            *self.certain.entry(*domain).or_default() += count;
            if here.bound > 0 {
                self.bound.insert(*domain);
            }
            if here.bound > 0 || independent {
                self.independent.insert(*domain);
            }
        }
    }

    /// Checks each owner alone. Returns the domains in which owners have only each other.
    fn check_owners(&self, findings: &mut Findings) -> BTreeMap<usize, Island<'g, 'a>> {
        let mut islands: BTreeMap<usize, Island<'g, 'a>> = BTreeMap::new();
        for &kind in self.owners {
            let is_selected = self.selected.binary_search(&kind).is_ok();
            let may_be_first = is_selected && !self.had_to_join(kind);
            for here in self.topology.kinds[kind].here.iter().filter(|here| here.placed > 0) {
                let at = &self.domains.of_instance[here.instance];
                if let (Domains::Certain(domain), true) = (at, is_selected)
                    && !self.independent.contains(domain)
                {
                    let fresh = Island { here, founded: false, open: true };
                    let island = islands.entry(*domain).or_insert(fresh);
                    if may_be_first {
                        island.founded = true;
                        island.open &= self.accepts_everywhere(kind);
                    }
                } else if !self.has_company(here, at, is_selected) {
                    let rule = match at {
                        Domains::Nowhere if self.topology.node(here.instance).is_some() => {
                            Rule::TopologyNowhere
                        }
                        Domains::OneOf(_) if may_be_first => Rule::AffinityBootstrap,
                        _ => Rule::Affinity,
                    };
                    self.report(rule, here, findings);
                }
            }
        }
        islands
    }

    /// Whether every possible domain of the instance certainly has another selected pod.
    fn has_company(&self, here: &Here<'_>, at: &Domains, is_selected: bool) -> bool {
        let itself = u32::from(is_selected);
        if self.on_instance.get(&here.instance).is_some_and(|&all| all > itself) {
            return !matches!(at, Domains::Nowhere);
        }
        let certain = |domain| self.certain.get(domain).copied().unwrap_or_default();
        match at {
            Domains::Nowhere => false,
            Domains::Certain(domain) => certain(domain) > itself,
            Domains::OneOf(domains) => domains.iter().all(|domain| certain(domain) > 0),
        }
    }

    /// Whether a pod that its own term selects had to join existing pods: each of its alternatives accepts a domain
    /// that has one.
    fn had_to_join(&self, kind: usize) -> bool {
        let spec = self.topology.spec(&self.topology.kinds[kind]);
        spec.alternatives().iter().all(|wanted| {
            let accepted = wanted.get(&self.term.topology_key);
            self.bound.iter().any(|&domain| {
                accepted.is_none_or(|accepted| accepted.has(&self.domain_value(domain)))
            })
        })
    }

    /// The label's value in a domain.
    fn domain_value(&self, domain: usize) -> String {
        match self.topology.node(domain) {
            Some(node) if self.term.topology_key == label::HOSTNAME => {
                self.topology.facts.snapshot.nodes[node].hostname.clone()
            }
            _ => self.domains.names[domain].clone(),
        }
    }

    fn accepts_everywhere(&self, kind: usize) -> bool {
        let spec = self.topology.spec(&self.topology.kinds[kind]);
        spec.alternatives().iter().all(|wanted| wanted.get(&self.term.topology_key).is_none())
    }

    /// An island needs a pod that may be the first. Of several islands, all but one were opened although they could
    /// have joined another.
    fn check_islands(&self, islands: &BTreeMap<usize, Island<'g, 'a>>, findings: &mut Findings) {
        for island in islands.values().filter(|island| !island.founded) {
            self.report(Rule::Affinity, island.here, findings);
        }
        let mut open = islands.iter().filter(|(_, island)| island.founded && island.open);
        let (Some((first, _)), Some((second, island))) = (open.next(), open.next()) else { return };
        // Hosts are always certain, so they cannot be confused.
        let certain = self.term.topology_key == label::HOSTNAME;
        let rule = if certain { Rule::Affinity } else { Rule::AffinityBootstrap };
        let message = format!(
            "pods that must be together in one {} are in {} of them, {} and {} among them",
            self.term.topology_key,
            2 + open.count(),
            self.domains.names[*first],
            self.domains.names[*second],
        );
        findings.add(rule, island.here.example.key(), message);
    }

    fn report(&self, rule: Rule, here: &Here<'_>, findings: &mut Findings) {
        let key = &self.term.topology_key;
        let message = format!(
            "no pod with {} is certainly in the {key} of {}",
            self.term.selector.as_ref().map_or_else(|| "any label".to_owned(), ToString::to_string),
            self.topology.instance_name(here.instance),
        );
        findings.add(rule, here.example.key(), message);
    }
}
