//! Pools that may grow only so far.

use expect_test::expect;
use joiner_core::{
    label::HOSTNAME,
    testing::{
        GPU_VENDOR_A, PodBuilder, fake_default_instance_types, instance_type, node, pod, pool,
        selector, snapshot,
    },
};

use crate::support::{Cluster, check, check_each, cluster_of};

/// Pods that cannot share an instance.
fn apart(name: &str) -> PodBuilder {
    pod(name).label("app", "apart").anti_affinity(HOSTNAME, selector([("app", "apart")]))
}

#[test]
fn an_instance_must_fit_what_is_left_of_the_limit() {
    let limited = || cluster_of(pool("default").limit("cpu", "2"));
    check_each(
        [
            ("1750m", limited().pod(pod("a").cpu("1750m"))),
            ("2100m", limited().pod(pod("a").cpu("2100m"))),
            ("nothing", cluster_of(pool("default").limit("cpu", "0")).pod(pod("a"))),
        ],
        expect![[r#"
            1750m: claim default: a | small-instance-type
            2100m: unschedulable a: pool.limit.reached
            nothing: unschedulable a: pool.limit.reached
        "#]],
    );
}

#[test]
fn instances_of_earlier_passes_count() {
    let mut cluster = Cluster::new(cluster_of(pool("default").limit("cpu", "2")));
    expect![[r#"
        claim default: a | small-instance-type
    "#]]
    .assert_eq(&cluster.pass([pod("a").cpu("1750m")]));
    expect![[r#"
        unschedulable b: pool.limit.reached
    "#]]
    .assert_eq(&cluster.pass([pod("b").cpu("1750m")]));
}

#[test]
fn instances_of_the_same_pass_count() {
    check(
        cluster_of(pool("default").limit("cpu", "3")).pods(apart("a").cpu("1500m").replicas(2)),
        expect![[r#"
            claim default: a-0 | small-instance-type
            unschedulable a-1: pool.limit.reached
        "#]],
    );
}

#[test]
fn a_claim_counts_as_large_as_it_may_become() {
    // The claim of the first pod may be launched with 4 CPUs, so 2 are left of 6.
    check(
        snapshot()
            .pool(
                pool("default").limit("cpu", "6"),
                [instance_type("2").cpu("2"), instance_type("4").cpu("4")],
            )
            .pods(apart("a").cpu("1").replicas(3)),
        expect![[r#"
            claim default: a-0 | 2 +1
            claim default: a-1 | 2
            unschedulable a-2: pool.limit.reached
        "#]],
    );
}

#[test]
fn any_resource_can_be_limited() {
    check_each(
        [
            ("memory", cluster_of(pool("default").limit("memory", "3Gi")).pod(pod("a").cpu("3"))),
            ("pods", cluster_of(pool("default").limit("pods", "1")).pod(pod("a"))),
            (
                "devices",
                cluster_of(pool("default").limit(GPU_VENDOR_A, "1"))
                    .pod(pod("a").request(GPU_VENDOR_A, "1"))
                    .pod(pod("b").cpu("1")),
            ),
        ],
        expect![[r#"
            memory: unschedulable a: pool.limit.reached
            pods: claim default: a | single-pod-instance-type
            devices: claim default: b | small-instance-type +4
            devices: unschedulable a: pool.limit.reached
        "#]],
    );
}

#[test]
fn a_number_of_instances_can_be_limited() {
    let mut cluster = Cluster::new(cluster_of(pool("default").limit("nodes", "2")));
    expect![[r#"
        claim default: a | small-instance-type +5
    "#]]
    .assert_eq(&cluster.pass([apart("a")]));
    expect![[r#"
        claim default: b | small-instance-type +5
    "#]]
    .assert_eq(&cluster.pass([apart("b")]));
    expect![[r#"
        unschedulable c: pool.limit.reached
    "#]]
    .assert_eq(&cluster.pass([apart("c")]));
}

#[test]
fn part_of_an_instance_is_no_instance() {
    check(
        cluster_of(pool("default").limit("nodes", "1500m")).pods(apart("a").replicas(3)),
        expect![[r#"
            claim default: a-0 | small-instance-type +5
            unschedulable a-1 a-2: pool.limit.reached
        "#]],
    );
}

#[test]
fn instances_that_leave_or_belong_elsewhere_do_not_count() {
    let limited = || cluster_of(pool("default").limit("cpu", "4").limit("nodes", "1"));
    check_each(
        [
            ("own", limited().node(node("n").pool("default")).pod(pod("a").cpu("3"))),
            ("full", limited().node(node("n").pool("default").cpu("1")).pod(pod("a").cpu("3"))),
            ("leaving", limited().node(node("n").pool("default").leaving()).pod(pod("a").cpu("3"))),
            ("other", limited().node(node("n").pool("other").cpu("1")).pod(pod("a").cpu("3"))),
            ("nobody's", limited().node(node("n").cpu("1")).pod(pod("a").cpu("3"))),
            // It is on its way, and counts although there is no node yet.
            (
                "on its way",
                limited()
                    .node(node("n").pool("default").cpu("1").in_flight())
                    .pod(pod("a").cpu("3")),
            ),
        ],
        expect![[r#"
            own: node n: a
            full: unschedulable a: pool.limit.reached
            leaving: claim default: a | default-instance-type +3
            other: claim default: a | default-instance-type +3
            nobody's: claim default: a | default-instance-type +3
            on its way: unschedulable a: pool.limit.reached
        "#]],
    );
}

#[test]
fn a_limit_that_is_exceeded_already_stops_growth() {
    check(
        cluster_of(pool("default").limit("cpu", "3"))
            .node(node("n").pool("default").cpu("4"))
            .pod(pod("fits").cpu("3500m"))
            .pod(pod("new").cpu("1")),
        expect![[r#"
            node n: fits
            unschedulable new: pool.limit.reached
        "#]],
    );
}

#[test]
fn the_next_pool_is_used_when_the_first_is_at_its_limit() {
    check(
        cluster_of(pool("heavy").weight(10).limit("nodes", "1"))
            .pool(pool("light"), fake_default_instance_types())
            .pods(apart("a").replicas(3)),
        expect![[r#"
            claim heavy: a-0 | small-instance-type +5
            claim light: a-1 | small-instance-type +5
            claim light: a-2 | small-instance-type +5
        "#]],
    );
}

#[test]
fn pods_may_still_join_claims_of_a_pool_at_its_limit() {
    check(
        cluster_of(pool("default").limit("nodes", "1"))
            .pods(pod("a").cpu("100m").replicas(3))
            .pod(pod("large").cpu("15")),
        expect![[r#"
            claim default: large a-0 a-1 a-2 | arm-instance-type
        "#]],
    );
}
