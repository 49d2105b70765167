//! Pods that must be away from others.

use expect_test::expect;
use joiner_core::{
    label::{ARCH, HOSTNAME, ZONE},
    pod::AffinityTerm,
    requirement::Operator::NotIn,
    selector::LabelSelector,
    testing::{PodBuilder, SnapshotBuilder, affinity_term, node, pod, selector},
};

use crate::support::{Cluster, check, check_each, cluster};

fn web() -> LabelSelector {
    selector([("app", "web")])
}

/// A cluster with a full node in each of some zones, each with one such pod.
fn zones_with(zones: &[&str], with: impl Fn(&str) -> PodBuilder) -> SnapshotBuilder {
    zones.iter().fold(cluster(), |all, zone| {
        let zone = format!("test-zone-{zone}");
        all.node(node(&zone).zone(&zone).cpu("0").pod(with(&format!("on-{zone}"))))
    })
}

#[test]
fn pods_that_keep_apart_get_a_host_each() {
    check(
        cluster().pods(pod("a").label("app", "web").anti_affinity(HOSTNAME, web()).replicas(3)),
        expect![[r#"
            claim default: a-0 | small-instance-type +5
            claim default: a-1 | small-instance-type +5
            claim default: a-2 | small-instance-type +5
        "#]],
    );
}

#[test]
fn a_pod_stays_away_from_zones_with_the_pods_it_avoids() {
    let labelled = |name: &str| pod(name).label("app", "web");
    let away = || pod("a").cpu("1").anti_affinity(ZONE, web());
    check_each(
        [
            ("one zone", zones_with(&["1"], labelled).pod(away())),
            ("two zones", zones_with(&["1", "3"], labelled).pod(away())),
            ("all zones", zones_with(&["1", "2", "3"], labelled).pod(away())),
            ("none", zones_with(&["1", "2", "3"], pod).pod(away())),
        ],
        expect![[r#"
            one zone: claim default: a | small-instance-type +5 | zone=test-zone-2,test-zone-3
            two zones: claim default: a | small-instance-type +5 | zone=test-zone-2
            all zones: unschedulable a: antiAffinity.blocked
            none: claim default: a | small-instance-type +5 | zone=test-zone-1,test-zone-2,test-zone-3
        "#]],
    );
}

#[test]
fn a_pod_stays_away_from_zones_of_pods_that_avoid_it() {
    let avoiding = |name: &str| pod(name).anti_affinity(ZONE, web());
    let shy = |name: &str| pod(name).prefer_anti_affinity(1, ZONE, web());
    let labelled = || pod("a").cpu("1").label("app", "web");
    check_each(
        [
            ("one zone", zones_with(&["1"], avoiding).pod(labelled())),
            ("all zones", zones_with(&["1", "2", "3"], avoiding).pod(labelled())),
            ("preferred", zones_with(&["1", "2", "3"], shy).pod(labelled())),
            ("unlabelled", zones_with(&["1", "2", "3"], avoiding).pod(pod("a").cpu("1"))),
        ],
        expect![[r#"
            one zone: claim default: a | small-instance-type +5 | zone=test-zone-2,test-zone-3
            all zones: unschedulable a: antiAffinity.blocked
            preferred: claim default: a | small-instance-type +5
            unlabelled: claim default: a | small-instance-type +5
        "#]],
    );
}

#[test]
fn pods_of_the_same_pass_avoid_others_too() {
    let pinned = |zone: &str, own: PodBuilder| {
        own.cpu("2").on_node_selector(ZONE, &format!("test-zone-{zone}"))
    };
    let avoiding = |zone| pinned(zone, pod(&format!("p{zone}")).anti_affinity(ZONE, web()));
    let shy = |zone| pinned(zone, pod(&format!("p{zone}")).prefer_anti_affinity(1, ZONE, web()));
    let labelled = || pod("a").label("app", "web");
    check_each(
        [
            ("required", cluster().pods(["1", "2", "3"].map(avoiding)).pod(labelled())),
            ("preferred", cluster().pods(["1", "2", "3"].map(shy)).pod(labelled())),
        ],
        expect![[r#"
            required: claim default: p1 | default-instance-type +4 | zone=test-zone-1
            required: claim default: p2 | default-instance-type +4 | zone=test-zone-2
            required: claim default: p3 | default-instance-type +4 | capacity-type=on-demand zone=test-zone-3
            required: unschedulable a: antiAffinity.blocked
            preferred: claim default: p1 a | default-instance-type +3 | zone=test-zone-1
            preferred: claim default: p2 | default-instance-type +4 | zone=test-zone-2
            preferred: claim default: p3 | default-instance-type +4 | capacity-type=on-demand zone=test-zone-3
        "#]],
    );
}

#[test]
fn a_pod_that_may_be_anywhere_is_avoided_everywhere() {
    // The instance of "x" has no zone yet.
    let mut cluster = Cluster::new(cluster());
    let first = cluster.pass([
        pod("x").cpu("2").anti_affinity(ZONE, web()),
        pod("a").cpu("1").label("app", "web"),
    ]);
    expect![[r#"
        claim default: x | default-instance-type +4 | zone=test-zone-1,test-zone-2,test-zone-3
        unschedulable a: antiAffinity.blocked
    "#]]
    .assert_eq(&first);
    expect![[r#"
        claim default: a | small-instance-type +5 | zone=test-zone-2,test-zone-3
    "#]]
    .assert_eq(&cluster.pass_again());
}

#[test]
fn pods_that_keep_apart_by_zone_come_one_per_pass() {
    let own = |name: &str| pod(name).label("app", "web").anti_affinity(ZONE, web());
    let mut cluster = Cluster::new(cluster());
    cluster.pass(own("a").replicas(4));
    let mut told = vec![cluster.skew(ZONE)];
    for _ in 0..3 {
        cluster.pass_again();
        told.push(cluster.skew(ZONE));
    }
    assert_eq!(
        told,
        [
            "test-zone-1=1 waiting=3",
            "test-zone-1=1 test-zone-2=1 waiting=2",
            "test-zone-1=1 test-zone-2=1 test-zone-3=1 waiting=1",
            "test-zone-1=1 test-zone-2=1 test-zone-3=1 waiting=1",
        ]
    );
}

#[test]
fn pods_that_keep_apart_by_zone_and_say_where_come_at_once() {
    let own = |zone: &str| {
        pod(zone).label("app", "web").anti_affinity(ZONE, web()).on_node_selector(ZONE, zone)
    };
    check(
        cluster().pod(own("test-zone-1")).pod(own("test-zone-2")).pod(own("test-zone-3")),
        expect![[r#"
            claim default: test-zone-1 | small-instance-type +5 | zone=test-zone-1
            claim default: test-zone-2 | small-instance-type +5 | zone=test-zone-2
            claim default: test-zone-3 | small-instance-type +5 | capacity-type=on-demand zone=test-zone-3
        "#]],
    );
}

#[test]
fn a_pod_may_avoid_others_and_not_its_own_kind() {
    check(
        cluster()
            .pods(pod("a").anti_affinity(HOSTNAME, web()).replicas(2))
            .pod(pod("web").cpu("1").label("app", "web")),
        expect![[r#"
            claim default: web | small-instance-type +5
            claim default: a-0 a-1 | small-instance-type +4
        "#]],
    );
}

#[test]
fn anti_affinity_works_for_any_label() {
    check(
        cluster()
            .pod(pod("a").cpu("2").label("app", "web").on_node_selector(ARCH, "amd64"))
            .pod(pod("b").cpu("1").anti_affinity(ARCH, web())),
        expect![[r#"
            claim default: a | default-instance-type +3 | arch=amd64
            claim default: b | arm-instance-type | arch=arm64
        "#]],
    );
}

#[test]
fn only_domains_that_are_known_to_be_empty_are_allowed() {
    // No type and no pool knows the label.
    check(
        cluster().pod(pod("a").label("app", "web").anti_affinity("unknown", web())),
        expect![[r#"
            unschedulable a: antiAffinity.blocked
        "#]],
    );
}

#[test]
fn other_namespaces_are_avoided_only_if_they_are_meant() {
    let elsewhere = |name: &str| pod(name).namespace("other").label("app", "web");
    let zones = || zones_with(&["1", "2", "3"], elsewhere).namespace("other", []);
    let in_all = AffinityTerm {
        namespace_selector: Some(LabelSelector::default()),
        ..affinity_term(ZONE, web())
    };
    check_each(
        [
            ("own", zones().pod(pod("a").cpu("1").anti_affinity(ZONE, web()))),
            ("all", zones().pod(pod("a").cpu("1").anti_affinity_term(in_all))),
        ],
        expect![[r#"
            own: claim default: a | small-instance-type +5 | zone=test-zone-1,test-zone-2,test-zone-3
            all: unschedulable a: antiAffinity.blocked
        "#]],
    );
}

#[test]
fn pods_that_end_are_not_avoided_but_still_keep_others_away() {
    // Upstream tracks the anti-affinity of a pod until it is gone.
    let ending = |name: &str| pod(name).label("app", "web").terminating();
    let avoiding = |name: &str| pod(name).anti_affinity(ZONE, web()).terminating();
    let all = ["1", "2", "3"];
    check_each(
        [
            ("avoided", zones_with(&all, ending).pod(pod("a").cpu("1").anti_affinity(ZONE, web()))),
            ("avoiding", zones_with(&all, avoiding).pod(pod("a").cpu("1").label("app", "web"))),
        ],
        expect![[r#"
            avoided: claim default: a | small-instance-type +5 | zone=test-zone-1,test-zone-2,test-zone-3
            avoiding: unschedulable a: antiAffinity.blocked
        "#]],
    );
}

#[test]
fn an_exclusion_of_a_zone_leaves_the_others() {
    check(
        cluster().pods(
            pod("a")
                .label("app", "web")
                .require(ZONE, NotIn, ["test-zone-1"])
                .anti_affinity(ZONE, web())
                .replicas(2),
        ),
        expect![[r#"
            claim default: a-0 | small-instance-type +5 | zone=test-zone-2,test-zone-3
            unschedulable a-1: antiAffinity.blocked
        "#]],
    );
}

#[test]
fn a_label_that_only_a_running_pod_asks_for_is_seen_on_nodes() {
    let racked = |name: &str, rack: &str| node(name).label("rack", rack);
    let keeps_away = pod("there").anti_affinity("rack", web());
    check(
        cluster()
            .node(racked("node-1", "r1").pod(keeps_away))
            .node(racked("node-2", "r1"))
            .node(racked("node-3", "r2"))
            .pod(pod("a").label("app", "web")),
        expect![[r#"
            node node-3: a
        "#]],
    );
}

#[test]
fn preferred_anti_affinity_gives_way() {
    check(
        zones_with(&["1", "2", "3"], |name| pod(name).label("app", "web"))
            .pod(pod("a").cpu("1").prefer_anti_affinity(1, ZONE, web())),
        expect![[r#"
            claim default: a | small-instance-type +5
        "#]],
    );
}

#[test]
fn preferred_anti_affinity_among_a_workload_uses_more_hosts() {
    check(
        cluster().pods(
            pod("a").label("app", "web").prefer_anti_affinity(1, HOSTNAME, web()).replicas(3),
        ),
        expect![[r#"
            claim default: a-0 | small-instance-type +5
            claim default: a-1 | small-instance-type +5
            claim default: a-2 | small-instance-type +5
        "#]],
    );
}
