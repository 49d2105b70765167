//! Which instances go, and why the others stay.
//!
//! Every decision of every test is looked at by the independent checker, is the same whatever the
//! order of things in the snapshot, and says of each instance either that it goes or why it stays.

mod ahead;
mod as_scheduled;
mod balanced;
mod blockers;
mod buffers;
mod consolidation;
mod destinations;
mod drift;
mod emptiness;
mod multi;
mod pass;
mod random;
mod replacement;
mod spot;
mod static_drift;
mod validation;

use std::collections::BTreeSet;

use expect_test::Expect;
use joiner_check::check_disruptions;
use joiner_core::{
    disruption::{Command, DisruptionSettings, Disruptions, Fleet},
    settings::PlanSettings,
    snapshot::Snapshot,
    testing::{
        FleetBuilder, NodeBuilder, SnapshotBuilder, TypeBuilder, fleet, instance_type, node, pool,
        snapshot,
    },
};
use joiner_plan::disrupt::disrupt;

/// Sizes of instances, each twice the one before, at 0.5 per CPU.
pub(crate) const SIZES: [(&str, &str, &str, f64); 4] = [
    ("small", "2", "4Gi", 1.0),
    ("medium", "4", "8Gi", 2.0),
    ("large", "8", "16Gi", 4.0),
    ("huge", "16", "32Gi", 8.0),
];

pub(crate) fn sizes() -> impl Iterator<Item = TypeBuilder> {
    SIZES
        .into_iter()
        .map(|(name, cpu, mem, price)| instance_type(name).cpu(cpu).mem(mem).price(price))
}

/// A cluster with one pool of [`sizes`].
pub(crate) fn cluster() -> SnapshotBuilder {
    snapshot().pool(pool("default"), sizes())
}

/// An instance of the pool `default`.
pub(crate) fn instance(name: &str, size: &str) -> NodeBuilder {
    instance_of("default", name, size)
}

/// An instance of a pool with [`sizes`].
pub(crate) fn instance_of(pool: &str, name: &str, size: &str) -> NodeBuilder {
    let (_, cpu, mem, _) = SIZES.into_iter().find(|(own, ..)| *own == size).expect("a size");
    node(name).pool(pool).of_type(size).cpu(cpu).mem(mem)
}

/// No change to a fleet.
pub(crate) fn as_it_is(fleet: FleetBuilder) -> FleetBuilder {
    fleet
}

/// Decides and compares.
pub(crate) fn check(
    snapshot: SnapshotBuilder,
    change: impl FnOnce(FleetBuilder) -> FleetBuilder,
    expected: Expect,
) {
    check_with(&Settings::default(), snapshot, change, expected);
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub(crate) planning: PlanSettings,
    pub(crate) disruption: DisruptionSettings,
}

/// As [`check`], with other settings.
pub(crate) fn check_with(
    settings: &Settings,
    snapshot: SnapshotBuilder,
    change: impl FnOnce(FleetBuilder) -> FleetBuilder,
    expected: Expect,
) {
    let snapshot = snapshot.build();
    let fleet = change(fleet(&snapshot)).build();
    expected.assert_eq(&tell(&decide(settings, &snapshot, &fleet)));
}

/// Decides and compares why instances stay, in full sentences.
pub(crate) fn check_reasons(
    snapshot: SnapshotBuilder,
    change: impl FnOnce(FleetBuilder) -> FleetBuilder,
    expected: Expect,
) {
    let snapshot = snapshot.build();
    let fleet = change(fleet(&snapshot)).build();
    let decided = decide(&Settings::default(), &snapshot, &fleet);
    let mut lines = Vec::new();
    for command in &decided.commands {
        lines.push(format!("{}: {}\n", command.reason.id.as_str(), command.reason.message));
    }
    for staying in &decided.staying {
        for reason in &staying.reasons {
            let remedy = joiner_plan::explain::remedy(reason);
            assert!(!remedy.contains("  "), "a fact is missing from {remedy:?}");
            let (id, message) = (reason.id.as_str(), &reason.message);
            lines.push(format!("{}: {id}: {message}\n", staying.node));
        }
    }
    expected.assert_eq(&lines.concat());
}

