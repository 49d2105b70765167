//! Instances that exist or are on their way.

use expect_test::expect;
use joiner_core::{
    label::{NODE_POOL, ZONE},
    pod::Role,
    requirement::Operator::{DoesNotExist, Exists, In, NotIn},
    taint::Effect::{NoExecute, NoSchedule},
    testing::{GPU_VENDOR_A, node, pod, pool, snapshot, taint},
};

use crate::support::{Cluster, check, check_each, cluster, cluster_of};

#[test]
fn a_node_with_room_is_used_before_anything_is_made() {
    check(
        cluster().node(node("n").cpu("1")).pod(pod("fits").cpu("1")).pod(pod("not").cpu("1")),
        expect![[r#"
            claim default: not | small-instance-type +5
            node n: fits
        "#]],
    );
}

#[test]
fn an_instance_on_its_way_is_as_good_as_a_node() {
    check(
        cluster().node(node("n").pool("default").in_flight()).pod(pod("a").cpu("1")),
        expect![[r#"
            node n: a
        "#]],
    );
}

#[test]
fn the_next_pod_goes_to_the_instance_of_the_last_pass() {
    let mut cluster = Cluster::new(cluster());
    expect![[r#"
        claim default: a | small-instance-type +5
    "#]]
    .assert_eq(&cluster.pass([pod("a").cpu("100m")]));
    expect![[r#"
        node m1: b
    "#]]
    .assert_eq(&cluster.pass([pod("b").cpu("100m")]));
    // The instance is the smallest that "a" needed.
    expect![[r#"
        claim default: c | default-instance-type +4
    "#]]
    .assert_eq(&cluster.pass([pod("c").cpu("3")]));
}

#[test]
fn initialized_nodes_come_first_then_names() {
    check(
        cluster()
            .node(node("a").pool("default").uninitialized())
            .node(node("c").cpu("1"))
            .node(node("b").cpu("1"))
            .pods(pod("p").cpu("1").replicas(3)),
        expect![[r#"
            node b: p-0
            node c: p-1
            node a: p-2
        "#]],
    );
}

#[test]
fn a_node_that_leaves_takes_no_pods_and_its_pods_move() {
    check(
        cluster().node(node("n").leaving()).pod(pod("new")).pod(pod("moves").role(Role::Moving)),
        expect![[r#"
            claim default: moves new | small-instance-type +4
        "#]],
    );
}

#[test]
fn a_pod_that_moves_has_been_accepted_once() {
    // A new pod may not select a host.
    let selector = "kubernetes.io/hostname";
    check(
        cluster()
            .node(node("n"))
            .pod(pod("new").on_node_selector(selector, "n"))
            .pod(pod("moves").on_node_selector(selector, "n").role(Role::Moving))
            .pod(pod("lost").on_node_selector(selector, "gone").role(Role::Moving)),
        expect![[r#"
            node n: moves
            unschedulable lost: pool.requirement.conflict
            unschedulable new: pod.selector.restricted
        "#]],
    );
}

#[test]
fn all_taints_of_a_node_must_be_tolerated() {
    let tainted =
        || cluster().node(node("n").taint("x", "1", NoSchedule).taint("y", "", NoExecute));
    check_each(
        [
            ("none", tainted().pod(pod("a"))),
            ("one", tainted().pod(pod("a").tolerate("x"))),
            ("both", tainted().pod(pod("a").tolerate("x").tolerate("y"))),
            ("any", tainted().pod(pod("a").tolerate(""))),
        ],
        expect![[r#"
            none: claim default: a | small-instance-type +5
            one: claim default: a | small-instance-type +5
            both: node n: a
            any: node n: a
        "#]],
    );
}

#[test]
fn only_the_taints_that_will_stay_count() {
    // Whoever reads the cluster leaves out taints that a starting node loses by itself.
    let mut starting = node("n").pool("default").uninitialized().build();
    starting.object_taints.push(taint("node.kubernetes.io/not-ready", "", NoExecute));
    let mut snapshot = cluster().pod(pod("a")).build();
    snapshot.nodes.push(starting);
    let planned = crate::support::plan(&snapshot, &joiner_core::settings::PlanSettings::default());
    expect![[r#"
        node n: a
    "#]]
    .assert_eq(&crate::support::tell(&snapshot, &planned));
    // An initialized node that is not ready is not usable.
    check(
        cluster()
            .node(node("n").pool("default").taint("node.kubernetes.io/not-ready", "", NoExecute))
            .pod(pod("a")),
        expect![[r#"
            claim default: a | small-instance-type +5
        "#]],
    );
}

#[test]
fn nothing_is_assumed_of_a_node_that_exists() {
    let on = |wanted: joiner_core::testing::PodBuilder| {
        snapshot()
            .pool(pool("none").limit("nodes", "0"), [joiner_core::testing::instance_type("t")])
            .node(node("n").without_label(ZONE))
            .pod(wanted)
    };
    check_each(
        [
            ("In", on(pod("a").require(ZONE, In, ["a"]))),
            ("Exists", on(pod("a").require(ZONE, Exists, []))),
            ("NotIn", on(pod("a").require(ZONE, NotIn, ["a"]))),
            ("DoesNotExist", on(pod("a").require(ZONE, DoesNotExist, []))),
            ("custom", on(pod("a").require("team", In, ["a"]))),
        ],
        expect![[r#"
            In: unschedulable a: pool.limit.reached
            Exists: unschedulable a: pool.limit.reached
            NotIn: node n: a
            DoesNotExist: node n: a
            custom: unschedulable a: pool.label.unknown
        "#]],
    );
}

#[test]
fn a_pod_can_insist_on_a_pool_that_is_full() {
    check(
        cluster_of(pool("default").limit("nodes", "1"))
            .node(node("own").pool("default"))
            .node(node("any"))
            .pod(pod("a").on_node_selector(NODE_POOL, "default")),
        expect![[r#"
            node own: a
        "#]],
    );
}

#[test]
fn every_resource_of_a_node_is_looked_at() {
    let some = || cluster().node(node("n").has(GPU_VENDOR_A, "1").has("pods", "2"));
    check_each(
        [
            ("device", some().pods(pod("a").request(GPU_VENDOR_A, "1").replicas(2))),
            ("pods", some().pods(pod("a").replicas(3))),
            ("unknown", some().pod(pod("a").request("example.com/unknown", "0"))),
        ],
        expect![[r#"
            device: claim default: a-1 | gpu-vendor-instance-type
            device: node n: a-0
            pods: claim default: a-2 | small-instance-type +5
            pods: node n: a-0 a-1
            unknown: node n: a
        "#]],
    );
}

#[test]
fn a_node_that_has_promised_more_than_it_has_takes_nothing() {
    // More memory is used than there is, so the pod is refused although it asks for none.
    check(
        cluster().node(node("n").mem("1Gi").pod(pod("fat").mem("2Gi"))).pod(pod("a").cpu("1")),
        expect![[r#"
            claim default: a | small-instance-type +5
        "#]],
    );
}

#[test]
fn pods_that_end_still_use_their_room() {
    check(
        cluster().node(node("n").pod(pod("ends").cpu("3").terminating())).pod(pod("a").cpu("2")),
        expect![[r#"
            claim default: a | default-instance-type +4
        "#]],
    );
}

#[test]
fn instances_of_a_pool_that_makes_none_are_used() {
    check(
        cluster_of(pool("default").weight(1))
            .pool(pool("fixed").fixed(), joiner_core::testing::fake_default_instance_types())
            .node(node("n").pool("fixed"))
            .pod(pod("a")),
        expect![[r#"
            node n: a
        "#]],
    );
}
