//! Topology spread: how pods are counted and where the next one goes.

use expect_test::expect;
use joiner_core::{
    label::{ARCH, CAPACITY_TYPE, HOSTNAME, ZONE},
    pod::SpreadConstraint,
    requirement::Operator::{Exists, In},
    selector::LabelSelector,
    settings::PlanSettings,
    snapshot::Snapshot,
    testing::{
        PodBuilder, fake_default_instance_types, node, pod, pool, requirement, selector,
        spread_constraint,
    },
};

use crate::support::{Cluster, check, cluster, cluster_of, plan, tell};

fn web() -> LabelSelector {
    selector([("app", "web")])
}

/// Pods of one workload, spread over zones.
fn spread(name: &str) -> PodBuilder {
    pod(name).label("app", "web").spread(ZONE, 1, web())
}

/// Large enough that two of them do not share one of the smaller instances.
fn large(name: &str) -> PodBuilder {
    pod(name).label("app", "web").cpu("1100m")
}

/// Confines the only pool to some zones from now on.
fn confine<const N: usize>(snapshot: &mut Snapshot, zones: [&str; N]) {
    snapshot.pools[0].requirements = vec![requirement(ZONE, In, zones)];
}

#[test]
fn pods_are_spread_over_zones() {
    let mut cluster = Cluster::new(cluster());
    cluster.pass(spread("a").replicas(4));
    expect!["test-zone-1=2 test-zone-2=1 test-zone-3=1"].assert_eq(&cluster.skew(ZONE));
}

