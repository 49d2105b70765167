//! Required anti-affinity, which binds both ways: a pod avoids the pods that its terms select, and the pods whose
//! terms select it.
//!
//! If a claim's domain is open, it counts in all its possible domains. So two such pods need disjoint sets of
//! domains.

use std::collections::BTreeMap;

use joiner_core::{label, pod::Pod};

use super::{Here, Topology};
use crate::finding::{Findings, Rule};

/// The pods that may be in a domain.
#[derive(Default)]
struct Tally<'a> {
    owners: Count,
    selected: Count,
    /// Pods that their own term selects.
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
    /// How many pairs of an owner and another selected pod the plan puts together. Pairs that were together before
    /// are not the plan's fault.
    fn pairs(&self) -> u64 {
        self.owners.placed * self.selected.all() + self.owners.bound * self.selected.placed
            - self.both_placed
    }
}

pub(super) fn check<'a>(topology: &mut Topology<'_, 'a>, findings: &mut Findings) {
    for (term, namespace, owners) in topology.terms(|spec| &spec.anti_affinity) {
        let selected = topology.selected_by_term(term, namespace);
        // Pairs that were together before are not the plan's fault.
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
                    // A domain without an owner has nothing to avoid.
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

/// Keeps a pod of the plan as the example for a domain.
fn remember<'a>(tally: &mut Tally<'a>, here: &Here<'a>) {
    if here.placed > 0 {
        tally.example.get_or_insert(here.example);
    }
}

/// Karpenter does not know the host of a term's owner while its node has no hostname label.
fn is_unnamed(topology: &Topology<'_, '_>, instance: usize, key: &str) -> bool {
    let node = topology.node(instance).map(|node| &topology.facts.snapshot.nodes[node]);
    key == label::HOSTNAME && node.is_some_and(|node| !node.labels.contains_key(key))
}
