//! Plans as text, and clusters that act on them.

mod cluster;
mod text;

use std::{collections::BTreeSet, sync::Arc};

use expect_test::Expect;
use joiner_check::check as check_plan;
use joiner_core::{
    settings::PlanSettings,
    snapshot::Snapshot,
    testing::{PoolBuilder, SnapshotBuilder, fake_default_instance_types, pool, snapshot},
};
use joiner_plan::{Planned, explain, provision};

pub(crate) use self::{
    cluster::{Cluster, check_fixed_point},
    text::{reasons, tell, tell_counts},
};

/// A cluster without nodes and with one pool, that can have all types of Karpenter's own tests.
pub(crate) fn cluster() -> SnapshotBuilder {
    cluster_of(pool("default"))
}

/// As [`cluster`], with another pool.
pub(crate) fn cluster_of(pool: PoolBuilder) -> SnapshotBuilder {
    snapshot().pool(pool, fake_default_instance_types())
}

/// Plans and compares.
pub(crate) fn check(snapshot: SnapshotBuilder, expected: Expect) {
    check_with(&PlanSettings::default(), snapshot, expected);
}

/// As [`check`], with other settings.
pub(crate) fn check_with(settings: &PlanSettings, snapshot: SnapshotBuilder, expected: Expect) {
    let snapshot = snapshot.build();
    expected.assert_eq(&tell(&snapshot, &plan(&snapshot, settings)));
}

/// As [`check`], for plans with many claims that look alike.
pub(crate) fn check_counts(snapshot: SnapshotBuilder, expected: Expect) {
    let snapshot = snapshot.build();
    expected.assert_eq(&tell_counts(&snapshot, &plan(&snapshot, &PlanSettings::default())));
}

/// Plans several clusters and compares all of them at once, each behind its name.
pub(crate) fn check_each<const N: usize>(cases: [(&str, SnapshotBuilder); N], expected: Expect) {
    let mut all = Vec::new();
    for (name, snapshot) in cases {
        let snapshot = snapshot.build();
        let told = tell(&snapshot, &plan(&snapshot, &PlanSettings::default()));
        all.extend(told.lines().map(|line| format!("{name}: {line}\n")));
    }
    expected.assert_eq(&all.concat());
}

/// Plans and compares the reasons of pods without a place in full.
pub(crate) fn check_reasons(snapshot: SnapshotBuilder, expected: Expect) {
    let snapshot = snapshot.build();
    let plan = plan(&snapshot, &PlanSettings::default()).plan;
    expected.assert_eq(&reasons(&plan));
    let unplaced = plan.unschedulable.iter().chain(&plan.deferred);
    for remedy in unplaced.flat_map(|unplaced| &unplaced.reasons).map(explain::remedy) {
        assert!(!remedy.contains("  "), "a fact is missing from {remedy:?}");
    }
}

/// Plans, and makes sure of what holds for every plan: it breaks no rule, each pod is in it once, and
/// the order of things in the snapshot does not matter.
pub(crate) fn plan(snapshot: &Snapshot, settings: &PlanSettings) -> Planned {
    let planned = provision(snapshot, settings);
    each_pod_once(snapshot, &planned);
    order_does_not_matter(snapshot, settings, &planned);
    let findings = check_plan(snapshot, settings, &planned.plan);
    let findings: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "the plan breaks rules:\n{}", findings.join("\n"));
    planned
}

fn each_pod_once(snapshot: &Snapshot, planned: &Planned) {
    let plan = &planned.plan;
    let claimed = plan.claims.iter().flat_map(|claim| &claim.pods);
    let existing = plan.existing.iter().flat_map(|existing| &existing.pods);
    let unplaced = plan.unschedulable.iter().chain(&plan.deferred).map(|unplaced| &unplaced.pod);
    let mut seen = BTreeSet::new();
    for pod in claimed.chain(existing).chain(unplaced) {
        assert!(seen.insert(pod.clone()), "{pod} is in the plan twice");
    }
    assert_eq!(seen, snapshot.pod_keys(), "the plan has other pods than the snapshot");
}

fn order_does_not_matter(snapshot: &Snapshot, settings: &PlanSettings, planned: &Planned) {
    let again = provision(&reversed(snapshot), settings);
    // What people see first, since it is easier to read.
    assert_eq!(tell(snapshot, planned), tell(snapshot, &again), "the order matters");
    assert_eq!(reasons(&planned.plan), reasons(&again.plan), "the order matters to reasons");
    assert!(planned.plan == again.plan, "the order matters: {planned:#?} {again:#?}");
    assert_eq!(planned.report.pools, again.report.pools, "the order matters to the report");
}

/// The same snapshot with every list back to front, and with nothing shared among its pods.
fn reversed(snapshot: &Snapshot) -> Snapshot {
    let mut reversed = snapshot.clone();
    for pod in reversed.nodes.iter_mut().flat_map(|node| &mut node.pods).chain(&mut reversed.pods) {
        pod.namespace = (*pod.namespace).into();
        pod.labels = Arc::new((*pod.labels).clone());
        pod.spec = Arc::new((*pod.spec).clone());
        pod.volumes = Arc::new((*pod.volumes).clone());
    }
    reversed.pods.reverse();
    reversed.pools.reverse();
    reversed.daemons.reverse();
    reversed.nodes.reverse();
    for node in &mut reversed.nodes {
        node.pods.reverse();
    }
    for types in reversed.catalog.by_pool.values_mut() {
        *types = types.iter().rev().cloned().collect();
    }
    reversed
}
