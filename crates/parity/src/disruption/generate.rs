//! Makes clusters whose instances could be fewer or cheaper.
//!
//! A cluster begins as a scenario for the planner. Its pods come in a few batches, and the planner
//! makes instances for each of them, so that every pod is where it may be. Then pods go and instances
//! are marked, and there is something to do.

mod instances;
mod pods;
mod pools;

use std::collections::BTreeSet;

use anyhow::Result;
use serde_json::{Value, json};

use super::{cluster::Cluster, kind::Kind};
use crate::{
    generate::of_kinds,
    ours::{NOW, prepare},
    rng::Rng,
    scenario::{self, Scenario},
};

/// A cluster, and what it is about.
#[derive(Debug, Clone)]
pub struct Situation {
    /// The cluster. Its own kinds say what its pods and pools are about.
    pub scenario: Scenario,
    /// What its instances are about.
    pub kinds: BTreeSet<Kind>,
}

impl Situation {
    /// The words by which a report knows its kinds.
    pub fn kind_names(&self) -> Vec<&'static str> {
        let planning = self.scenario.kinds.iter().map(|kind| kind.name());
        planning.chain(self.kinds.iter().map(|kind| kind.name())).collect()
    }

    /// Whether it is about something.
    pub fn is(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }
}

/// What pods and pools can be about. Everything else is compared where only plans are.
const PLANNING: &[scenario::Kind] = {
    use scenario::Kind;
    &[
        Kind::Sizes,
        Kind::Overhead,
        Kind::UnavailableOfferings,
        Kind::SeveralPools,
        Kind::Weights,
        Kind::Taints,
        Kind::NodeSelector,
        Kind::NodeAffinity,
        Kind::PreferredNodeAffinity,
        Kind::PreferredAntiAffinity,
        Kind::ScheduleAnyway,
        Kind::ZoneSpread,
        Kind::HostSpread,
        Kind::ZoneAffinity,
        Kind::HostAffinity,
        Kind::ZoneAntiAffinity,
        Kind::HostAntiAffinity,
        Kind::InitContainers,
        Kind::UnmanagedNodes,
        Kind::DaemonSets,
        Kind::HostPorts,
    ]
};

/// Random numbers of this generator begin here, beyond those of the planner's scenarios.
const STREAM: u64 = 1 << 32;

/// The cluster of a seed. Equal seeds give equal clusters, as long as the planner plans them alike.
pub fn generate(seed: u64) -> Result<Situation> {
    let (planning, kinds) = choose_kinds(seed);
    let mut rng = Rng::child(seed, STREAM);
    let mut scenario = of_kinds(seed, planning);
    scenario.flags.insert("now".to_owned(), json!(NOW));
    for pool in pools_of(&mut scenario) {
        pools::set_up(pool, &kinds);
    }
    let mut situation = Situation { scenario: populate(scenario, &kinds, &mut rng)?, kinds };
    for kind in situation.kinds.clone() {
        apply(kind, &mut situation.scenario, &mut Rng::child(seed, STREAM + 1 + kind as u64));
    }
    Ok(situation)
}

/// Half of all clusters have plain pods, and most are about one or two things besides.
fn choose_kinds(seed: u64) -> (BTreeSet<scenario::Kind>, BTreeSet<Kind>) {
    let mut rng = Rng::child(seed, STREAM - 1);
    let planning = match rng.below(100) {
        0..50 => 0,
        50..80 => 1,
        _ => rng.between(2, 3),
    };
    let planning = (0..planning).map(|_| *rng.pick(PLANNING)).collect();
    let count = rng.between(1, 3);
    let mut kinds: BTreeSet<Kind> = (0..count).map(|_| *rng.pick(Kind::ALL)).collect();
    if rng.chance(20) {
        kinds.insert(Kind::Large);
    }
    // Without one of these there would be nothing to do.
    let something_to_do = [Kind::ScaledIn, Kind::Oversized, Kind::Empty];
    if rng.chance(80) || !something_to_do.iter().any(|kind| kinds.contains(kind)) {
        kinds.insert(*rng.pick(&[Kind::ScaledIn, Kind::ScaledIn, Kind::Oversized]));
    }
    if kinds.contains(&Kind::SpotToSpot) {
        kinds.insert(Kind::Spot);
    }
    if kinds.contains(&Kind::GracePeriod) {
        kinds.insert(Kind::Drifted);
        kinds.insert(*rng.pick(&[Kind::PodBudgets, Kind::KeptPods]));
    }
    (planning, kinds)
}

