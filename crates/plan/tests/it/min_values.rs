//! Flexibility that pools insist on.

use expect_test::expect;
use joiner_core::{
    label::{CAPACITY_TYPE, INSTANCE_TYPE, MIN_VALUES_RELAXED, ZONE},
    requirement::Operator::{Exists, Gt, In, Lt, NotIn},
    settings::{MinValuesPolicy, PlanSettings},
    testing::{
        PoolBuilder, SnapshotBuilder, fake_instance_types, instance_type, pod, pool, snapshot,
    },
};

use crate::support::{check, check_with, plan, tell};

fn best_effort() -> PlanSettings {
    PlanSettings { min_values: MinValuesPolicy::BestEffort, ..PlanSettings::default() }
}

/// Types of 1 to 5 CPUs.
fn five(pool: PoolBuilder) -> SnapshotBuilder {
    snapshot().pool(pool, fake_instance_types(5))
}

/// For each claim, whether its `minValues` were lowered.
fn relaxed(settings: &PlanSettings, snapshot: SnapshotBuilder) -> String {
    let snapshot = snapshot.build();
    let planned = plan(&snapshot, settings);
    let annotations = planned.plan.claims.iter().map(|claim| &claim.annotations);
    let relaxed = annotations.map(|all| format!("relaxed: {}\n", all[MIN_VALUES_RELAXED]));
    tell(&snapshot, &planned) + &relaxed.collect::<String>()
}

