//! Topology spread: which domains there are.

use expect_test::expect;
use joiner_core::{
    label::ZONE,
    pod::{InclusionPolicy, SpreadConstraint},
    requirement::Operator::In,
    selector::LabelSelector,
    taint::Effect::NoSchedule,
    testing::{
        NodeBuilder, PodBuilder, fake_default_instance_types, node, pod, pool, selector,
        spread_constraint,
    },
};

use crate::support::{Cluster, check, cluster, cluster_of};

const RACK: &str = "rack";

fn web() -> LabelSelector {
    selector([("app", "web")])
}

/// Pods that are spread over racks.
fn pods(taints: InclusionPolicy, affinity: InclusionPolicy) -> PodBuilder {
    pod("a").cpu("1").label("app", "web").spread_constraint(SpreadConstraint {
        node_taints_policy: taints,
        node_affinity_policy: affinity,
        ..spread_constraint(RACK, 1, web())
    })
}

/// A node in a rack, too small for anything.
fn in_rack(rack: &str) -> NodeBuilder {
    node(rack).label(RACK, rack).cpu("100m")
}

#[test]
fn racks_of_nodes_that_exist_are_domains() {
    let mut cluster = Cluster::new(
        cluster_of(pool("default").label(RACK, "baz")).node(in_rack("foo")).node(in_rack("bar")),
    );
    cluster.pass(pods(InclusionPolicy::Ignore, InclusionPolicy::Honor).replicas(5));
    expect!["baz=1 waiting=4"].assert_eq(&cluster.skew(RACK));
}

#[test]
fn nodes_that_the_pod_does_not_tolerate_count_unless_it_says_otherwise() {
    for (policy, expected) in [
        (InclusionPolicy::Ignore, expect!["baz=1 waiting=4"]),
        (InclusionPolicy::Honor, expect!["baz=5"]),
    ] {
        let tainted = |rack| in_rack(rack).taint("own", "", NoSchedule);
        let mut cluster = Cluster::new(
            cluster_of(pool("default").label(RACK, "baz"))
                .node(tainted("foo"))
                .node(tainted("bar")),
        );
        cluster.pass(pods(policy, InclusionPolicy::Honor).replicas(5));
        expected.assert_eq(&cluster.skew(RACK));
    }
}

#[test]
fn pools_that_the_pod_does_not_tolerate_count_unless_it_says_otherwise() {
    for (policy, expected) in [
        (InclusionPolicy::Ignore, expect!["baz=1 waiting=4"]),
        (InclusionPolicy::Honor, expect!["baz=5"]),
    ] {
        let mut cluster = Cluster::new(cluster_of(pool("open").label(RACK, "baz")).pool(
            pool("own").taint("own", "", NoSchedule).require(RACK, In, ["foo", "bar"]),
            fake_default_instance_types(),
        ));
        cluster.pass(pods(policy, InclusionPolicy::Honor).replicas(5));
        expected.assert_eq(&cluster.skew(RACK));
    }
}

#[test]
fn pools_that_exclude_each_other_may_share_a_domain() {
    let own = |name: &str, racks: [&str; 2]| {
        pool(name).taint("own", name, NoSchedule).require(RACK, In, racks)
    };
    let for_pool = |name: &str, count| {
        pods(InclusionPolicy::Honor, InclusionPolicy::Honor)
            .toleration(joiner_core::taint::Toleration {
                key: "own".to_owned(),
                operator: joiner_core::taint::TolerationOperator::Equal,
                value: name.to_owned(),
                effect: None,
            })
            .label("of", name)
            .replicas(count)
            .into_iter()
            .map(move |mut pod| {
                pod.name = format!("{name}-{}", pod.name).into();
                pod.uid = pod.name.clone();
                pod
            })
            .collect::<Vec<_>>()
    };
    let mut cluster = Cluster::new(
        cluster_of(own("one", ["foo", "bar"]))
            .pool(own("two", ["foo", "baz"]), fake_default_instance_types()),
    );
    cluster.pass(for_pool("one", 2).into_iter().chain(for_pool("two", 4)));
    expect!["bar=1 baz=2 foo=3"].assert_eq(&cluster.skew(RACK));
}