/// Lets the pods of a scenario come in batches, and instances be made for them. Pods without a place
/// do not come at all.
fn populate(mut scenario: Scenario, kinds: &BTreeSet<Kind>, rng: &mut Rng) -> Result<Scenario> {
    let (mut pods, rest): (Vec<Value>, Vec<Value>) = std::mem::take(&mut scenario.objects)
        .into_iter()
        .partition(|object| object["kind"] == "Pod" && object["spec"]["nodeName"].is_null());
    scenario.objects = rest;
    for pod in &mut pods {
        pods::own(pod);
    }
    if kinds.contains(&Kind::Large) {
        pods = pods::multiply(&pods, rng.between(2, 5));
    }
    let batches = rng.between(1, 4);
    let mut cluster = Cluster::with_prefix(scenario, "node")?;
    let size = pods.len().div_ceil(batches).max(1);
    for batch in pods.chunks(size) {
        cluster.scenario.objects.extend_from_slice(batch);
        let plan = prepare(&cluster.scenario)?.plan()?.plan;
        cluster.place_on(&plan.claims, &plan.existing, &mut |_, claim| {
            let types = &claim.instance_types;
            let oversized = kinds.contains(&Kind::Oversized) && rng.chance(50);
            let index = if oversized { rng.below(types.len()) } else { 0 };
            types.get(index).cloned()
        })?;
        cluster
            .scenario
            .objects
            .retain(|object| object["kind"] != "Pod" || !object["spec"]["nodeName"].is_null());
    }
    Ok(cluster.scenario)
}

fn apply(kind: Kind, scenario: &mut Scenario, rng: &mut Rng) {
    match kind {
        Kind::ScaledIn => pods::scale_in(scenario, rng),
        Kind::Empty => instances::empty(scenario, rng),
        Kind::SpotToSpot => {
            let gate = json!("SpotToSpotConsolidation=true");
            scenario.flags.insert("feature-gates".to_owned(), gate);
        }
        Kind::Budgets => pools::budgets(scenario, rng),
        Kind::WhenEmpty => pools::policy(scenario, rng, "WhenEmpty"),
        Kind::Balanced => pools::policy(scenario, rng, "Balanced"),
        Kind::Never => pools::never(scenario, rng),
        Kind::Busy => instances::busy(scenario, rng),
        Kind::Drifted => instances::drifted(scenario, rng),
        Kind::PodBudgets => pods::budgets(scenario, rng),
        Kind::KeptPods => pods::keep(scenario, rng),
        Kind::KeptNodes => instances::keep(scenario, rng),
        Kind::EvictionCosts => pods::eviction_costs(scenario, rng),
        Kind::NotReady => instances::not_ready(scenario, rng),
        Kind::PoolGone => pools::gone(scenario, rng),
        Kind::Waiting => pods::waiting(scenario, rng),
        // These are decided before there are instances.
        Kind::Large | Kind::Oversized | Kind::Spot | Kind::GracePeriod => {}
    }
}

fn pools_of(scenario: &mut Scenario) -> impl Iterator<Item = &mut Value> {
    scenario.objects.iter_mut().filter(|object| object["kind"] == "NodePool")
}

/// Some of the objects of one kind (of Kubernetes'), one at least if there is any.
fn some<'s>(
    scenario: &'s mut Scenario,
    kind: &str,
    share: usize,
    rng: &mut Rng,
) -> Vec<&'s mut Value> {
    let of_kind: Vec<&mut Value> =
        scenario.objects.iter_mut().filter(|object| object["kind"] == kind).collect();
    let certain = rng.below(of_kind.len().max(1));
    of_kind
        .into_iter()
        .enumerate()
        .filter(|(index, _)| *index == certain || rng.chance(share))
        .map(|(_, object)| object)
        .collect()
}

#[cfg(test)]
mod tests;
