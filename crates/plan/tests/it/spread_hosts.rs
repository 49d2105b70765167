//! Spread over hosts: a host for each pod of a new group; once its pods run, hosts are compared with
//! the one that has fewest, as the scheduler does.

use expect_test::expect;
use joiner_core::{
    label::{HOSTNAME, ZONE},
    pod::{InclusionPolicy, SpreadConstraint},
    selector::LabelSelector,
    settings::PlanSettings,
    taint::Effect::NoSchedule,
    testing::{
        NodeBuilder, PodBuilder, SnapshotBuilder, instance_type, node, pod, pool, selector,
        snapshot, spread_constraint,
    },
};
use joiner_plan::explain::{self, Fate};

use crate::support::{check, check_each, check_fixed_point, plan};

fn web() -> LabelSelector {
    selector([("app", "web")])
}

/// Spread over hosts that differ by one at most.
fn over_hosts() -> SpreadConstraint {
    spread_constraint(HOSTNAME, 1, web())
}

fn web_pod(name: &str) -> PodBuilder {
    pod(name).label("app", "web").cpu("100m")
}

/// A pod that must be spread over hosts.
fn spread(name: &str) -> PodBuilder {
    web_pod(name).spread_constraint(over_hosts())
}

/// A host with so many of the pods, and no room for more.
fn full(name: &str, pods: usize) -> NodeBuilder {
    let pods = (0..pods).map(|at| web_pod(&format!("on-{name}-{at}")));
    pods.fold(node(name).cpu("0"), NodeBuilder::pod)
}

/// The same, with room.
fn roomy(name: &str, pods: usize) -> NodeBuilder {
    full(name, pods).cpu("8")
}

fn cordoned(node: NodeBuilder) -> NodeBuilder {
    node.taint("node.kubernetes.io/unschedulable", "", NoSchedule)
}

/// Instances of one size, and no nodes yet.
fn empty() -> SnapshotBuilder {
    snapshot().pool(pool("default"), [instance_type("t").cpu("16").zones(["a", "b"])])
}

/// Four full hosts with one of the pods each.
fn four_hosts() -> SnapshotBuilder {
    ["1", "2", "3", "4"].into_iter().fold(empty(), |made, name| made.node(full(name, 1)))
}

