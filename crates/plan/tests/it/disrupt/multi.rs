//! Several instances together.

use expect_test::expect;
use joiner_core::{
    label::{CAPACITY_TYPE, INSTANCE_TYPE},
    requirement::Operator::Exists,
    testing::{budget, instance_type, node, pod, pool, snapshot},
};

use super::{Settings, as_it_is, check, check_with, cluster, instance, instance_of, sizes};

/// O-76
#[test]
fn three_instances_become_one() {
    let three = |capacity_type: &str| {
        (0..3).fold(
            snapshot().pool(
                pool("default"),
                sizes().map(|size| size.capacity_types(["on-demand", "spot"])),
            ),
            |cluster, i| {
                let instance =
                    instance(&format!("n{i}"), "medium").label(CAPACITY_TYPE, capacity_type);
                cluster.node(instance.pod(pod(&format!("p{i}")).cpu("2500m")))
            },
        )
    };
    check(
        three("on-demand"),
        as_it_is,
        expect![[r#"
            multiNodeConsolidation: n0 n1 n2 -> new large: p0 p1 p2; saves 2.00
        "#]],
    );
    let spot_to_spot = Settings {
        disruption: joiner_core::disruption::DisruptionSettings {
            spot_to_spot: true,
            as_scheduled: false,
        },
        ..Settings::default()
    };
    check_with(
        &spot_to_spot,
        three("spot"),
        as_it_is,
        expect![[r#"
            multiNodeConsolidation: n0 n1 n2 -> new large: p0 p1 p2; saves 2.00
        "#]],
    );
}

/// O-77
#[test]
fn spot_and_other_instances_become_one() {
    check(
        snapshot()
            .pool(
                pool("default"),
                [
                    instance_type("four").capacity_types(["on-demand", "spot"]).price(1.0),
                    instance_type("eight")
                        .cpu("8")
                        .mem("8Gi")
                        .capacity_types(["on-demand", "spot"])
                        .price(1.5),
                ],
            )
            .node(node("a").pool("default").of_type("four").pod(pod("p").cpu("3")))
            .node(
                node("b")
                    .pool("default")
                    .of_type("four")
                    .label(CAPACITY_TYPE, "spot")
                    .pod(pod("q").cpu("3")),
            ),
        as_it_is,
        expect![[r#"
            multiNodeConsolidation: a b -> new eight: p q; saves 0.50
        "#]],
    );
}

/// O-78: two instances are not replaced by one like them, since one of them can stay.
#[test]
fn two_instances_do_not_become_one_like_them() {
    check(
        snapshot()
            .pool(pool("default"), [instance_type("four").price(1.0)])
            .node(node("a").pool("default").of_type("four").pod(pod("p").cpu("1500m")))
            .node(node("b").pool("default").of_type("four").pod(pod("q").cpu("1500m"))),
        as_it_is,
        expect![[r#"
            singleNodeConsolidation: a -> b: p; saves 1.00
            b stays: node.receives
        "#]],
    );
}

/// O-37: the same rule leaves one type of three, and the pool wants two to choose from.
#[test]
fn instances_do_not_become_one_if_too_few_types_are_left_that_are_not_like_them() {
    let two = |min| {
        let four = |name: &str| node(name).pool("default").of_type("four");
        snapshot()
            .pool(
                pool("default").min_values(INSTANCE_TYPE, Exists, [], min),
                [
                    instance_type("cheap").price(0.8),
                    instance_type("four").price(1.0),
                    instance_type("dear").price(1.2),
                ],
            )
            .node(four("a").pod(pod("p").cpu("1500m")))
            .node(four("b").pod(pod("q").cpu("1500m")))
    };
    check(
        two(1),
        as_it_is,
        expect![[r#"
        multiNodeConsolidation: a b -> new cheap: p q; saves 1.20
    "#]],
    );
    check(
        two(2),
        as_it_is,
        expect![[r#"
        singleNodeConsolidation: a -> b: p; saves 1.00
        b stays: node.receives
    "#]],
    );
}

/// Two instances whose memory is full and whose CPUs are not: their large pods become neighbours where there is more memory,
/// with one small instance for what is left over.
#[test]
fn two_instances_become_two_others() {
    let types = [
        instance_type("flat").cpu("16").mem("64Gi").price(0.47),
        instance_type("tall").cpu("16").mem("128Gi").price(0.54),
        instance_type("tiny").cpu("2").mem("8Gi").price(0.06),
    ];
    let large = |name: String| pod(&name).cpu("3500m").mem("28Gi");
    let small = |name: String| pod(&name).cpu("900m").mem("3Gi");
    let flat = |name: &str| {
        let own = node(name).pool("default").of_type("flat").cpu("16").mem("64Gi");
        let own = (0..2).fold(own, |own, i| own.pod(large(format!("{name}-large-{i}"))));
        (0..2).fold(own, |own, i| own.pod(small(format!("{name}-small-{i}"))))
    };
    let full = node("full").pool("default").of_type("tall").cpu("16").mem("128Gi");
    let full = (0..16).fold(full, |full, i| full.pod(pod(&format!("f{i}")).cpu("1").mem("7Gi")));
    check(
        snapshot().pool(pool("default"), types).node(flat("a")).node(flat("b")).node(full),
        as_it_is,
        expect![[r#"
            multiNodeConsolidation: a b -> new tall: a-large-0 a-large-1 b-large-0 b-large-1 a-small-0 a-small-1; new tiny: b-small-0 b-small-1; saves 0.34
            full stays: move.equalShape
        "#]],
    );
}

/// The instance that another waits for is no concern of those that can go without it.
#[test]
fn instances_that_need_no_new_one_do_not_wait_for_it() {
    let local = |name: &str| pod(name).cpu("1").on_node_selector("disk", "ssd");
    check(
        cluster()
            .node(instance("n0", "huge").pod(pod("p0").cpu("7")))
            .node(instance("n1", "small").label("disk", "ssd").pod(local("p1")))
            .node(instance("n2", "small").label("disk", "ssd").pod(local("p2")))
            .node(node("other").cpu("2").label("disk", "ssd")),
        as_it_is,
        expect![[r#"
            multiNodeConsolidation: n1 n2 -> other: p1 p2; saves 2.00
            singleNodeConsolidation: n0 -> new large: p0; saves 4.00
        "#]],
    );
}

/// O-20
#[test]
fn no_more_go_together_than_the_budget_allows() {
    let five = (0..5).fold(cluster(), |cluster, i| {
        cluster.node(instance(&format!("n{i}"), "medium").pod(pod(&format!("p{i}")).cpu("2500m")))
    });
    check(
        five,
        |fleet| fleet.budgets("default", [budget("3")]),
        expect![[r#"
            multiNodeConsolidation: n0 n1 n2 -> new large: p0 p1 p2; saves 2.00
            n3 stays: budget.used
            n4 stays: budget.used
        "#]],
    );
}

/// One that cannot move does not keep the others from going together.
#[test]
fn an_instance_that_fits_nowhere_is_left_out() {
    let cluster = (0..4).fold(cluster(), |cluster, i| {
        cluster.node(instance(&format!("n{i}"), "medium").pod(pod(&format!("p{i}")).cpu("2500m")))
    });
    let stuck = pod("stuck").cpu("500m").on_node_selector("rack", "7");
    check(
        cluster.node(instance("a-stuck", "large").label("rack", "7").pod(stuck)),
        as_it_is,
        expect![[r#"
            multiNodeConsolidation: n0 n1 n2 -> a-stuck: p0 p1 p2; saves 6.00
            a-stuck stays: node.receives
            n3 stays: move.equalShape
        "#]],
    );
}

/// Several commands in one pass, none in another's way.
#[test]
fn pools_whose_pods_cannot_mix_are_looked_at_one_by_one() {
    let own = |team: &'static str| pool(team).label("team", team);
    let cluster = snapshot().pool(own("a"), sizes()).pool(own("b"), sizes());
    let cluster = (0..3).fold(cluster, |cluster, i| {
        let of = |team: &str| {
            instance_of(team, &format!("{team}{i}"), "medium")
                .label("team", team)
                .pod(pod(&format!("{team}-{i}")).cpu("2500m").on_node_selector("team", team))
        };
        cluster.node(of("a")).node(of("b"))
    });
    check(
        cluster,
        as_it_is,
        expect![[r#"
            multiNodeConsolidation: a0 a1 a2 -> new large: a-0 a-1 a-2; saves 2.00
            multiNodeConsolidation: b0 b1 b2 -> new large: b-0 b-1 b-2; saves 2.00
        "#]],
    );
}

/// Karpenter's search stops at 101 instances.
#[test]
fn more_than_a_hundred_instances_can_go_together() {
    let cluster = (0..130).fold(
        cluster().node(node("other").cpu("100").mem("100Gi").has("pods", "200")),
        |cluster, i| {
            cluster
                .node(instance(&format!("n{i:03}"), "small").pod(pod(&format!("p{i}")).cpu("500m")))
        },
    );
    let cluster = cluster.build();
    let fleet = joiner_core::testing::fleet(&cluster).build();
    let decided = joiner_plan::disrupt::disrupt(
        &cluster,
        &fleet,
        &Settings::default().planning,
        &Settings::default().disruption,
    );
    assert_eq!(decided.commands[0].candidates.len(), 130);
    assert_eq!(decided.commands.len(), 1);
}

/// A run from the best instance on cannot leave out the one that is in the way: `y` is second in every order, and cannot
/// go with `x` unless something comes for both.
#[test]
fn an_instance_that_is_in_the_way_of_others_is_left_out() {
    check(
        cluster()
            .node(instance("x", "medium").pod(pod("x").cpu("1")))
            .node(instance("y", "medium").pod(pod("y1").cpu("1750m")).pod(pod("y2").cpu("1750m")))
            .node(
                (0..3)
                    .fold(instance("z", "medium"), |z, i| z.pod(pod(&format!("z{i}")).cpu("500m"))),
            )
            .node(node("other").cpu("2")),
        as_it_is,
        expect![[r#"
            multiNodeConsolidation: x z -> other: x z0 z1; y: z2; saves 4.00
            y stays: node.receives
        "#]],
    );
}

/// `a` and `b` could become one. Karpenter does not see that while `wide` is there, which comes before them and cannot
/// go. We do; but they go only if a third of their price is saved or, their eight pods considered, it is worth it. What
/// Karpenter would do, too, is done for any savings.
#[test]
fn instances_move_together_for_good_savings_or_if_karpenter_would_move_them() {
    let two = |price: f64| {
        let types = [
            instance_type("four").cpu("4").price(1.0),
            instance_type("eight").cpu("8").price(price),
            instance_type("sixteen").cpu("16").price(8.0),
        ];
        let four = |name: &str| {
            let own = node(name).pool("default").of_type("four").cpu("4");
            (0..4).fold(own, |own, i| own.pod(pod(&format!("{name}{i}")).cpu("1")))
        };
        snapshot().pool(pool("default"), types).node(four("a")).node(four("b"))
    };
    let wide = || node("wide").pool("default").of_type("sixteen").cpu("16").pod(pod("w").cpu("16"));
    check(
        two(1.4).node(wide()),
        as_it_is,
        expect![[r#"
            a stays: move.equalShape
            b stays: move.equalShape
            wide stays: move.equalShape
        "#]],
    );
    check(
        two(1.3).node(wide()),
        as_it_is,
        expect![[r#"
            multiNodeConsolidation: a b -> new eight: a0 a1 a2 a3 b0 b1 b2 b3; saves 0.70
            wide stays: move.equalShape
        "#]],
    );
    check(
        two(1.4),
        as_it_is,
        expect![[r#"
            multiNodeConsolidation: a b -> new eight: a0 a1 a2 a3 b0 b1 b2 b3; saves 0.60
        "#]],
    );
}

/// All four could become one sixteen, which saves more than an eight for two of them but too little for sixteen pods. That
/// a longer run does not pay is no reason to forget the shorter one. `wide` keeps Karpenter from finding any.
#[test]
fn a_run_that_does_not_pay_hides_no_shorter_one_that_does() {
    let types = [
        instance_type("four").cpu("4").price(1.0),
        instance_type("eight").cpu("8").price(1.2),
        instance_type("sixteen").cpu("16").price(2.9),
    ];
    let own = |name: &str| {
        let own = node(name).pool("default").of_type("four").cpu("4");
        (0..4).fold(own, |own, i| own.pod(pod(&format!("{name}{i}")).cpu("1")))
    };
    let wide = node("wide").pool("default").of_type("sixteen").cpu("16").pod(pod("w").cpu("16"));
    check(
        ["a", "b", "c", "d"]
            .into_iter()
            .fold(snapshot().pool(pool("default"), types), |all, name| all.node(own(name)))
            .node(wide),
        as_it_is,
        expect![[r#"
            multiNodeConsolidation: a b -> new eight: a0 a1 a2 a3 b0 b1 b2 b3; saves 0.80
            multiNodeConsolidation: c d -> new eight: c0 c1 c2 c3 d0 d1 d2 d3; saves 0.80
            wide stays: move.equalShape
        "#]],
    );
}
