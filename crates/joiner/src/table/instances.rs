//! The instances of a plan: those to make, and those that are there and receive pods.

use std::collections::HashMap;

use joiner_core::{
    instance_type::InstanceType,
    label,
    plan::{ExistingPlacement, Plan, PlannedClaim},
    requirement::Requirements,
    resources::{CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources},
    snapshot::{Node, Snapshot},
};

use super::{Pods, shape, share, zone};
use crate::text::{self, Align, Cell, DIM, GOOD, Table};

/// More lines than this are folded by pool, shape and zone: longer lists are unreadable.
const LINES_MAX: usize = 30;
/// Width of the lists that `wide` prints below an instance.
const WIDE: usize = 120;

/// One line for each instance that receives pods; nothing if there is none.
pub(super) fn render(
    snapshot: &Snapshot,
    pods: &Pods<'_>,
    plan: &Plan,
    wide: bool,
) -> Option<String> {
    let lines = Context::new(snapshot, pods).lines(plan);
    (!lines.is_empty()).then(|| table(lines, wide))
}

/// One line about one instance, or about several that look the same.
#[derive(Debug, Clone)]
struct Line {
    instances: usize,
    /// What an instance that is there, or on its way, is called; `None` for one still to be made.
    name: Option<String>,
    pool: String,
    shape: String,
    zone: String,
    price: Option<f64>,
    /// Fewest and most pods that it receives.
    pods: (usize, usize),
    cpu: Option<f64>,
    memory: Option<f64>,
    also: String,
    types: Vec<String>,
    pod_names: Vec<String>,
}

/// What tells lines apart that are of one shape: name, pods and shares.
type Exact<'l> = (Option<&'l str>, (usize, usize), [usize; 2]);

impl Line {
    /// What must be equal for lines to be shown as one. `coarse` looks past names and past how full
    /// instances are.
    fn fold_key(&self, coarse: bool) -> (bool, [&str; 4], Option<u64>, Option<Exact<'_>>) {
        let exact = || {
            let shares = [self.cpu, self.memory].map(|share| share.map_or(0, text::percent));
            (self.name.as_deref(), self.pods, shares)
        };
        let words = [&self.pool, &self.shape, &self.zone, &self.also].map(String::as_str);
        let price = self.price.map(f64::to_bits);
        (self.name.is_some(), words, price, (!coarse).then(exact))
    }

    /// Takes in a line that looks the same. Shares become the mean.
    fn fold(&mut self, other: &Self) {
        let (own, others) = (self.instances as f64, other.instances as f64);
        let mean = |a: Option<f64>, b: Option<f64>| Some((a? * own + b? * others) / (own + others));
        self.cpu = mean(self.cpu, other.cpu);
        self.memory = mean(self.memory, other.memory);
        self.pods = (self.pods.0.min(other.pods.0), self.pods.1.max(other.pods.1));
        self.instances += other.instances;
    }

    fn cells(&self) -> [Cell; 9] {
        let instance = match (&self.name, self.instances) {
            (Some(name), 1) => Cell::new(name, DIM),
            (Some(_), instances) => Cell::new(format!("{instances}× exist"), DIM),
            (None, 1) => Cell::new("new", GOOD),
            (None, instances) => Cell::new(format!("{instances}× new"), GOOD),
        };
        let pods = match self.pods {
            (fewest, most) if fewest == most => format!("{most}"),
            (fewest, most) => format!("{fewest}–{most}"),
        };
        let share = |share: Option<f64>| share.map_or_else(String::new, text::bar);
        [
            instance,
            self.pool.clone().into(),
            self.shape.clone().into(),
            self.zone.clone().into(),
            self.price.map_or_else(|| "–".to_owned(), text::price).into(),
            if self.name.is_some() { format!("+{pods}") } else { pods }.into(),
            share(self.cpu).into(),
            share(self.memory).into(),
            self.also.clone().into(),
        ]
    }
}

/// Folds lines that look the same, keeping the order in which each kind came first.
fn folded(lines: &[Line], coarse: bool) -> Vec<Line> {
    let mut kinds: HashMap<_, usize> = HashMap::new();
    let mut result: Vec<Line> = Vec::new();
    for line in lines {
        let index = *kinds.entry(line.fold_key(coarse)).or_insert(result.len());
        match result.get_mut(index) {
            Some(same) => same.fold(line),
            None => result.push(line.clone()),
        }
    }
    result
}

