//! Volumes: where they are, and how many an instance can attach.

use expect_test::expect;
use joiner_core::{
    label::{HOSTNAME, ZONE},
    pod::Pod,
    requirement::Operator::In,
    testing::{instance_type, node, pod, pool, snapshot},
};

use crate::support::{Cluster, check, check_each, cluster, cluster_of};

const DRIVER: &str = "csi.example.com";

/// Pods with two volumes each.
fn with_volumes(count: usize) -> Vec<Pod> {
    (0..count)
        .map(|n| {
            pod(&format!("a-{n}"))
                .volume(DRIVER, &format!("data-{n}"))
                .volume(DRIVER, &format!("log-{n}"))
                .build()
        })
        .collect()
}

#[test]
fn an_instance_is_made_where_the_volume_is() {
    check(
        cluster().pod(pod("a").volume_in(ZONE, ["test-zone-2"])),
        expect![[r#"
            claim default: a | small-instance-type +5 | zone=test-zone-2
        "#]],
    );
}

#[test]
fn a_volume_that_may_be_in_several_places_leaves_a_choice() {
    // Two terms of a volume or of a storage class are alternatives, in order.
    let either = pod("a").volume_in(ZONE, ["test-zone-1"]).volume_in(ZONE, ["test-zone-2"]);
    check_each(
        [
            ("first", cluster().pod(either.clone())),
            (
                "second",
                cluster_of(pool("default").require(ZONE, In, ["test-zone-2"])).pod(either.clone()),
            ),
            ("neither", cluster().pod(either.on_node_selector(ZONE, "test-zone-3"))),
        ],
        expect![[r#"
            first: claim default: a | small-instance-type +5 | zone=test-zone-1
            second: claim default: a | small-instance-type +5 | zone=test-zone-2
            neither: unschedulable a: zone.volume
        "#]],
    );
}

#[test]
fn a_volume_that_may_be_in_several_zones_leaves_all_of_them_open() {
    check(
        cluster().pod(pod("a").volume_in(ZONE, ["test-zone-1", "test-zone-2"])),
        expect![[r#"
            claim default: a | small-instance-type +5 | zone=test-zone-1,test-zone-2
        "#]],
    );
}

#[test]
fn a_volume_on_one_host_can_be_used_only_there() {
    // The affinity of local volumes to their host is left out by whoever reads the cluster.
    check_each(
        [
            ("gone", cluster().pod(pod("a").volume_in(HOSTNAME, ["gone"]))),
            ("there", cluster().node(node("n")).pod(pod("a").volume_in(HOSTNAME, ["n"]))),
            ("elsewhere", cluster().node(node("n")).pod(pod("a").volume_in(HOSTNAME, ["m"]))),
        ],
        expect![[r#"
            gone: unschedulable a: zone.volume
            there: node n: a
            elsewhere: unschedulable a: zone.volume
        "#]],
    );
}

#[test]
fn a_node_must_be_where_the_volume_is() {
    check(
        cluster()
            .node(node("n1").zone("test-zone-1"))
            .node(node("n2").zone("test-zone-2"))
            .pod(pod("a").volume_in(ZONE, ["test-zone-2"]))
            .pod(pod("b").volume_in(ZONE, ["test-zone-3"]).volume_in(ZONE, ["test-zone-1"])),
        expect![[r#"
            node n1: b
            node n2: a
        "#]],
    );
}

#[test]
fn a_pod_waits_for_its_volumes() {
    check(
        cluster().pod(pod("a").waits_for_volume("claim default/data is lost")).pod(pod("b")),
        expect![[r#"
            claim default: b | small-instance-type +5
            deferred a: waiting.volume
        "#]],
    );
}

#[test]
fn a_node_attaches_only_so_many_volumes() {
    check(
        cluster().node(node("n").volume_limit(DRIVER, 10)).pods(with_volumes(6)),
        expect![[r#"
            claim default: a-5 | small-instance-type +5
            node n: a-0 a-1 a-2 a-3 a-4
        "#]],
    );
}

#[test]
fn a_volume_that_is_shared_is_attached_once() {
    let sharing = pod("a").volume(DRIVER, "data").volume(DRIVER, "log");
    check(
        cluster().node(node("n").volume_limit(DRIVER, 2)).pods(sharing.replicas(6)),
        expect![[r#"
            node n: a-0 a-1 a-2 a-3 a-4 a-5
        "#]],
    );
}

#[test]
fn volumes_of_pods_that_are_there_count_per_driver() {
    let busy = || {
        cluster().node(
            node("n").volume_limit(DRIVER, 2).pod(pod("x").volume(DRIVER, "1").volume(DRIVER, "2")),
        )
    };
    check_each(
        [
            ("full", busy().pod(pod("a").volume(DRIVER, "3"))),
            ("shared", busy().pod(pod("a").volume(DRIVER, "1"))),
            ("other driver", busy().pod(pod("a").volume("other.example.com", "3"))),
            ("no volume", busy().pod(pod("a"))),
        ],
        expect![[r#"
            full: claim default: a | small-instance-type +5
            shared: node n: a
            other driver: node n: a
            no volume: node n: a
        "#]],
    );
}

#[test]
fn pods_that_differ_only_in_how_much_they_attach_are_judged_each_by_itself() {
    // As replicas of a stateful set are: "a" can be placed nowhere, "b" can.
    let types = [instance_type("t").volume_limit(DRIVER, 2)];
    check(
        snapshot()
            .pool(pool("default"), types)
            .pod(pod("a").volume(DRIVER, "1").volume(DRIVER, "2").volume(DRIVER, "3"))
            .pod(pod("b").volume(DRIVER, "4")),
        expect![[r#"
            claim default: b | t
            unschedulable a: volume.limit
        "#]],
    );
    check(
        cluster_of(pool("default").limit("nodes", "0"))
            .node(node("n").volume_limit(DRIVER, 1))
            .pod(pod("a").volume(DRIVER, "1").volume(DRIVER, "2"))
            .pod(pod("b").volume(DRIVER, "4")),
        expect![[r#"
            node n: b
            unschedulable a: pool.limit.reached
        "#]],
    );
}

#[test]
fn volumes_decide_the_zone_of_pods_that_join_later() {
    let mut cluster = Cluster::new(cluster());
    expect![[r#"
        claim default: a | small-instance-type +5 | zone=test-zone-2
    "#]]
    .assert_eq(&cluster.pass([pod("a").volume_in(ZONE, ["test-zone-2"])]));
    expect![[r#"
        claim default: c | small-instance-type +5 | zone=test-zone-1
        node m1: b
    "#]]
    .assert_eq(&cluster.pass([
        pod("b").volume_in(ZONE, ["test-zone-2"]),
        pod("c").volume_in(ZONE, ["test-zone-1"]),
    ]));
}

#[test]
fn a_claim_is_joined_only_where_all_volumes_are() {
    check(
        cluster()
            .pod(pod("a").volume_in(ZONE, ["test-zone-1", "test-zone-2"]))
            .pod(pod("b").volume_in(ZONE, ["test-zone-2", "test-zone-3"]))
            .pod(pod("c").volume_in(ZONE, ["test-zone-1", "test-zone-3"])),
        expect![[r#"
            claim default: a b | small-instance-type +4 | zone=test-zone-2
            claim default: c | small-instance-type +5 | zone=test-zone-1,test-zone-3
        "#]],
    );
}

#[test]
fn preferences_give_way_to_volumes_and_volumes_never_do() {
    check(
        cluster().pod(pod("a").volume_in(ZONE, ["test-zone-2"]).prefer(
            1,
            ZONE,
            In,
            ["test-zone-1"],
        )),
        expect![[r#"
            claim default: a | small-instance-type +5 | zone=test-zone-2
        "#]],
    );
}
