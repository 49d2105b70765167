//! Instances whose pods fit elsewhere.

use expect_test::expect;
use joiner_core::{
    disruption::ConsolidationPolicy,
    label::{HOSTNAME, INSTANCE_TYPE, ZONE},
    pool::Readiness,
    requirement::Operator::In,
    settings::{PlanSettings, PreferencePolicy},
    testing::{
        FleetBuilder, PodBuilder, SnapshotBuilder, TypeBuilder, budget, budget_for, instance_type,
        node, pod, pool, selector, snapshot,
    },
};

use super::{
    Settings, as_it_is, check, check_reasons, check_with, cluster, instance, instance_of, sizes,
};

/// O-48
#[test]
fn an_instance_whose_pods_fit_elsewhere_goes() {
    check(
        cluster()
            .node(instance("little", "medium").pod(pod("a").cpu("500m")))
            .node(instance("much", "medium").pod(pod("b").cpu("3"))),
        as_it_is,
        expect![[r#"
            singleNodeConsolidation: little -> much: a; saves 2.00
            much stays: node.receives
        "#]],
    );
}

/// O-51
#[test]
fn room_on_instances_that_are_not_ours_counts() {
    check(
        cluster().node(instance("n", "small").pod(pod("a").cpu("1"))).node(node("other")),
        as_it_is,
        expect![[r#"
            singleNodeConsolidation: n -> other: a; saves 1.00
        "#]],
    );
}

/// O-82, O-97
#[test]
fn what_saves_most_for_the_least_moving_goes_first() {
    let packed = |name: &str, size: &str, count: usize| {
        (0..count).fold(instance(name, size), |instance, i| {
            instance.pod(pod(&format!("{name}-{i}")).cpu("500m"))
        })
    };
    check(
        cluster()
            .node(packed("one-of-two", "small", 1))
            .node(packed("two-of-four", "medium", 2))
            .node(packed("one-of-four", "medium", 1))
            .node(node("other").cpu("500m")),
        |fleet| fleet.budgets("default", [budget("1")]),
        expect![[r#"
            singleNodeConsolidation: one-of-four -> one-of-two: one-of-four-0; saves 2.00
            one-of-two stays: node.receives
            two-of-four stays: budget.used
        "#]],
    );
}

/// O-99, D-39..44
#[test]
fn dear_pods_are_moved_last() {
    let two = || {
        cluster()
            .node(instance("a", "small").pod(pod("dear").cpu("1")))
            .node(instance("b", "small").pod(pod("cheap").cpu("1")))
            .node(node("other").cpu("1"))
    };
    let one = |fleet: FleetBuilder| fleet.budgets("default", [budget("1")]);
    check(
        two(),
        |fleet| one(fleet).pod("dear", |facts| facts.eviction_cost = 5.0),
        expect![[r#"
        singleNodeConsolidation: b -> a: cheap; saves 1.00
        a stays: node.receives
    "#]],
    );
    check(
        two(),
        |fleet| one(fleet).pod("cheap", |facts| facts.eviction_cost = 5.0),
        expect![[r#"
        singleNodeConsolidation: a -> b: dear; saves 1.00
        b stays: node.receives
    "#]],
    );
}

/// Instances of a pool that something a little cheaper could take the place of, one by one: their pods are too large to
/// share an instance, and too little is saved to make two new ones at once.
fn tight<const N: usize>(
    cluster: SnapshotBuilder,
    pool: &str,
    names: [&str; N],
) -> SnapshotBuilder {
    names.into_iter().fold(cluster, |cluster, name| {
        let own = node(name).pool(pool).of_type("old").cpu("2");
        cluster.node(own.pod(pod(&format!("p-{name}")).cpu("1500m")))
    })
}

/// A type of instances that exist, and that none like them can be had of any more.
fn old(price: f64) -> TypeBuilder {
    instance_type("old").cpu("1").price(price)
}

fn two() -> TypeBuilder {
    instance_type("two").cpu("2").price(3.5)
}

/// O-98, O-101: nobody's pool is left out, although the second instance of another would save more.
///
/// Upstream begins with pools that it did not come to before its time was up. Here none is forgotten.
#[test]
fn pools_take_turns() {
    let cluster = snapshot()
        .pool(pool("a"), [old(4.04)])
        .pool(pool("b"), [old(4.0)])
        .pool(pool("few").limit("cpu", "4"), [two()]);
    check(
        tight(tight(cluster, "a", ["a1", "a2"]), "b", ["b1"]),
        as_it_is,
        expect![[r#"
        singleNodeConsolidation: a1 -> new two: p-a1; saves 0.54
        singleNodeConsolidation: b1 -> new two: p-b1; saves 0.50
        a2 stays: pod.wouldNotFit
    "#]],
    );
}

/// O-21
#[test]
fn no_more_go_one_by_one_than_the_budget_allows() {
    let cluster = snapshot().pool(pool("default"), [old(4.0), two()]);
    check(
        tight(cluster, "default", ["n0", "n1", "n2", "n3", "n4"]),
        |fleet| fleet.budgets("default", [budget("3")]),
        expect![[r#"
            singleNodeConsolidation: n0 -> new two: p-n0; saves 0.50
            singleNodeConsolidation: n1 -> new two: p-n1; saves 0.50
            singleNodeConsolidation: n2 -> new two: p-n2; saves 0.50
            n3 stays: budget.used
            n4 stays: budget.used
        "#]],
    );
}

/// O-18, O-19, O-20
#[test]
fn no_more_go_than_the_budget_allows() {
    let five = || {
        (0..5).fold(cluster().node(node("other").cpu("16").mem("32Gi")), |cluster, i| {
            cluster.node(instance(&format!("n{i}"), "small").pod(pod(&format!("p{i}")).cpu("1")))
        })
    };
    for (nodes, expected) in [
        (
            "3",
            expect![[r#"
        multiNodeConsolidation: n0 n1 n2 -> n3: p0; n4: p1; other: p2; saves 3.00
        n3 stays: node.receives
        n4 stays: node.receives
    "#]],
        ),
        (
            "0",
            expect![[r#"
        n0 stays: budget.closed
        n1 stays: budget.closed
        n2 stays: budget.closed
        n3 stays: budget.closed
        n4 stays: budget.closed
    "#]],
        ),
        (
            "100%",
            expect![[r#"
        multiNodeConsolidation: n0 n1 n2 n3 n4 -> other: p0 p1 p2 p3 p4; saves 5.00
    "#]],
        ),
    ] {
        check(
            five(),
            |fleet| fleet.budgets("default", [budget_for("Underutilized", nodes)]),
            expected,
        );
    }
}

/// O-01, O-02, O-03
#[test]
fn pools_that_do_not_want_it_say_so() {
    check_reasons(
        snapshot()
            .pool(pool("empty"), sizes())
            .pool(pool("never"), sizes())
            .node(instance_of("empty", "a", "small").pod(pod("a").cpu("1")))
            .node(instance_of("never", "b", "small").pod(pod("b").cpu("1"))),
        |fleet| {
            fleet
                .pool("empty", |rules| rules.policy = ConsolidationPolicy::WhenEmpty)
                .pool("never", |rules| rules.consolidate_after = None)
        },
        expect![[r#"
            a: pool.whenEmpty: NodePool "empty" has consolidation policy WhenEmpty, and a is not empty
            b: pool.consolidationOff: NodePool "never" has consolidation disabled (consolidateAfter: Never)
        "#]],
    );
}

/// O-96
#[test]
fn instances_of_static_pools_stay_but_take_pods() {
    check(
        cluster()
            .pool(pool("fixed").fixed(), sizes())
            .node(instance_of("fixed", "fixed", "medium").pod(pod("b").cpu("1")))
            .node(instance("n", "small").pod(pod("a").cpu("1"))),
        as_it_is,
        expect![[r#"
            singleNodeConsolidation: n -> fixed: a; saves 1.00
            fixed stays: static.replicas, node.receives
        "#]],
    );
}

/// O-40, O-50, O-68
#[test]
fn pools_that_cannot_be_used_are_no_obstacle() {
    check(
        cluster()
            .pool(pool("typeless"), [] as [joiner_core::instance_type::InstanceType; 0])
            .pool(pool("down").readiness(Readiness::NotReady("no class".to_owned())), sizes())
            .pool(pool("odd").label("team", "a").require("team", In, ["b"]), sizes())
            .node(instance("n", "small").pod(pod("a").cpu("1")))
            .node(node("other")),
        as_it_is,
        expect![[r#"
            singleNodeConsolidation: n -> other: a; saves 1.00
        "#]],
    );
}

/// O-66, O-67
#[test]
fn a_pod_that_waits_in_vain_is_no_obstacle_and_nobody_is_made_to_wait() {
    let picky = |name: &str| pod(name).cpu("1").on_node_selector("rack", "7");
    check_reasons(
        cluster()
            .node(instance("free", "small").pod(pod("a").cpu("1")))
            .node(instance("racked", "medium").label("rack", "7").pod(picky("b")))
            .pod(pod("waits").cpu("100")),
        as_it_is,
        expect![[r#"
            node.underutilized: free: its pod fits on racked (1); 1.0000 per hour are saved
            racked: pod.wouldNotFit: pod default/b would have no place: incompatible requirements with pool "default": label "rack" does not have known values
            racked: node.receives: racked takes pods of free, which goes in this pass
        "#]],
    );
}

/// O-84
#[test]
fn pods_that_keep_away_from_each_other_keep_their_instances() {
    let web = |name: &str| pod(name).cpu("500m").label("app", "web");
    let like_web = || selector([("app", "web")]);
    let alone = |name: &str| web(name).anti_affinity(HOSTNAME, like_web());
    // A new pod could be the second on its host, now that each has one; but replicas are not moved together to save an
    // instance.
    let spread = |name: &str| web(name).spread(HOSTNAME, 1, like_web());
    for pod in [&alone as &dyn Fn(&str) -> PodBuilder, &spread] {
        check(
            cluster()
                .node(instance("a", "small").pod(pod("p1")))
                .node(instance("b", "small").pod(pod("p2")))
                .node(instance("c", "small").pod(pod("p3"))),
            as_it_is,
            expect![[r#"
                a stays: move.equalShape
                b stays: move.equalShape
                c stays: move.equalShape
            "#]],
        );
    }
}

/// O-83
#[test]
fn pods_stay_spread_over_zones() {
    let spread = |name: &str| {
        pod(name).cpu("1").label("app", "web").spread(ZONE, 1, selector([("app", "web")]))
    };
    check(
        cluster()
            .node(instance("a", "small").zone("a").pod(spread("p1")))
            .node(instance("b", "large").zone("b").pod(spread("p2")))
            .node(instance("c", "small").zone("c").pod(spread("p3"))),
        as_it_is,
        expect![[r#"
            singleNodeConsolidation: b -> new small +1: p2; saves 3.00
            a stays: move.equalShape
            c stays: move.equalShape
        "#]],
    );
}

/// O-89
#[test]
fn preferences_keep_an_instance_unless_they_are_ignored() {
    let shy = |name: &str| {
        pod(name).cpu("500m").label("app", "web").prefer_anti_affinity(
            1,
            HOSTNAME,
            selector([("app", "web")]),
        )
    };
    let two = || {
        cluster()
            .node(instance("a", "small").pod(shy("p1")))
            .node(instance("b", "small").pod(shy("p2")))
    };
    check(
        two(),
        as_it_is,
        expect![[r#"
        a stays: move.equalShape
        b stays: move.equalShape
    "#]],
    );
    check_with(
        &ignoring(),
        two(),
        as_it_is,
        expect![[r#"
        singleNodeConsolidation: a -> b: p1; saves 1.00
        b stays: node.receives
    "#]],
    );
}

/// O-90
#[test]
fn preferences_keep_an_instance_from_being_replaced_unless_they_are_ignored() {
    let picky = || {
        let large = pod("a").cpu("1").prefer(1, INSTANCE_TYPE, In, ["large"]);
        cluster().node(instance("n", "large").pod(large))
    };
    check(
        picky(),
        as_it_is,
        expect![[r#"
            n stays: move.equalShape
        "#]],
    );
    check_with(
        &ignoring(),
        picky(),
        as_it_is,
        expect![[r#"
            singleNodeConsolidation: n -> new small +1: a; saves 3.00
        "#]],
    );
}

fn ignoring() -> Settings {
    Settings {
        planning: PlanSettings { preferences: PreferencePolicy::Ignore, ..PlanSettings::default() },
        ..Settings::default()
    }
}

/// O-85, O-86
#[test]
fn pods_of_instances_that_leave_come_first_and_their_instance_is_left_alone() {
    let moving = pod("moving").cpu("2").role(joiner_core::pod::Role::Moving);
    check(
        cluster()
            .node(instance("leaving", "small").leaving())
            .node(instance("coming", "small").uninitialized())
            .node(instance("n", "small").pod(pod("a").cpu("1")))
            .pod(moving),
        as_it_is,
        expect![[r#"
            coming stays: node.uninitialized
            leaving stays: node.leaving
            n stays: move.equalShape
        "#]],
    );
}

#[test]
fn a_move_that_was_undone_is_not_made_again_at_once() {
    let n = || cluster().node(instance("n", "small").pod(pod("a").cpu("1"))).node(node("other"));
    check_reasons(
        n(),
        |fleet| fleet.held_back("default", "small", 15),
        expect![[r#"
        n: revertedRecently: a small of NodePool "default" was removed and soon needed again, or its replacement has failed; such instances are left alone until 2026-03-04T12:15:00Z
    "#]],
    );
    check(
        n(),
        |fleet| fleet.held_back("default", "small", 0),
        expect![[r#"
        singleNodeConsolidation: n -> other: a; saves 1.00
    "#]],
    );
    check(
        n(),
        |fleet| fleet.held_back("default", "medium", 15),
        expect![[r#"
        singleNodeConsolidation: n -> other: a; saves 1.00
    "#]],
    );
}

/// A pod that would have no place is named with its nearest miss.
#[test]
fn what_a_pod_would_lack_is_said() {
    check_reasons(
        snapshot()
            .pool(pool("default").limit("cpu", "2"), [instance_type("small").cpu("2").price(1.0)])
            .node(
                node("n")
                    .pool("default")
                    .of_type("old")
                    .cpu("8")
                    .mem("8Gi")
                    .pod(pod("a").cpu("3"))
                    .pod(pod("b").cpu("1")),
            ),
        |fleet| fleet.drifted("n", 5),
        expect![[r#"
            n: pod.wouldNotFit: pod default/a would have no place: no instance type of pool "default" has enough resources: the largest leaves cpu 2 besides daemons, the pod needs 3, 1 more
            n: node.typeUnknown: NodePool "default" has no instance type "old"
        "#]],
    );
}

/// The first in Karpenter's order would take the place that lets a dearer one go.
#[test]
fn what_saves_most_takes_the_place() {
    check(
        cluster()
            .node(instance("cheap", "small").pod(pod("p").cpu("2")))
            .node((0..4).fold(instance("dear", "medium"), |dear, i| {
                dear.pod(pod(&format!("q{i}")).cpu("500m"))
            }))
            .node(node("other").cpu("2")),
        as_it_is,
        expect![[r#"
            singleNodeConsolidation: dear -> other: q0 q1 q2 q3; saves 2.00
            cheap stays: move.equalShape
        "#]],
    );
}
