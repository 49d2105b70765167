//! Topology spread constraints with `DoNotSchedule`.
//!
//! Only the result is known, and not the order in which pods were placed. But counts only grow. So the last of the
//! k pods that a constraint put into a domain saw at least the k−1 others and the earlier pods. It saw at most the
//! smallest count of the result: `before + k − smallest ≤ maxSkew`. Pods that the constraint counts but that do not
//! have it may have come last, so they are excluded.

mod hosts;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    rc::Rc,
};

use joiner_core::{
    label::{self, Labels},
    pod::{InclusionPolicy, NodeTerm, PodSpec, SpreadConstraint, WhenUnsatisfiable},
    requirement::Requirements,
    selector::LabelSelector,
    snapshot::{Node, Snapshot},
    taint::{self, Effect, Taint, Toleration},
};

use super::{
    Domains, Here, KeyDomains, Topology,
    universe::{self, PoolDomains},
};
use crate::{
    compat,
    facts::{Interned, SpecFacts},
    finding::{Findings, Rule},
    pools,
};

/// The identity of a constraint.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Identity<'a> {
    look: Look<'a>,
    min_domains: Option<i32>,
    /// The nodes that the pod accepts, if others do not count.
    affinity: Option<(&'a Labels, &'a [NodeTerm])>,
    /// The tolerated taints, if nodes with others do not count.
    tolerations: Option<&'a [Toleration]>,
}

/// The part of a constraint's identity that Karpenter distinguishes reliably.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Look<'a> {
    namespace: &'a str,
    topology_key: &'a str,
    max_skew: i32,
    selector: LabelSelector,
    policies: [InclusionPolicy; 2],
}

impl<'a> Look<'a> {
    /// `None` for constraints about which nothing is certain. Without a selector no pod counts (COMPAT: Karpenter
    /// counts every pod of the namespace), and a beta key has no domains.
    fn of(constraint: &'a SpreadConstraint, namespace: &'a str, labels: &Labels) -> Option<Self> {
        let topology_key = constraint.topology_key.as_str();
        Some(Self {
            namespace,
            topology_key: Some(topology_key).filter(|key| label::normalize(key) == *key)?,
            max_skew: constraint.max_skew,
            selector: constraint.effective_selector(labels)?,
            policies: [constraint.node_affinity_policy, constraint.node_taints_policy],
        })
    }
}

impl<'a> Identity<'a> {
    fn of(look: Look<'a>, constraint: &SpreadConstraint, spec: &'a PodSpec) -> Self {
        let honors = |policy| policy == InclusionPolicy::Honor;
        Self {
            affinity: honors(look.policies[0])
                .then_some((&spec.node_selector, spec.node_affinity.as_slice())),
            tolerations: honors(look.policies[1]).then_some(&spec.tolerations),
            min_domains: constraint.min_domains,
            look,
        }
    }
}

pub(super) fn check(topology: &mut Topology<'_, '_>, findings: &mut Findings) {
    let mut groups: HashMap<Identity<'_>, Vec<usize>> = HashMap::new();
    let mut order = Vec::new();
    for (number, kind) in topology.kinds.iter().enumerate() {
        if kind.here.iter().all(|here| here.placed == 0) {
            continue;
        }
        let spec = topology.spec(kind).spec;
        for constraint in spec.spread.iter().filter(|constraint| is_hard(constraint)) {
            let Some(look) = Look::of(constraint, kind.namespace, kind.labels) else { continue };
            let identity = Identity::of(look, constraint, spec);
            let owners = groups.entry(identity.clone()).or_insert_with(|| {
                order.push(identity);
                Vec::new()
            });
            if owners.last() != Some(&number) {
                owners.push(number);
            }
        }
    }
    let miscounted = Miscounted::of(topology.facts.snapshot);
    let mut universes: HashMap<&str, Rc<[PoolDomains<'_>]>> = HashMap::new();
    for identity in &order {
        let key = identity.look.topology_key;
        let domains = topology.domains(key);
        let of_pools = universes
            .entry(key)
            .or_insert_with(|| universe::of_pools(topology.facts.snapshot, key).into());
        let selected =
            topology.selected(&identity.look.selector, |name| name == identity.look.namespace);
        let group = Group {
            topology,
            identity,
            domains: &domains,
            owners: &groups[identity],
            selected: &selected,
            of_pools,
            rule: if miscounted.may_be(&identity.look) {
                Rule::SpreadMiscounted
            } else {
                Rule::Spread
            },
        };
        group.check(findings);
    }
}

fn is_hard(constraint: &SpreadConstraint) -> bool {
    constraint.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule
}

/// Where Karpenter may count wrongly.
struct Miscounted<'a> {
    /// Pods may tolerate `PreferNoSchedule` only later, and then start counting anew.
    always: bool,
    /// Constraints that differ, but not in the part that Karpenter distinguishes.
    alike: HashSet<Look<'a>>,
}

