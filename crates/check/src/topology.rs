//! Affinity, anti-affinity and spread.
//!
//! For each topology key, an instance has a set of possible domains: a node its label, a claim every value that its
//! requirements allow. The places of pods depend on the instances alone, so pods with equal constraints and labels
//! form one [`Kind`].

mod affinity;
mod anti_affinity;
mod spread;
mod universe;

use std::{
    collections::{BTreeSet, HashMap},
    rc::Rc,
};

use joiner_core::{
    label::{self, Labels},
    pod::{AffinityTerm, Pod, Role},
    requirement::Requirement,
    selector::LabelSelector,
};

use crate::{
    facts::{Facts, Interned, SpecFacts},
    finding::Findings,
    shape::Shape,
};

/// What `maxSkew` over hosts is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LowestHost {
    /// The host with the fewest pods, once some run.
    Counted,
    /// An empty host, as if one more were always possible.
    AlwaysEmpty,
}

/// Checks affinity, anti-affinity and spread.
pub(crate) fn check(
    facts: &Facts<'_>,
    shapes: &[Option<Rc<Shape<'_>>>],
    lowest_host: LowestHost,
    findings: &mut Findings,
) {
    let mut topology = Topology::new(facts, shapes, lowest_host);
    anti_affinity::check(&mut topology, findings);
    affinity::check(&mut topology, findings);
    spread::check(&mut topology, findings);
}

/// The places of all pods.
struct Topology<'c, 'a> {
    facts: &'c Facts<'a>,
    shapes: &'c [Option<Rc<Shape<'a>>>],
    lowest_host: LowestHost,
    kinds: Vec<Kind<'a>>,
    by_label: HashMap<(&'a str, &'a str), Vec<usize>>,
    domains: HashMap<&'a str, Rc<KeyDomains>>,
}

/// Pods with the same spec, namespace and labels.
struct Kind<'a> {
    spec: usize,
    namespace: &'a str,
    labels: &'a Labels,
    here: Vec<Here<'a>>,
}

/// Pods of one kind on one instance.
struct Here<'a> {
    /// Claims of the plan come first, then the nodes of the snapshot.
    instance: usize,
    /// How many were there before and stay.
    bound: u32,
    /// How many the plan places there.
    placed: u32,
    /// One of them.
    example: &'a Pod,
}

/// The domains of instances, for one topology key.
struct KeyDomains {
    names: Vec<String>,
    numbers: HashMap<String, usize>,
    of_instance: Vec<Domains>,
}

/// The possible domains of one instance.
enum Domains {
    /// The instance does not have the label.
    Nowhere,
    Certain(usize),
    OneOf(Vec<usize>),
}

impl Domains {
    fn as_slice(&self) -> &[usize] {
        match self {
            Self::Nowhere => &[],
            Self::Certain(domain) => std::slice::from_ref(domain),
            Self::OneOf(domains) => domains,
        }
    }
}

