//! Spread over hosts: from which count on a host has too many pods.
//!
//! While none of the pods runs, they are compared with an empty host, because one more host is always possible.
//! Once some run, the scheduler compares existing hosts, and a plan may do so too. The lowest count may then rise
//! to the fewest running pods on any occupied host. It may not exceed the lowest count of the result, including new
//! instances. This rule is valid in every order of arrival.

use std::collections::HashMap;

use joiner_core::{label, snapshot::Node};

use super::{Counts, Group, NodeFilter};
use crate::{compat, topology::LowestHost};

impl Group<'_, '_, '_> {
    /// An upper bound on the lowest count of any host, under every interpretation of the rules.
    pub(super) fn lowest_host(&self, counts: &Counts) -> i64 {
        if self.topology.lowest_host == LowestHost::AlwaysEmpty {
            return 0;
        }
        let filter = NodeFilter::new(self);
        let most = self.fewest_running(counts);
        if most == 0 || self.has_too_few_hosts(&filter) {
            return 0;
        }
        let claims = (0..self.topology.claim_count())
            .filter(|&claim| self.claim_surely_counts(claim, &filter));
        let nodes = self.staying().filter(|(instance, node)| {
            filter.surely_counts(node) && (node.node.is_some() || self.counts_on(*instance))
        });
        let hosts = claims.chain(nodes.map(|(instance, _)| instance));
        let ends_up_with = |host: usize| counts.after.get(&host).copied().unwrap_or_default();
        hosts.map(ends_up_with).min().map_or(most, |lowest| lowest.min(most))
    }

    /// Nodes that are not being removed, as instances.
    fn staying(&self) -> impl Iterator<Item = (usize, &Node)> {
        let first = self.topology.claim_count();
        let nodes = self.topology.facts.snapshot.nodes.iter().enumerate();
        nodes.filter(|(_, node)| !node.leaving).map(move |(at, node)| (first + at, node))
    }

    /// An upper bound on the fewest running counted pods on any occupied host; 0 if no host is occupied.
    fn fewest_running(&self, counts: &Counts) -> i64 {
        let on = |all: &HashMap<usize, i64>, host| all.get(&host).copied().unwrap_or_default();
        let hosts = || {
            let running = |(host, _)| (on(&counts.before, host), on(&counts.before_at_most, host));
            self.staying().map(running).filter(|(_, at_most)| *at_most > 0)
        };
        let certain = hosts().filter(|(surely, _)| *surely > 0).map(|(_, at_most)| at_most).min();
        // Each of the uncertain ones may be the only one.
        certain.or_else(|| hosts().map(|(_, at_most)| at_most).max()).unwrap_or_default()
    }

    /// Whether there are fewer hosts than `minDomains` under every interpretation of the rules.
    fn has_too_few_hosts(&self, filter: &NodeFilter<'_, '_>) -> bool {
        let Some(wanted) = self.identity.min_domains else { return false };
        let nodes = self.topology.facts.snapshot.nodes.iter();
        let hosts =
            self.topology.claim_count() + nodes.filter(|node| filter.may_count(node)).count();
        (hosts as i64) < i64::from(wanted)
    }

    /// Whether a new instance certainly counts.
    fn claim_surely_counts(&self, claim: usize, filter: &NodeFilter<'_, '_>) -> bool {
        let Some(shape) = &self.topology.shapes[claim] else { return false };
        let well_known = &self.topology.facts.snapshot.catalog.well_known;
        let left = &shape.left.requirements;
        let meets = filter.alternatives.last().is_none_or(|wanted| {
            wanted.get(label::INSTANCE_TYPE).is_none()
                && compat::shortfall(left, wanted, well_known).is_none()
        });
        meets && self.counts_on(claim)
    }
}
