//! Makes scenarios out of seeds.
//!
//! A scenario starts as a small world (instances on offer, a pool, some workloads), and each of its
//! kinds then changes that world in its own way, in the order in which kinds are listed. Every kind
//! draws from a generator of its own.

mod affinity;
mod catalog;
mod daemons;
mod nodes;
mod pods;
mod pools;
mod preferences;
mod spread;
mod volumes;
mod world;

use std::collections::BTreeSet;

use crate::{
    rng::Rng,
    scenario::{Kind, Scenario},
};
use world::World;
pub(crate) use world::owner;

/// The scenario of a seed. Equal seeds give equal scenarios.
pub fn generate(seed: u64) -> Scenario {
    of_kinds(seed, choose_kinds(seed))
}

/// The scenario of a seed, if it were about these kinds.
pub(crate) fn of_kinds(seed: u64, kinds: BTreeSet<Kind>) -> Scenario {
    let mut world = World::new(seed);
    for kind in &kinds {
        apply(*kind, &mut world, &mut Rng::child(seed, 1 + *kind as u64));
    }
    world.into_scenario(seed, kinds)
}

/// A third of all scenarios are about one kind alone, most mix a few, and some mix many.
fn choose_kinds(seed: u64) -> BTreeSet<Kind> {
    let mut rng = Rng::child(seed, 0);
    let count = match rng.below(100) {
        0..33 => 1,
        33..85 => rng.between(2, 4),
        _ => rng.between(5, 9),
    };
    let mut kinds: BTreeSet<Kind> = (0..count).map(|_| *rng.pick(Kind::ALL)).collect();
    // These kinds say how other kinds are treated, so they bring one along.
    if kinds.contains(&Kind::IgnorePreferences) {
        kinds.insert(*rng.pick(&[
            Kind::PreferredNodeAffinity,
            Kind::PreferredAffinity,
            Kind::PreferredAntiAffinity,
            Kind::ScheduleAnyway,
        ]));
    }
    if kinds.contains(&Kind::VolumeLimits) {
        kinds.insert(*rng.pick(&[Kind::ExistingNodes, Kind::UnmanagedNodes]));
        kinds.insert(*rng.pick(&[Kind::BoundVolumes, Kind::WaitingVolumes]));
    }
    if kinds.contains(&Kind::StartupTaints) {
        kinds.insert(Kind::UninitializedNodes);
    }
    if kinds.contains(&Kind::MinValuesStrict) {
        kinds.remove(&Kind::MinValuesBestEffort);
    }
    if kinds.contains(&Kind::Reserved) {
        kinds.remove(&Kind::ReservedFallback);
    }
    kinds
}

fn apply(kind: Kind, world: &mut World, rng: &mut Rng) {
    match kind {
        Kind::Sizes => pods::odd_sizes(world, rng),
        Kind::Overhead => catalog::overhead(world, rng),
        Kind::SpotPrices => catalog::spot_prices(world, rng),
        Kind::UnavailableOfferings => catalog::unavailable_offerings(world, rng),
        Kind::OfferingOverrides => catalog::offering_overrides(world, rng),
        Kind::ExtendedResources => catalog::extended_resources(world, rng),
        Kind::Reserved => catalog::reserved(world, rng),
        Kind::ReservedFallback => {
            catalog::reserved(world, rng);
            world.set_flag("reserved-fallback", true);
        }
        Kind::SeveralPools => pools::several(world, rng),
        Kind::UnusablePools => pools::unusable(world, rng),
        Kind::Weights => pools::weights(world, rng),
        Kind::Limits => pools::limits(world, rng),
        Kind::NodeLimits => pools::node_limits(world, rng),
        Kind::MinValuesStrict => pools::min_values(world, rng),
        Kind::MinValuesBestEffort => {
            pools::min_values(world, rng);
            world.set_flag("min-values-policy", "BestEffort");
        }
        Kind::Taints => pools::taints(world, rng),
        Kind::PreferNoSchedule => pools::prefer_no_schedule(world, rng),
        Kind::StartupTaints => pools::startup_taints(world, rng),
        Kind::Overlays => pools::overlays(world, rng),
        Kind::NodeSelector => pods::node_selector(world, rng),
        Kind::NodeAffinity => pods::node_affinity(world, rng),
        Kind::NodeAffinityTerms => pods::node_affinity_terms(world, rng),
        Kind::RefusedSelectors => pods::refused_selectors(world, rng),
        Kind::PreferredNodeAffinity => preferences::node_affinity(world, rng),
        Kind::PreferredAffinity => preferences::affinity(world, rng),
        Kind::PreferredAntiAffinity => preferences::anti_affinity(world, rng),
        Kind::ScheduleAnyway => preferences::schedule_anyway(world, rng),
        Kind::IgnorePreferences => world.set_flag("preference-policy", "Ignore"),
        Kind::ZoneSpread => spread::zone(world, rng),
        Kind::HostSpread => spread::host(world, rng),
        Kind::CustomSpread => spread::custom(world, rng),
        Kind::SpreadMinDomains => spread::min_domains(world, rng),
        Kind::SpreadPolicies => spread::policies(world, rng),
        Kind::SpreadMatchLabelKeys => spread::match_label_keys(world, rng),
        Kind::NoSelector => spread::no_selector(world, rng),
        Kind::ZoneAffinity => affinity::zone(world, rng),
        Kind::HostAffinity => affinity::host(world, rng),
        Kind::AffinityChain => affinity::chain(world, rng),
        Kind::ZoneAntiAffinity => affinity::anti_zone(world, rng),
        Kind::HostAntiAffinity => affinity::anti_host(world, rng),
        Kind::AffinityNamespaces => affinity::namespaces(world, rng),
        Kind::NotToPlace => pods::not_to_place(world, rng),
        Kind::InitContainers => pods::init_containers(world, rng),
        Kind::PodLevelResources => pods::pod_level_resources(world, rng),
        Kind::PodOverhead => pods::pod_overhead(world, rng),
        Kind::ExistingNodes => nodes::existing(world, rng),
        Kind::UninitializedNodes => nodes::uninitialized(world, rng),
        Kind::InFlightClaims => nodes::in_flight(world, rng),
        Kind::UnmanagedNodes => nodes::unmanaged(world, rng),
        Kind::LeavingNodes => nodes::leaving(world, rng),
        Kind::DaemonSets => daemons::daemon_sets(world, rng),
        Kind::HostPorts => pods::host_ports(world, rng),
        Kind::BoundVolumes => volumes::bound(world, rng),
        Kind::WaitingVolumes => volumes::waiting(world, rng),
        Kind::VolumeLimits => volumes::limits(world, rng),
    }
}

#[cfg(test)]
mod tests;