/// Decides, and makes sure of what holds for every decision.
pub(crate) fn decide(settings: &Settings, snapshot: &Snapshot, fleet: &Fleet) -> Disruptions {
    let decided = disrupt(snapshot, fleet, &settings.planning, &settings.disruption);
    let findings = check_disruptions(snapshot, fleet, &settings.planning, &decided);
    let findings: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{}\nbreaks rules:\n{}", tell(&decided), findings.join("\n"));
    each_instance_once(snapshot, fleet, &decided);
    let (turned, fleet) = reversed(snapshot, fleet);
    let again = disrupt(&turned, &fleet, &settings.planning, &settings.disruption);
    assert_eq!(tell(&decided), tell(&again), "the order matters");
    assert!(decided == again, "the order matters: {decided:#?} {again:#?}");
    decided
}

fn each_instance_once(snapshot: &Snapshot, fleet: &Fleet, decided: &Disruptions) {
    let mut seen = BTreeSet::new();
    let going = decided.commands.iter().flat_map(|command| &command.candidates);
    let staying = decided.staying.iter().map(|staying| &staying.claim);
    for claim in going.map(|candidate| &candidate.node_claim).chain(staying) {
        assert!(seen.insert(claim.clone()), "{claim} goes or stays twice");
    }
    let ours = snapshot.nodes.iter().zip(&fleet.instances);
    let ours = ours.filter(|(_, instance)| instance.claim.is_some());
    let ours: BTreeSet<String> = ours.filter_map(|(node, _)| node.claim.clone()).collect();
    assert_eq!(seen, ours, "instances that neither go nor stay");
}

fn reversed(snapshot: &Snapshot, fleet: &Fleet) -> (Snapshot, Fleet) {
    let (mut snapshot, mut fleet) = (snapshot.clone(), fleet.clone());
    snapshot.pods.reverse();
    snapshot.pools.reverse();
    snapshot.nodes.reverse();
    fleet.instances.reverse();
    for types in snapshot.catalog.by_pool.values_mut() {
        *types = types.iter().rev().cloned().collect();
    }
    (snapshot, fleet)
}

/// Commands and instances that stay, in lines:
///
/// ```text
/// <method>: <instances> -> <node>: <pods>; new <type> +<other types>: <pods>; saves <price> score <score>
/// <node> stays: <reasons>
/// ```
pub(crate) fn tell(decided: &Disruptions) -> String {
    let commands = decided.commands.iter().map(|command| tell_command(command) + "\n");
    let staying = decided.staying.iter().map(|staying| {
        let ids: Vec<&str> = staying.reasons.iter().map(|reason| reason.id.as_str()).collect();
        format!("{} stays: {}\n", staying.node, ids.join(", "))
    });
    commands.chain(staying).collect()
}

pub(crate) fn tell_command(command: &Command) -> String {
    let names: Vec<&str> = command.candidates.iter().map(|each| each.node.as_str()).collect();
    let mut line = format!("{}: {}", command.method, names.join(" "));
    let short = |pods: &[String]| {
        let names: Vec<&str> =
            pods.iter().map(|pod| pod.strip_prefix("default/").unwrap_or(pod)).collect();
        names.join(" ")
    };
    let existing =
        command.destinations.iter().map(|to| format!("{}: {}", to.node, short(&to.pods)));
    let new = command.replacements.iter().map(|claim| {
        let types = match &*claim.instance_types {
            [] => "instance".to_owned(),
            [only] => only.clone(),
            [first, others @ ..] => format!("{first} +{}", others.len()),
        };
        let pods = short(&claim.pods);
        if pods.is_empty() { format!("new {types}") } else { format!("new {types}: {pods}") }
    });
    let places: Vec<String> = existing.chain(new).collect();
    if !places.is_empty() {
        line += " -> ";
        line += &places.join("; ");
    }
    let lowest = command.scores.iter().map(|judged| judged.score).min_by(f64::total_cmp);
    let score = lowest.map(|score| format!(" score {score:.2}")).unwrap_or_default();
    format!("{line}; saves {:.2}{score}", command.savings)
}