#[test]
fn each_claim_settles_for_one_zone_the_first_name_among_equals() {
    check(
        cluster().pods(spread("a").replicas(4)),
        expect![[r#"
            claim default: a-0 a-3 | small-instance-type +4 | zone=test-zone-1
            claim default: a-1 | small-instance-type +5 | zone=test-zone-2
            claim default: a-2 | small-instance-type +5 | capacity-type=on-demand zone=test-zone-3
        "#]],
    );
}

#[test]
fn among_equally_good_zones_the_clouds_free_room_decides() {
    let mut snapshot = cluster().pods([spread("a")]).build();
    let room = [("test-zone-1", -120), ("test-zone-2", 340), ("test-zone-3", 20)];
    let room = room.map(|(zone, room)| (zone.to_owned(), room)).into();
    snapshot.catalog.room.insert("default".to_owned(), room);
    let planned = plan(&snapshot, &PlanSettings::default());
    expect![[r#"
        claim default: a | small-instance-type +5 | zone=test-zone-2
    "#]]
    .assert_eq(&tell(&snapshot, &planned));
}

#[test]
fn where_no_room_is_known_the_zone_with_fewest_nodes_of_the_pool_is_taken() {
    let in_zone =
        |name: &str, pool: &str, zone: &str| node(name).pool(pool).zone(zone).has("pods", "0");
    check(
        cluster()
            .node(in_zone("one", "default", "test-zone-1"))
            .node(in_zone("of-another-pool", "other", "test-zone-2"))
            .node(in_zone("three", "default", "test-zone-3"))
            .pods([spread("a")]),
        expect![[r#"
            claim default: a | small-instance-type +5 | zone=test-zone-2
        "#]],
    );
}

#[test]
fn pods_are_spread_over_the_zones_of_their_pool() {
    for (pool, expected) in [
        (
            pool("default").require(ZONE, In, ["test-zone-1", "test-zone-2"]),
            expect!["test-zone-1=2 test-zone-2=2"],
        ),
        (pool("default").label(ZONE, "test-zone-1"), expect!["test-zone-1=4"]),
        (
            pool("default")
                .require(ZONE, In, ["test-zone-1", "test-zone-2"])
                .label(ZONE, "test-zone-2"),
            expect!["test-zone-2=4"],
        ),
    ] {
        let mut cluster = Cluster::new(cluster_of(pool));
        cluster.pass(spread("a").replicas(4));
        expected.assert_eq(&cluster.skew(ZONE));
    }
}

#[test]
fn pods_are_spread_over_the_zones_of_all_pools() {
    let mut cluster = Cluster::new(
        cluster_of(pool("one").label(ZONE, "test-zone-1"))
            .pool(pool("two").label(ZONE, "test-zone-2"), fake_default_instance_types()),
    );
    cluster.pass(spread("a").replicas(4));
    expect!["test-zone-1=2 test-zone-2=2"].assert_eq(&cluster.skew(ZONE));
}

#[test]
fn pods_elsewhere_hold_back_those_to_come() {
    let mut cluster = Cluster::new(cluster());
    cluster.pass([large("first").on_node_selector(ZONE, "test-zone-3")]);
    confine(&mut cluster.snapshot, ["test-zone-1", "test-zone-2"]);
    cluster.pass(large("a").spread(ZONE, 1, web()).replicas(6));
    expect!["test-zone-1=2 test-zone-2=2 test-zone-3=1 waiting=2"].assert_eq(&cluster.skew(ZONE));
}

#[test]
fn pods_go_where_they_can_as_far_as_the_skew_allows() {
    let mut cluster = Cluster::new(cluster());
    let pods = |name| large(name).spread(ZONE, 5, web());
    confine(&mut cluster.snapshot, ["test-zone-1"]);
    cluster.pass([pods("a")]);
    confine(&mut cluster.snapshot, ["test-zone-2"]);
    cluster.pass([pods("b")]);
    confine(&mut cluster.snapshot, ["test-zone-3"]);
    cluster.pass(pods("c").replicas(10));
    expect!["test-zone-1=1 test-zone-2=1 test-zone-3=6 waiting=4"].assert_eq(&cluster.skew(ZONE));
}

#[test]
fn a_skew_that_is_exceeded_already_is_mended() {
    let mut cluster = Cluster::new(cluster());
    cluster.pass(large("a").spread(ZONE, 1, web()).replicas(9));
    expect!["test-zone-1=3 test-zone-2=3 test-zone-3=3"].assert_eq(&cluster.skew(ZONE));
    cluster.end(|node, _| node.labels[ZONE] != "test-zone-1");
    cluster.pass(large("b").spread(ZONE, 1, web()).replicas(3));
    expect!["test-zone-1=3 test-zone-2=2 test-zone-3=1"].assert_eq(&cluster.skew(ZONE));
}

#[test]
fn with_too_few_domains_the_smallest_counts_as_empty() {
    let at_least =
        |min| SpreadConstraint { min_domains: Some(min), ..spread_constraint(ZONE, 1, web()) };
    let zones = ["test-zone-1", "test-zone-2"];
    for (confined, min, count, expected) in [
        (true, 3, 3, expect!["test-zone-1=1 test-zone-2=1 waiting=1"]),
        (true, 2, 4, expect!["test-zone-1=2 test-zone-2=2"]),
        (false, 3, 11, expect!["test-zone-1=4 test-zone-2=4 test-zone-3=3"]),
        (false, 2, 11, expect!["test-zone-1=4 test-zone-2=4 test-zone-3=3"]),
    ] {
        let own = pool("default");
        let own = if confined { own.require(ZONE, In, zones) } else { own };
        let mut cluster = Cluster::new(cluster_of(own));
        cluster.pass(pod("a").label("app", "web").spread_constraint(at_least(min)).replicas(count));
        expected.assert_eq(&cluster.skew(ZONE));
    }
}

#[test]
fn pods_are_spread_over_hosts() {
    let spread = |skew| pod("a").label("app", "web").spread(HOSTNAME, skew, web()).replicas(4);
    check(
        cluster().pods(spread(1)),
        expect![[r#"
            claim default: a-0 | small-instance-type +5
            claim default: a-1 | small-instance-type +5
            claim default: a-2 | small-instance-type +5
            claim default: a-3 | small-instance-type +5
        "#]],
    );
    check(
        cluster().pods(spread(2)),
        expect![[r#"
            claim default: a-0 a-1 | small-instance-type +4
            claim default: a-2 a-3 | small-instance-type +4
        "#]],
    );
    check(
        cluster().pods(spread(4)),
        expect![[r#"
            claim default: a-0 a-1 a-2 a-3 | small-instance-type +4
        "#]],
    );
}

#[test]
fn hosts_that_exist_count() {
    check(
        cluster()
            .node(node("1").pod(pod("x").label("app", "web")))
            .node(node("2"))
            .pods(pod("a").label("app", "web").spread(HOSTNAME, 1, web()).replicas(2)),
        expect![[r#"
            node 1: a-1
            node 2: a-0
        "#]],
    );
}

#[test]
fn several_workloads_are_spread_each_by_itself() {
    let workload = |app: &str| {
        pod(app).label("app", app).spread(HOSTNAME, 1, selector([("app", app)])).replicas(2)
    };
    check(
        cluster().pods(workload("a")).pods(workload("b")),
        expect![[r#"
            claim default: a-0 b-0 | small-instance-type +4
            claim default: a-1 b-1 | small-instance-type +4
        "#]],
    );
}

#[test]
fn pods_are_spread_over_zones_and_hosts_at_once() {
    let mut cluster = Cluster::new(cluster());
    let pods = |name: &str, count| {
        pod(name)
            .label("app", "web")
            .spread(ZONE, 1, web())
            .spread(HOSTNAME, 3, web())
            .replicas(count)
    };
    let mut told = Vec::new();
    for (name, count) in [("a", 2), ("b", 3), ("c", 5), ("d", 11)] {
        cluster.pass(pods(name, count));
        told.push(format!("+{count}: {}", cluster.skew(ZONE)));
        let hosts = || cluster.snapshot.nodes.iter().map(|node| node.pods.len());
        let (least, most) = (hosts().min().unwrap_or(0), hosts().max().unwrap_or(0));
        assert!(most - least <= 3, "{least} pods on one host, {most} on another");
    }
    assert_eq!(
        told,
        [
            "+2: test-zone-1=1 test-zone-2=1",
            "+3: test-zone-1=2 test-zone-2=2 test-zone-3=1",
            "+5: test-zone-1=4 test-zone-2=3 test-zone-3=3",
            "+11: test-zone-1=7 test-zone-2=7 test-zone-3=7",
        ]
    );
}

#[test]
fn a_label_of_pools_steers_the_share_of_capacity_types() {
    const KEY: &str = "capacity.spread.4-1";
    let share = |name: &str, capacity_type, shares: &[&str]| {
        let mut pool = pool(name).require(CAPACITY_TYPE, In, [capacity_type]).build();
        pool.requirements.push(joiner_core::requirement::RequirementSpec::new(
            KEY,
            In,
            shares.iter().copied(),
        ));
        pool
    };
    let mut snapshot =
        cluster_of(pool("spot")).pool(pool("on-demand"), fake_default_instance_types()).build();
    snapshot.pools =
        vec![share("spot", "spot", &["2", "3", "4", "5"]), share("on-demand", "on-demand", &["1"])];
    let mut cluster = Cluster::new(crate::support::cluster());
    cluster.snapshot = snapshot;
    cluster.pass(pod("a").label("app", "web").spread(KEY, 1, web()).replicas(20));
    expect!["1=4 2=4 3=4 4=4 5=4"].assert_eq(&cluster.skew(KEY));
    expect!["on-demand=4 spot=16"].assert_eq(&cluster.skew(CAPACITY_TYPE));
}

#[test]
fn pods_are_spread_over_architectures() {
    let mut cluster = Cluster::new(cluster());
    cluster.pass(pod("a").label("app", "web").spread(ARCH, 1, web()).replicas(4));
    expect!["amd64=2 arm64=2"].assert_eq(&cluster.skew(ARCH));
}

#[test]
fn a_spread_that_counts_nobody_holds_nobody_back() {
    check(
        cluster().pods(pod("a").spread(HOSTNAME, 1, web()).replicas(5)),
        expect![[r#"
            claim default: a-0 a-1 a-2 a-3 a-4 | small-instance-type +4
        "#]],
    );
}

#[test]
fn a_pod_that_does_not_count_itself_goes_where_the_fewest_are() {
    // One pod that counts is in zone 1, and "a" does not add to any count.
    check(
        cluster()
            .node(node("n").zone("test-zone-1").cpu("0").pod(pod("x").label("app", "web")))
            .pods(pod("a").cpu("1500m").spread(ZONE, 1, web()).replicas(2)),
        expect![[r#"
            claim default: a-0 a-1 | default-instance-type +3 | zone=test-zone-2
        "#]],
    );
}

#[test]
fn an_unknown_topology_key_stops_only_its_own_pods() {
    check(
        cluster().pod(pod("a").label("app", "web").spread("unknown", 1, web())).pod(pod("b")),
        expect![[r#"
            claim default: b | small-instance-type +5
            unschedulable a: topology.spread
        "#]],
    );
}

#[test]
fn a_soft_spread_gives_way() {
    let mut cluster = Cluster::new(cluster_of(pool("default").require(ZONE, In, ["test-zone-1"])));
    cluster.snapshot.nodes.push(node("n").zone("test-zone-2").cpu("0").build());
    let pods = pod("a").cpu("1").label("app", "web").spread_anyway(ZONE, 1, web()).replicas(4);
    cluster.pass(pods);
    expect!["test-zone-1=4"].assert_eq(&cluster.skew(ZONE));
}

#[test]
fn only_running_pods_with_the_label_in_the_namespace_on_nodes_with_the_key_count() {
    let counted = |name: &str| pod(name).label("app", "web");
    let mut cluster = Cluster::new(
        cluster()
            .namespace("other", [])
            .node(
                node("1")
                    .zone("test-zone-1")
                    .cpu("0")
                    .pod(counted("x"))
                    .pod(counted("y"))
                    .pod(pod("unlabelled"))
                    .pod(counted("ends").terminating())
                    .pod(counted("elsewhere").namespace("other")),
            )
            .node(node("2").zone("test-zone-2").cpu("0").pod(counted("z")))
            .node(node("3").without_label(ZONE).cpu("0").pod(counted("w"))),
    );
    expect![[r#"
        claim default: a-0 a-1 | small-instance-type +4 | capacity-type=on-demand zone=test-zone-3
    "#]]
    .assert_eq(&cluster.pass(spread("a").cpu("100m").replicas(2)));
}

#[test]
fn pods_in_the_same_pass_count_for_spreads_that_they_do_not_have() {
    // "x" only carries the label, and is placed first.
    check(
        cluster()
            .pod(pod("x").cpu("1800m").label("app", "web").on_node_selector(ZONE, "test-zone-1"))
            .pod(spread("a").cpu("1700m"))
            .pod(spread("b").cpu("1600m")),
        expect![[r#"
            claim default: x | small-instance-type +5 | zone=test-zone-1
            claim default: a | small-instance-type +5 | zone=test-zone-2
            claim default: b | small-instance-type +5 | capacity-type=on-demand zone=test-zone-3
        "#]],
    );
}

#[test]
fn a_claim_that_is_nowhere_yet_does_not_count() {
    // "x" has no zone when "a" asks, so every zone is empty; nor is it counted once "a" has given
    // its instance a zone.
    check(
        cluster()
            .pod(pod("x").cpu("3500m").label("app", "web"))
            .pod(spread("a").cpu("3"))
            .pod(spread("b").cpu("2900m")),
        expect![[r#"
            claim default: x a | arm-instance-type | zone=test-zone-1
            claim default: b | default-instance-type +4 | zone=test-zone-2
        "#]],
    );
}

#[test]
fn a_soft_preference_for_a_zone_does_not_change_the_domains() {
    let mut cluster = Cluster::new(cluster());
    cluster.pass(spread("a").prefer(1, ZONE, In, ["test-zone-1"]).replicas(6));
    expect!["test-zone-1=2 test-zone-2=2 test-zone-3=2"].assert_eq(&cluster.skew(ZONE));
}

#[test]
fn what_pods_require_limits_the_zones_they_are_spread_over() {
    let mut told = Vec::new();
    for (name, pods) in [
        ("selector", spread("a").on_node_selector(ZONE, "test-zone-1").replicas(4)),
        ("affinity", spread("a").require(ZONE, In, ["test-zone-1", "test-zone-2"]).replicas(6)),
        ("exists", spread("a").require(ZONE, Exists, []).replicas(3)),
    ] {
        let mut cluster = Cluster::new(cluster());
        cluster.pass(pods);
        told.push(format!("{name}: {}", cluster.skew(ZONE)));
    }
    assert_eq!(
        told,
        [
            "selector: test-zone-1=4",
            "affinity: test-zone-1=3 test-zone-2=3",
            "exists: test-zone-1=1 test-zone-2=1 test-zone-3=1",
        ]
    );
}

#[test]
fn a_volume_does_not_limit_the_zones_that_are_counted() {
    // One pod in each of three zones; the volume of the fourth is in the first.
    let own = || SpreadConstraint { min_domains: Some(3), ..spread_constraint(ZONE, 1, web()) };
    let mut cluster = Cluster::new(cluster());
    cluster.pass(large("a").spread_constraint(own()).replicas(3));
    cluster.pass([large("b").spread_constraint(own()).volume_in(ZONE, ["test-zone-1"])]);
    expect!["test-zone-1=2 test-zone-2=1 test-zone-3=1"].assert_eq(&cluster.skew(ZONE));
    // A second one would be one too many there.
    cluster.pass([large("c").spread_constraint(own()).volume_in(ZONE, ["test-zone-1"])]);
    expect!["test-zone-1=2 test-zone-2=1 test-zone-3=1 waiting=1"].assert_eq(&cluster.skew(ZONE));
}

#[test]
fn a_revision_is_spread_by_itself() {
    let by_revision = || SpreadConstraint {
        match_label_keys: vec!["revision".to_owned()],
        ..spread_constraint(HOSTNAME, 1, web())
    };
    let pods = |revision: &str| {
        pod(revision)
            .label("app", "web")
            .label("revision", revision)
            .spread_constraint(by_revision())
            .replicas(2)
    };
    check(
        cluster().pods(pods("old")).pods(pods("new")),
        expect![[r#"
            claim default: new-0 old-0 | small-instance-type +4
            claim default: new-1 old-1 | small-instance-type +4
        "#]],
    );
    // Keys that the pod does not have change nothing.
    check(
        cluster().pods(pod("a").label("app", "web").spread_constraint(by_revision()).replicas(3)),
        expect![[r#"
            claim default: a-0 | small-instance-type +5
            claim default: a-1 | small-instance-type +5
            claim default: a-2 | small-instance-type +5
        "#]],
    );
}