fn table(mut lines: Vec<Line>, wide: bool) -> String {
    if !wide {
        lines = folded(&lines, false);
        if lines.len() > LINES_MAX {
            lines = folded(&lines, true);
        }
    }
    let mut table = Table::new([
        ("INSTANCE", Align::Left),
        ("POOL", Align::Left),
        ("SHAPE", Align::Left),
        ("ZONE", Align::Left),
        ("PRICE/H", Align::Right),
        ("PODS", Align::Right),
        ("CPU", Align::Left),
        ("MEMORY", Align::Left),
        ("ALSO", Align::Left),
    ]);
    for line in &lines {
        table.row(line.cells());
        if wide {
            if line.types.len() > 1 {
                table.detail(text::wrapped("  types", &line.types, 9, WIDE));
            }
            table.detail(text::wrapped("  pods", &line.pod_names, 9, WIDE));
        }
    }
    table.render()
}

/// A snapshot's objects by name.
struct Context<'s> {
    snapshot: &'s Snapshot,
    pods: &'s Pods<'s>,
    nodes: HashMap<&'s str, &'s Node>,
    types: HashMap<(&'s str, &'s str), &'s InstanceType>,
}

impl<'s> Context<'s> {
    fn new(snapshot: &'s Snapshot, pods: &'s Pods<'s>) -> Self {
        let types = snapshot.catalog.by_pool.iter().flat_map(|(pool, types)| {
            types.iter().map(move |it| ((pool.as_str(), it.name.as_str()), it.as_ref()))
        });
        Self {
            snapshot,
            pods,
            nodes: snapshot.nodes.iter().map(|node| (node.name(), node)).collect(),
            types: types.collect(),
        }
    }

    fn lines(&self, plan: &Plan) -> Vec<Line> {
        let new = plan.claims.iter().map(|claim| self.new_instance(claim));
        let there = plan.existing.iter().map(|existing| self.instance_there(existing));
        new.chain(there).collect()
    }

    fn new_instance(&self, claim: &PlannedClaim) -> Line {
        let room = self.allocatable(claim);
        Line {
            instances: 1,
            name: None,
            pool: claim.node_pool.clone(),
            shape: shape(claim),
            zone: zone(claim),
            price: Some(claim.price),
            pods: (claim.pods.len(), claim.pods.len()),
            cpu: room.as_ref().and_then(|room| share(&claim.requests, room, CPU)),
            memory: room.as_ref().and_then(|room| share(&claim.requests, room, MEMORY)),
            also: other_resources(&claim.requests),
            types: claim.instance_types.to_vec(),
            pod_names: claim.pods.clone(),
        }
    }

    fn instance_there(&self, existing: &ExistingPlacement) -> Line {
        let (name, called) = match existing.node.as_str() {
            "" => (&existing.node_claim, format!("{} (on its way)", existing.node_claim)),
            node => (&existing.node, format!("{node} (exists)")),
        };
        let node = self.nodes.get(name.as_str()).copied();
        let label = |key: &str| node.and_then(|node| node.labels.get(key)).cloned();
        let received = existing.pods.iter().filter_map(|key| self.pods.get(key)).copied();
        let mut requests = Resources::new();
        for pod in node.iter().flat_map(|node| &node.pods).chain(received) {
            requests.add(&pod.spec.requests);
        }
        let use_of = |name| share(&requests, &node?.allocatable, name);
        Line {
            instances: 1,
            name: Some(called),
            pool: node.and_then(|node| node.pool.clone()).unwrap_or_default(),
            shape: label(label::INSTANCE_TYPE).unwrap_or_default(),
            zone: label(label::ZONE).unwrap_or_default(),
            price: None,
            pods: (existing.pods.len(), existing.pods.len()),
            cpu: use_of(CPU),
            memory: use_of(MEMORY),
            also: other_resources(&requests),
            types: Vec::new(),
            pod_names: existing.pods.clone(),
        }
    }

    /// What pods can use of the claim's cheapest type.
    fn allocatable(&self, claim: &PlannedClaim) -> Option<Resources> {
        let name = claim.instance_types.first()?;
        let cheapest = self.types.get(&(claim.node_pool.as_str(), name.as_str()))?;
        let requirements = Requirements::from_specs(claim.requirements.iter());
        let offering = cheapest
            .compatible_offerings(&requirements, &self.snapshot.catalog.well_known)
            .min_by(|a, b| a.price.total_cmp(&b.price))?;
        Some(cheapest.allocatable(offering))
    }
}

/// Requests other than the ones every instance has.
fn other_resources(requests: &Resources) -> String {
    let others = requests.iter().filter(|(name, quantity)| {
        ![CPU, MEMORY, PODS, EPHEMERAL_STORAGE].contains(name) && quantity.nanos() > 0
    });
    others.map(|(name, quantity)| format!("{name} {quantity}")).collect::<Vec<_>>().join(", ")
}
