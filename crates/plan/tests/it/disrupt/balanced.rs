//! Pools that ask whether a move is worth it.

use expect_test::expect;
use joiner_core::{
    disruption::{ConsolidationPolicy, MinScore, Score},
    testing::{FleetBuilder, SnapshotBuilder, budget, instance_type, node, pod, pool, snapshot},
};

use super::{
    Settings, as_it_is, check, check_reasons, cluster, decide, instance, instance_of, sizes, tell,
};

fn balanced(fleet: FleetBuilder) -> FleetBuilder {
    fleet.pool("default", |rules| rules.policy = ConsolidationPolicy::Balanced)
}

/// An instance with many small pods.
fn packed(name: &str, size: &str, count: usize) -> joiner_core::testing::NodeBuilder {
    (0..count).fold(instance(name, size), |instance, i| {
        instance.pod(pod(&format!("{name}-{i}")).cpu("100m"))
    })
}

/// A-21, A-20
#[test]
fn an_instance_that_is_much_too_large_is_replaced() {
    check(
        cluster().node(instance("n", "large").pod(pod("a").cpu("1"))),
        balanced,
        expect![[r#"
        singleNodeConsolidation: n -> new small +1: a; saves 3.00 score 0.75
    "#]],
    );
    // The only instance of a pool, whose pods fit elsewhere.
    check(
        cluster().node(instance("n", "large").pod(pod("a").cpu("1"))).node(node("other")),
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
            .node(instance("few", "huge").pod(pod("big").cpu("16")))
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
        few: move.equalShape: its pods need an instance like few: the best replacement is another huge (now on-demand in zone a)
        many: move.score: the best move saves 11.1% of what NodePool "default" costs and moves 88.9% of its pods: score 0.12, and its policy Balanced asks for 0.50
    "#]],
    );
}

/// The pool says what moves have to be worth.
fn asking(policy: ConsolidationPolicy, text: &str) -> impl FnOnce(FleetBuilder) -> FleetBuilder {
    let asked = MinScore::from(text);
    move |fleet| {
        fleet.pool("default", |rules| {
            rules.policy = policy;
            rules.min_score = Some(asked);
        })
    }
}

#[test]
fn a_pool_may_ask_for_a_score_whatever_its_policy() {
    let two = || {
        cluster()
            .node(packed("many", "small", 3))
            .node(instance("few", "huge").pod(pod("big").cpu("16")))
            .node(node("other"))
    };
    // A ninth is saved, and two thirds move: 0.17.
    for policy in [ConsolidationPolicy::WhenEmptyOrUnderutilized, ConsolidationPolicy::Balanced] {
        check(
            two(),
            asking(policy, "0.1"),
            expect![[r#"
                singleNodeConsolidation: many -> other: many-0 many-1 many-2; saves 1.00 score 0.17
                few stays: move.equalShape
            "#]],
        );
        check_reasons(
            two(),
            asking(policy, " 0.2 "),
            expect![[r#"
                few: move.equalShape: its pods need an instance like few: the best replacement is another huge (now on-demand in zone a)
                many: move.score: the best move saves 11.1% of what NodePool "default" costs and moves 66.7% of its pods: score 0.17, and its annotation joiner.sh/consolidation-min-score asks for 0.20
            "#]],
        );
    }
}

#[test]
fn a_score_that_cannot_be_read_keeps_instances_but_not_empty_ones() {
    for text in ["", "much", "0", "-1", "NaN", "inf", "50%"] {
        assert_eq!(MinScore::from(text), MinScore::Unreadable(text.to_owned()));
    }
    check_reasons(
        cluster().node(instance("n", "large").pod(pod("a").cpu("1"))).node(instance("e", "small")),
        asking(ConsolidationPolicy::default(), "50%"),
        expect![[r#"
            node.empty: e holds nothing that would have to move; 1.0000 per hour are saved
            n: move.score: NodePool "default": annotation joiner.sh/consolidation-min-score is "50%", which is no number above 0, such as 0.5: until it is corrected or removed, no instance of the pool that holds pods is consolidated
        "#]],
    );
}

/// A-23
#[test]
fn several_instances_are_scored_together() {
    let three = |size: &str| {
        (0..3).fold(cluster(), |cluster, i| {
            cluster.node(instance(&format!("n{i}"), size).pod(pod(&format!("p{i}")).cpu("2500m")))
        })
    };
    check(
        three("huge"),
        balanced,
        expect![[r#"
        multiNodeConsolidation: n0 n1 n2 -> new large: p0 p1 p2; saves 20.00 score 0.83
    "#]],
    );
    // A third of the price is not worth it that everything moves, and one alone would need an instance like it.
    check(
        three("medium"),
        balanced,
        expect![[r#"
        n0 stays: move.equalShape
        n1 stays: move.equalShape
        n2 stays: move.equalShape
    "#]],
    );
}

/// A-27: the order is that of savings for moving, and what comes last in it is refused.
#[test]
fn of_instances_that_differ_those_go_first_whose_moving_saves_most() {
    let cluster = || {
        cluster()
            .node(packed("packed", "small", 5))
            .node(packed("middling", "medium", 2))
            .node(packed("dear", "large", 1))
            .node(node("other"))
    };
    for (nodes, expected) in [
        (
            "1",
            expect![[r#"
        singleNodeConsolidation: dear -> middling: dear-0; saves 4.00 score 3.14
        middling stays: node.receives
        packed stays: move.score
    "#]],
        ),
        (
            "2",
            expect![[r#"
        multiNodeConsolidation: dear middling -> other: dear-0 middling-0 middling-1; saves 6.00 score 1.89
        packed stays: budget.used
    "#]],
        ),
    ] {
        check(cluster(), |fleet| balanced(fleet).budgets("default", [budget(nodes)]), expected);
    }
}

/// A-24
#[test]
fn a_budget_of_0_has_the_last_word() {
    check(
        cluster().node(instance("n", "large").pod(pod("a").cpu("1"))),
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
        .node(instance("big", "huge").pod(pod("big").cpu("16")))
        .node(instance_of("plain", "other", "small").pod(pod("p").cpu("500m")))
        .node(node("spare"))
}

/// A-06, A-28, A-29
#[test]
fn pools_with_other_policies_are_not_scored() {
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

/// An instance of `a` for 4 and one of `b` for 2 that can become one for 1, beside another of `b` that stays.
fn of_two_pools(staying: f64) -> SnapshotBuilder {
    // There are none like them any more.
    let old = |price: f64| instance_type("old").cpu("1").price(price);
    let five = || instance_type("five").cpu("5").price(1.0);
    let full = instance_type("full").cpu("8").price(staying);
    let going = |pool: &str, name: &str| node(name).pool(pool).of_type("old").cpu("3");
    snapshot()
        .pool(pool("a"), [old(4.0), five()])
        .pool(pool("b"), [old(2.0), five(), full])
        .node(going("a", "a0").pod(pod("p").cpu("2500m")))
        .node(going("b", "b0").pod(pod("q").cpu("2500m")))
        .node(node("b1").pool("b").of_type("full").cpu("8").pod(pod("r").cpu("8")))
}

fn all_balanced(fleet: FleetBuilder) -> FleetBuilder {
    fleet
        .pool("a", |rules| rules.policy = ConsolidationPolicy::Balanced)
        .pool("b", |rules| rules.policy = ConsolidationPolicy::Balanced)
}

/// A-01..20: of the 5 that are saved 10/3 are `a`'s and 5/3 are `b`'s, as prices are, and each pool holds its share
/// against its own totals.
#[test]
fn each_pool_of_a_move_judges_its_share_of_the_savings() {
    let cluster = of_two_pools(4.0).build();
    let fleet = all_balanced(joiner_core::testing::fleet(&cluster)).build();
    let decided = decide(&Settings::default(), &cluster, &fleet);
    expect![[r#"
        multiNodeConsolidation: a0 b0 -> new five +1: p q; saves 5.00 score 0.56
        b1 stays: move.equalShape
    "#]]
    .assert_eq(&tell(&decided));
    let scores = decided.commands[0].scores.iter().map(|judged| {
        let Score { node_pool, score, threshold, savings, disruption } = judged;
        format!("{node_pool}: {savings:.1}% for {disruption:.1}%, {score:.3} of {threshold:.3}\n")
    });
    expect![[r#"
        a: 83.3% for 100.0%, 0.833 of 0.500
        b: 27.8% for 50.0%, 0.556 of 0.500
    "#]]
    .assert_eq(&scores.collect::<String>());
}

/// A-01..20
#[test]
fn one_pool_that_refuses_its_share_is_enough() {
    // `b` saves as much, but of more.
    let dear = || of_two_pools(8.0);
    check(
        dear(),
        all_balanced,
        expect![[r#"
            singleNodeConsolidation: a0 -> new five: p; saves 3.00 score 0.75
            b0 stays: move.score
            b1 stays: move.equalShape
        "#]],
    );
    // Only `a` is asked.
    check(
        dear(),
        |fleet| fleet.pool("a", |rules| rules.policy = ConsolidationPolicy::Balanced),
        expect![[r#"
            multiNodeConsolidation: a0 b0 -> new five: p q; saves 5.00 score 0.83
            b1 stays: move.equalShape
        "#]],
    );
}
