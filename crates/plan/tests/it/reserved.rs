//! Capacity that somebody has reserved.

use expect_test::expect;
use joiner_core::{
    instance_type::{InstanceType, Offering},
    label::{CAPACITY_TYPE, CAPACITY_TYPE_RESERVED, HOSTNAME, INSTANCE_TYPE, NODE_POOL, ZONE},
    requirement::{Operator::In, Requirement},
    settings::PlanSettings,
    testing::{
        PodBuilder, RESERVATION_ID, SnapshotBuilder, fake_instance_type, instance_type, offering,
        pod, pool, resources, selector, snapshot,
    },
};

use crate::support::{Cluster, check, check_with};

/// Instances that are reserved in the first zone, at next to no price.
fn reserve(mut t: InstanceType, id: &str, count: u32) -> InstanceType {
    let price = t.offerings.first().map_or(0.0, |offering| offering.price / 100_000.0);
    let mut reserved = offering("test-zone-1", CAPACITY_TYPE_RESERVED, price);
    reserved.requirements.add(RESERVATION_ID, Requirement::one_of([id]));
    t.offerings.push(Offering { reservation_capacity: count, ..reserved });
    t.requirements
        .set(CAPACITY_TYPE, Requirement::one_of(["on-demand", "spot", CAPACITY_TYPE_RESERVED]));
    t
}

fn sized(name: &str, size: &str) -> InstanceType {
    fake_instance_type(name, &resources([("cpu", size), ("memory", &format!("{size}Gi"))]))
}

/// Types of 6, 3 and 2 CPUs; of each of the two smaller ones there is one reserved instance.
fn types() -> Vec<InstanceType> {
    vec![
        sized("large", "6"),
        reserve(sized("medium", "3"), "r-medium", 1),
        reserve(sized("small", "2"), "r-small", 1),
    ]
}

fn reserved() -> SnapshotBuilder {
    snapshot().pool(pool("default"), types())
}

/// Pods that take a small instance each.
fn small(name: &str) -> PodBuilder {
    pod(name).label("app", "test").anti_affinity(HOSTNAME, selector([("app", "test")])).require(
        INSTANCE_TYPE,
        In,
        ["small"],
    )
}

fn passes(mut cluster: Cluster, count: usize) -> String {
    let mut lines = Vec::new();
    for n in 1..=count {
        lines.extend(cluster.pass_again().lines().map(|line| format!("pass {n}: {line}\n")));
    }
    lines.concat()
}

