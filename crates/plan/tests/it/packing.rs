//! How many instances, and how large.

use expect_test::expect;
use joiner_core::{
    label::{ARCH, ZONE},
    testing::{
        GPU_VENDOR_A, GPU_VENDOR_B, fake_instance_type, fake_instance_types, instance_type,
        offering, pod, pool, resources, snapshot,
    },
};

use crate::support::{check, check_counts, check_each, cluster};

#[test]
fn a_small_pod_gets_a_small_instance() {
    check(
        cluster().pod(pod("a").mem("100M")),
        expect![[r#"
            claim default: a | small-instance-type +5
        "#]],
    );
}

#[test]
fn small_pods_share_an_instance() {
    check(
        cluster().pods(pod("a").mem("10M").replicas(5)),
        expect![[r#"
            claim default: a-0 a-1 a-2 a-3 a-4 | small-instance-type +4
        "#]],
    );
}

#[test]
fn instances_are_as_large_as_the_pod_needs() {
    check_each(
        [
            // One CPU and a runtime class that needs two more.
            ("3 cpu", cluster().pod(pod("a").cpu("3"))),
            ("4 cpu", cluster().pod(pod("a").cpu("4"))),
            ("16 cpu", cluster().pod(pod("a").cpu("16"))),
            ("nothing of it", cluster().pod(pod("a").request("example.com/unknown", "0"))),
            ("something of it", cluster().pod(pod("a").request("example.com/unknown", "1"))),
            ("2Ti", cluster().pod(pod("a").mem("2Ti"))),
        ],
        expect![[r#"
            3 cpu: claim default: a | default-instance-type +4
            4 cpu: claim default: a | arm-instance-type
            16 cpu: unschedulable a: shape.tooSmall
            nothing of it: claim default: a | small-instance-type +5
            something of it: unschedulable a: shape.tooSmall
            2Ti: unschedulable a: shape.tooSmall
        "#]],
    );
}

#[test]
fn large_pods_are_packed_two_by_two_and_small_ones_fill_the_gaps() {
    let large = || pod("large").mem("1.8G").on_node_selector(ARCH, "amd64").replicas(40);
    let small = || pod("small").mem("400M").on_node_selector(ARCH, "amd64").replicas(20);
    check_counts(
        cluster().pods(large()),
        expect![[r#"
            20 x claim default: 2 pods | default-instance-type +2 | arch=amd64
        "#]],
    );
    check_counts(
        cluster().pods(large()).pods(small()),
        expect![[r#"
            20 x claim default: 3 pods | default-instance-type +2 | arch=amd64
        "#]],
    );
}

#[test]
fn an_instance_takes_only_so_many_pods() {
    check_counts(
        cluster().pods(pod("a").mem("1M").cpu("1m").replicas(25)),
        expect![[r#"
            5 x claim default: 5 pods | small-instance-type +4
        "#]],
    );
}

#[test]
fn pods_that_do_not_fit_together_get_instances_of_different_types() {
    check(
        snapshot()
            .pool(pool("default"), fake_instance_types(5))
            .pod(pod("a").cpu("4500m"))
            .pod(pod("b").cpu("1")),
        expect![[r#"
            claim default: a | fake-it-4
            claim default: b | fake-it-1 +3
        "#]],
    );
}

#[test]
fn devices_narrow_the_types() {
    check_each(
        [
            ("one", cluster().pod(pod("a").request(GPU_VENDOR_A, "1"))),
            ("too many", cluster().pod(pod("a").request(GPU_VENDOR_A, "3"))),
            (
                "each somewhere, but nowhere both",
                cluster().pod(pod("a").request(GPU_VENDOR_A, "1").request(GPU_VENDOR_B, "1")),
            ),
            (
                "two instances",
                cluster()
                    .pod(pod("a").request(GPU_VENDOR_A, "1"))
                    .pod(pod("b").request(GPU_VENDOR_B, "1"))
                    .pod(pod("c").request(GPU_VENDOR_A, "1")),
            ),
        ],
        expect![[r#"
            one: claim default: a | gpu-vendor-instance-type
            too many: unschedulable a: shape.tooSmall
            each somewhere, but nowhere both: unschedulable a: shape.tooSmall
            two instances: claim default: a c | gpu-vendor-instance-type
            two instances: claim default: b | gpu-vendor-b-instance-type
        "#]],
    );
}

#[test]
fn an_instance_keeps_some_of_its_size_for_itself() {
    // Init containers of 10 CPUs and 4Gi first, then a sidecar of 4900m and 2.9Gi beside the main
    // container's 6 and 2Gi make 10900m and 5017.6Mi; pod-level requests make 9900m and 3.9Gi.
    let sized = |cpu: &str, mem: &str| {
        fake_instance_type(&format!("{cpu}/{mem}"), &resources([("cpu", cpu), ("memory", mem)]))
    };
    let instances = || {
        let types = [sized("10", "4Gi"), sized("11", "5Gi"), sized("12", "6Gi")];
        snapshot().pool(pool("default"), types)
    };
    check_each(
        [
            ("init", instances().pod(pod("a").cpu("10900m").mem("5017Mi"))),
            ("pod level", instances().pod(pod("a").cpu("9900m").mem("3993Mi"))),
            ("one more", instances().pod(pod("a").cpu("10901m").mem("3993Mi"))),
        ],
        expect![[r#"
            init: claim default: a | 11/5Gi +1
            pod level: claim default: a | 10/4Gi +2
            one more: claim default: a | 12/6Gi
        "#]],
    );
}

#[test]
fn pods_are_placed_by_cpu_then_memory_then_age_then_uid() {
    check(
        snapshot()
            .pool(pool("default"), [instance_type("huge").cpu("64").mem("64Gi")])
            .pod(pod("uid-b").cpu("1").mem("1Gi").created(1))
            .pod(pod("uid-a").cpu("1").mem("1Gi").created(1))
            .pod(pod("old").cpu("1").mem("1Gi").created(0))
            .pod(pod("memory").cpu("1").mem("2Gi").created(9))
            .pod(pod("cpu").cpu("2").created(9))
            .pod(pod("nothing").created(0)),
        expect![[r#"
            claim default: cpu memory old uid-a uid-b nothing | huge
        "#]],
    );
}

#[test]
fn a_pod_joins_the_claim_with_the_fewest_pods() {
    // 1 and 2 do not fit together; 3 and 4 go one to each, 5 to the first of equals.
    check(
        snapshot()
            .pool(pool("default"), [instance_type("only").cpu("4")])
            .pod(pod("1").cpu("3"))
            .pod(pod("2").cpu("2900m"))
            .pod(pod("3").cpu("300m"))
            .pod(pod("4").cpu("200m"))
            .pod(pod("5").cpu("100m")),
        expect![[r#"
            claim default: 1 3 5 | only
            claim default: 2 4 | only
        "#]],
    );
}

#[test]
fn a_claim_takes_pods_as_long_as_any_type_holds_them_whatever_it_costs() {
    check(
        snapshot()
            .pool(
                pool("default"),
                [
                    instance_type("cheap").cpu("2").price(1.0),
                    instance_type("dear").cpu("4").price(100.0),
                ],
            )
            .pods(pod("a").cpu("2").replicas(2)),
        expect![[r#"
            claim default: a-0 a-1 | dear
        "#]],
    );
}

#[test]
fn types_come_cheapest_offering_first() {
    // On demand, "b" costs less than "a" does anywhere; in zone 1 it is the other way round.
    let types = || {
        [
            instance_type("a").zones(["1"]).price(3.0).offering(offering("2", "spot", 2.0)),
            instance_type("b").zones(["1"]).price(4.0).offering(offering("2", "on-demand", 1.0)),
        ]
    };
    let priced = || snapshot().pool(pool("default"), types());
    check_each(
        [
            ("anywhere", priced().pod(pod("p"))),
            ("zone 1", priced().pod(pod("p").on_node_selector(ZONE, "1"))),
        ],
        expect![[r#"
            anywhere: claim default: p | b +1
            zone 1: claim default: p | a +1 | capacity-type=on-demand zone=1
        "#]],
    );
}

#[test]
fn what_cannot_be_had_now_does_not_count() {
    let mut gone = instance_type("gone").price(0.1).build();
    let mut partly = instance_type("partly").zones(["a", "b"]).price(0.2).build();
    for offering in gone.offerings.iter_mut().chain(&mut partly.offerings[..1]) {
        offering.available = false;
    }
    let types = || [gone.clone(), partly.clone(), instance_type("left").build()];
    let some = || snapshot().pool(pool("default"), types());
    check_each(
        [
            ("anywhere", some().pod(pod("p"))),
            ("zone a", some().pod(pod("p").on_node_selector(ZONE, "a"))),
        ],
        expect![[r#"
            anywhere: claim default: p | partly +1
            zone a: claim default: p | left | zone=a
        "#]],
    );
}

#[test]
fn an_offering_may_change_the_size_of_its_instance() {
    // The spot instances of zone b have more memory, and keep more of it for themselves.
    let mut large = offering("b", "spot", 5.0);
    large.capacity = resources([("memory", "16Gi")]);
    large.overhead = resources([("memory", "2Gi")]);
    let types = || [instance_type("t").mem("8Gi").zones(["a"]).offering(large.clone())];
    let sized = || snapshot().pool(pool("default"), types());
    check_each(
        [
            ("8Gi", sized().pod(pod("p").mem("8Gi"))),
            ("14Gi", sized().pod(pod("p").mem("14Gi").on_node_selector(ZONE, "b"))),
            ("14Gi anywhere", sized().pod(pod("p").mem("14Gi"))),
            ("14Gi in a", sized().pod(pod("p").mem("14Gi").on_node_selector(ZONE, "a"))),
            ("15Gi", sized().pod(pod("p").mem("15Gi"))),
        ],
        expect![[r#"
            8Gi: claim default: p | t
            14Gi: claim default: p | t | capacity-type=spot zone=b
            14Gi anywhere: claim default: p | t
            14Gi in a: unschedulable p: shape.tooSmall
            15Gi: unschedulable p: shape.tooSmall
        "#]],
    );
}

#[test]
fn huge_pages_come_out_of_memory() {
    let types = || [instance_type("t").mem("8Gi").has("hugepages-2Mi", "2Gi")];
    let pages = || snapshot().pool(pool("default"), types());
    check_each(
        [
            ("6Gi", pages().pod(pod("p").mem("6Gi").request("hugepages-2Mi", "2Gi"))),
            ("7Gi", pages().pod(pod("p").mem("7Gi"))),
        ],
        expect![[r#"
            6Gi: claim default: p | t
            7Gi: unschedulable p: shape.tooSmall
        "#]],
    );
}
