//! Instances that are not what their pool wants.

use expect_test::expect;
use joiner_core::{
    disruption::KeptBy,
    testing::{
        FleetBuilder, SnapshotBuilder, budget, budget_for, minutes, node, now, pod, pool, snapshot,
    },
};

use super::{as_it_is, check, check_reasons, cluster, instance, instance_of, sizes};

/// Instances that are full, so that nothing but drift moves their pods.
fn full(count: usize) -> SnapshotBuilder {
    (0..count).fold(cluster(), |cluster, i| {
        cluster.node(instance(&format!("n{i}"), "small").pod(pod(&format!("p{i}")).cpu("2")))
    })
}

fn all_drifted(fleet: FleetBuilder, count: usize) -> FleetBuilder {
    (0..count).fold(fleet, |fleet, i| fleet.drifted(&format!("n{i}"), 60 - i as i64))
}

/// R-06, R-07
#[test]
fn without_the_condition_nothing_is_replaced() {
    check(
        full(1),
        as_it_is,
        expect![[r#"
        n0 stays: move.equalShape
    "#]],
    );
}

/// R-16, R-23: the oldest first, as many as the budget allows.
#[test]
fn drifted_instances_are_replaced_the_oldest_first() {
    check(
        full(3),
        |fleet| all_drifted(fleet, 3),
        expect![[r#"
        drift: n0 -> new small +3: p0; saves 0.00
        drift: n1 -> new small +3: p1; saves 0.00
        drift: n2 -> new small +3: p2; saves 0.00
    "#]],
    );
    check(
        full(3),
        |fleet| all_drifted(fleet, 3).budgets("default", [budget("1")]),
        expect![[r#"
        drift: n0 -> new small +3: p0; saves 0.00
        n1 stays: budget.used, budget.used
        n2 stays: budget.used, budget.used
    "#]],
    );
}

/// R-02, R-03
#[test]
fn what_is_on_its_way_out_takes_from_the_budget() {
    check(
        full(5),
        |fleet| {
            all_drifted(fleet, 5)
                .instance("n0", |instance| instance.queued = true)
                .budgets("default", [budget_for("Drifted", "3")])
        },
        expect![[r#"
            drift: n1 -> new small +3: p1; saves 0.00
            drift: n2 -> new small +3: p2; saves 0.00
            n0 stays: node.queued
            n3 stays: budget.used, move.equalShape
            n4 stays: budget.used, move.equalShape
        "#]],
    );
}

/// R-04: pools take turns, each within its budget.
#[test]
fn pools_take_turns() {
    let cluster = snapshot().pool(pool("a"), sizes()).pool(pool("b"), sizes());
    let cluster = (0..3).fold(cluster, |cluster, i| {
        cluster
            .node(instance_of("a", &format!("a{i}"), "small").pod(pod(&format!("p{i}")).cpu("2")))
            .node(instance_of("b", &format!("b{i}"), "small").pod(pod(&format!("q{i}")).cpu("2")))
    });
    check(
        cluster,
        |fleet| {
            let names =
                ["a0", "a1", "a2", "b0", "b1", "b2"].into_iter().zip((10..=60).rev().step_by(10));
            names
                .fold(fleet, |fleet, (name, ago)| fleet.drifted(name, ago))
                .budgets("a", [budget("2")])
                .budgets("b", [budget("2")])
        },
        expect![[r#"
            drift: a0 -> new small +3: p0; saves 0.00
            drift: b0 -> new small +3: q0; saves 0.00
            drift: a1 -> new small +3: p1; saves 0.00
            drift: b1 -> new small +3: q1; saves 0.00
            a2 stays: budget.used, budget.used
            b2 stays: budget.used, budget.used
        "#]],
    );
}

/// R-05
#[test]
fn an_instance_whose_pods_have_no_place_does_not_hold_up_the_next() {
    check(
        cluster()
            .node(instance("first", "small").pod(pod("a").cpu("2").on_node_selector("rack", "7")))
            .node(instance("second", "small").pod(pod("b").cpu("2"))),
        |fleet| fleet.drifted("first", 60).drifted("second", 5),
        expect![[r#"
            drift: second -> new small +3: b; saves 0.00
            first stays: pod.wouldNotFit
        "#]],
    );
}

/// R-08, R-09, R-10, R-13, R-14
#[test]
fn protected_instances_and_pods_stay_as_long_as_they_are_protected() {
    check(
        full(4),
        |fleet| {
            all_drifted(fleet, 4)
                .instance("n0", |instance| instance.do_not_disrupt = true)
                .kept("p1", KeptBy::DoNotDisrupt(None))
                .kept("p2", KeptBy::DoNotDisrupt(Some(now() + minutes(5))))
        },
        expect![[r#"
            drift: n3 -> new small +3: p3; saves 0.00
            n0 stays: node.doNotDisrupt
            n1 stays: pod.doNotDisrupt
            n2 stays: pod.doNotDisrupt
        "#]],
    );
}

/// R-15
#[test]
fn an_instance_waits_for_the_last_of_its_pods_to_be_free() {
    let two = || {
        cluster().node(instance("n", "small").pod(pod("long").cpu("1")).pod(pod("short").cpu("1")))
    };
    let long = |fleet: FleetBuilder| {
        fleet.drifted("n", 5).kept("long", KeptBy::DoNotDisrupt(Some(now() + minutes(30))))
    };
    let short = KeptBy::DoNotDisrupt(Some(now() + minutes(5)));
    check_reasons(
        two(),
        |fleet| long(fleet).kept("short", short),
        expect![[r#"
        n: pod.doNotDisrupt: pod default/long has the annotation karpenter.sh/do-not-disrupt, which ends at 2026-03-04T12:30:00Z
        n: pod.doNotDisrupt: pod default/short has the annotation karpenter.sh/do-not-disrupt, which ends at 2026-03-04T12:05:00Z
    "#]],
    );
    // The other one's time is up.
    check_reasons(
        two(),
        long,
        expect![[r#"
        n: pod.doNotDisrupt: pod default/long has the annotation karpenter.sh/do-not-disrupt, which ends at 2026-03-04T12:30:00Z
    "#]],
    );
    check_reasons(
        two(),
        |fleet| fleet.drifted("n", 5),
        expect![[r#"
        node.drifted: n is not what NodePool "default" wants any more (NodePoolDrifted); the 2 pods fit on a new small at 1.0000 per hour (2, NodePool "default")
    "#]],
    );
}

/// R-11, R-12
#[test]
fn nothing_is_made_for_protected_pods_that_go_by_force_in_the_end() {
    check(
        full(2),
        |fleet| {
            all_drifted(fleet, 2)
                .kept("p0", KeptBy::DoNotDisrupt(None))
                .kept("p1", KeptBy::Budget("default/b".to_owned()))
                .claim("n0", |claim| claim.has_grace_period = true)
                .claim("n1", |claim| claim.has_grace_period = true)
        },
        expect![[r#"
            drift: n0; saves 1.00
            drift: n1; saves 1.00
        "#]],
    );
}

/// R-17
#[test]
fn nothing_is_made_where_the_pods_fit_elsewhere() {
    check(
        full(1).node(node("other")),
        |fleet| fleet.drifted("n0", 5),
        expect![[r#"
        drift: n0 -> other: p0; saves 1.00
    "#]],
    );
}

/// R-18, R-20
#[test]
fn an_empty_instance_goes_as_drifted_where_it_may_not_go_as_empty() {
    let one = || cluster().node(instance("n", "small"));
    let off = |fleet: FleetBuilder| {
        fleet.drifted("n", 5).pool("default", |rules| rules.consolidate_after = None)
    };
    check(
        one(),
        off,
        expect![[r#"
        drift: n; saves 1.00
    "#]],
    );
    check(
        one(),
        |fleet| fleet.drifted("n", 5),
        expect![[r#"
        emptiness: n; saves 1.00
    "#]],
    );
}

/// R-19
#[test]
fn instances_without_pods_come_first() {
    check(
        full(1).node(instance("empty", "small")),
        |fleet| {
            fleet
                .drifted("n0", 60)
                .drifted("empty", 5)
                .pool("default", |rules| rules.consolidate_after = None)
                .budgets("default", [budget("1")])
        },
        expect![[r#"
            drift: empty; saves 1.00
            n0 stays: budget.used, pool.consolidationOff
        "#]],
    );
}

/// R-22
#[test]
fn one_instance_may_be_replaced_by_several() {
    check(
        snapshot().pool(pool("default"), sizes().take(1)).node(
            node("n")
                .pool("default")
                .of_type("gone")
                .cpu("8")
                .mem("16Gi")
                .pod(pod("a").cpu("2"))
                .pod(pod("b").cpu("2"))
                .pod(pod("c").cpu("2")),
        ),
        |fleet| fleet.drifted("n", 5),
        expect![[r#"
            drift: n -> new small: a; new small: b; new small: c; saves -3.00
        "#]],
    );
}

/// R-24
#[test]
fn instances_of_static_pools_are_not_for_this_method() {
    check(
        snapshot()
            .pool(pool("fixed").fixed(), sizes())
            .node(instance_of("fixed", "n", "small").pod(pod("a").cpu("1"))),
        |fleet| fleet.drifted("n", 5),
        expect![[r#"
            staticDrift: n -> new instance; saves 0.00
        "#]],
    );
}

/// Defect 12: one pool that fails does not keep the others waiting.
#[test]
fn a_pool_whose_replacement_has_failed_waits() {
    let cluster = snapshot()
        .pool(pool("bad"), sizes())
        .pool(pool("good"), sizes())
        .node(instance_of("bad", "n0", "small").pod(pod("a").cpu("2")))
        .node(instance_of("good", "n1", "small").pod(pod("b").cpu("2")));
    check_reasons(
        cluster,
        |fleet| {
            all_drifted(fleet, 2)
                .pool("bad", |rules| rules.drift_resumes = Some(now() + minutes(2)))
                .pool("good", |rules| rules.drift_resumes = Some(now()))
        },
        expect![[r#"
            node.drifted: n1 is not what NodePool "good" wants any more (NodePoolDrifted); its pod fits on a new small at 1.0000 per hour (1, NodePool "good")
            n0: drift.backoff: replacing a drifted instance of NodePool "bad" has failed; it is tried again from 2026-03-04T12:02:00Z
            n0: move.equalShape: its pods need an instance like n0: the best replacement is another small (now on-demand in zone a)
        "#]],
    );
}
