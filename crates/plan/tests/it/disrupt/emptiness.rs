//! Instances that hold nothing.

use expect_test::expect;
use joiner_core::{
    disruption::ConsolidationPolicy,
    testing::{budget, budget_for, minutes, node, pod, pool, snapshot},
};

use super::{as_it_is, check, cluster, instance, instance_of, sizes};

fn ten() -> joiner_core::testing::SnapshotBuilder {
    (0..10).fold(cluster(), |cluster, i| cluster.node(instance(&format!("n{i}"), "small")))
}

fn two_pools_of_three() -> joiner_core::testing::SnapshotBuilder {
    let cluster = snapshot().pool(pool("a"), sizes()).pool(pool("b"), sizes());
    (0..3).fold(cluster, |cluster, i| {
        cluster.node(instance_of("a", &format!("a{i}"), "small")).node(instance_of(
            "b",
            &format!("b{i}"),
            "small",
        ))
    })
}

/// P-02, P-07, P-14, O-18, O-80
#[test]
fn all_empty_instances_go_together() {
    check(
        ten(),
        as_it_is,
        expect![[r#"
        emptiness: n0 n1 n2 n3 n4 n5 n6 n7 n8 n9; saves 10.00
    "#]],
    );
}

/// P-03, P-04, O-17, O-19
#[test]
fn no_more_go_than_the_budget_allows() {
    check(
        ten(),
        |fleet| fleet.budgets("default", [budget("0")]),
        expect![[r#"
        n0 stays: budget.closed
        n1 stays: budget.closed
        n2 stays: budget.closed
        n3 stays: budget.closed
        n4 stays: budget.closed
        n5 stays: budget.closed
        n6 stays: budget.closed
        n7 stays: budget.closed
        n8 stays: budget.closed
        n9 stays: budget.closed
    "#]],
    );
    check(
        ten(),
        |fleet| fleet.budgets("default", [budget_for("Empty", "3")]),
        expect![[r#"
        emptiness: n0 n1 n2; saves 3.00
        n3 stays: budget.used
        n4 stays: budget.used
        n5 stays: budget.used
        n6 stays: budget.used
        n7 stays: budget.used
        n8 stays: budget.used
        n9 stays: budget.used
    "#]],
    );
}

/// P-05, P-06, O-22, O-23, O-24
#[test]
fn each_pool_has_its_own_budget() {
    check(
        two_pools_of_three(),
        |fleet| fleet.budgets("a", [budget("2")]).budgets("b", [budget("2")]),
        expect![[r#"
            emptiness: a0 a1 b0 b1; saves 4.00
            a2 stays: budget.used
            b2 stays: budget.used
        "#]],
    );
    check(
        two_pools_of_three(),
        as_it_is,
        expect![[r#"
        emptiness: a0 a1 a2 b0 b1 b2; saves 6.00
    "#]],
    );
    check(
        two_pools_of_three(),
        |fleet| fleet.budgets("a", [budget("0")]).budgets("b", [budget("0")]),
        expect![[r#"
            a0 stays: budget.closed
            a1 stays: budget.closed
            a2 stays: budget.closed
            b0 stays: budget.closed
            b1 stays: budget.closed
            b2 stays: budget.closed
        "#]],
    );
}

/// P-08
#[test]
fn an_empty_instance_that_has_drifted_goes_for_being_empty() {
    check(
        cluster().node(instance("n", "small")),
        |fleet| fleet.drifted("n", 5),
        expect![[r#"
        emptiness: n; saves 1.00
    "#]],
    );
}

/// P-09, P-13, F-36..42: quiet for long enough.
#[test]
fn an_instance_must_have_been_quiet() {
    let three = || {
        cluster()
            .node(instance("no-condition", "small"))
            .node(instance("busy", "small"))
            .node(instance("quiet", "small"))
    };
    check(
        three(),
        |fleet| {
            fleet
                .pool("default", |rules| rules.consolidate_after = Some(minutes(30)))
                .claim("no-condition", |claim| claim.consolidatable = false)
                .busy("busy", 29)
                .busy("quiet", 30)
        },
        expect![[r#"
            emptiness: quiet; saves 1.00
            busy stays: node.tooYoung
            no-condition stays: node.tooYoung
        "#]],
    );
}

/// P-10, P-11
#[test]
fn a_node_that_must_not_be_disturbed_stays() {
    check(
        cluster().node(instance("kept", "small")).node(instance("free", "small")),
        |fleet| fleet.instance("kept", |instance| instance.do_not_disrupt = true),
        expect![[r#"
            emptiness: free; saves 1.00
            kept stays: node.doNotDisrupt
        "#]],
    );
}

/// P-12, P-16, P-17, P-18
#[test]
fn pods_that_need_no_other_place_do_not_count() {
    check(
        cluster()
            .node(instance("used", "small").pod(pod("a").cpu("2")))
            .node(instance("daemons", "small").pod(pod("d").of_daemon("default/d")))
            .node(instance("ending", "small").pod(pod("e").terminating()))
            // A pod of a stateful set comes again under its own name, and needs a place then.
            .node(instance("stateful", "small").pod(pod("s").cpu("2").terminating())),
        |fleet| {
            fleet.pod("s", |facts| {
                facts.reschedulable = true;
                facts.movable = true;
            })
        },
        expect![[r#"
            emptiness: daemons ending; saves 2.00
            stateful stays: move.equalShape
            used stays: move.equalShape
        "#]],
    );
}

/// P-15
#[test]
fn an_instance_that_a_waiting_pod_will_use_stays() {
    check(
        cluster()
            .node(instance("a", "small"))
            .node(instance("b", "small"))
            .pod(pod("waits").cpu("1")),
        as_it_is,
        expect![[r#"
            emptiness: b; saves 1.00
            a stays: node.nominated
        "#]],
    );
}

/// P-20
#[test]
fn instances_of_static_pools_stay() {
    check(
        snapshot().pool(pool("fixed").fixed(), sizes()).node(instance_of("fixed", "n", "small")),
        as_it_is,
        expect![[r#"
            n stays: static.replicas
        "#]],
    );
}

/// O-03: the other policies all let empty instances go.
#[test]
fn a_pool_without_consolidation_keeps_empty_instances() {
    let one = || cluster().node(instance("n", "small"));
    check(
        one(),
        |fleet| fleet.pool("default", |rules| rules.consolidate_after = None),
        expect![[r#"
            n stays: pool.consolidationOff
        "#]],
    );
    for policy in [
        ConsolidationPolicy::WhenEmpty,
        ConsolidationPolicy::WhenEmptyOrUnderutilized,
        ConsolidationPolicy::Balanced,
    ] {
        check(
            one(),
            |fleet| fleet.pool("default", |rules| rules.policy = policy),
            expect![[r#"
            emptiness: n; saves 1.00
        "#]],
        );
    }
}

/// COMPAT: upstream takes such an instance for empty, and evicts its pods without a place for them.
#[test]
fn pods_that_ask_to_go_first_still_need_a_place() {
    let cheap = |fleet: joiner_core::testing::FleetBuilder| {
        fleet.pod("a", |facts| facts.eviction_cost = -10.0)
    };
    let n = || instance("n", "small").pod(pod("a").cpu("2"));
    check(
        cluster().node(n()),
        cheap,
        expect![[r#"
        n stays: move.equalShape
    "#]],
    );
    check(
        cluster().node(n()).node(node("other")),
        cheap,
        expect![[r#"
        singleNodeConsolidation: n -> other: a; saves 1.00
    "#]],
    );
}

/// A-21..29: an empty instance goes before one that is not.
#[test]
fn empty_instances_go_first_and_others_in_the_same_pass() {
    check(
        cluster()
            .node(instance("empty", "small"))
            .node(instance("little", "medium").pod(pod("a").cpu("500m")))
            .node(instance("much", "medium").pod(pod("b").cpu("3"))),
        as_it_is,
        expect![[r#"
            emptiness: empty; saves 1.00
            singleNodeConsolidation: little -> much: a; saves 2.00
            much stays: node.receives
        "#]],
    );
}
