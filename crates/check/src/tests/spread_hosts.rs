//! Spread over hosts, counted from the host with fewest pods.

use joiner_core::{
    label,
    pod::{InclusionPolicy, SpreadConstraint},
    selector::LabelSelector,
    taint::Effect,
    testing::*,
};

use super::{
    rules::{cluster, webs},
    scene::Scene,
};
use crate::Rule;

fn like_web() -> LabelSelector {
    selector([("app", "web")])
}

/// Spread over hosts that differ by one at most.
fn over_hosts() -> SpreadConstraint {
    spread_constraint(label::HOSTNAME, 1, like_web())
}

fn web() -> PodBuilder {
    pod("web").cpu("100m").label("app", "web")
}

/// A host with so many of the pods.
fn host(name: &str, pods: usize) -> NodeBuilder {
    let on = |at| web().label("on", &format!("{name}-{at}")).bound();
    (0..pods).fold(node(name), |host, at| host.pod(on(at)))
}

/// Two hosts with a pod each.
fn two_hosts() -> SnapshotBuilder {
    cluster().node(host("n1", 1)).node(host("n2", 1))
}

/// Two more pods, both on one instance.
fn two_more(snapshot: SnapshotBuilder, constraint: SpreadConstraint) -> Scene {
    let scene = webs(snapshot, web().spread_constraint(constraint), 2);
    scene.claim("general", ["web-0", "web-1"])
}

#[track_caller]
fn assert_uneven(scene: &Scene) {
    assert_eq!(scene.broken(), [Rule::Spread].into());
}

#[test]
fn hosts_may_have_two_once_each_has_one() {
    assert_uneven(&two_more(cluster(), over_hosts()));
    two_more(two_hosts(), over_hosts()).assert_clean();
    let three = webs(two_hosts(), web().spread_constraint(over_hosts()), 3);
    assert_uneven(&three.claim("general", ["web-0", "web-1", "web-2"]));
}

#[test]
fn hosts_have_no_more_than_what_runs_allows() {
    // In the end every host has two or more, but only one ran.
    let four = || webs(two_hosts(), web().spread_constraint(over_hosts()), 4);
    let once = four().node("n1", ["web-0"]).node("n2", ["web-1"]);
    once.claim("general", ["web-2", "web-3"]).assert_clean();
    assert_uneven(&four().node("n1", ["web-0", "web-1"]).node("n2", ["web-2", "web-3"]));
}

#[test]
fn a_host_without_any_is_the_measure() {
    let cordoned = host("n3", 0).taint("node.kubernetes.io/unschedulable", "", Effect::NoSchedule);
    let honor = SpreadConstraint { node_taints_policy: InclusionPolicy::Honor, ..over_hosts() };
    assert_uneven(&two_more(two_hosts().node(host("n3", 0)), over_hosts()));
    assert_uneven(&two_more(two_hosts().node(cordoned.clone()), over_hosts()));
    two_more(two_hosts().node(cordoned), honor).assert_clean();
    two_more(two_hosts().node(host("n3", 0).leaving()), over_hosts()).assert_clean();
}

#[test]
fn a_host_that_the_pods_do_not_accept_is_no_measure_unless_they_say_so() {
    let scene = |policy| {
        let constraint = SpreadConstraint { node_affinity_policy: policy, ..over_hosts() };
        let picky = web().on_node_selector(label::ZONE, "a").spread_constraint(constraint);
        let hosts = cluster().node(host("n1", 1).zone("a")).node(host("n2", 0).zone("b"));
        webs(hosts, picky, 2).claim("general", ["web-0", "web-1"])
    };
    scene(InclusionPolicy::Honor).assert_clean();
    assert_uneven(&scene(InclusionPolicy::Ignore));
}

#[test]
fn an_instance_for_others_is_the_measure_too() {
    let scene = two_more(two_hosts().pod(pod("other").cpu("100m")), over_hosts());
    assert_uneven(&scene.claim("general", ["other"]));
}

#[test]
fn with_fewer_hosts_than_are_wanted_at_least_none_is_the_measure() {
    let at_least = |min| SpreadConstraint { min_domains: Some(min), ..over_hosts() };
    two_more(two_hosts(), at_least(3)).assert_clean();
    assert_uneven(&two_more(two_hosts(), at_least(4)));
}
