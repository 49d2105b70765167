//! Facts about the snapshot and the plan that many checks need, computed once.

use std::{cell::OnceCell, collections::HashMap, hash::Hash};

use joiner_core::{
    plan::Plan,
    pod::{Pod, PodSpec},
    requirement::Requirements,
    settings::PlanSettings,
    snapshot::Snapshot,
};

use crate::{
    amounts::{self, Columns, Row},
    finding::Findings,
    placement::{self, Placement},
};

/// Numbers for values: equal values have equal numbers. Shared values are compared by address first.
#[derive(Debug)]
pub(crate) struct Interned<'a, T> {
    by_address: HashMap<*const T, usize>,
    by_value: HashMap<&'a T, usize>,
    values: Vec<&'a T>,
}

impl<T> Default for Interned<'_, T> {
    fn default() -> Self {
        Self { by_address: HashMap::new(), by_value: HashMap::new(), values: Vec::new() }
    }
}

impl<'a, T: Hash + Eq> Interned<'a, T> {
    /// The number of `value`.
    pub(crate) fn number(&mut self, value: &'a T) -> usize {
        *self.by_address.entry(std::ptr::from_ref(value)).or_insert_with(|| {
            *self.by_value.entry(value).or_insert_with(|| {
                self.values.push(value);
                self.values.len() - 1
            })
        })
    }

    /// All values, by number.
    pub(crate) fn values(&self) -> &[&'a T] {
        &self.values
    }
}

/// The requests and constraints of all pods with equal specifications.
#[derive(Debug)]
pub(crate) struct SpecFacts<'a> {
    pub(crate) spec: &'a PodSpec,
    pub(crate) requests: Row,
    alternatives: OnceCell<Vec<Requirements>>,
}

impl SpecFacts<'_> {
    /// One set of requirements for each alternative of the node affinity. They are built on first use, because pods
    /// that stay never need them.
    pub(crate) fn alternatives(&self) -> &[Requirements] {
        self.alternatives.get_or_init(|| self.spec.requirement_alternatives())
    }
}

/// The specifications of some pods.
#[derive(Debug)]
pub(crate) struct Specs<'a> {
    pub(crate) all: Vec<SpecFacts<'a>>,
    pub(crate) columns: Columns<'a>,
}

impl<'a> Specs<'a> {
    pub(crate) fn of(specs: &Interned<'a, PodSpec>, snapshot: &'a Snapshot) -> Self {
        let daemons = snapshot.daemons.iter().map(|daemon| &daemon.spec.requests);
        let asked = specs.values().iter().map(|spec| &spec.requests);
        let columns = Columns::of(asked.chain(daemons));
        let all = specs
            .values()
            .iter()
            .map(|spec| SpecFacts {
                spec,
                requests: columns.row(&spec.requests),
                alternatives: OnceCell::new(),
            })
            .collect();
        Self { all, columns }
    }
}

/// The snapshot and the plan, with derived facts.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) settings: &'a PlanSettings,
    pub(crate) plan: &'a Plan,
    pub(crate) specs: Specs<'a>,
    /// The specification of each pod that has a place. Those of other pods do not matter.
    pub(crate) spec_of: HashMap<usize, usize>,
    /// The specification of each pod of each node.
    pub(crate) spec_of_bound: Vec<Vec<usize>>,
    /// Where each pod goes.
    pub(crate) placement: Placement,
}

impl<'a> Facts<'a> {
    pub(crate) fn new(
        snapshot: &'a Snapshot,
        settings: &'a PlanSettings,
        plan: &'a Plan,
        findings: &mut Findings,
    ) -> Self {
        let mut specs = Interned::default();
        let placement = placement::resolve(snapshot, plan, findings);
        let placed = placement.claims.iter().chain(&placement.nodes).flatten();
        let spec_of = placed.map(|pod| (*pod, specs.number(&*snapshot.pods[*pod].spec))).collect();
        let spec_of_bound = snapshot
            .nodes
            .iter()
            .map(|node| node.pods.iter().map(|pod| specs.number(&*pod.spec)).collect())
            .collect();
        Self {
            snapshot,
            settings,
            plan,
            specs: Specs::of(&specs, snapshot),
            spec_of,
            spec_of_bound,
            placement,
        }
    }

    /// A pod to place.
    pub(crate) fn pod(&self, pod: usize) -> &'a Pod {
        &self.snapshot.pods[pod]
    }

    /// The specification of a pod to place.
    pub(crate) fn spec(&self, pod: usize) -> &SpecFacts<'a> {
        &self.specs.all[self.spec_of[&pod]]
    }

    /// The sum of the requests of `pods`.
    pub(crate) fn requests(&self, pods: &[usize]) -> Row {
        let mut sum = self.specs.columns.zeros();
        for &pod in pods {
            amounts::add(&mut sum, &self.spec(pod).requests);
        }
        sum
    }

    /// The name of a claim of the plan in findings.
    pub(crate) fn claim_name(&self, claim: usize) -> String {
        format!("claims[{claim}] of pool {}", self.plan.claims[claim].node_pool)
    }
}
