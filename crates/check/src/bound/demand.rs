//! The requests and constraints of pods, grouped by equality.

use std::collections::{BTreeMap, HashMap, HashSet};

use joiner_core::{
    label::{self, Labels},
    pod::{AffinityTerm, HostPort, InclusionPolicy, Pod, PodSpec, WhenUnsatisfiable},
    requirement::Requirements,
    selector::LabelSelector,
    snapshot::Snapshot,
    taint::{Effect, Toleration},
};

use super::{
    mixture::{Component, Demand},
    supply::{Choice, Supplies},
};
use crate::{
    facts::{Interned, Specs},
    pools,
};

/// How many pairs of requirements and instances are examined. Pods beyond that count as accepting any instance,
/// which is fast and never raises the bound. The value was chosen and not measured separately.
const WORK: usize = 20_000_000;

/// The constraints on a pod's instances, besides its size.
type Taste<'a> = (&'a [Toleration], Vec<Requirements>);

/// Pods grouped by their requests and constraints.
pub(super) struct Demands {
    /// For each taste, the instances that it accepts.
    choices: Vec<Vec<Choice>>,
    /// Each demand with the number of its taste.
    all: Vec<(usize, Demand)>,
    /// How many pods of a group fit on one instance.
    places: Vec<f64>,
}

impl Demands {
    pub(super) fn new(
        snapshot: &Snapshot,
        specs: &Specs<'_>,
        pods: &[usize],
        spec_of: &[usize],
        supplies: &Supplies<'_>,
    ) -> Self {
        let mut groups = Groups::new(snapshot);
        let mut tastes = Tastes::default();
        let mut labels = Interned::default();
        // Equal pods have equal demands, and the lookup is cheap.
        let mut alike: HashMap<(usize, &str, usize, &[Requirements]), usize> = HashMap::new();
        let mut numbers: HashMap<(usize, Vec<i128>, Vec<usize>), usize> = HashMap::new();
        let mut demands: Vec<(usize, Demand)> = Vec::new();
        for (&pod, &spec) in pods.iter().zip(spec_of) {
            let pod = &snapshot.pods[pod];
            let look = labels.number(&*pod.labels);
            let volumes = pod.volumes.alternatives.as_slice();
            let number = *alike.entry((spec, &pod.namespace, look, volumes)).or_insert_with(|| {
                let facts = &specs.all[spec];
                let taste = tastes.number(&facts.spec.tolerations, facts.alternatives(), volumes);
                let members = groups.of(pod);
                let key = (taste, facts.requests.to_vec(), members);
                *numbers.entry(key).or_insert_with_key(|(taste, requests, members)| {
                    let requests = requests.iter().map(|&nanos| nanos as f64).collect();
                    let demand = Demand { pods: 0.0, requests, groups: members.clone() };
                    demands.push((*taste, demand));
                    demands.len() - 1
                })
            });
            demands[number].1.pods += 1.0;
        }
        Self { choices: tastes.choices(supplies), all: demands, places: groups.places }
    }

    /// Separates demands that cannot share an instance, because each part has its best mixture.
    pub(super) fn components(self, supplies: usize) -> Vec<Component> {
        let mut sets = DisjointSets((0..supplies).collect());
        for choices in &self.choices {
            for pair in choices.windows(2) {
                sets.join(pair[0].supply, pair[1].supply);
            }
        }
        let mut components: BTreeMap<usize, Component> = BTreeMap::new();
        let mut taste_in: HashMap<usize, usize> = HashMap::new();
        for (taste, demand) in self.all {
            // Pods that fit no instance cost nothing; a clean plan has none.
            let Some(first) = self.choices[taste].first() else { continue };
            let component = components
                .entry(sets.root(first.supply))
                .or_insert_with(|| Component::new(self.places.clone()));
            let local = *taste_in
                .entry(taste)
                .or_insert_with(|| component.add_choices(&self.choices[taste]));
            component.add_demand(local, demand);
        }
        components.into_values().collect()
    }
}

#[derive(Default)]
struct Tastes<'a> {
    numbers: HashMap<Taste<'a>, usize>,
    all: Vec<Taste<'a>>,
}

impl<'a> Tastes<'a> {
    fn number(
        &mut self,
        tolerations: &'a [Toleration],
        alternatives: &[Requirements],
        volumes: &[Requirements],
    ) -> usize {
        let mut wanted: Vec<Requirements> = alternatives.to_vec();
        if !volumes.is_empty() {
            wanted = alternatives
                .iter()
                .flat_map(|required| volumes.iter().map(move |at| (required.clone(), at)))
                .map(|(mut required, at)| {
                    required.add_all(at);
                    required
                })
                .collect();
        }
        let taste = (tolerations, wanted);
        *self.numbers.entry(taste).or_insert_with_key(|taste| {
            self.all.push(taste.clone());
            self.all.len() - 1
        })
    }