#[test]
fn a_group_of_which_none_runs_gets_a_host_for_each() {
    check(
        empty().pods(spread("a").replicas(4)),
        expect![[r#"
            claim default: a-0 | t
            claim default: a-1 | t
            claim default: a-2 | t
            claim default: a-3 | t
        "#]],
    );
    // Hosts that exist are no exception.
    check(
        empty().node(roomy("1", 0)).node(roomy("2", 0)).pods(spread("a").replicas(4)),
        expect![[r#"
            claim default: a-2 | t
            claim default: a-3 | t
            node 1: a-0
            node 2: a-1
        "#]],
    );
}

#[test]
fn once_each_host_has_one_each_may_have_a_second() {
    check(
        four_hosts().pods(spread("a").replicas(4)),
        expect![[r#"
        claim default: a-0 a-1 | t
        claim default: a-2 a-3 | t
    "#]],
    );
    check(
        empty().node(roomy("1", 1)).node(roomy("2", 1)).pods(spread("a").replicas(3)),
        expect![[r#"
            claim default: a-2 | t
            node 1: a-0
            node 2: a-1
        "#]],
    );
}

#[test]
fn hosts_fill_up_no_further_than_the_pods_that_ran_to_begin_with() {
    // Each host has two in the end, and yet none gets a third.
    check(
        empty().node(roomy("1", 1)).node(roomy("2", 1)).pods(spread("a").replicas(6)),
        expect![[r#"
            claim default: a-2 a-3 | t
            claim default: a-4 a-5 | t
            node 1: a-0
            node 2: a-1
        "#]],
    );
    // Where the fewest run, two do.
    check(
        empty().node(full("1", 2)).node(full("2", 3)).pods(spread("a").replicas(6)),
        expect![[r#"
            claim default: a-0 a-1 a-2 | t
            claim default: a-3 a-4 a-5 | t
        "#]],
    );
}

#[test]
fn max_skew_is_counted_from_the_host_with_fewest() {
    let pods = || web_pod("a").spread(HOSTNAME, 2, web()).replicas(6);
    check_each(
        [("none runs", empty().pods(pods())), ("each has one", four_hosts().pods(pods()))],
        expect![[r#"
            none runs: claim default: a-0 a-1 | t
            none runs: claim default: a-2 a-3 | t
            none runs: claim default: a-4 a-5 | t
            each has one: claim default: a-0 a-1 a-2 | t
            each has one: claim default: a-3 a-4 a-5 | t
        "#]],
    );
}

#[test]
fn a_host_that_takes_no_pods_counts_with_what_it_has() {
    let honoring = || {
        let policy = InclusionPolicy::Honor;
        web_pod("a")
            .spread_constraint(SpreadConstraint { node_taints_policy: policy, ..over_hosts() })
    };
    let cordoned = |pods| cordoned(roomy("cordoned", pods));
    check_each(
        [
            ("one there", four_hosts().node(cordoned(1)).pods(spread("a").replicas(4))),
            ("none there", four_hosts().node(cordoned(0)).pods(spread("a").replicas(4))),
            ("without room", four_hosts().node(full("5", 0)).pods(spread("a").replicas(4))),
            ("not counted", four_hosts().node(cordoned(0)).pods(honoring().replicas(4))),
        ],
        expect![[r#"
            one there: claim default: a-0 a-1 | t
            one there: claim default: a-2 a-3 | t
            none there: claim default: a-0 | t
            none there: claim default: a-1 | t
            none there: claim default: a-2 | t
            none there: claim default: a-3 | t
            without room: claim default: a-0 | t
            without room: claim default: a-1 | t
            without room: claim default: a-2 | t
            without room: claim default: a-3 | t
            not counted: claim default: a-0 a-1 | t
            not counted: claim default: a-2 a-3 | t
        "#]],
    );
}

#[test]
fn hosts_that_the_pods_do_not_accept_count_only_if_they_ask_for_it() {
    let pods = |policy| {
        let constraint = SpreadConstraint { node_affinity_policy: policy, ..over_hosts() };
        let pods = web_pod("a").spread_constraint(constraint);
        pods.on_node_selector(ZONE, "a").replicas(4)
    };
    let hosts = || {
        let in_zone = |name, pods| full(name, pods).zone("a");
        let elsewhere = full("3", 0).zone("b");
        empty().node(in_zone("1", 1)).node(in_zone("2", 1)).node(elsewhere)
    };
    check_each(
        [
            ("honored", hosts().pods(pods(InclusionPolicy::Honor))),
            ("ignored", hosts().pods(pods(InclusionPolicy::Ignore))),
        ],
        expect![[r#"
            honored: claim default: a-0 a-1 | t | zone=a
            honored: claim default: a-2 a-3 | t | zone=a
            ignored: claim default: a-0 | t | zone=a
            ignored: claim default: a-1 | t | zone=a
            ignored: claim default: a-2 | t | zone=a
            ignored: claim default: a-3 | t | zone=a
        "#]],
    );
}

#[test]
fn a_node_whose_labels_may_still_come_counts() {
    let pods = || spread("a").on_node_selector(ZONE, "a").replicas(2);
    let hosts = || {
        let in_zone = |name| full(name, 1).zone("a");
        empty().node(in_zone("1")).node(in_zone("2"))
    };
    let coming = || full("coming", 0).pool("default").without_label(ZONE);
    check_each(
        [
            ("on its way", hosts().node(coming().in_flight()).pods(pods())),
            ("not ready yet", hosts().node(coming().uninitialized()).pods(pods())),
            ("ready without it", hosts().node(coming()).pods(pods())),
        ],
        expect![[r#"
            on its way: claim default: a-0 | t | zone=a
            on its way: claim default: a-1 | t | zone=a
            not ready yet: claim default: a-0 | t | zone=a
            not ready yet: claim default: a-1 | t | zone=a
            ready without it: claim default: a-0 a-1 | t | zone=a
        "#]],
    );
}

#[test]
fn with_fewer_hosts_than_are_wanted_at_least_each_counts_from_nothing() {
    let pods = |min| {
        let constraint = SpreadConstraint { min_domains: Some(min), ..over_hosts() };
        web_pod("a").spread_constraint(constraint).replicas(4)
    };
    check_each(
        [("enough", four_hosts().pods(pods(4))), ("too few", four_hosts().pods(pods(5)))],
        expect![[r#"
            enough: claim default: a-0 a-1 | t
            enough: claim default: a-2 a-3 | t
            too few: claim default: a-0 | t
            too few: claim default: a-1 | t
            too few: claim default: a-2 | t
            too few: claim default: a-3 | t
        "#]],
    );
}

#[test]
fn a_host_that_is_about_to_go_does_not_count() {
    let leaving = |pods| full("leaving", pods).leaving();
    check_each(
        [
            ("none there", four_hosts().node(leaving(0)).pods(spread("a").replicas(4))),
            ("only there", empty().node(leaving(3)).pods(spread("a").replicas(4))),
        ],
        expect![[r#"
            none there: claim default: a-0 a-1 | t
            none there: claim default: a-2 a-3 | t
            only there: claim default: a-0 | t
            only there: claim default: a-1 | t
            only there: claim default: a-2 | t
            only there: claim default: a-3 | t
        "#]],
    );
}

#[test]
fn a_host_that_is_on_its_way_is_filled_first() {
    let coming = |cpu| node("coming").pool("default").cpu(cpu).in_flight();
    check_each(
        [
            ("with room", four_hosts().node(coming("8")).pods(spread("a").replicas(4))),
            ("without", four_hosts().node(coming("0")).pods(spread("a").replicas(4))),
        ],
        expect![[r#"
            with room: claim default: a-2 a-3 | t
            with room: node coming: a-0 a-1
            without: claim default: a-0 | t
            without: claim default: a-1 | t
            without: claim default: a-2 | t
            without: claim default: a-3 | t
        "#]],
    );
}

#[test]
fn instances_for_larger_pods_get_one_each_before_any_gets_a_second() {
    let large = pod("large").cpu("12").replicas(3);
    check(
        four_hosts().pods(large).pods(spread("a").replicas(6)),
        expect![[r#"
        claim default: large-0 a-0 a-3 | t
        claim default: large-1 a-1 a-4 | t
        claim default: large-2 a-2 a-5 | t
    "#]],
    );
}

#[test]
fn an_instance_that_comes_late_for_others_makes_hosts_count_from_nothing() {
    // It gets none of the pods, so none of them could be the second on its host. Those of a size
    // below theirs are placed after them.
    let alone = |cpu| pod("alone").cpu(cpu).anti_affinity(HOSTNAME, web());
    check_each(
        [
            ("late", four_hosts().pods(spread("a").replicas(4)).pod(alone("50m"))),
            ("early", four_hosts().pods(spread("a").replicas(4)).pod(alone("1"))),
        ],
        expect![[r#"
            late: claim default: a-0 | t
            late: claim default: a-1 | t
            late: claim default: a-2 | t
            late: claim default: a-3 | t
            late: claim default: alone | t
            early: claim default: alone | t
            early: claim default: a-0 | t
            early: claim default: a-1 | t
            early: claim default: a-2 | t
            early: claim default: a-3 | t
        "#]],
    );
}

#[test]
fn room_that_is_only_kept_makes_no_host_fuller() {
    // The spare pod alone is on the instance that comes late, and the scheduler knows nothing of it.
    let late = pod("late").cpu("50m").anti_affinity(HOSTNAME, selector([("is", "real")]));
    let real = spread("a").label("is", "real").replicas(4);
    check(
        four_hosts().pods(real).pod(late).pod(spread("spare").buffer()),
        expect![[r#"
        claim default: a-0 | t
        claim default: a-1 | t
        claim default: a-2 | t
        claim default: a-3 | t
        claim default: late spare | t
    "#]],
    );
}

#[test]
fn a_pod_that_does_not_count_itself_may_go_where_the_skew_is_used_up() {
    let alike = |hosts: SnapshotBuilder| hosts.pod(pod("a").cpu("1").spread(HOSTNAME, 1, web()));
    check_each(
        [
            ("two, where fewest are one", alike(empty().node(roomy("1", 2)).node(full("2", 1)))),
            ("three", alike(empty().node(roomy("1", 3)).node(full("2", 1)))),
        ],
        expect![[r#"
            two, where fewest are one: node 1: a
            three: claim default: a | t
        "#]],
    );
}

#[test]
fn each_group_is_counted_by_itself() {
    let other = || {
        let own = selector([("app", "other")]);
        pod("b").label("app", "other").cpu("100m").spread(HOSTNAME, 1, own).replicas(4)
    };
    check(
        four_hosts().pods(spread("a").replicas(4)).pods(other()),
        expect![[r#"
        claim default: a-0 b-0 | t
        claim default: a-1 b-1 | t
        claim default: a-2 b-2 | t
        claim default: a-3 b-3 | t
    "#]],
    );
}

#[test]
fn a_preference_for_other_hosts_is_counted_alike() {
    let pods = web_pod("a").spread_anyway(HOSTNAME, 1, web()).replicas(4);
    check(
        four_hosts().pods(pods),
        expect![[r#"
        claim default: a-0 a-1 | t
        claim default: a-2 a-3 | t
    "#]],
    );
}

#[test]
fn the_same_is_planned_while_the_instances_are_on_their_way() {
    check_fixed_point(four_hosts().pods(spread("a").replicas(7)));
}

#[test]
fn what_is_explained_is_what_is_planned() {
    let snapshot = four_hosts().pods(spread("a").replicas(4)).build();
    let settings = PlanSettings::default();
    let planned = plan(&snapshot, &settings).plan;
    for (at, claim) in planned.claims.iter().enumerate() {
        for pod in &claim.pods {
            let explained = explain::pod(&snapshot, &settings, pod).expect("a pod of the snapshot");
            assert_eq!(explained.fate, Fate::Claim(at), "{pod}");
        }
    }
    assert_eq!(planned.claims.len(), 2);
}
