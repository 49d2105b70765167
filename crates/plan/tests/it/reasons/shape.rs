//! Reasons that lie with types and offerings.

use expect_test::expect;
use joiner_core::{
    label::{CAPACITY_TYPE, INSTANCE_TYPE, ZONE},
    requirement::Operator::{Exists, In},
    settings::PlanSettings,
    testing::{fake_instance_types, instance_type, pod, pool, snapshot},
};

use crate::support::{check, check_reasons, cluster, cluster_of, plan, reasons};

#[test]
fn shape_too_small() {
    // By how much: the largest type leaves 15900m of 16 CPUs.
    check_reasons(
        cluster().pod(pod("a").cpu("20")),
        expect![[r#"
            a
              shape.tooSmall in default
                largest: 15900m
                missing: 4100m
                requested: 20
                resource: cpu
                no instance type of pool "default" has enough resources: the largest leaves cpu 15900m besides daemons, the pod needs 20, 4100m more
        "#]],
    );
    // Besides daemons.
    check_reasons(
        cluster().daemon(pod("agent").cpu("1")).pod(pod("a").cpu("15")),
        expect![[r#"
            a
              shape.tooSmall in default
                largest: 14900m
                missing: 100m
                requested: 15
                resource: cpu
                no instance type of pool "default" has enough resources: the largest leaves cpu 14900m besides daemons, the pod needs 15, 100m more
        "#]],
    );
    // Nobody has any.
    check_reasons(
        cluster().pod(pod("a").request("example.com/fpga", "1")),
        expect![[r#"
            a
              shape.tooSmall in default
                largest: 0
                missing: 1
                requested: 1
                resource: example.com/fpga
                no instance type of pool "default" has enough resources: none has example.com/fpga, the pod needs 1
        "#]],
    );
    // Each of it is there, but not together.
    check_reasons(
        snapshot()
            .pool(
                pool("default"),
                [
                    instance_type("cpu").cpu("64").mem("1Gi"),
                    instance_type("mem").cpu("1").mem("64Gi"),
                ],
            )
            .pod(pod("a").cpu("32").mem("32Gi")),
        expect![[r#"
            a
              shape.tooSmall in default
                no instance type of pool "default" has enough resources: each of cpu 32, memory 32Gi, pods 1 is there, but no single type has all of it
        "#]],
    );
    // Millicores written as megacores.
    check_reasons(
        cluster().pod(pod("a").cpu("100M")),
        expect![[r#"
            a
              shape.tooSmall in default
                largest: 15900m
                missing: 99999984100m
                requested: 100M
                resource: cpu
                no instance type of pool "default" has enough resources: the largest leaves cpu 15900m besides daemons, the pod needs 100M, 99999984100m more (CPU request >= 1 Million, m vs M typo?)
        "#]],
    );
}

#[test]
fn shape_too_small_says_the_same_whatever_else_is_planned() {
    // Both CPU and memory are missing; which of them is named must not depend on other pods.
    check_reasons(
        snapshot()
            .pool(pool("default"), [instance_type("t").cpu("1").mem("1Gi")])
            .pod(pod("a").cpu("2").mem("2Gi"))
            .pod(pod("b").mem("100Mi")),
        expect![[r#"
            a
              shape.tooSmall in default
                largest: 1
                missing: 1
                requested: 2
                resource: cpu
                no instance type of pool "default" has enough resources: the largest leaves cpu 1 besides daemons, the pod needs 2, 1 more
        "#]],
    );
}

#[test]
fn shape_too_small_because_of_daemons_alone() {
    // Every type has CPUs, but daemons want more than any of them has.
    check_reasons(
        snapshot()
            .pool(pool("default"), [instance_type("t").cpu("4")])
            .daemon(pod("agent").cpu("4"))
            .pod(pod("a").cpu("1")),
        expect![[r#"
            a
              shape.tooSmall in default
                largest: 0
                missing: 1
                requested: 1
                resource: cpu
                no instance type of pool "default" has enough resources: the largest leaves cpu 0 besides daemons, the pod needs 1, 1 more
        "#]],
    );
}

#[test]
fn shape_too_small_says_how_much_is_missing_even_if_daemons_alone_exceed_it() {
    // The pod asks for no memory; its daemons want 4Gi more than any type has.
    let snapshot = snapshot()
        .pool(pool("default"), [instance_type("t").mem("4Gi")])
        .daemon(pod("agent").mem("8Gi"))
        .pod(pod("a").cpu("1"))
        .build();
    let plan = plan(&snapshot, &PlanSettings::default()).plan;
    let facts = &plan.unschedulable[0].reasons[0].params;
    assert_eq!((facts["resource"].as_str(), facts["missing"].as_str()), ("memory", "4Gi"));
}

#[test]
fn shape_pods_max() {
    check_reasons(
        snapshot()
            .pool(pool("default"), [instance_type("t").pods(2)])
            .daemon(pod("one"))
            .daemon(pod("two"))
            .pod(pod("a")),
        expect![[r#"
            a
              shape.podsMax in default
                largest: 0
                missing: 1
                requested: 1
                resource: pods
                no instance type of pool "default" has enough resources: the largest leaves pods 0 besides daemons, the pod needs 1, 1 more
        "#]],
    );
}

#[test]
fn offering_none() {
    check_reasons(
        cluster().pod(
            pod("a").on_node_selector(CAPACITY_TYPE, "spot").on_node_selector(ZONE, "test-zone-3"),
        ),
        expect![[r#"
            a
              offering.none in default
                requirements: karpenter.sh/capacity-type In [spot], topology.kubernetes.io/zone In [test-zone-3]
                no instance type of pool "default" has the required offering: nothing that meets karpenter.sh/capacity-type In [spot], topology.kubernetes.io/zone In [test-zone-3] is available
        "#]],
    );
}

#[test]
fn zone_volume() {
    check_reasons(
        cluster_of(pool("default").require(ZONE, In, ["test-zone-1"]))
            .pod(pod("a").volume_in(ZONE, ["test-zone-2"]).volume_in(ZONE, ["test-zone-3"])),
        expect![[r#"
            a
              zone.volume in default
                volumes: topology.kubernetes.io/zone In [test-zone-2] or topology.kubernetes.io/zone In [test-zone-3]
                incompatible volume requirements: the pod's volumes need topology.kubernetes.io/zone In [test-zone-2] or topology.kubernetes.io/zone In [test-zone-3], where pool "default" has no instances
        "#]],
    );
}

#[test]
fn zone_volume_where_the_pool_would_do_but_none_of_its_types() {
    check(
        cluster().pod(pod("a").volume_in(ZONE, ["test-zone-4"])),
        expect![[r#"
            unschedulable a: zone.volume
        "#]],
    );
}

#[test]
fn volume_limit() {
    check_reasons(
        snapshot()
            .pool(pool("default"), [instance_type("t").volume_limit("csi.example.com", 2)])
            .pod(
                pod("a")
                    .volume("csi.example.com", "1")
                    .volume("csi.example.com", "2")
                    .volume("csi.example.com", "3"),
            ),
        expect![[r#"
            a
              volume.limit in default
                volumes: 3 of csi.example.com
                no instance type of pool "default" that would fit can attach the pod's volumes besides those of daemons: 3 of csi.example.com
        "#]],
    );
}

#[test]
fn host_port_taken() {
    check_reasons(
        cluster().daemon(pod("agent").host_port(8080)).pod(pod("a").host_port(8080)),
        expect![[r#"
            a
              hostPort.taken in default
                ports: 0.0.0.0:8080/TCP
                a daemon has taken a host port on every instance of pool "default" that would fit: the pod wants 0.0.0.0:8080/TCP
        "#]],
    );
}

#[test]
fn min_values_unmet() {
    // What the pod leaves is too little.
    check_reasons(
        snapshot()
            .pool(pool("default").min_values(INSTANCE_TYPE, Exists, [], 3), fake_instance_types(5))
            .pod(pod("a").cpu("3")),
        expect![[r#"
            a
              minValues.unmet in default
                achieved: 2
                key: node.kubernetes.io/instance-type
                minValues: 3
                minValues requirement is not met for label "node.kubernetes.io/instance-type": pool "default" wants 3 values, the types that would fit have 2
        "#]],
    );
}

#[test]
fn min_values_unmet_by_all_types_of_the_pool() {
    check(
        snapshot()
            .pool(pool("default").min_values(INSTANCE_TYPE, Exists, [], 6), fake_instance_types(5))
            .pod(pod("a")),
        expect![[r#"
            unschedulable a: minValues.unmet
            pool default: minValues.unmet
        "#]],
    );
}

#[test]
fn min_values_unmet_after_the_cut_to_the_most_types() {
    let settings = PlanSettings { instance_types_max: 2, ..PlanSettings::default() };
    let snapshot = snapshot()
        .pool(pool("default").min_values("integer", Exists, [], 3), fake_instance_types(5))
        .pod(pod("a"))
        .build();
    expect![[r#"
        a
          minValues.unmet in default
            achieved: 2
            key: integer
            minValues: 3
            pod didn't schedule because pool "default" couldn't meet minValues requirements: the 2 cheapest types have 2 values of integer, 3 are wanted
    "#]]
    .assert_eq(&reasons(&plan(&snapshot, &settings).plan));
}
