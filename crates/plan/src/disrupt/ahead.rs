//! Comparing several strategies to their end.
//!
//! The move that saves most now may prevent one that saves more later. An instance that receives pods in this pass,
//! for example, cannot be removed in it. So small clusters are simulated to the end. Each [`Way`] is followed pass
//! after pass, and the cheapest end wins. Among ends that are nearly as cheap, the one that moves the fewest pods
//! wins. After its first pass the cluster is read again.

use std::collections::{BTreeMap, BTreeSet};

use joiner_core::{
    disruption::{ClaimFacts, Command, DisruptionSettings, Fleet, Instance, Method, PodFacts},
    instance_type::{Catalog, InstanceType, Offering},
    label,
    plan::{ExistingPlacement, PlannedClaim},
    pod::Pod,
    requirement::Requirements,
    settings::PlanSettings,
    snapshot::{Node, Snapshot},
};

use super::{consider::price, consolidation, drift, emptiness, pass::Pass, simulate::Simulator};
use crate::provision;

/// The largest cluster that is simulated to its end: instances that hold pods, and pods. Looking ahead costs up to
/// [`PASSES_MAX`] more passes for each way. The limits were chosen so that small clusters gain from it (D43 of
/// docs/compat.md). They were not measured separately: larger ones save more and take longer.
const INSTANCES_MAX: usize = 64;
const PODS_MAX: usize = 1000;

/// How many passes are simulated at most, so that the work is bounded. It equals `INSTANCES_MAX`: where each pass
/// removes one instance, all can be removed. It was not measured separately.
const PASSES_MAX: usize = 64;

/// Ends that cost at most this much more than the cheapest are nearly as good. Half a percent was chosen and not
/// measured separately: it is given up for fewer moved pods.
const NEARLY: f64 = 1.005;

/// A strategy for choosing commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// All commands of all methods are chosen in one pass.
    AllAtOnce,
    /// Each pass carries out the first command that it finds, as Karpenter does. Pods of drifted instances may move
    /// to instances that have drifted too.
    StepByStep,
    /// As [`Way::StepByStep`], but the most expensive drifted instances come first, rather than the oldest drift.
    DearestFirst,
}

impl Way {
    fn decide(self, pass: &mut Pass<'_>, methods: &[Method]) {
        for method in methods {
            match method {
                Method::Emptiness => emptiness::decide(pass),
                Method::StaticDrift => drift::decide_static(pass),
                Method::Drift => drift::decide(pass, self),
                Method::MultiNode | Method::SingleNode if self != Self::AllAtOnce => {
                    consolidation::decide_first(pass, *method);
                }
                Method::MultiNode => consolidation::decide_several(pass),
                Method::SingleNode => consolidation::decide_single(pass),
            }
            if self != Self::AllAtOnce && !pass.commands().is_empty() {
                return;
            }
        }
    }
}

/// The input of a pass.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sight<'s> {
    pub(super) snapshot: &'s Snapshot,
    pub(super) fleet: &'s Fleet,
    pub(super) planning: &'s PlanSettings,
    pub(super) settings: DisruptionSettings,
}