impl<'a> Miscounted<'a> {
    fn of(snapshot: &'a Snapshot) -> Self {
        let usable = snapshot.pools.iter().filter(|pool| pools::is_usable(pool));
        let mut taints = usable.flat_map(|pool| &pool.taints);
        let always = taints.any(|taint| taint.effect == Effect::PreferNoSchedule);
        let mut first: HashMap<Look<'a>, (Option<i32>, &Labels, &[NodeTerm])> = HashMap::new();
        let mut alike = HashSet::new();
        let (mut specs, mut labels) = (Interned::default(), Interned::default());
        let mut seen = BTreeSet::new();
        for pod in snapshot.pods.iter().filter(|pod| !pod.spec.spread.is_empty()) {
            let numbers = (specs.number(&*pod.spec), labels.number(&*pod.labels));
            if !seen.insert((numbers, &*pod.namespace)) {
                continue;
            }
            for constraint in &pod.spec.spread {
                let Some(look) = Look::of(constraint, &pod.namespace, &pod.labels) else {
                    continue;
                };
                let (selector, affinity) = (&pod.spec.node_selector, &*pod.spec.node_affinity);
                let rest = (constraint.min_domains, selector, affinity);
                // Dropping an alternative also changes the identity of the constraint.
                if affinity.len() > 1 || *first.entry(look.clone()).or_insert(rest) != rest {
                    alike.insert(look);
                }
            }
        }
        Self { always, alike }
    }

    fn may_be(&self, look: &Look<'_>) -> bool {
        self.always || self.alike.contains(look)
    }
}

struct Group<'g, 'c, 'a> {
    topology: &'g Topology<'c, 'a>,
    identity: &'g Identity<'a>,
    domains: &'g KeyDomains,
    owners: &'g [usize],
    selected: &'g [usize],
    of_pools: &'g [PoolDomains<'a>],
    /// The rule that is broken if the spread is too uneven.
    rule: Rule,
}

/// The owners of a constraint in one domain.
#[derive(Default)]
struct Members<'g, 'a> {
    /// The number of owners that the constraint counts, and their kinds.
    counted: i64,
    counted_kinds: BTreeSet<usize>,
    /// Kinds of owners that it does not count.
    other_kinds: BTreeSet<usize>,
    example: Option<&'g Here<'a>>,
}

/// The number of counted pods in each domain.
#[derive(Default)]
struct Counts {
    /// Before the plan, the lower bound over all interpretations of the rules.
    before: HashMap<usize, i64>,
    /// Before the plan, the upper bound over all interpretations of the rules.
    before_at_most: HashMap<usize, i64>,
    /// After the plan, the upper bound over all interpretations of the rules.
    after: HashMap<usize, i64>,
}