#[test]
fn a_claim_keeps_as_many_types_as_the_pool_insists_on() {
    let at_least = || pool("default").min_values(INSTANCE_TYPE, Exists, [], 3);
    check(
        five(at_least()).pod(pod("a").cpu("2500m")),
        expect![[r#"
            claim default: a | fake-it-2 +2 | instance-type(min 3)
        "#]],
    );
    // Four CPUs leave one type only.
    check(
        five(at_least()).pod(pod("a").cpu("4")),
        expect![[r#"
            unschedulable a: minValues.unmet
        "#]],
    );
}

#[test]
fn pods_are_packed_only_as_far_as_enough_types_are_left() {
    // Together they would fit types 3 to 5, two of 2 CPUs each only the fifth.
    let at_least = || pool("default").min_values(INSTANCE_TYPE, Exists, [], 3);
    check(
        five(at_least()).pods(pod("a").cpu("1400m").replicas(2)),
        expect![[r#"
            claim default: a-0 a-1 | fake-it-2 +2 | instance-type(min 3)
        "#]],
    );
    check(
        five(at_least()).pods(pod("a").cpu("2").replicas(2)),
        expect![[r#"
            claim default: a-0 | fake-it-2 +2 | instance-type(min 3)
            claim default: a-1 | fake-it-2 +2 | instance-type(min 3)
        "#]],
    );
}

#[test]
fn what_cannot_be_met_is_refused_or_lowered() {
    let three =
        || five(pool("default").min_values(INSTANCE_TYPE, Exists, [], 3)).pod(pod("a").cpu("3"));
    expect![[r#"
        unschedulable a: minValues.unmet
    "#]]
    .assert_eq(&relaxed(&PlanSettings::default(), three()));
    expect![[r#"
        claim default: a | fake-it-3 +1 | instance-type(min 2)
        relaxed: true
    "#]]
    .assert_eq(&relaxed(&best_effort(), three()));
}

#[test]
fn a_pool_that_can_never_meet_it_is_refused_or_lowered() {
    let six = || five(pool("default").min_values(INSTANCE_TYPE, Exists, [], 6)).pod(pod("a"));
    expect![[r#"
        unschedulable a: minValues.unmet
        pool default: minValues.unmet
    "#]]
    .assert_eq(&relaxed(&PlanSettings::default(), six()));
    expect![[r#"
        claim default: a | fake-it-0 +4 | instance-type(min 5)
        relaxed: true
    "#]]
    .assert_eq(&relaxed(&best_effort(), six()));
}

#[test]
fn only_the_first_pod_of_a_claim_may_lower_it() {
    // The first pod leaves two types and lowers 3 to 2; a second one would leave only one type, so
    // it gets a claim of its own.
    let three = || five(pool("default").min_values(INSTANCE_TYPE, Exists, [], 3));
    expect![[r#"
        claim default: a | fake-it-3 +1 | instance-type(min 2)
        claim default: b | fake-it-1 +3 | instance-type(min 3)
        relaxed: true
        relaxed: false
    "#]]
    .assert_eq(&relaxed(&best_effort(), three().pod(pod("a").cpu("3500m")).pod(pod("b").cpu("1"))));
}

#[test]
fn nothing_is_said_of_lowering_where_nothing_was_lowered() {
    let two = five(pool("default").min_values(INSTANCE_TYPE, Exists, [], 2)).pod(pod("a").cpu("3"));
    expect![[r#"
        claim default: a | fake-it-3 +1 | instance-type(min 2)
        relaxed: false
    "#]]
    .assert_eq(&relaxed(&best_effort(), two));
}

#[test]
fn any_label_of_a_type_can_be_counted() {
    // Five values of `integer`, three zones, two capacity types.
    let own = || {
        pool("default")
            .min_values("integer", Exists, [], 4)
            .min_values(ZONE, Exists, [], 3)
            .min_values(CAPACITY_TYPE, Exists, [], 2)
    };
    check(
        five(own()).pod(pod("a").cpu("1")),
        expect![[r#"
            claim default: a | fake-it-1 +3 | integer=*(min 4) capacity-type=on-demand,spot(min 2) zone=*(min 3)
        "#]],
    );
    check(
        five(own()).pod(pod("a").cpu("2")),
        expect![[r#"
            unschedulable a: minValues.unmet
        "#]],
    );
}

#[test]
fn values_count_though_the_claim_cannot_have_them_any_more() {
    // COMPAT: a type counts with all its zones, whatever zone the claim settles for.
    check(
        five(pool("default").min_values(ZONE, Exists, [], 3))
            .pod(pod("a").on_node_selector(ZONE, "test-zone-1")),
        expect![[r#"
            claim default: a | fake-it-0 +4 | zone=test-zone-1(min 3)
        "#]],
    );
}

#[test]
fn of_several_requirements_on_one_label_the_most_demanding_counts() {
    let types = || ["a", "b", "c", "d"].map(instance_type);
    let listed = || {
        pool("default").min_values(INSTANCE_TYPE, In, ["a", "b", "c", "d"], 1).min_values(
            INSTANCE_TYPE,
            NotIn,
            ["d"],
            3,
        )
    };
    check(
        snapshot().pool(listed(), types()).pod(pod("p")),
        expect![[r#"
            claim default: p | a +2 | instance-type(min 3)
        "#]],
    );
    check(
        snapshot().pool(listed(), types()).pod(pod("p").require(INSTANCE_TYPE, In, ["a", "b"])),
        expect![[r#"
            unschedulable p: minValues.unmet
        "#]],
    );
    let bounded = |min| {
        five(pool("default").min_values("integer", Gt, ["1"], 1).min_values(
            "integer",
            Lt,
            ["5"],
            min,
        ))
    };
    check(
        bounded(3).pod(pod("p")),
        expect![[r#"
            claim default: p | fake-it-1 +2 | integer>=2(min 3) integer<=4(min 3)
        "#]],
    );
    check(
        bounded(4).pod(pod("p")),
        expect![[r#"
            unschedulable p: minValues.unmet
            pool default: minValues.unmet
        "#]],
    );
}

#[test]
fn the_cut_to_the_most_types_must_leave_enough() {
    // Cut to two types, a claim would have two sizes where the pool insists on three.
    let settings = PlanSettings { instance_types_max: 2, ..PlanSettings::default() };
    let own = || pool("default").min_values("integer", Exists, [], 3);
    check_with(
        &settings,
        five(own()).pods(pod("a").cpu("1").replicas(2)),
        expect![[r#"
            unschedulable a-0 a-1: minValues.unmet
        "#]],
    );
    let lenient = PlanSettings { min_values: MinValuesPolicy::BestEffort, ..settings };
    check_with(
        &lenient,
        five(own()).pod(pod("a").cpu("1")),
        expect![[r#"
            claim default: a | fake-it-1 +1 | integer=*(min 3)
        "#]],
    );
}

#[test]
fn another_pool_may_be_less_demanding() {
    check(
        five(pool("picky").weight(1).min_values(INSTANCE_TYPE, Exists, [], 3))
            .pool(pool("easy"), fake_instance_types(5))
            .pod(pod("a").cpu("4")),
        expect![[r#"
            claim easy: a | fake-it-4
        "#]],
    );
}