impl<'s> Sight<'s> {
    /// The first pass of the best way.
    pub(super) fn best_pass(self) -> Pass<'s> {
        let pass = self.pass(Way::AllAtOnce);
        if pass.commands().is_empty() || !self.is_small() {
            return pass;
        }
        let Some(end) = self.end(Way::AllAtOnce, &pass) else { return pass };
        let mut ends = vec![(end, pass)];
        let mut claims = self.fleet.instances.iter().filter_map(|instance| instance.claim.as_ref());
        let has_drifted = claims.any(|claim| claim.drifted.is_some());
        let steps = [Some(Way::StepByStep), has_drifted.then_some(Way::DearestFirst)];
        for way in steps.into_iter().flatten() {
            let mut pass = self.pass(way);
            if pass.commands().is_empty() {
                continue;
            }
            let end = self.end(way, &pass);
            pass.rest_waits();
            ends.extend(end.map(|end| (end, pass)));
        }
        let cheapest = ends.iter().map(|(end, _)| end.price).fold(f64::INFINITY, f64::min);
        ends.retain(|(end, _)| end.price <= cheapest * NEARLY);
        let (_, best) = ends.into_iter().min_by_key(|(end, _)| end.moved).expect("the cheapest");
        best
    }

    fn is_small(self) -> bool {
        let pods = self.snapshot.nodes.iter().map(|node| node.pods.len());
        let holding = pods.clone().filter(|pods| *pods > 0).count();
        holding <= INSTANCES_MAX && pods.sum::<usize>() <= PODS_MAX
    }

    fn pass(self, way: Way) -> Pass<'s> {
        let Self { snapshot, fleet, planning, settings } = self;
        if way != Way::AllAtOnce {
            // Only drift is decided like this. Consolidation is validated later, and validation uses the usual
            // placement rules.
            let simulator = Simulator::taking_all_alike(snapshot, fleet, planning);
            let mut pass = Pass::asking(simulator, snapshot, fleet, settings);
            way.decide(&mut pass, &[Method::Emptiness, Method::StaticDrift, Method::Drift]);
            if !pass.commands().is_empty() {
                return pass;
            }
        }
        let simulator = Simulator::of_proposals(snapshot, fleet, planning);
        let mut pass = Pass::asking(simulator, snapshot, fleet, settings);
        way.decide(&mut pass, Method::ALL);
        pass
    }

    /// The end of a way whose first pass is known. `None` if pods would be left without a place, or the price of a
    /// new instance is unknown.
    fn end(self, way: Way, first: &Pass<'_>) -> Option<End> {
        let mut future = Future {
            snapshot: self.snapshot.clone(),
            fleet: self.fleet.clone(),
            planning: self.planning,
            made: 0,
            moved: 0,
        };
        future.carry_out(first.commands())?;
        for _ in 1..PASSES_MAX {
            let Future { snapshot, fleet, .. } = &future;
            let commands = Sight { snapshot, fleet, ..self }.pass(way).into_commands();
            if commands.is_empty() {
                break;
            }
            future.carry_out(&commands)?;
        }
        Some(End { price: future.price(), moved: future.moved })
    }
}

/// The result of following a way to its end.
#[derive(Debug, Clone, Copy)]
struct End {
    price: f64,
    moved: usize,
}

/// The cluster as simulated so far.
#[derive(Debug)]
struct Future<'p> {
    snapshot: Snapshot,
    fleet: Fleet,
    planning: &'p PlanSettings,
    /// How many instances the simulation has created.
    made: usize,
    /// How many pods the simulation has moved.
    moved: usize,
}

/// Pods without a place, by `namespace/name`.
type Displaced = BTreeMap<String, (Pod, PodFacts)>;

