//! All methods in one pass.

use expect_test::expect;
use joiner_core::{
    disruption::Method,
    testing::{budget, budget_for, fleet, node, pod, pool, snapshot},
};

use super::{Settings, as_it_is, check, cluster, decide, instance, instance_of, sizes};

/// Emptiness, drift and consolidation do not wait for each other.
#[test]
fn every_method_has_its_turn_in_one_pass() {
    check(
        cluster()
            .pool(pool("fixed").fixed(), sizes())
            .node(instance("empty", "small"))
            .node(instance_of("fixed", "fixed", "small").pod(pod("f").cpu("2")))
            .node(instance("drifted", "small").pod(pod("d").cpu("2")))
            .node(instance("oversized", "huge").pod(pod("o").cpu("2")))
            .node(instance("fine", "small").pod(pod("x").cpu("2"))),
        |fleet| fleet.drifted("drifted", 5).drifted("fixed", 5),
        expect![[r#"
            emptiness: empty; saves 1.00
            staticDrift: fixed -> new instance; saves 0.00
            drift: drifted -> oversized: d; saves 1.00
            singleNodeConsolidation: fine -> oversized: x; saves 1.00
            oversized stays: node.receives
        "#]],
    );
}

/// §3.10.4
#[test]
fn what_goes_for_one_reason_counts_against_the_others() {
    check(
        cluster()
            .node(instance("drifted", "small").pod(pod("d").cpu("2")))
            .node(instance("oversized", "huge").pod(pod("o").cpu("2"))),
        |fleet| fleet.drifted("drifted", 5).budgets("default", [budget("1")]),
        expect![[r#"
            drift: drifted -> oversized: d; saves 1.00
            oversized stays: node.receives
        "#]],
    );
}

#[test]
fn an_instance_that_takes_pods_stays_for_this_pass() {
    check(
        cluster()
            .node(instance("a", "small").pod(pod("p").cpu("500m")))
            .node(instance("b", "small").pod(pod("q").cpu("600m")))
            .node(instance("c", "small").pod(pod("r").cpu("700m"))),
        as_it_is,
        expect![[r#"
            multiNodeConsolidation: a b -> c: q p; saves 2.00
            c stays: node.receives
        "#]],
    );
}

/// P-01, R-01, O-07, defect 14: each method has its own number, whatever budgets say.
#[test]
fn each_method_says_how_many_instances_it_could_consider() {
    let cluster = snapshot()
        .pool(pool("default"), sizes())
        .pool(pool("fixed").fixed(), sizes())
        .node(instance("empty", "small"))
        .node(instance("used", "small").pod(pod("u").cpu("2")))
        .node(instance("drifted", "small").pod(pod("d").cpu("2")))
        .node(instance_of("fixed", "fixed", "small"))
        .build();
    let fleet = fleet(&cluster)
        .drifted("drifted", 5)
        .drifted("fixed", 5)
        .budgets("default", [budget("0")])
        .budgets("fixed", [budget("0")])
        .build();
    let decided = decide(&Settings::default(), &cluster, &fleet);
    assert!(decided.commands.is_empty());
    assert_eq!(
        decided.eligible,
        [
            (Method::Emptiness, 1),
            (Method::StaticDrift, 1),
            (Method::Drift, 1),
            (Method::MultiNode, 2),
            (Method::SingleNode, 2),
        ]
    );
}

#[test]
fn what_budgets_come_to_is_told_for_each_pool_and_reason() {
    let cluster = snapshot().pool(pool("p"), sizes()).node(instance_of("p", "n", "small")).build();
    let fleet = fleet(&cluster).budgets("p", [budget_for("Empty", "0"), budget("50%")]).build();
    let decided = decide(&Settings::default(), &cluster, &fleet);
    let told: Vec<String> = decided
        .allowances
        .iter()
        .map(|each| format!("{} {} {}/{}", each.pool, each.reason, each.allowed, each.instances))
        .collect();
    assert_eq!(told, ["p Underutilized 1/1", "p Empty 0/1", "p Drifted 1/1"]);
}

/// M-01, M-02
#[test]
fn what_was_decided_before_is_taken_into_account() {
    // Each could go alone, but there is room for one of them only.
    check(
        cluster()
            .node(instance("a", "small").pod(pod("p").cpu("2")))
            .node(instance("b", "small").pod(pod("q").cpu("2")))
            .node(node("other").cpu("2")),
        as_it_is,
        expect![[r#"
            singleNodeConsolidation: a -> other: p; saves 1.00
            b stays: move.equalShape
        "#]],
    );
}
