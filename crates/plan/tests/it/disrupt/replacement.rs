//! Instances that something cheaper takes the place of.

use expect_test::expect;
use joiner_core::{
    disruption::ConsolidationPolicy,
    instance_type::Offering,
    label::{
        CAPACITY_TYPE, CAPACITY_TYPE_ON_DEMAND, CAPACITY_TYPE_RESERVED, CAPACITY_TYPE_SPOT,
        INSTANCE_TYPE, ZONE,
    },
    requirement::Operator::{Exists, In},
    settings::{MinValuesPolicy, PlanSettings},
    testing::{
        PoolBuilder, RESERVATION_ID, SnapshotBuilder, TypeBuilder, instance_type, node, offering,
        pod, pool, snapshot,
    },
};

use super::{Settings, as_it_is, check, check_reasons, check_with, cluster, instance, tell};

/// O-31
#[test]
fn an_instance_that_is_too_large_is_replaced_by_a_smaller_one() {
    check(
        cluster().node(instance("n", "large").pod(pod("a").cpu("1"))),
        as_it_is,
        expect![[r#"
        singleNodeConsolidation: n -> new small +1: a; saves 3.00
    "#]],
    );
}

#[test]
fn what_is_saved_and_where_pods_go_is_said() {
    check_reasons(
        cluster()
            .node(instance("n", "huge").pod(pod("a").cpu("1")).pod(pod("b").cpu("1500m")))
            .node(node("other").cpu("1")),
        as_it_is,
        expect![[r#"
            node.underutilized: n: the 2 pods fit on other (1) and a new small at 1.0000 per hour (1, NodePool "default"); 7.0000 per hour are saved
        "#]],
    );
}

#[test]
fn an_instance_is_never_replaced_by_one_like_it() {
    check_reasons(
        cluster().node(instance("n", "small").pod(pod("a").cpu("2"))),
        as_it_is,
        expect![[r#"
            n: move.equalShape: its pods need an instance like n: the best replacement is another small (now on-demand in zone a)
        "#]],
    );
}

/// O-46, O-47: the worst that can happen has to be cheaper.
#[test]
fn an_instance_is_not_replaced_if_it_may_turn_out_dearer() {
    let uneven = |capacity_type: &str| {
        let offered = |zone: &str, price: f64| offering(zone, capacity_type, price);
        instance_type("uneven").zones([]).offering(offered("a", 0.5)).offering(offered("b", 3.0))
    };
    let with = |size: TypeBuilder| {
        snapshot()
            .pool(pool("default"), [size, instance_type("five").cpu("5").price(2.0)])
            .node(node("n").pool("default").of_type("five").cpu("5").pod(pod("a").cpu("4")))
    };
    for capacity_type in [CAPACITY_TYPE_SPOT, CAPACITY_TYPE_ON_DEMAND] {
        check_reasons(
            with(uneven(capacity_type)),
            as_it_is,
            expect![[r#"
                n: move.notCheaper: can't replace with a cheaper node: the cheapest that fits, uneven, may cost 3.0000 per hour, and now it is 2.0000
            "#]],
        );
    }
    check(
        with(instance_type("even").price(0.5)),
        as_it_is,
        expect![[r#"
        singleNodeConsolidation: n -> new even: a; saves 1.50
    "#]],
    );
}

/// An instance at a price, with so many pods of two CPUs each; new ones like it are too small.
pub(super) fn splittable(price: f64, pods: usize) -> SnapshotBuilder {
    let old = instance_type("old").cpu("1").price(price);
    let own = node("n").pool("default").of_type("old").cpu("8");
    let own = (0..pods).fold(own, |own, i| own.pod(pod(&format!("p{i}")).cpu("2")));
    let types = [old, instance_type("two").cpu("2").price(1.0)];
    snapshot().pool(pool("default"), types).node(own)
}

#[test]
fn an_instance_is_replaced_by_two_that_are_cheaper_together() {
    check(
        splittable(9.0, 2),
        as_it_is,
        expect![[r#"
            singleNodeConsolidation: n -> new two: p0; new two: p1; saves 7.00
        "#]],
    );
    check_reasons(
        splittable(2.0, 2),
        as_it_is,
        expect![[r#"
            n: move.notCheaper: can't replace with cheaper nodes: the cheapest 2 that fit cost 2.0000 per hour, and now it is 2.0000
        "#]],
    );
}

#[test]
fn an_instance_is_not_replaced_by_more_than_two() {
    check_reasons(
        splittable(9.0, 3),
        as_it_is,
        expect![[r#"
            n: move.replacementsMoreThanOne: can't remove without creating 3 instances: its pods do not fit on one or two new instances besides what the others can take
        "#]],
    );
}

/// Karpenter lets one instance come; what is done beyond that has to pay.
#[test]
fn an_instance_is_not_replaced_by_two_for_hardly_anything() {
    check_reasons(
        splittable(2.9, 2),
        as_it_is,
        expect![[r#"
            n: move.replacementsMoreThanOne: can't remove without creating 2 instances: what that saves is not worth the moving
        "#]],
    );
}

/// Two CPUs that are paid for already.
fn reserved() -> TypeBuilder {
    instance_type("r").cpu("2").price(1.0).reserved("a", "r1", 1, 0.01)
}

/// O-88
#[test]
fn reserved_capacity_takes_the_place_of_what_costs_more() {
    let on = |capacity_type: &str, price: f64| {
        snapshot()
            .pool(
                pool("default"),
                [
                    reserved(),
                    instance_type("old")
                        .cpu("4")
                        .capacity_types(["on-demand", "spot"])
                        .price(price),
                ],
            )
            .node(
                node("n")
                    .pool("default")
                    .of_type("old")
                    .label(CAPACITY_TYPE, capacity_type)
                    .cpu("4")
                    .pod(pod("a").cpu("1")),
            )
    };
    check(
        on("on-demand", 2.0),
        as_it_is,
        expect![[r#"
        singleNodeConsolidation: n -> new r: a; saves 1.99
    "#]],
    );
    check(
        on("spot", 0.5),
        as_it_is,
        expect![[r#"
        singleNodeConsolidation: n -> new r: a; saves 0.49
    "#]],
    );
}

/// O-87
#[test]
fn reserved_capacity_takes_the_place_of_dearer_reserved_capacity() {
    let old = instance_type("old").price(2.0).reserved("a", "r0", 1, 0.05);
    let n = node("n")
        .pool("default")
        .of_type("old")
        .label(CAPACITY_TYPE, CAPACITY_TYPE_RESERVED)
        .label(RESERVATION_ID, "r0");
    let cluster =
        snapshot().pool(pool("default"), [reserved(), old]).node(n.pod(pod("a").cpu("1"))).build();
    let fleet = joiner_core::testing::fleet(&cluster).build();
    let decided = super::decide(&Settings::default(), &cluster, &fleet);
    expect![[r#"
        singleNodeConsolidation: n -> new r: a; saves 0.04
    "#]]
    .assert_eq(&tell(&decided));
    let claim = &decided.commands[0].replacements[0];
    let capacity_type = claim.requirements.iter().find(|spec| spec.key == CAPACITY_TYPE).unwrap();
    assert_eq!(capacity_type.values, [CAPACITY_TYPE_RESERVED]);
}

/// A-01..20, V-09..20: what is saved is told by what the new instance may be, not by the cheapest that its type is
/// offered for.
#[test]
fn what_a_pool_does_not_allow_saves_nothing() {
    let with = |own: PoolBuilder| {
        let small = instance_type("small")
            .cpu("2")
            .zones(["a"])
            .price(1.0)
            .offering(offering("a", CAPACITY_TYPE_SPOT, 0.5))
            .offering(offering("b", CAPACITY_TYPE_ON_DEMAND, 1.5));
        let old = node("n").pool("default").of_type("old").zone("b");
        snapshot()
            .pool(own, [small, instance_type("old").price(4.0)])
            .node(old.pod(pod("a").cpu("1")))
    };
    let on_demand = || pool("default").require(CAPACITY_TYPE, In, [CAPACITY_TYPE_ON_DEMAND]);
    for (own, expected) in [
        (
            pool("default"),
            expect![[r#"
                singleNodeConsolidation: n -> new small: a; saves 3.50 score 0.88
            "#]],
        ),
        (
            on_demand(),
            expect![[r#"
                singleNodeConsolidation: n -> new small: a; saves 3.00 score 0.75
            "#]],
        ),
        (
            on_demand().require(ZONE, In, ["b"]),
            expect![[r#"
                singleNodeConsolidation: n -> new small: a; saves 2.50 score 0.62
            "#]],
        ),
    ] {
        check(
            with(own),
            |fleet| fleet.pool("default", |rules| rules.policy = ConsolidationPolicy::Balanced),
            expected,
        );
    }
}

/// O-39
#[test]
fn what_is_cheaper_must_still_be_as_many_types_as_the_pool_asks_for() {
    let flexible = |min| pool("default").min_values(INSTANCE_TYPE, Exists, [], min);
    let with = |min| {
        snapshot()
            .pool(flexible(min), super::sizes())
            .node(instance("n", "large").pod(pod("a").cpu("1")))
    };
    check_reasons(
        with(3),
        as_it_is,
        expect![[r#"
        n: minValues.unmet: the types that would do and are cheaper leave fewer values of node.kubernetes.io/instance-type than the minValues of NodePool "default"
    "#]],
    );
    check(
        with(2),
        as_it_is,
        expect![[r#"
        singleNodeConsolidation: n -> new small +1: a; saves 3.00
    "#]],
    );
}

/// O-91
#[test]
fn the_number_of_types_is_not_lowered_to_save_money() {
    let best_effort = Settings {
        planning: PlanSettings {
            min_values: MinValuesPolicy::BestEffort,
            ..PlanSettings::default()
        },
        ..Settings::default()
    };
    let with = || {
        snapshot()
            .pool(
                pool("default").min_values(INSTANCE_TYPE, In, ["small", "gone"], 2),
                super::sizes(),
            )
            .node(instance("n", "large").pod(pod("a").cpu("1")))
    };
    check_with(
        &best_effort,
        with(),
        as_it_is,
        expect![[r#"
        n stays: pod.wouldNotFit
    "#]],
    );
    // What has drifted is replaced as it is made at first.
    check_with(
        &best_effort,
        with(),
        |fleet| fleet.drifted("n", 5),
        expect![[r#"
        drift: n -> new small: a; saves 3.00
    "#]],
    );
}

/// If spot is not to be had, the launch must fail rather than become dearer.
#[test]
fn an_instance_that_may_be_spot_is_pinned_to_spot() {
    let both =
        instance_type("both").cpu("2").price(1.5).offering(offering("a", CAPACITY_TYPE_SPOT, 0.4));
    let cluster = snapshot()
        .pool(pool("default"), [both, instance_type("old").price(2.0)])
        .node(node("n").pool("default").of_type("old").pod(pod("a").cpu("1")))
        .build();
    let fleet = joiner_core::testing::fleet(&cluster).build();
    let decided = super::decide(&Settings::default(), &cluster, &fleet);
    expect![[r#"
        singleNodeConsolidation: n -> new both: a; saves 1.60
    "#]]
    .assert_eq(&tell(&decided));
    let claim = &decided.commands[0].replacements[0];
    let capacity_type = claim.requirements.iter().find(|spec| spec.key == CAPACITY_TYPE).unwrap();
    assert_eq!(capacity_type.values, ["spot"]);
}

/// A-15: what an instance costs does not depend on whether another could be had.
#[test]
fn an_instance_has_its_price_although_no_other_can_be_had() {
    let sold_out = Offering { available: false, ..offering("a", "on-demand", 2.0) };
    check(
        snapshot()
            .pool(
                pool("default"),
                [
                    instance_type("small").cpu("2").price(1.0),
                    instance_type("old").zones([]).offering(sold_out),
                ],
            )
            .node(node("n").pool("default").of_type("old").label(ZONE, "a").pod(pod("a").cpu("1"))),
        as_it_is,
        expect![[r#"
            singleNodeConsolidation: n -> new small: a; saves 1.00
        "#]],
    );
}

/// A-17, A-07, A-08: a price that is no number counts as none.
#[test]
fn without_a_price_nothing_is_cheaper() {
    for price in [0.0, f64::NAN] {
        check(
            snapshot()
                .pool(
                    pool("default"),
                    [instance_type("small").cpu("2").price(0.5), instance_type("old").price(price)],
                )
                .node(node("n").pool("default").of_type("old").pod(pod("a").cpu("1"))),
            as_it_is,
            expect![[r#"
                n stays: move.notCheaper
            "#]],
        );
    }
}

/// A claim with one capacity type and minValues of two would be refused by the API server.
#[test]
fn a_replacement_that_must_be_spot_keeps_no_choice_of_capacity_types() {
    let both = [CAPACITY_TYPE_ON_DEMAND, CAPACITY_TYPE_SPOT];
    let types = [
        instance_type("small").cpu("2").price(1.0).offering(offering("a", CAPACITY_TYPE_SPOT, 0.5)),
        instance_type("large").cpu("8").price(4.0),
    ];
    let pool = pool("default").min_values(CAPACITY_TYPE, In, both, 2);
    let snapshot = snapshot()
        .pool(pool, types)
        .node(node("n").pool("default").of_type("large").cpu("8").pod(pod("a").cpu("1")))
        .build();
    let fleet = joiner_core::testing::fleet(&snapshot).build();
    let Settings { planning, disruption } = Settings::default();
    let decided = joiner_plan::disrupt::disrupt(&snapshot, &fleet, &planning, &disruption);
    let claim = &decided.commands[0].replacements[0];
    let own = claim.requirements.iter().find(|spec| spec.key == CAPACITY_TYPE).unwrap();
    assert_eq!((own.values.as_slice(), own.min_values), (&["spot".to_owned()][..], None));
}
