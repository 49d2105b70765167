//! Pools that ask whether a move is worth it.

use expect_test::expect;
use joiner_core::{
    disruption::ConsolidationPolicy,
    testing::{FleetBuilder, SnapshotBuilder, budget, node, pod, pool, snapshot},
};

use super::{as_it_is, check, check_reasons, cluster, machine, machine_of, sizes};

fn balanced(fleet: FleetBuilder) -> FleetBuilder {
    fleet.pool("default", |rules| rules.policy = ConsolidationPolicy::Balanced)
}

/// A machine with many small pods.
fn packed(name: &str, size: &str, count: usize) -> joiner_core::testing::NodeBuilder {
    (0..count).fold(machine(name, size), |machine, i| {
        machine.pod(pod(&format!("{name}-{i}")).cpu("100m"))
    })
}

/// A-21, A-20
#[test]
fn a_machine_that_is_much_too_large_is_replaced() {
    check(
        cluster().node(machine("n", "large").pod(pod("a").cpu("1"))),
        balanced,
        expect![[r#"
        singleNodeConsolidation: n -> new small +1: a; saves 3.00 score 0.75
    "#]],
    );
    // The only machine of a pool, whose pods fit elsewhere.
    check(
        cluster().node(machine("n", "large").pod(pod("a").cpu("1"))).node(node("other")),
        balanced,
        expect![[r#"
            singleNodeConsolidation: n -> other: a; saves 4.00 score 1.00
        "#]],
    );
}

/// A-22
#[test]
fn little_savings_are_not_worth_much_moving() {
    let two = || {
        cluster()
            .node(packed("many", "small", 15))
            .node(machine("few", "huge").pod(pod("big").cpu("16")))
            .node(node("other"))
    };
    check(
        two(),
        as_it_is,
        expect![[r#"
        singleNodeConsolidation: many -> other: many-0 many-1 many-10 many-11 many-12 many-13 many-14 many-2 many-3 many-4 many-5 many-6 many-7 many-8 many-9; saves 1.00
        few stays: move.equalShape
    "#]],
    );
    check_reasons(
        two(),
        balanced,
        expect![[r#"
        few: move.equalShape: its pods need a machine like few: the best replacement is another huge (now on-demand in zone a)
        many: move.score: the best move saves 11.1% of what NodePool "default" costs and moves 88.9% of its pods: score 0.12, and its policy Balanced asks for 0.50
    "#]],
    );
}

/// A-23, A-27
#[test]
fn several_machines_are_scored_together() {
    let three = (0..3).fold(cluster(), |cluster, i| {
        cluster.node(machine(&format!("n{i}"), "medium").pod(pod(&format!("p{i}")).cpu("1500m")))
    });
    check(
        three,
        balanced,
        expect![[r#"
            singleNodeConsolidation: n0 -> n1: p0; saves 2.00 score 1.00
            singleNodeConsolidation: n2 -> new small: p2; saves 1.00 score 0.50
            n1 stays: node.receives
        "#]],
    );
}

/// A-24
#[test]
fn a_budget_of_0_has_the_last_word() {
    check(
        cluster().node(machine("n", "large").pod(pod("a").cpu("1"))),
        |fleet| balanced(fleet).budgets("default", [budget("0")]),
        expect![[r#"
            n stays: budget.closed
        "#]],
    );
}

fn two_pools() -> SnapshotBuilder {
    snapshot()
        .pool(pool("default"), sizes())
        .pool(pool("plain"), sizes())
        .node(packed("many", "small", 15))
        .node(machine("big", "huge").pod(pod("big").cpu("16")))
        .node(machine_of("plain", "other", "small").pod(pod("p").cpu("500m")))
        .node(node("spare"))
}

/// A-06, A-28, A-29
#[test]
fn pools_with_other_policies_are_not_scored_and_each_that_is_must_agree() {
    check(
        two_pools(),
        balanced,
        expect![[r#"
            singleNodeConsolidation: other -> many: p; saves 1.00
            big stays: move.equalShape
            many stays: move.score, node.receives
        "#]],
    );
}