impl<'g, 'a> Group<'g, '_, 'a> {
    fn check(&self, findings: &mut Findings) {
        let members = self.members(findings);
        let counts = self.counts();
        let universe = self.universe();
        let max_skew = i64::from(self.identity.look.max_skew);
        let mut floors: HashMap<usize, Option<i64>> = HashMap::new();
        for (domain, members) in &members {
            let before = counts.before.get(domain).copied().unwrap_or_default();
            let mut highest = |kinds: &BTreeSet<usize>| {
                let floors = kinds.iter().map(|&kind| {
                    *floors.entry(kind).or_insert_with(|| self.floor(kind, &counts, &universe))
                });
                // Without any domain to compare with, no spread is too uneven.
                floors.collect::<Option<Vec<i64>>>().and_then(|all| all.into_iter().max())
            };
            for (count, kinds) in
                [(before + members.counted, &members.counted_kinds), (before, &members.other_kinds)]
            {
                let Some(floor) = highest(kinds).filter(|floor| count - floor > max_skew) else {
                    continue;
                };
                let Some(here) = members.example else { continue };
                let message = format!(
                    "{count} pods with {} are in {} {}, and no more than {floor} where they are \
                     fewest: more than {max_skew} apart",
                    self.identity.look.selector,
                    self.identity.look.topology_key,
                    self.domains.names[*domain],
                );
                findings.add(self.rule, here.example.key(), message);
            }
        }
    }

    /// The owners by domain. An owner always knows its domain.
    fn members(&self, findings: &mut Findings) -> BTreeMap<usize, Members<'g, 'a>> {
        let mut members: BTreeMap<usize, Members<'g, 'a>> = BTreeMap::new();
        for &number in self.owners {
            let kind = &self.topology.kinds[number];
            // The constraint of a pod with several alternatives depends on the one it uses. So other such pods may
            // not count for it.
            let alone = self.identity.affinity.is_some_and(|(_, terms)| terms.len() > 1);
            for here in kind.here.iter().filter(|here| here.placed > 0) {
                let Domains::Certain(domain) = self.domains.of_instance[here.instance] else {
                    self.report_unpinned(here, findings);
                    continue;
                };
                if !self.counts_on(here.instance) {
                    continue;
                }
                let entry = members.entry(domain).or_default();
                entry.example.get_or_insert(here);
                if self.selected.binary_search(&number).is_ok() {
                    let placed = i64::from(here.placed);
                    entry.counted = if alone { 1 } else { entry.counted + placed };
                    entry.counted_kinds.insert(number);
                } else {
                    entry.other_kinds.insert(number);
                }
            }
        }
        members
    }

    fn report_unpinned(&self, here: &Here<'_>, findings: &mut Findings) {
        let key = self.identity.look.topology_key;
        let on_node = self.topology.node(here.instance).is_some();
        let rule = if on_node { Rule::TopologyNowhere } else { Rule::SpreadUnpinned };
        let instance = self.topology.instance_name(here.instance);
        let message = format!("it must be spread over {key}, and {instance} has no certain one");
        findings.add(rule, here.example.key(), message);
    }

    /// Whether an owner on this instance counts even before it tolerates `PreferNoSchedule`.
    fn counts_on(&self, instance: usize) -> bool {
        let taints: &[Taint] = match self.topology.node(instance) {
            Some(node) => &self.topology.facts.snapshot.nodes[node].taints,
            None => match &self.topology.shapes[instance] {
                Some(shape) => &shape.pool.pool.taints,
                None => return false,
            },
        };
        let tolerations = self.identity.tolerations;
        tolerations
            .is_none_or(|tolerations| taint::first_untolerated(taints, tolerations).is_none())
    }

    fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        let filter = NodeFilter::new(self);
        for &kind in self.selected {
            for here in &self.topology.kinds[kind].here {
                let Domains::Certain(domain) = self.domains.of_instance[here.instance] else {
                    continue;
                };
                let mut after = i64::from(here.placed);
                if let (Some(node), true) = (self.topology.node(here.instance), here.bound > 0) {
                    let bound = i64::from(here.bound);
                    let node = &self.topology.facts.snapshot.nodes[node];
                    if filter.surely_counts(node) {
                        *counts.before.entry(domain).or_default() += bound;
                    }
                    if filter.may_count(node) {
                        *counts.before_at_most.entry(domain).or_default() += bound;
                        after += bound;
                    }
                }
                *counts.after.entry(domain).or_default() += after;
            }
        }
        counts
    }

    /// The domains that exist under every interpretation of the rules.
    fn universe(&self) -> BTreeSet<&'g str> {
        if self.identity.look.topology_key == label::HOSTNAME {
            return BTreeSet::new();
        }
        let tolerated = |pool: &&PoolDomains<'_>| {
            let tolerations = self.identity.tolerations;
            tolerations.is_none_or(|tolerations| {
                taint::first_untolerated(&pool.pool.taints, tolerations).is_none()
            })
        };
        let of_pools = self.of_pools.iter().filter(tolerated);
        let mut universe: BTreeSet<&str> =
            of_pools.flat_map(|pool| &pool.certain).map(String::as_str).collect();
        let filter = NodeFilter::new(self);
        for node in &self.topology.facts.snapshot.nodes {
            let domain = node.labels.get(self.identity.look.topology_key);
            if let Some(domain) = domain.filter(|domain| !universe.contains(domain.as_str()))
                && node.node.is_some()
                && !node.leaving
                && filter.surely_counts(node)
            {
                universe.insert(domain);
            }
        }
        universe
    }

    /// An upper bound on the count of the emptiest domain that pods of a kind accept; `None` if they accept none.
    fn floor(&self, kind: usize, counts: &Counts, universe: &BTreeSet<&str>) -> Option<i64> {
        let key = self.identity.look.topology_key;
        if key == label::HOSTNAME {
            return Some(self.lowest_host(counts));
        }
        let spec: &SpecFacts<'_> = self.topology.spec(&self.topology.kinds[kind]);
        let floors = spec.alternatives().iter().map(|wanted| {
            let accepted = |domain: &str| wanted.get(key).is_none_or(|wanted| wanted.has(domain));
            if self.has_too_few_domains(accepted) {
                return Some(0);
            }
            let count = |domain: &&str| {
                let number = self.domains.numbers.get(*domain);
                number.and_then(|number| counts.after.get(number)).copied().unwrap_or_default()
            };
            universe.iter().filter(|domain| accepted(domain)).map(count).min()
        });
        floors.collect::<Option<Vec<i64>>>()?.into_iter().max()
    }

    /// Whether there are fewer domains than `minDomains` under every interpretation of the rules.
    fn has_too_few_domains(&self, accepted: impl Fn(&str) -> bool) -> bool {
        let Some(wanted) = self.identity.min_domains else { return false };
        let of_pools = self.of_pools.iter().flat_map(|pool| &pool.possible);
        let all: BTreeSet<&str> = of_pools.chain(&self.domains.names).map(String::as_str).collect();
        (all.into_iter().filter(|domain| accepted(domain)).count() as i64) < i64::from(wanted)
    }
}

