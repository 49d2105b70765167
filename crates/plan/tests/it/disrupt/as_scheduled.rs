//! Moves that hold only as long as the scheduler does what the plan says.

use expect_test::expect;
use joiner_core::{
    disruption::{Change, DisruptionSettings, Rejected},
    testing::{NodeBuilder, SnapshotBuilder, fleet, node, pod},
};
use joiner_plan::disrupt::validate;

use super::{Settings, as_it_is, check, check_with, cluster, decide, instance};

fn as_scheduled() -> Settings {
    let disruption = DisruptionSettings { as_scheduled: true, ..DisruptionSettings::default() };
    Settings { disruption, ..Settings::default() }
}

/// An instance of somebody else, with so many CPUs.
fn other(name: &str, cpu: &str) -> NodeBuilder {
    node(name).cpu(cpu).mem("32Gi")
}

/// An instance with pods that need so many CPUs, besides others.
fn pods_of<const N: usize>(
    instance_type: &str,
    pods: [(&str, &str); N],
    others: impl IntoIterator<Item = NodeBuilder>,
) -> SnapshotBuilder {
    let own = instance("n", instance_type);
    let own = pods.into_iter().fold(own, |own, (name, cpu)| own.pod(pod(name).cpu(cpu)));
    others.into_iter().fold(cluster().node(own), SnapshotBuilder::node)
}

fn three_pods(others: impl IntoIterator<Item = NodeBuilder>) -> SnapshotBuilder {
    pods_of("large", [("big", "3"), ("one", "2"), ("two", "2")], others)
}

/// All pods have a place if the large one takes the instance that it just fits; the scheduler puts it where most is free.
fn tight() -> SnapshotBuilder {
    three_pods([other("x", "3"), other("y", "4")])
}

/// Large pods are asked to leave first, so a small one does not take the place that a large one needs.
#[test]
fn a_small_pod_that_would_fit_in_a_large_ones_place_is_no_doubt() {
    check_with(
        &as_scheduled(),
        pods_of("medium", [("big", "2"), ("little", "1")], [other("x", "2"), other("y", "1")]),
        as_it_is,
        expect![[r#"
            singleNodeConsolidation: n -> x: big; y: little; saves 2.00
        "#]],
    );
}

#[test]
fn a_pod_that_may_take_anothers_place_keeps_its_instance() {
    check(
        tight(),
        as_it_is,
        expect![[r#"
            singleNodeConsolidation: n -> x: big; y: one two; saves 4.00
        "#]],
    );
    check_with(
        &as_scheduled(),
        tight(),
        as_it_is,
        expect![[r#"
        n stays: move.unsteady
    "#]],
    );
}

#[test]
fn where_there_is_room_enough_the_instance_goes() {
    check_with(
        &as_scheduled(),
        three_pods([other("x", "3"), other("y", "8")]),
        as_it_is,
        expect![[r#"
            singleNodeConsolidation: n -> x: big; y: one two; saves 4.00
        "#]],
    );
}

/// The new instance is made for the pods that the plan sends there, and others may be left for it.
#[test]
fn a_new_instance_must_hold_whoever_is_left() {
    let pods = [("big", "4"), ("one", "3"), ("two", "3"), ("little", "1")];
    let two = || pods_of("huge", pods, [other("x", "4"), other("y", "6")]);
    check(
        two(),
        as_it_is,
        expect![[r#"
            singleNodeConsolidation: n -> x: big; y: one two; new small +2: little; saves 7.00
        "#]],
    );
    check_with(
        &as_scheduled(),
        two(),
        as_it_is,
        expect![[r#"
        n stays: move.unsteady
    "#]],
    );
}

/// One instance for all of them is enough, in whatever order they come.
#[test]
fn pods_that_all_go_to_a_new_instance_are_no_doubt() {
    check_with(
        &as_scheduled(),
        cluster().node(instance("n", "huge").pod(pod("big").cpu("3")).pod(pod("little").cpu("1"))),
        as_it_is,
        expect![[r#"
        singleNodeConsolidation: n -> new medium +1: big little; saves 6.00
    "#]],
    );
}

#[test]
fn a_command_is_rejected_once_it_would_not_hold() {
    let (before, after) = (three_pods([other("x", "3"), other("y", "8")]).build(), tight().build());
    let settings = as_scheduled();
    let commands = decide(&settings, &before, &fleet(&before).build()).commands;
    let looked_at = fleet(&after).build();
    let verdict =
        validate(&commands[0], &after, &looked_at, &settings.planning, &settings.disruption);
    let Err(Rejected { because, message }) = verdict else { panic!("{verdict:?}") };
    assert_eq!(because, Change::Scheduling);
    assert!(message.contains("pod default/two would be left over"), "{message}");
}

/// A cluster with so many more instances that are full, so that what happens to the others is a small part of it.
fn beside_full(count: usize, cluster: SnapshotBuilder) -> SnapshotBuilder {
    (0..count).fold(cluster, |cluster, i| {
        cluster.node(instance(&format!("full{i}"), "huge").pod(pod(&format!("f{i}")).cpu("16")))
    })
}

/// Pods of one size come in any order, so that one of another workload may get to the new instance first. That is risked for
/// much, but not for little.
#[test]
fn pods_that_share_a_new_instance_with_others_move_where_it_is_worth_it() {
    let shared = |others: usize, apps: [&str; 2]| {
        let own = (0..12).fold(instance("n", "large"), |own, i| {
            own.pod(pod(&format!("p{i:02}")).cpu("500m").label("app", apps[i % 2]))
        });
        beside_full(others, cluster().node(own).node(other("x", "2500m")))
    };
    check_with(
        &as_scheduled(),
        shared(0, ["web", "cache"]),
        as_it_is,
        expect![[r#"
        singleNodeConsolidation: n -> x: p00 p01 p02 p03 p04; new medium: p05 p06 p07 p08 p09 p10 p11; saves 2.00
    "#]],
    );
    check_with(
        &as_scheduled(),
        shared(4, ["web", "cache"]),
        as_it_is,
        expect![[r#"
        full0 stays: move.equalShape
        full1 stays: move.equalShape
        full2 stays: move.equalShape
        full3 stays: move.equalShape
        n stays: move.unsteady
    "#]],
    );
    // Which of those that are alike gets there does not matter.
    check_with(
        &as_scheduled(),
        shared(4, ["web", "web"]),
        as_it_is,
        expect![[r#"
        singleNodeConsolidation: n -> x: p00 p01 p02 p03 p04; new medium: p05 p06 p07 p08 p09 p10 p11; saves 2.00
        full0 stays: move.equalShape
        full1 stays: move.equalShape
        full2 stays: move.equalShape
        full3 stays: move.equalShape
    "#]],
    );
}

/// Large pods come first and take the instance that was made for them; small ones find what is left.
#[test]
fn a_large_pod_gets_the_instance_that_was_made_for_it() {
    let own = (0..8).fold(instance("n", "huge").pod(pod("large").cpu("7")), |own, i| {
        own.pod(pod(&format!("p{i}")).cpu("500m"))
    });
    let cluster = beside_full(4, cluster().node(own).node(other("x", "4")));
    check_with(
        &as_scheduled(),
        cluster,
        as_it_is,
        expect![[r#"
        singleNodeConsolidation: n -> x: p0 p1 p2 p3 p4 p5 p6 p7; new large: large; saves 4.00
        full0 stays: move.equalShape
        full1 stays: move.equalShape
        full2 stays: move.equalShape
        full3 stays: move.equalShape
    "#]],
    );
}
