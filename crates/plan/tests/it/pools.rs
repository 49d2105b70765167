//! Which pool an instance is made from.

use expect_test::expect;
use joiner_core::{
    label::{CAPACITY_TYPE, NODE_POOL, ZONE},
    pool::Readiness,
    requirement::Operator::In,
    taint::{
        Effect::{NoExecute, NoSchedule},
        Toleration,
        TolerationOperator::{self, Equal},
    },
    testing::{
        PoolBuilder, SnapshotBuilder, fake_default_instance_types, instance_type, node, pod, pool,
        snapshot,
    },
};

use crate::support::{check, check_each, cluster_of};

fn pools<const N: usize>(pools: [PoolBuilder; N]) -> SnapshotBuilder {
    pools.into_iter().fold(snapshot(), |all, pool| all.pool(pool, fake_default_instance_types()))
}

#[test]
fn the_heaviest_pool_is_tried_first() {
    check(
        pools([pool("none"), pool("light").weight(1), pool("heavy").weight(100)]).pod(pod("a")),
        expect![[r#"
            claim heavy: a | small-instance-type +5
        "#]],
    );
}

#[test]
fn of_equal_pools_the_later_name_is_tried_first() {
    check(
        pools([pool("a"), pool("b")]).pod(pod("p")),
        expect![[r#"
            claim b: p | small-instance-type +5
        "#]],
    );
}

#[test]
fn a_pod_can_select_its_pool() {
    check(
        pools([pool("light"), pool("heavy").weight(100)])
            .pod(pod("a").on_node_selector(NODE_POOL, "light")),
        expect![[r#"
            claim light: a | small-instance-type +5
        "#]],
    );
}

#[test]
fn the_next_pool_is_tried_when_one_refuses() {
    check(
        pools([
            pool("tainted").weight(5).taint("own", "", NoSchedule),
            pool("elsewhere").weight(4).require(ZONE, In, ["test-zone-3"]),
            pool("last"),
        ])
        .pod(pod("a").on_node_selector(ZONE, "test-zone-1"))
        .pod(pod("b").on_node_selector(ZONE, "test-zone-2").tolerate("own")),
        expect![[r#"
            claim last: a | small-instance-type +5 | zone=test-zone-1
            claim tainted: b | small-instance-type +5 | zone=test-zone-2
        "#]],
    );
}

#[test]
fn pods_join_claims_of_any_pool_before_another_is_opened() {
    // "a" insists on the light pool; "b" would get the heavy one if it had to open a claim.
    check(
        pools([pool("light"), pool("heavy").weight(100)])
            .pod(pod("a").cpu("1").on_node_selector(NODE_POOL, "light"))
            .pod(pod("b").cpu("500m")),
        expect![[r#"
            claim light: a b | small-instance-type +4
        "#]],
    );
}

#[test]
fn a_taint_is_tolerated_by_key_value_and_effect() {
    let tolerating = |key: &str, operator, value: &str, effect| {
        let (key, value) = (key.to_owned(), value.to_owned());
        cluster_of(pool("default").taint("own", "5", NoSchedule))
            .pod(pod("a").toleration(Toleration { key, operator, value, effect }))
    };
    check_each(
        [
            ("Equal", tolerating("own", Equal, "5", None)),
            ("Equal, other value", tolerating("own", Equal, "6", None)),
            ("Equal, other key", tolerating("other", Equal, "5", None)),
            ("Exists", tolerating("own", TolerationOperator::Exists, "", None)),
            ("Exists, any key", tolerating("", TolerationOperator::Exists, "", None)),
            ("same effect", tolerating("own", Equal, "5", Some(NoSchedule))),
            ("other effect", tolerating("own", Equal, "5", Some(NoExecute))),
            ("below", tolerating("own", TolerationOperator::Lt, "6", None)),
            ("above", tolerating("own", TolerationOperator::Gt, "6", None)),
        ],
        expect![[r#"
            Equal: claim default: a | small-instance-type +5
            Equal, other value: unschedulable a: pool.taint.untolerated
            Equal, other key: unschedulable a: pool.taint.untolerated
            Exists: claim default: a | small-instance-type +5
            Exists, any key: claim default: a | small-instance-type +5
            same effect: claim default: a | small-instance-type +5
            other effect: unschedulable a: pool.taint.untolerated
            below: claim default: a | small-instance-type +5
            above: unschedulable a: pool.taint.untolerated
        "#]],
    );
}

#[test]
fn startup_taints_need_not_be_tolerated() {
    check(
        cluster_of(pool("default").startup_taint("starting", "", NoSchedule)).pod(pod("a")),
        expect![[r#"
            claim default: a | small-instance-type +5
        "#]],
    );
}

#[test]
fn pools_that_cannot_be_used_are_passed_over() {
    let not_ready = || pool("down").weight(9).readiness(Readiness::NotReady("why".to_owned()));
    let deleting = || pool("going").weight(8).readiness(Readiness::Deleting);
    let fixed = || pool("fixed").weight(7).fixed();
    check_each(
        [
            ("others", pools([not_ready(), deleting(), fixed(), pool("up")]).pod(pod("a"))),
            ("none left", pools([not_ready(), deleting(), fixed()]).pod(pod("a"))),
            ("no pools", snapshot().pod(pod("a"))),
            ("only fixed", pools([fixed()]).pod(pod("a"))),
        ],
        expect![[r#"
            others: claim up: a | small-instance-type +5
            others: pool down: pool.notReady
            others: pool going: pool.notReady
            none left: unschedulable a: pool.none, pool.notReady, pool.notReady
            none left: pool down: pool.notReady
            none left: pool going: pool.notReady
            no pools: unschedulable a: pool.none
            only fixed: unschedulable a: pool.none
        "#]],
    );
}

#[test]
fn without_a_usable_pool_nodes_are_not_looked_at_either() {
    // COMPAT: as upstream, where a pass without pools ends at once.
    check(
        pools([pool("fixed").fixed()]).node(node("n")).pod(pod("a")),
        expect![[r#"
            unschedulable a: pool.none
        "#]],
    );
}

#[test]
fn a_pool_whose_requirements_leave_no_type_is_noticed_and_nodes_are_still_used() {
    check(
        cluster_of(pool("default").require(ZONE, In, ["nowhere"]))
            .node(node("n").cpu("1"))
            .pod(pod("fits").cpu("1"))
            .pod(pod("not").cpu("1")),
        expect![[r#"
            node n: fits
            unschedulable not: pool.noTypes
            pool default: pool.noTypes
        "#]],
    );
}

#[test]
fn a_pool_that_contradicts_itself_makes_no_instances() {
    // Upstream makes them, with a label that the claim's own requirements rule out.
    check(
        cluster_of(pool("default").label("team", "x").require("team", In, ["y"])).pod(pod("a")),
        expect![[r#"
            unschedulable a: pool.noTypes
            pool default: pool.noTypes
        "#]],
    );
}

#[test]
fn a_pool_without_types_is_noticed() {
    check(
        snapshot()
            .pool(pool("empty").weight(1), [] as [joiner_core::instance_type::InstanceType; 0])
            .pool(pool("other"), fake_default_instance_types())
            .pod(pod("a")),
        expect![[r#"
            claim other: a | small-instance-type +5
            pool empty: pool.noTypes
        "#]],
    );
}

#[test]
fn a_pool_may_be_confined_to_a_capacity_type() {
    check_each(
        [
            ("spot", pools([pool("p").require(CAPACITY_TYPE, In, ["spot"])]).pod(pod("a"))),
            (
                "spot in zone 3",
                pools([pool("p").require(CAPACITY_TYPE, In, ["spot"])])
                    .pod(pod("a").on_node_selector(ZONE, "test-zone-3")),
            ),
        ],
        expect![[r#"
            spot: claim p: a | small-instance-type +5 | capacity-type=spot
            spot in zone 3: unschedulable a: offering.none
        "#]],
    );
}

#[test]
fn each_pool_has_its_own_types() {
    check(
        snapshot()
            .pool(pool("big").weight(1), [instance_type("big").cpu("64").zones(["a"])])
            .pool(pool("small"), [instance_type("small").cpu("2").zones(["b"])])
            .pod(pod("1").cpu("32"))
            .pod(pod("2").cpu("1").on_node_selector(ZONE, "b")),
        expect![[r#"
            claim big: 1 | big
            claim small: 2 | small | zone=b
        "#]],
    );
}
