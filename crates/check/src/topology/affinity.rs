//! Required affinity.
//!
//! A pod may go where a pod that it must be near certainly is. When there is none, a pod that its
//! own term selects may be the first; after that, there is one.

use std::collections::{BTreeMap, BTreeSet};

use joiner_core::{label, pod::AffinityTerm};

use super::{Domains, Here, KeyDomains, Topology};
use crate::finding::{Findings, Rule};

pub(super) fn check(topology: &mut Topology<'_, '_>, findings: &mut Findings) {
    for (term, own, owners) in topology.terms(|spec| &spec.affinity) {
        let domains = topology.domains(&term.topology_key);
        let selected = topology.selected_by_term(term, own);
        let group = Group::new(topology, term, own, &domains, &owners, &selected);
        let islands = group.check_owners(findings);
        group.check_islands(&islands, findings);
    }
}

struct Group<'g, 'c, 'a> {
    topology: &'g Topology<'c, 'a>,
    term: &'a AffinityTerm,
    domains: &'g KeyDomains,
    owners: &'g [usize],
    selected: &'g [usize],
    /// How many selected pods are certainly in a domain.
    certain: BTreeMap<usize, u32>,
    /// Domains that had a selected pod before.
    bound: BTreeSet<usize>,
    /// Domains with a selected pod that is not itself bound by the term.
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
        let (certain, bound, independent) = Default::default();
        let mut group =
            Self { topology, term, domains, owners, selected, certain, bound, independent };
        for &kind in selected {
            for here in &topology.kinds[kind].here {
                group.count(here, here.placed, !owners.contains(&kind));
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
        if let (Domains::Certain(domain), true) =
            (&self.domains.of_machine[here.machine], here.bound + placed > 0)
        {
            *self.certain.entry(*domain).or_default() += here.bound + placed;
            if here.bound > 0 {
                self.bound.insert(*domain);
            }
            if here.bound > 0 || independent {
                self.independent.insert(*domain);
            }
        }
    }

    /// Checks each owner by itself. Returns the domains in which owners have only each other, and
    /// of these, whether an owner there could have been anywhere.
    fn check_owners(&self, findings: &mut Findings) -> BTreeMap<usize, bool> {
        let mut islands = BTreeMap::new();
        for &kind in self.owners {
            let is_selected = self.selected.binary_search(&kind).is_ok();
            for here in self.topology.kinds[kind].here.iter().filter(|here| here.placed > 0) {
                let at = &self.domains.of_machine[here.machine];
                if let (Domains::Certain(domain), true) = (at, is_selected)
                    && !self.independent.contains(domain)
                    && !self.could_not_join_bound(kind)
                {
                    let open = self.accepts_everywhere(kind);
                    islands.entry(*domain).and_modify(|all| *all &= open).or_insert(open);
                    continue;
                }
                if self.has_company(kind, here, at, is_selected) {
                    continue;
                }
                let rule = if !is_selected || matches!(at, Domains::Nowhere) {
                    Rule::Affinity
                } else if self.could_not_join_bound(kind) {
                    Rule::Affinity
                } else {
                    Rule::AffinityBootstrap
                };
                self.report(rule, here, findings);
            }
        }
        islands
    }

    /// Whether another selected pod is certainly in every domain that the machine may be in.
    fn has_company(&self, kind: usize, here: &Here<'_>, at: &Domains, is_selected: bool) -> bool {
        let same_machine: u32 = self
            .selected
            .iter()
            .flat_map(|&other| self.topology.kinds[other].here.iter().map(move |here| (other, here)))
            .filter(|(_, other)| other.machine == here.machine)
            .map(|(other, there)| there.bound + there.placed - u32::from(other == kind))
            .sum();
        let own = u32::from(is_selected && matches!(at, Domains::Certain(_)));
        let others = |domain| self.certain.get(domain).copied().unwrap_or_default() - own;
        let domains = at.as_slice();
        !domains.is_empty() && (same_machine > 0 || domains.iter().all(|d| others(d) > 0))
    }

    /// Whether a pod that its own term selects had to join pods that were there before: under each
    /// of its alternatives it accepts a domain that has one.
    fn could_not_join_bound(&self, kind: usize) -> bool {
        let spec = self.topology.spec(&self.topology.kinds[kind]);
        spec.alternatives.iter().all(|wanted| {
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
        spec.alternatives.iter().all(|wanted| wanted.get(&self.term.topology_key).is_none())
    }

    /// Of several domains in which owners have only each other, all but the first were opened
    /// although the first was there to join.
    fn check_islands(&self, islands: &BTreeMap<usize, bool>, findings: &mut Findings) {
        let open: Vec<usize> =
            islands.iter().filter(|(_, open)| **open).map(|(domain, _)| *domain).collect();
        let [first, second, ..] = open.as_slice() else { return };
        // Each host is certain from the start, so there is nothing to mix up.
        let certain = self.term.topology_key == label::HOSTNAME;
        let rule = if certain { Rule::Affinity } else { Rule::AffinityBootstrap };
        let message = format!(
            "pods that must be together in one {} are in {} of them, {} and {} among them",
            self.term.topology_key,
            open.len(),
            self.domains.names[*first],
            self.domains.names[*second],
        );
        let owners = self.owners.iter().flat_map(|&kind| &self.topology.kinds[kind].here);
        let mut there = owners.filter(|here| {
            here.placed > 0 && self.domains.of_machine[here.machine].as_slice() == [*second]
        });
        if let Some(here) = there.next() {
            findings.add(rule, here.example.key(), message);
        }
    }

    fn report(&self, rule: Rule, here: &Here<'_>, findings: &mut Findings) {
        let key = &self.term.topology_key;
        let assumed = self.topology.assumes(here.machine, key);
        let rule = if assumed { Rule::RequirementAssumed } else { rule };
        let message = format!(
            "no pod with {} is certainly in the {key} of {}",
            self.term.selector.as_ref().map_or_else(|| "any label".to_owned(), ToString::to_string),
            self.topology.machine_name(here.machine),
        );
        findings.add(rule, here.example.key(), message);
    }
}
