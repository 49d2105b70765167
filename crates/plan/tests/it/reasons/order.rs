//! Which reason is given where there are several.

use expect_test::expect;
use joiner_core::{
    label::ZONE,
    requirement::Operator::In,
    taint::Effect::NoSchedule,
    testing::{instance_type, node, pod, pool, snapshot},
};

use super::web;
use crate::support::{check, check_reasons, cluster};

#[test]
fn the_nearest_miss_comes_first() {
    // Tainted, too small by much, too small by little, at its limit.
    let sized = |name: &str, cpu: &str| [instance_type(name).cpu(cpu)];
    check_reasons(
        snapshot()
            .pool(pool("tainted").taint("own", "", NoSchedule), sized("t", "64"))
            .pool(pool("tiny"), sized("tiny", "1"))
            .pool(pool("small"), sized("small", "9"))
            .pool(pool("full").limit("cpu", "1"), sized("t", "64"))
            .pod(pod("a").cpu("10")),
        expect![[r#"
            a
              pool.limit.reached in full
                left: 1
                limit: 1
                resource: cpu
                all available instance types exceed limits for pool "full": 1 is left of its limit of cpu 1
              shape.tooSmall in small
                largest: 9
                missing: 1
                requested: 10
                resource: cpu
                no instance type of pool "small" has enough resources: the largest leaves cpu 9 besides daemons, the pod needs 10, 1 more
              shape.tooSmall in tiny
                largest: 1
                missing: 9
                requested: 10
                resource: cpu
                no instance type of pool "tiny" has enough resources: the largest leaves cpu 1 besides daemons, the pod needs 10, 9 more
              pool.taint.untolerated in tainted
                taint: own:NoSchedule
                did not tolerate taint own:NoSchedule of pool "tainted"
        "#]],
    );
}

#[test]
fn a_large_type_that_cannot_attach_the_volumes_next_to_one_that_is_too_small() {
    let types = [
        instance_type("large").cpu("16").volume_limit("csi.example.com", 1),
        instance_type("small").cpu("2"),
    ];
    let wanted = pod("a").cpu("8").volume("csi.example.com", "1").volume("csi.example.com", "2");
    check(
        snapshot().pool(pool("default"), types).pod(wanted),
        expect![[r#"
            unschedulable a: volume.limit
        "#]],
    );
}

#[test]
fn a_large_type_with_a_daemon_on_the_port_next_to_one_that_is_too_small() {
    let types = [
        instance_type("large").cpu("16").require("size", In, ["large"]),
        instance_type("small").cpu("2").require("size", In, ["small"]),
    ];
    check(
        snapshot()
            .pool(pool("default"), types)
            .daemon(pod("agent").host_port(80).on_node_selector("size", "large"))
            .pod(pod("a").cpu("8").host_port(80)),
        expect![[r#"
            unschedulable a: hostPort.taken
        "#]],
    );
}

#[test]
fn a_large_type_in_a_zone_that_is_taken_next_to_one_that_is_too_small() {
    let types =
        [instance_type("large").cpu("16").zones(["a"]), instance_type("small").zones(["b"])];
    check(
        snapshot()
            .pool(pool("default"), types)
            .node(node("n").zone("a").cpu("0").pod(pod("x").label("app", "web")))
            .pod(pod("a").cpu("8").anti_affinity(ZONE, web())),
        expect![[r#"
            unschedulable a: antiAffinity.blocked
        "#]],
    );
}

#[test]
fn a_large_type_beyond_the_limit_next_to_one_that_is_too_small() {
    let types = [instance_type("large").cpu("16"), instance_type("small").cpu("2")];
    check(
        snapshot().pool(pool("default").limit("cpu", "4"), types).pod(pod("a").cpu("8")),
        expect![[r#"
            unschedulable a: pool.limit.reached
        "#]],
    );
}

#[test]
fn a_preference_is_never_the_reason() {
    check_reasons(
        cluster().pod(pod("a").cpu("100").prefer(1, "team", In, ["x"])),
        expect![[r#"
            a
              shape.tooSmall in default
                largest: 15900m
                missing: 84100m
                requested: 100
                resource: cpu
                no instance type of pool "default" has enough resources: the largest leaves cpu 15900m besides daemons, the pod needs 100, 84100m more
        "#]],
    );
}