#[test]
fn nodes_that_the_pod_does_not_select_count_only_if_it_says_so() {
    for (policy, expected) in [
        (InclusionPolicy::Ignore, expect!["baz=1 waiting=4"]),
        (InclusionPolicy::Honor, expect!["baz=5"]),
    ] {
        let other = |rack| in_rack(rack).label("for", "others");
        let mut cluster = Cluster::new(
            cluster_of(pool("default").label(RACK, "baz").label("for", "me"))
                .node(other("foo"))
                .node(other("bar")),
        );
        let own = pods(InclusionPolicy::Ignore, policy).on_node_selector("for", "me");
        cluster.pass(own.replicas(5));
        expected.assert_eq(&cluster.skew(RACK));
    }
}

#[test]
fn a_node_counts_if_any_alternative_selects_it() {
    let mut cluster = Cluster::new(
        cluster_of(pool("default").label(RACK, "baz").label("for", "me"))
            .node(in_rack("foo").label("for", "us"))
            .node(in_rack("bar").label("for", "others")),
    );
    let own = pods(InclusionPolicy::Ignore, InclusionPolicy::Honor)
        .require("for", In, ["me"])
        .or_require("for", In, ["us"]);
    cluster.pass(own.replicas(5));
    expect!["baz=1 waiting=4"].assert_eq(&cluster.skew(RACK));
}

#[test]
fn pods_on_nodes_that_do_not_count_do_not_count_either() {
    let with_pod = |rack: &str, label: &str| {
        in_rack(rack).label("for", label).pod(pod(&format!("on-{rack}")).label("app", "web"))
    };
    let mut cluster = Cluster::new(
        cluster_of(pool("default").require(RACK, In, ["bar", "foo"]).label("for", "me"))
            .node(with_pod("foo", "others")),
    );
    let own = pods(InclusionPolicy::Ignore, InclusionPolicy::Honor).on_node_selector("for", "me");
    expect![[r#"
        claim default: a-0 | small-instance-type +5 | for=me rack=bar
    "#]]
    .assert_eq(&cluster.pass(own.replicas(1)));
}

#[test]
fn an_instance_without_a_node_is_no_domain_yet() {
    // Upstream looks past claims that have no Node when it collects domains.
    check(
        cluster_of(pool("default").label(RACK, "baz"))
            .node(in_rack("foo").pool("default").in_flight())
            .pods(pods(InclusionPolicy::Ignore, InclusionPolicy::Honor).replicas(2)),
        expect![[r#"
            claim default: a-0 a-1 | default-instance-type +3 | rack=baz
        "#]],
    );
}

#[test]
fn a_node_without_the_label_takes_none_of_the_pods() {
    check(
        cluster().node(node("n").without_label(ZONE)).pod(pod("a").label("app", "web").spread(
            ZONE,
            1,
            web(),
        )),
        expect![[r#"
            claim default: a | small-instance-type +5 | zone=test-zone-1
        "#]],
    );
}

#[test]
fn pods_that_stay_on_a_node_that_leaves_still_count() {
    // The node is still in zone 3, with a pod that cannot be moved. Pools reach zones 1 and 2.
    let mut cluster = Cluster::new(
        cluster_of(pool("default").require(ZONE, In, ["test-zone-1", "test-zone-2"]))
            .node(node("n").zone("test-zone-3").leaving().pod(pod("stays").label("app", "web"))),
    );
    let own = pod("a").cpu("1100m").label("app", "web").spread(ZONE, 1, web());
    cluster.pass(own.replicas(6));
    expect!["test-zone-1=2 test-zone-2=2 test-zone-3=1 waiting=2"].assert_eq(&cluster.skew(ZONE));
}

#[test]
fn types_that_cannot_be_had_now_keep_their_zone_a_domain() {
    // There is nothing left in zone c today, so one pod in each of a and b, and no more.
    let mut t = joiner_core::testing::instance_type("t").cpu("2").build();
    for offering in &mut t.offerings {
        let zone = offering.requirements.get(ZONE).and_then(|own| own.single());
        offering.available = zone != Some("c");
    }
    let mut cluster = Cluster::new(joiner_core::testing::snapshot().pool(pool("default"), [t]));
    let own = pod("a").cpu("1100m").label("app", "web").spread(ZONE, 1, web());
    cluster.pass(own.replicas(4));
    expect!["a=1 b=1 waiting=2"].assert_eq(&cluster.skew(ZONE));
}