impl<'c, 'a> Topology<'c, 'a> {
    fn new(
        facts: &'c Facts<'a>,
        shapes: &'c [Option<Rc<Shape<'a>>>],
        lowest_host: LowestHost,
    ) -> Self {
        let kinds = kinds(facts);
        let mut by_label: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
        for (number, kind) in kinds.iter().enumerate() {
            for (key, value) in kind.labels {
                by_label.entry((key, value)).or_default().push(number);
            }
        }
        Self { facts, shapes, lowest_host, kinds, by_label, domains: HashMap::new() }
    }

    fn spec(&self, kind: &Kind<'a>) -> &'c SpecFacts<'a> {
        &self.facts.specs.all[kind.spec]
    }

    /// Whether the plan places any pod of some kinds.
    fn any_placed(&self, kinds: &[usize]) -> bool {
        let mut here = kinds.iter().flat_map(|kind| &self.kinds[*kind].here);
        here.any(|here| here.placed > 0)
    }

    /// The kinds that `selector` selects in the namespaces for which `covers` is true.
    fn selected(&self, selector: &LabelSelector, covers: impl Fn(&str) -> bool) -> Vec<usize> {
        let matches = |&number: &usize| {
            let kind = &self.kinds[number];
            covers(kind.namespace) && selector.matches(kind.labels)
        };
        match selector.exact() {
            Some(exact) => {
                let candidates = self.by_label.get(&exact).into_iter().flatten();
                candidates.copied().filter(matches).collect()
            }
            None => (0..self.kinds.len()).filter(matches).collect(),
        }
    }

    /// The kinds that a term of a pod in namespace `own` selects.
    fn selected_by_term(&self, term: &AffinityTerm, own: &str) -> Vec<usize> {
        let namespaces = &self.facts.snapshot.namespaces;
        let covers = |name: &str| term.covers_namespace(own, name, namespaces.get(name));
        term.selector.as_ref().map_or_else(Vec::new, |selector| self.selected(selector, covers))
    }

    /// Equal required terms, each with the kinds that have it. Terms with a beta key are skipped: Karpenter
    /// compares their text with current keys, so nothing is certain about them.
    fn terms(
        &self,
        of: impl Fn(&'a joiner_core::pod::PodSpec) -> &'a [AffinityTerm],
    ) -> Vec<(&'a AffinityTerm, &'a str, Vec<usize>)> {
        let mut numbers: HashMap<(&AffinityTerm, &str), usize> = HashMap::new();
        let mut groups: Vec<(&AffinityTerm, &str, Vec<usize>)> = Vec::new();
        for (number, kind) in self.kinds.iter().enumerate() {
            for term in of(self.spec(kind).spec) {
                if label::normalize(&term.topology_key) != term.topology_key {
                    continue;
                }
                let own_only = term.namespaces.is_empty() && term.namespace_selector.is_none();
                let namespace = if own_only { kind.namespace } else { "" };
                let group = *numbers.entry((term, namespace)).or_insert_with(|| {
                    groups.push((term, namespace, Vec::new()));
                    groups.len() - 1
                });
                let owners = &mut groups[group].2;
                if owners.last() != Some(&number) {
                    owners.push(number);
                }
            }
        }
        groups
    }

    fn claim_count(&self) -> usize {
        self.shapes.len()
    }

    /// The instance's position among the snapshot's nodes, if it is one.
    fn node(&self, instance: usize) -> Option<usize> {
        instance.checked_sub(self.claim_count())
    }

    fn instance_name(&self, instance: usize) -> String {
        match self.node(instance) {
            Some(node) => format!("node {}", self.facts.snapshot.nodes[node].name()),
            None => self.facts.claim_name(instance),
        }
    }

    /// The domains of every instance.
    fn domains(&mut self, key: &'a str) -> Rc<KeyDomains> {
        if let Some(domains) = self.domains.get(key) {
            return domains.clone();
        }
        let domains = Rc::new(if key == label::HOSTNAME { self.hosts() } else { self.zones(key) });
        self.domains.insert(key, domains.clone());
        domains
    }

    /// Each instance is its own host.
    fn hosts(&self) -> KeyDomains {
        let count = self.claim_count() + self.facts.snapshot.nodes.len();
        KeyDomains {
            names: (0..count).map(|instance| self.instance_name(instance)).collect(),
            numbers: HashMap::new(),
            of_instance: (0..count).map(Domains::Certain).collect(),
        }
    }

    /// Domains of any key but the hostname.
    fn zones(&self, key: &str) -> KeyDomains {
        let mut names = Vec::new();
        let mut numbers = HashMap::new();
        let mut number = |name: &str| {
            *numbers.entry(name.to_owned()).or_insert_with(|| {
                names.push(name.to_owned());
                names.len() - 1
            })
        };
        let claims = (0..self.claim_count()).map(|claim| {
            let values = self.claim_values(claim, key);
            let mut found: Vec<usize> = values.iter().map(|value| number(value)).collect();
            match found.as_slice() {
                [] => Domains::Nowhere,
                [only] => Domains::Certain(*only),
                _ => {
                    found.sort_unstable();
                    Domains::OneOf(found)
                }
            }
        });
        let mut of_instance: Vec<Domains> = claims.collect();
        of_instance.extend(self.facts.snapshot.nodes.iter().map(|node| {
            node.labels.get(key).map_or(Domains::Nowhere, |value| Domains::Certain(number(value)))
        }));
        KeyDomains { names, numbers, of_instance }
    }

    /// The values that a claim's instance may have for `key`.
    fn claim_values(&self, claim: usize, key: &str) -> BTreeSet<&'c str> {
        let Some(shape) = &self.shapes[claim] else { return BTreeSet::new() };
        if key == label::INSTANCE_TYPE {
            return shape.allowed_types.iter().copied().collect();
        }
        let left = shape.left.requirements.get(key);
        match left {
            Some(left) if !left.is_complement() => {
                left.values().iter().map(String::as_str).collect()
            }
            _ => self.open_values(shape, key, left),
        }
    }

    /// The values that the types and offerings of a claim have for a key that its requirements leave open.
    fn open_values(
        &self,
        shape: &'c Shape<'a>,
        key: &str,
        left: Option<&Requirement>,
    ) -> BTreeSet<&'c str> {
        let well_known = &self.facts.snapshot.catalog.well_known;
        let requirements = &shape.left.requirements;
        let mut values = BTreeSet::new();
        for (each, _) in shape.listed() {
            for offering in each.of.offerings.iter().filter(|offering| offering.available) {
                let said = offering.requirements.get(key).or_else(|| each.of.requirements.get(key));
                if let Some(said) = said.filter(|said| !said.is_complement())
                    && offering.serves(requirements, well_known)
                {
                    values.extend(said.values().iter().map(String::as_str));
                }
            }
        }
        values.retain(|value| left.is_none_or(|left| left.has(value)));
        values
    }
}

