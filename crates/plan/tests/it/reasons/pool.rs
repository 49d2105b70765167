//! Reasons that lie with the pool.

use expect_test::expect;
use joiner_core::{
    instance_type::InstanceType,
    label::{ARCH, INSTANCE_TYPE, ZONE},
    pool::Readiness,
    requirement::Operator::In,
    taint::Effect::NoSchedule,
    testing::{fake_default_instance_types, node, pod, pool},
};

use crate::support::{check_reasons, cluster, cluster_of};

#[test]
fn pool_none() {
    check_reasons(
        cluster_of(pool("down").readiness(Readiness::NotReady("no class".to_owned())))
            .pool(pool("fixed").fixed(), fake_default_instance_types())
            .pod(pod("a")),
        expect![[r#"
            a
              pool.none
                no dynamic nodepools found
              pool.notReady in down
                pool "down" is not ready: no class
        "#]],
    );
}

#[test]
fn pool_not_ready() {
    check_reasons(
        cluster_of(pool("up").label("team", "x"))
            .pool(
                pool("down").weight(2).readiness(Readiness::NotReady("no class".to_owned())),
                fake_default_instance_types(),
            )
            .pool(
                pool("going").weight(1).readiness(Readiness::Deleting),
                fake_default_instance_types(),
            )
            .pod(pod("a").on_node_selector("team", "y")),
        expect![[r#"
            a
              pool.requirement.conflict in up
                key: team
                offered: In [x]
                wanted: In [y]
                incompatible requirements with pool "up": key team, team In [y] not in team In [x]
              pool.notReady in down
                pool "down" is not ready: no class
              pool.notReady in going
                pool "going" is being deleted
        "#]],
    );
}

#[test]
fn pool_no_types() {
    check_reasons(
        cluster_of(pool("nowhere").require(ZONE, In, ["nowhere"]))
            .pool(pool("empty"), [] as [InstanceType; 0])
            .pod(pod("a")),
        expect![[r#"
            a
              pool.noTypes in nowhere
                key: topology.kubernetes.io/zone
                offered: test-zone-1, test-zone-2, test-zone-3
                wanted: In [nowhere]
                nodepool requirements filtered out all available instance types: none of the 6 types of pool "nowhere" has topology.kubernetes.io/zone In [nowhere]; on offer: test-zone-1, test-zone-2, test-zone-3
              pool.noTypes in empty
                pool "empty" has no instance types
        "#]],
    );
}

#[test]
fn pool_taint_untolerated() {
    check_reasons(
        cluster_of(pool("default").taint("own", "yes", NoSchedule)).pod(pod("a")),
        expect![[r#"
            a
              pool.taint.untolerated in default
                taint: own=yes:NoSchedule
                did not tolerate taint own=yes:NoSchedule of pool "default"
        "#]],
    );
}

#[test]
fn pool_label_unknown() {
    check_reasons(
        cluster().pod(pod("a").on_node_selector("team", "x")),
        expect![[r#"
            a
              pool.label.unknown in default
                key: team
                incompatible requirements with pool "default": label "team" does not have known values
        "#]],
    );
    // Something that is known looks like it.
    check_reasons(
        cluster().pod(pod("a").on_node_selector("example.com/zone", "x")),
        expect![[r#"
            a
              pool.label.unknown in default
                key: example.com/zone
                like: topology.kubernetes.io/zone
                incompatible requirements with pool "default": label "example.com/zone" does not have known values (typo of "topology.kubernetes.io/zone"?)
        "#]],
    );
}

#[test]
fn pool_requirement_conflict() {
    check_reasons(
        cluster_of(pool("default").require("team", In, ["x"]))
            .pod(pod("a").on_node_selector("team", "y")),
        expect![[r#"
            a
              pool.requirement.conflict in default
                key: team
                offered: In [x]
                wanted: In [y]
                incompatible requirements with pool "default": key team, team In [y] not in team In [x]
        "#]],
    );
    // The pool would do, but none of its types.
    check_reasons(
        cluster().pod(pod("a").on_node_selector(ARCH, "s390x")),
        expect![[r#"
            a
              pool.requirement.conflict in default
                key: kubernetes.io/arch
                offered: amd64, arm64
                wanted: In [s390x]
                no instance type of pool "default" met all requirements: none has kubernetes.io/arch In [s390x]; on offer: amd64, arm64
        "#]],
    );
    // Each label alone would do.
    check_reasons(
        cluster().pod(
            pod("a")
                .on_node_selector(ARCH, "arm64")
                .on_node_selector(INSTANCE_TYPE, "small-instance-type"),
        ),
        expect![[r#"
            a
              pool.requirement.conflict in default
                no instance type of pool "default" met all requirements: kubernetes.io/arch In [arm64], node.kubernetes.io/instance-type In [small-instance-type]
        "#]],
    );
}

#[test]
fn pool_limit_reached() {
    check_reasons(
        cluster_of(pool("default").limit("cpu", "10"))
            .node(node("n").pool("default").cpu("9"))
            .pod(pod("a").cpu("9500m")),
        expect![[r#"
            a
              pool.limit.reached in default
                left: 1
                limit: 10
                resource: cpu
                all available instance types exceed limits for pool "default": 1 is left of its limit of cpu 10
        "#]],
    );
    check_reasons(
        cluster_of(pool("default").limit("nodes", "0")).pod(pod("a")),
        expect![[r#"
            a
              pool.limit.reached in default
                limit: 0
                resource: nodes
                node limits have been exhausted for pool "default": it may have 0 instances
        "#]],
    );
}
