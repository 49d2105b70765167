//! Required anti-affinity, which binds both ways: a pod stays away from pods that it wants to be
//! away from, and from pods that want to be away from it.
//!
//! Where a claim's domain is open, every domain it may have is taken, so the sets of domains of two
//! such pods must be disjoint.

use std::collections::BTreeMap;

use joiner_core::{label, pod::Pod};

use super::{Here, Topology};
use crate::finding::{Findings, Rule};

/// Who may be in a domain.
#[derive(Default)]
struct Tally<'a> {
    owners: Count,
    selected: Count,
    /// Pods that want to be away from pods like themselves.
    both_placed: u64,
    example: Option<&'a Pod>,
}

#[derive(Default)]
struct Count {
    bound: u64,
    placed: u64,
}

impl Count {
    fn add(&mut self, here: &Here<'_>, bound: u32) {
        self.bound += u64::from(bound);
        self.placed += u64::from(here.placed);
    }

    fn all(&self) -> u64 {
        self.bound + self.placed
    }
}

impl Tally<'_> {
    /// How many pairs of an owner and another selected pod the plan brings together. What was
    /// together before is not the plan's fault.
    fn pairs(&self) -> u64 {
        self.owners.placed * self.selected.all() + self.owners.bound * self.selected.placed
            - self.both_placed
    }
}

pub(super) fn check<'a>(topology: &mut Topology<'_, 'a>, findings: &mut Findings) {
    for (term, own, owners) in topology.terms(|spec| &spec.anti_affinity) {
        let selected = topology.selected_by_term(term, own);
        // What was together before is not the plan's fault.
        if selected.is_empty() || !(topology.any_placed(&owners) || topology.any_placed(&selected))
        {
            continue;
        }
        let domains = topology.domains(&term.topology_key);
        let mut tallies: BTreeMap<usize, Tally<'a>> = BTreeMap::new();
        for &kind in &owners {
            let is_both = selected.binary_search(&kind).is_ok();
            for here in &topology.kinds[kind].here {
                for &domain in domains.of_instance[here.instance].as_slice() {
                    let tally = tallies.entry(domain).or_default();
                    let bound = if is_unnamed(topology, here.instance, &term.topology_key) {
                        0
                    } else {
                        here.bound
                    };
                    tally.owners.add(here, bound);
                    tally.both_placed += u64::from(if is_both { here.placed } else { 0 });
                    remember(tally, here);
                }
            }
        }
        for &kind in &selected {
            for here in &topology.kinds[kind].here {
                for &domain in domains.of_instance[here.instance].as_slice() {
                    // Without an owner there is nobody to be away from.
                    if let Some(tally) = tallies.get_mut(&domain) {
                        tally.selected.add(here, here.bound);
                        remember(tally, here);
                    }
                }
            }
        }
        for (domain, tally) in tallies {
            if let (Some(pod), true) = (tally.example, tally.pairs() > 0) {
                let message = format!(
                    "{} pods that must be away from pods with {} may be in {} {}, and {} such \
                     pods too",
                    tally.owners.all(),
                    term.selector.as_ref().map(ToString::to_string).unwrap_or_default(),
                    term.topology_key,
                    domains.names[domain],
                    tally.selected.all(),
                );
                findings.add(Rule::AntiAffinity, pod.key(), message);
            }
        }
    }
}

/// A pod of the plan speaks for a domain.
fn remember<'a>(tally: &mut Tally<'a>, here: &Here<'a>) {
    if here.placed > 0 {
        tally.example.get_or_insert(here.example);
    }
}

/// Karpenter does not know where the owner of a term is while its node has no hostname label.
fn is_unnamed(topology: &Topology<'_, '_>, instance: usize, key: &str) -> bool {
    let node = topology.node(instance).map(|node| &topology.facts.snapshot.nodes[node]);
    key == label::HOSTNAME && node.is_some_and(|node| !node.labels.contains_key(key))
}