/// All pods that have a place and are not terminating.
fn kinds<'a>(facts: &Facts<'a>) -> Vec<Kind<'a>> {
    let mut labels = Interned::default();
    let mut numbers: HashMap<(usize, &str, usize), usize> = HashMap::new();
    let mut kinds: Vec<Kind<'a>> = Vec::new();
    let mut add = |pod: &'a Pod, spec: usize, instance: usize, placed: bool| {
        let look = labels.number(&*pod.labels);
        let number = *numbers.entry((spec, &pod.namespace, look)).or_insert_with(|| {
            kinds.push(Kind {
                spec,
                namespace: &pod.namespace,
                labels: &pod.labels,
                here: Vec::new(),
            });
            kinds.len() - 1
        });
        let here = &mut kinds[number].here;
        if here.last().is_none_or(|last| last.instance != instance) {
            here.push(Here { instance, bound: 0, placed: 0, example: pod });
        }
        let Some(last) = here.last_mut() else { return };
        if placed {
            last.placed += 1;
            last.example = pod;
        } else {
            last.bound += 1;
        }
    };
    let placement = &facts.placement;
    for (instance, pods) in placement.claims.iter().enumerate() {
        for &pod in pods {
            add(facts.pod(pod), facts.spec_of[&pod], instance, true);
        }
    }
    for (number, node) in facts.snapshot.nodes.iter().enumerate() {
        let instance = placement.claims.len() + number;
        for (pod, &spec) in node.pods.iter().zip(&facts.spec_of_bound[number]) {
            if !matches!(pod.role, Role::Bound { terminating: true, .. }) {
                add(pod, spec, instance, false);
            }
        }
        for &pod in &placement.nodes[number] {
            add(facts.pod(pod), facts.spec_of[&pod], instance, true);
        }
    }
    kinds
}