#[test]
fn reserved_instances_are_used_up_before_others() {
    // A claim that may become small or medium holds both reservations until it is launched.
    let cluster = Cluster::new(reserved().pods(pod("a").cpu("1800m").replicas(3)));
    expect![[r#"
        pass 1: claim default: a-0 | small +2 | capacity-type=reserved reservation-id=r-medium,r-small
        pass 1: deferred a-1 a-2: waiting.reservation
        pass 2: claim default: a-1 | medium +2 | capacity-type=reserved reservation-id=r-medium
        pass 2: deferred a-2: waiting.reservation
        pass 3: claim default: a-2 | small +2
    "#]]
    .assert_eq(&passes(cluster, 3));
}

#[test]
fn a_reservation_may_be_shared_by_pools() {
    let cluster = Cluster::new(
        snapshot()
            .pool(pool("np-1"), types())
            .pool(pool("np-2"), types())
            .pod(small("a").require(NODE_POOL, In, ["np-1"]))
            .pod(small("b").require(NODE_POOL, In, ["np-2"])),
    );
    expect![[r#"
        pass 1: claim np-1: a | small | capacity-type=reserved reservation-id=r-small
        pass 1: deferred b: waiting.reservation
        pass 2: claim np-2: b | small | capacity-type=on-demand,spot
    "#]]
    .assert_eq(&passes(cluster, 2));
}

#[test]
fn pools_with_reservations_of_their_own_do_not_compete() {
    check(
        snapshot()
            .pool(pool("np-1"), types())
            .pool(pool("np-2"), [reserve(sized("small", "2"), "r-other", 1)])
            .pod(small("a").require(NODE_POOL, In, ["np-1"]))
            .pod(small("b").require(NODE_POOL, In, ["np-2"])),
        expect![[r#"
            claim np-1: a | small | capacity-type=reserved reservation-id=r-small
            claim np-2: b | small | capacity-type=reserved reservation-id=r-other
        "#]],
    );
}

#[test]
fn a_type_may_have_several_reservations() {
    let small_twice = reserve(reserve(sized("small", "2"), "r-1", 1), "r-2", 2);
    let cluster =
        Cluster::new(snapshot().pool(pool("default"), [small_twice]).pods(small("a").replicas(4)));
    expect![[r#"
        pass 1: claim default: a-0 | small | capacity-type=reserved reservation-id=r-1,r-2
        pass 1: claim default: a-1 | small | capacity-type=reserved reservation-id=r-2
        pass 1: deferred a-2 a-3: waiting.reservation
        pass 2: claim default: a-2 | small | capacity-type=reserved reservation-id=r-2
        pass 2: deferred a-3: waiting.reservation
        pass 3: claim default: a-3 | small
    "#]]
    .assert_eq(&passes(cluster, 3));
}

#[test]
fn a_pod_waits_for_a_reservation_rather_than_use_a_lighter_pool() {
    let cluster = Cluster::new(
        snapshot()
            .pool(pool("primary").weight(100), types())
            .pool(pool("fallback").weight(50), [reserve(sized("small", "2"), "r-fallback", 1)])
            .pods(small("a").replicas(2)),
    );
    expect![[r#"
        pass 1: claim primary: a-0 | small | capacity-type=reserved reservation-id=r-small
        pass 1: deferred a-1: waiting.reservation
        pass 2: claim primary: a-1 | small | capacity-type=on-demand,spot
    "#]]
    .assert_eq(&passes(cluster, 2));
}

#[test]
fn a_pod_that_waits_for_a_reservation_keeps_its_preferences() {
    let cluster = Cluster::new(
        snapshot()
            .pool(pool("np-1"), types())
            .pool(pool("np-2"), [reserve(sized("small", "2"), "r-other", 1)])
            .pods(small("a").prefer(1, NODE_POOL, In, ["np-1"]).replicas(2)),
    );
    expect![[r#"
        pass 1: claim np-1: a-0 | small | capacity-type=reserved reservation-id=r-small
        pass 1: deferred a-1: waiting.reservation
        pass 2: claim np-1: a-1 | small | capacity-type=on-demand,spot
    "#]]
    .assert_eq(&passes(cluster, 2));
}

#[test]
fn several_pods_may_share_a_reserved_instance() {
    let near = pod("a")
        .label("app", "test")
        .require(INSTANCE_TYPE, In, ["small"])
        .require(CAPACITY_TYPE, In, [CAPACITY_TYPE_RESERVED])
        .require(ZONE, In, ["test-zone-1"])
        .affinity(ZONE, selector([("app", "test")]));
    check(
        reserved().pods(near.replicas(2)),
        expect![[r#"
            claim default: a-0 a-1 | small | capacity-type=reserved reservation-id=r-small zone=test-zone-1
        "#]],
    );
}

#[test]
fn a_reservation_that_a_claim_has_outgrown_is_free_again() {
    // "a" could be small or medium; with "b" only medium is left, and "c" can have small.
    check(
        snapshot()
            .pool(
                pool("default"),
                [
                    reserve(sized("medium", "3"), "r-medium", 1),
                    reserve(sized("small", "2"), "r-small", 1),
                ],
            )
            .pod(pod("a").cpu("1500m"))
            .pod(pod("b").cpu("1400m"))
            .pod(pod("c").cpu("1300m")),
        expect![[r#"
            claim default: a b | medium | capacity-type=reserved reservation-id=r-medium
            claim default: c | small +1 | capacity-type=reserved reservation-id=r-small
        "#]],
    );
}

#[test]
fn a_pod_that_no_reservation_suits_does_not_wait() {
    check(
        reserved()
            .pods(pod("a").cpu("5").replicas(2))
            .pod(pod("b").on_node_selector(ZONE, "test-zone-3")),
        expect![[r#"
            claim default: a-0 b | large | capacity-type=on-demand zone=test-zone-3
            claim default: a-1 | large | capacity-type=on-demand,spot
        "#]],
    );
}

#[test]
fn the_same_reservation_seen_twice_has_the_smaller_number() {
    check(
        snapshot()
            .pool(pool("np-1"), [reserve(sized("small", "2"), "r", 5)])
            .pool(pool("np-2").weight(1), [reserve(sized("small", "2"), "r", 1)])
            .pods(small("a").replicas(2)),
        expect![[r#"
            claim np-2: a-0 | small | capacity-type=reserved reservation-id=r
            deferred a-1: waiting.reservation
        "#]],
    );
}

#[test]
fn a_pass_may_fall_back_to_other_capacity() {
    let settings = PlanSettings { reserved_fallback: true, ..PlanSettings::default() };
    check_with(
        &settings,
        reserved().pods(small("a").replicas(2)),
        expect![[r#"
            claim default: a-0 | small | capacity-type=reserved reservation-id=r-small
            claim default: a-1 | small
        "#]],
    );
}

#[test]
fn reservations_can_be_left_out_of_account() {
    let settings = PlanSettings { reserved_capacity: false, ..PlanSettings::default() };
    check_with(
        &settings,
        reserved().pods(small("a").replicas(2)),
        expect![[r#"
            claim default: a-0 | small
            claim default: a-1 | small
        "#]],
    );
}

#[test]
fn the_cheapest_reserved_instance_decides_the_order_of_types() {
    check(
        snapshot()
            .pool(
                pool("default"),
                [
                    instance_type("a").price(1.0).reserved("a", "ra", 1, 0.5),
                    instance_type("b").price(0.1).reserved("a", "rb", 1, 0.6),
                ],
            )
            .pod(pod("p")),
        expect![[r#"
            claim default: p | a +1 | capacity-type=reserved reservation-id=ra,rb
        "#]],
    );
}