impl Future<'_> {
    /// Removes and creates instances, and places pods as the commands say. Pods without a destination in any
    /// command are planned anew: they could not be moved, and end with their instance.
    fn carry_out(&mut self, commands: &[Command]) -> Option<()> {
        let mut displaced = self.remove(commands);
        self.moved += displaced.len();
        for command in commands {
            self.place(&mut displaced, &command.destinations, &command.replacements)?;
        }
        if displaced.is_empty() {
            return Some(());
        }
        let left = displaced.values().map(|(pod, _)| pod.clone()).collect();
        let waiting = std::mem::replace(&mut self.snapshot.pods, left);
        let plan = provision(&self.snapshot, self.planning).plan;
        self.snapshot.pods = waiting;
        self.place(&mut displaced, &plan.existing, &plan.claims)?;
        displaced.is_empty().then_some(())
    }

    fn remove(&mut self, commands: &[Command]) -> Displaced {
        let candidates = commands.iter().flat_map(|command| &command.candidates);
        let going: BTreeSet<&str> = candidates.map(|each| each.node_claim.as_str()).collect();
        let mut displaced = Displaced::new();
        let nodes = std::mem::take(&mut self.snapshot.nodes);
        let instances = std::mem::take(&mut self.fleet.instances);
        for (node, instance) in nodes.into_iter().zip(instances) {
            if node.claim.as_deref().is_some_and(|claim| going.contains(claim)) {
                let pods = node.pods.into_iter().zip(instance.pods);
                let moving = pods.filter(|(_, facts)| facts.reschedulable);
                displaced.extend(moving.map(|(pod, facts)| (pod.key(), (pod, facts))));
            } else {
                self.push(node, instance);
            }
        }
        displaced
    }

    fn place(
        &mut self,
        displaced: &mut Displaced,
        existing: &[ExistingPlacement],
        claims: &[PlannedClaim],
    ) -> Option<()> {
        let mut take = |pods: &[String]| -> Vec<(Pod, PodFacts)> {
            pods.iter().filter_map(|pod| displaced.remove(pod)).collect()
        };
        for there in existing {
            let at = self.snapshot.nodes.iter().position(|node| node.name() == there.name())?;
            for (pod, facts) in take(&there.pods) {
                self.snapshot.nodes[at].pods.push(pod);
                self.fleet.instances[at].pods.push(facts);
            }
        }
        for claim in claims {
            self.made += 1;
            // A name that no Node can have.
            let name = format!("new/{}", self.made);
            let mut node = launched(&self.snapshot.catalog, claim, name)?;
            let facts = ClaimFacts { consolidatable: true, ..ClaimFacts::default() };
            let mut instance = Instance { claim: Some(facts), ready: true, ..Instance::default() };
            (node.pods, instance.pods) = take(&claim.pods).into_iter().unzip();
            self.push(node, instance);
        }
        Some(())
    }

    fn push(&mut self, node: Node, instance: Instance) {
        self.snapshot.nodes.push(node);
        self.fleet.instances.push(instance);
    }

    /// The price of all instances that Joiner has created and that stay.
    fn price(&self) -> f64 {
        let ours = self.snapshot.nodes.iter().filter(|node| node.claim.is_some() && !node.leaving);
        ours.filter_map(|node| price(&self.snapshot, node)).sum()
    }
}

/// The instance that a claim becomes. The cheapest offering that the claim allows is assumed.
fn launched(catalog: &Catalog, claim: &PlannedClaim, name: String) -> Option<Node> {
    let requirements = Requirements::from_specs(claim.requirements.iter());
    let types = catalog.types(&claim.node_pool).iter();
    let types = types.filter(|each| claim.instance_types.contains(&each.name));
    let offered = types.flat_map(|each| {
        let offerings = each.compatible_offerings(&requirements, &catalog.well_known);
        offerings.map(move |offering| (&**each, offering))
    });
    let by_price = |a: &(&InstanceType, &Offering), b: &(&InstanceType, &Offering)| {
        a.1.price.total_cmp(&b.1.price)
    };
    let (shape, offering) = offered.min_by(by_price)?;
    let mut labels = (*claim.labels).clone();
    labels.extend(shape.requirements.single_values());
    labels.extend(offering.requirements.single_values());
    labels.insert(label::INSTANCE_TYPE.to_owned(), shape.name.clone());
    Some(Node {
        hostname: name.clone(),
        node: Some(name.clone()),
        claim: Some(name),
        pool: Some(claim.node_pool.clone()),
        labels,
        taints: claim.taints.to_vec(),
        object_taints: claim.taints.to_vec(),
        allocatable: shape.allocatable(offering),
        capacity: shape.offered_capacity(offering),
        initialized: true,
        leaving: false,
        volume_limits: shape.volume_limits.clone(),
        pods: Vec::new(),
    })
}

#[cfg(test)]
mod tests;