/// The nodes that count for a group.
struct NodeFilter<'g, 'a> {
    identity: &'g Identity<'a>,
    /// The alternatives of the pods' node affinity, if the constraint honors it.
    alternatives: Vec<Requirements>,
}

impl<'g, 'a> NodeFilter<'g, 'a> {
    fn new(group: &Group<'g, '_, 'a>) -> Self {
        let owner = group.owners.first().map(|&kind| &group.topology.kinds[kind]);
        let spec = owner.map(|kind| group.topology.spec(kind));
        let decides = group.identity.affinity.is_some();
        let alternatives = spec.filter(|_| decides).map(|spec| spec.alternatives().to_vec());
        let mut alternatives = alternatives.unwrap_or_default();
        if alternatives.iter().all(Requirements::is_empty) {
            alternatives.clear();
        }
        Self { identity: group.identity, alternatives }
    }

    /// Whether a node counts, whatever alternatives and preferences were dropped. The last alternative never is.
    fn surely_counts(&self, node: &Node) -> bool {
        let tolerations = self.identity.tolerations;
        let labels = || Requirements::from_labels(&node.labels);
        self.alternatives.last().is_none_or(|wanted| labels().is_compatible(wanted, None))
            && tolerations.is_none_or(|tolerations| {
                taint::first_untolerated(&node.object_taints, tolerations).is_none()
            })
    }

    /// Whether a node counts under any alternative.
    fn may_count(&self, node: &Node) -> bool {
        if !self.alternatives.is_empty() {
            let labels = Requirements::from_labels(&node.labels);
            if !self.alternatives.iter().any(|wanted| labels.is_compatible(wanted, None)) {
                return false;
            }
        }
        let tolerations = self.identity.tolerations;
        tolerations.is_none_or(|tolerations| {
            compat::first_forbidding(&node.object_taints, tolerations).is_none()
        })
    }
}