    fn choices(&self, supplies: &Supplies<'_>) -> Vec<Vec<Choice>> {
        let indifferent = [Requirements::new()];
        let mut work = 0;
        let choices = self.all.iter().map(|(tolerations, wanted)| {
            work += supplies.len() * wanted.len();
            let wanted = if work > WORK { &indifferent[..] } else { wanted };
            supplies.choices(tolerations, wanted)
        });
        choices.collect()
    }
}

/// The reason why only a limited number of pods fits on one instance, whatever its size.
#[derive(PartialEq, Eq, Hash)]
enum Scarce<'a> {
    /// They must be on different hosts. The namespace is set if the term covers only the pods' own.
    Host(&'a AffinityTerm, &'a str),
    /// They must be spread over hosts, and none of them runs yet.
    Spread(&'a str, i32, LabelSelector, [InclusionPolicy; 2], &'a [Toleration]),
    /// They use the same port.
    Port(&'a HostPort),
}

struct Groups<'a> {
    snapshot: &'a Snapshot,
    /// `false` if pods may tolerate `PreferNoSchedule` later: then Karpenter loses its counts.
    counts_are_kept: bool,
    /// Namespaces and labels of pods on instances.
    running: HashSet<(&'a str, &'a Labels)>,
    numbers: HashMap<Scarce<'a>, usize>,
    places: Vec<f64>,
}

impl<'a> Groups<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
        let usable = snapshot.pools.iter().filter(|pool| pools::is_usable(pool));
        let mut taints = usable.flat_map(|pool| &pool.taints);
        let counts_are_kept = !taints.any(|taint| taint.effect == Effect::PreferNoSchedule);
        let running = snapshot.nodes.iter().flat_map(|node| &node.pods);
        let running = running.map(|pod| (&*pod.namespace, &*pod.labels)).collect();
        Self { snapshot, counts_are_kept, running, numbers: HashMap::new(), places: Vec::new() }
    }

    /// The groups of a pod.
    fn of(&mut self, pod: &'a Pod) -> Vec<usize> {
        let mut groups = Vec::new();
        for term in &pod.spec.anti_affinity {
            let own_only = term.namespaces.is_empty() && term.namespace_selector.is_none();
            let labels = self.snapshot.namespaces.get(&*pod.namespace);
            let selects_itself = term.topology_key == label::HOSTNAME
                && term.covers_namespace(&pod.namespace, &pod.namespace, labels)
                && term.selector.as_ref().is_some_and(|selector| selector.matches(&pod.labels));
            if selects_itself {
                let namespace = if own_only { &*pod.namespace } else { "" };
                groups.push(self.number(Scarce::Host(term, namespace), 1));
            }
        }
        for port in &pod.spec.host_ports {
            groups.push(self.number(Scarce::Port(port), 1));
        }
        groups.extend(self.spread_groups(pod));
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    /// Groups of spread over hosts, for pods that accept every node: Karpenter confuses the others. If some pods
    /// run already, the capacity of a host depends on the counts of all hosts.
    fn spread_groups(&mut self, pod: &'a Pod) -> Vec<usize> {
        let spec: &PodSpec = &pod.spec;
        if !self.counts_are_kept || !spec.node_selector.is_empty() || !spec.node_affinity.is_empty()
        {
            return Vec::new();
        }
        let mut groups = Vec::new();
        for constraint in &spec.spread {
            let hard = constraint.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule;
            let selector = constraint.effective_selector(&pod.labels);
            let selector = selector.filter(|selector| selector.matches(&pod.labels));
            let runs = |selector: &LabelSelector| {
                self.running.iter().any(|(namespace, labels)| {
                    *namespace == &*pod.namespace && selector.matches(labels)
                })
            };
            if let Some(selector) = selector
                && hard
                && constraint.topology_key == label::HOSTNAME
                && !runs(&selector)
            {
                let policies = [constraint.node_affinity_policy, constraint.node_taints_policy];
                let skew = constraint.max_skew.max(1);
                let scarce =
                    Scarce::Spread(&pod.namespace, skew, selector, policies, &pod.spec.tolerations);
                groups.push(self.number(scarce, skew));
            }
        }
        groups
    }

    fn number(&mut self, scarce: Scarce<'a>, places: i32) -> usize {
        *self.numbers.entry(scarce).or_insert_with(|| {
            self.places.push(f64::from(places));
            self.places.len() - 1
        })
    }
}

/// Sets of numbers that can be joined.
struct DisjointSets(Vec<usize>);

impl DisjointSets {
    fn root(&mut self, mut number: usize) -> usize {
        while self.0[number] != number {
            self.0[number] = self.0[self.0[number]];
            number = self.0[number];
        }
        number
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a] = b;
    }
}
