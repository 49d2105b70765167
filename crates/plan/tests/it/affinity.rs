//! Pods that must be near others.

use expect_test::expect;
use joiner_core::{
    label::{ARCH, HOSTNAME, ZONE},
    pod::AffinityTerm,
    requirement::Operator::In,
    selector::LabelSelector,
    testing::{PodBuilder, affinity_term, labels, node, pod, selector},
};

use crate::support::{Cluster, check, check_each, cluster};

fn app(name: &str) -> LabelSelector {
    selector([("app", name)])
}

/// A pod that carries its name as label `app`.
fn named(name: &str) -> PodBuilder {
    pod(name).label("app", name)
}

#[test]
fn a_pod_joins_the_host_of_the_pod_it_must_be_near() {
    check(
        cluster()
            .pod(named("other").cpu("1").on_node_selector(ZONE, "test-zone-1"))
            .pod(named("web").cpu("1").on_node_selector(ZONE, "test-zone-2"))
            .pod(named("cache").cpu("100m").affinity(HOSTNAME, app("web"))),
        expect![[r#"
            claim default: other | small-instance-type +5 | zone=test-zone-1
            claim default: web cache | small-instance-type +4 | zone=test-zone-2
        "#]],
    );
}

#[test]
fn a_chain_ends_up_on_one_host_whatever_the_order() {
    let chain = ["db", "web", "cache", "ui"];
    let near = |index: usize| {
        let own = named(chain[index]);
        if index == 0 { own } else { own.affinity(HOSTNAME, app(chain[index - 1])) }
    };
    // The size decides who is tried first: once the chain front to back, once back to front.
    let sized =
        |cpus: [&'static str; 4]| cluster().pods((0..4).map(|index| near(index).cpu(cpus[index])));
    check_each(
        [
            ("forwards", sized(["400m", "300m", "200m", "100m"])),
            ("backwards", sized(["100m", "200m", "300m", "400m"])),
            ("mixed", sized(["200m", "400m", "100m", "300m"])),
        ],
        expect![[r#"
            forwards: claim default: db web cache ui | small-instance-type +4
            backwards: claim default: db web cache ui | small-instance-type +4
            mixed: claim default: db web cache ui | small-instance-type +4
        "#]],
    );
}

#[test]
fn pods_whose_neighbours_cannot_be_placed_wait_with_them() {
    check(
        cluster()
            .pod(named("db").on_node_selector(ZONE, "nowhere"))
            .pod(named("web").affinity(HOSTNAME, app("db"))),
        expect![[r#"
            unschedulable db: pool.requirement.conflict
            unschedulable web: affinity.unmet
        "#]],
    );
}

#[test]
fn a_pod_cannot_be_near_one_that_does_not_exist() {
    check(
        cluster().pod(pod("a").affinity(ZONE, app("nobody"))),
        expect![[r#"
            unschedulable a: affinity.unmet
        "#]],
    );
}

#[test]
fn a_zone_must_be_known_before_others_can_join_it() {
    let mut cluster = Cluster::new(cluster());
    let near = || pod("near").affinity(ZONE, app("web")).cpu("3").replicas(10);
    // The instance of "web" may still be in any zone, so nobody can be near it in this pass ...
    let first = cluster.pass(near().into_iter().chain([named("web").cpu("3500m").build()]));
    expect![[r#"
        claim default: web | default-instance-type +4
        unschedulable 10 pods: affinity.unmet
    "#]]
    .assert_eq(&first);
    // ... but all can in the next one.
    cluster.pass_again();
    expect!["test-zone-1=11"].assert_eq(&cluster.skew(ZONE));
}

#[test]
fn a_zone_that_is_given_can_be_joined_at_once() {
    check(
        cluster()
            .pod(named("web").cpu("3500m").on_node_selector(ZONE, "test-zone-2"))
            .pods(pod("near").affinity(ZONE, app("web")).cpu("3").replicas(2)),
        expect![[r#"
            claim default: web near-0 near-1 | arm-instance-type | zone=test-zone-2
        "#]],
    );
}

#[test]
fn pods_with_affinity_to_their_own_kind_share_a_host_and_nobody_joins_elsewhere() {
    let own =
        |name: &str| pod(name).label("app", "web").affinity(HOSTNAME, app("web")).replicas(10);
    let mut cluster = Cluster::new(cluster());
    cluster.pass(own("a"));
    expect!["m1=5 waiting=5"].assert_eq(&cluster.skew(HOSTNAME));
    cluster.pass(own("b"));
    expect!["m1=5 waiting=15"].assert_eq(&cluster.skew(HOSTNAME));
}

#[test]
fn one_of_its_kind_elsewhere_keeps_a_pod_from_being_the_first() {
    // The pods may not go to zone 1, where the host is; selectors do not matter for affinity.
    let own = |name: &str| pod(name).label("app", "web").affinity(HOSTNAME, app("web"));
    let mut cluster = Cluster::new(cluster());
    cluster.pass([own("first").on_node_selector(ZONE, "test-zone-1")]);
    cluster.pass(own("a").require(ZONE, In, ["test-zone-2", "test-zone-3"]).replicas(3));
    expect!["test-zone-1=1 waiting=3"].assert_eq(&cluster.skew(ZONE));
}

#[test]
fn pods_with_affinity_to_their_own_kind_settle_for_one_zone() {
    let own = |name: &str| pod(name).label("app", "web").affinity(ZONE, app("web"));
    check(
        cluster().pods(own("a").cpu("1500m").replicas(3)),
        expect![[r#"
            claim default: a-0 a-1 a-2 | arm-instance-type | zone=test-zone-1
        "#]],
    );
    check(
        cluster().pods(own("a").on_node_selector(ZONE, "test-zone-3").replicas(3)),
        expect![[r#"
            claim default: a-0 a-1 a-2 | small-instance-type +4 | capacity-type=on-demand zone=test-zone-3
        "#]],
    );
}

#[test]
fn later_pods_join_the_zone_of_an_instance_on_its_way() {
    let own = |name: &str| pod(name).label("app", "web").cpu("3").affinity(ZONE, app("web"));
    let mut cluster = Cluster::new(cluster());
    cluster.pass([own("a").on_node_selector(ZONE, "test-zone-2")]);
    cluster.pass(own("b").replicas(2));
    expect!["test-zone-2=3"].assert_eq(&cluster.skew(ZONE));
}

#[test]
fn pods_of_one_kind_that_cannot_meet_may_each_be_the_first() {
    let own = |zone: &str| {
        pod(zone).label("app", "web").affinity(ZONE, app("web")).on_node_selector(ZONE, zone)
    };
    check(
        cluster().pod(own("test-zone-2")).pod(own("test-zone-3")),
        expect![[r#"
            claim default: test-zone-2 | small-instance-type +5 | zone=test-zone-2
            claim default: test-zone-3 | small-instance-type +5 | capacity-type=on-demand zone=test-zone-3
        "#]],
    );
}

#[test]
fn affinity_works_for_any_label() {
    check(
        cluster()
            .pod(named("web").cpu("3").on_node_selector(ARCH, "arm64"))
            .pod(pod("near").cpu("15").affinity(ARCH, app("web"))),
        expect![[r#"
            claim default: web | arm-instance-type | arch=arm64
            claim default: near | arm-instance-type | arch=arm64
        "#]],
    );
}

#[test]
fn all_terms_must_hold() {
    let two = pod("a").affinity(ZONE, app("x")).affinity(ZONE, app("y"));
    let on = |name: &str, zone, app| {
        node(name).zone(zone).cpu("0").pod(pod(&format!("{app}-{name}")).label("app", app))
    };
    check_each(
        [
            (
                "meet",
                cluster()
                    .node(on("1", "test-zone-1", "x"))
                    .node(on("2", "test-zone-2", "x"))
                    .node(on("3", "test-zone-2", "y"))
                    .pod(two.clone().cpu("1")),
            ),
            (
                "apart",
                cluster()
                    .node(on("1", "test-zone-1", "x"))
                    .node(on("3", "test-zone-2", "y"))
                    .pod(two.cpu("1")),
            ),
        ],
        expect![[r#"
            meet: claim default: a | small-instance-type +5 | zone=test-zone-2
            apart: unschedulable a: affinity.unmet
        "#]],
    );
}

#[test]
fn namespaces_are_the_pods_own_unless_others_are_given() {
    let there = || {
        cluster()
            .namespace("other", [("team", "x")])
            .node(node("n").zone("test-zone-2").pod(named("web").namespace("other")))
    };
    let term = |names: &[&str], by_label: Option<LabelSelector>| AffinityTerm {
        namespaces: names.iter().map(|&name| name.to_owned()).collect(),
        namespace_selector: by_label,
        ..affinity_term(ZONE, app("web"))
    };
    let by = |term| there().pod(pod("a").affinity_term(term));
    let team = |value: &str| LabelSelector::labels(&labels([("team", value)]));
    check_each(
        [
            ("none", by(term(&[], None))),
            ("listed", by(term(&["other"], None))),
            ("another", by(term(&["default"], None))),
            ("all", by(term(&[], Some(LabelSelector::default())))),
            ("by label", by(term(&[], Some(team("x"))))),
            ("by another label", by(term(&[], Some(team("y"))))),
            ("by another label, or listed", by(term(&["other"], Some(team("y"))))),
        ],
        expect![[r#"
            none: unschedulable a: affinity.unmet
            listed: node n: a
            another: unschedulable a: affinity.unmet
            all: node n: a
            by label: node n: a
            by another label: unschedulable a: affinity.unmet
            by another label, or listed: node n: a
        "#]],
    );
}

#[test]
fn a_term_that_selects_nobody_cannot_be_met() {
    let nobody = AffinityTerm { selector: None, ..affinity_term(ZONE, app("x")) };
    check(
        cluster().node(node("n").pod(named("x"))).pod(pod("a").affinity_term(nobody)),
        expect![[r#"
            unschedulable a: affinity.unmet
        "#]],
    );
}

#[test]
fn pods_that_end_are_no_company() {
    check(
        cluster()
            .node(node("n").zone("test-zone-1").pod(named("web").terminating()))
            .pod(pod("a").affinity(ZONE, app("web"))),
        expect![[r#"
            unschedulable a: affinity.unmet
        "#]],
    );
}

#[test]
fn affinity_and_spread_may_pull_in_different_directions() {
    // All must be in the zone of "db", so they cannot be spread over zones.
    check(
        cluster().node(node("n").zone("test-zone-1").cpu("0").pod(named("db"))).pods(
            pod("a")
                .cpu("1")
                .label("app", "web")
                .affinity(ZONE, app("db"))
                .spread(ZONE, 1, app("web"))
                .replicas(2),
        ),
        expect![[r#"
            claim default: a-0 | small-instance-type +5 | zone=test-zone-1
            unschedulable a-1: topology.spread
        "#]],
    );
}

#[test]
fn pods_that_wait_for_each_other_wait() {
    // Each must be near the other, and neither may be first.
    check(
        cluster()
            .pod(named("a").affinity(HOSTNAME, app("b")))
            .pod(named("b").affinity(HOSTNAME, app("a")))
            .pod(named("c")),
        expect![[r#"
            claim default: c | small-instance-type +5
            unschedulable a b: affinity.unmet
        "#]],
    );
}
