//! Room for daemons.

use expect_test::expect;
use joiner_core::{
    label::{INITIALIZED, REGISTERED, ZONE},
    requirement::Operator::{Exists, In},
    resources::Resources,
    settings::PlanSettings,
    taint::Effect::{NoSchedule, PreferNoSchedule},
    testing::{PodBuilder, SnapshotBuilder, instance_type, node, pod, pool, snapshot},
};

use crate::support::{check, check_each, cluster, cluster_of, plan};

/// What the only claim of a plan requests.
fn requests(snapshot: SnapshotBuilder) -> String {
    let plan = plan(&snapshot.build(), &PlanSettings::default()).plan;
    let requests: Vec<&Resources> = plan.claims.iter().map(|claim| &claim.requests).collect();
    assert_eq!(requests.len(), 1, "one claim");
    requests[0].to_string()
}

/// A daemon that makes a difference: with it, a pod of 1 CPU needs the type with 4 CPUs.
fn agent() -> PodBuilder {
    pod("agent").cpu("1").mem("1Gi")
}

#[test]
fn an_instance_has_room_for_its_daemons_too() {
    let small = || pod("a").cpu("1").mem("1Gi");
    check_each(
        [
            ("none", cluster().pod(small())),
            ("one", cluster().daemon(agent()).pod(small())),
            ("a larger one", cluster().daemon(pod("agent").cpu("2").mem("2Gi")).pod(small())),
            ("two", cluster().daemon(agent()).daemon(pod("log").cpu("2").mem("2Gi")).pod(small())),
            ("too large", cluster().daemon(pod("agent").cpu("10000").mem("10000Gi")).pod(small())),
        ],
        expect![[r#"
            none: claim default: a | small-instance-type +5
            one: claim default: a | default-instance-type +3
            a larger one: claim default: a | default-instance-type +3
            two: claim default: a | arm-instance-type
            too large: unschedulable a: shape.tooSmall
        "#]],
    );
}

#[test]
fn daemons_that_will_not_run_there_do_not_count() {
    let tainted = || cluster_of(pool("default").taint("own", "", NoSchedule));
    let own = || pod("a").cpu("1").mem("1Gi").tolerate("own");
    check_each(
        [
            ("does not tolerate", tainted().daemon(agent()).pod(own())),
            ("tolerates", tainted().daemon(agent().tolerate("own")).pod(own())),
            ("unknown label", cluster().daemon(agent().on_node_selector("no", "such")).pod(own())),
            ("no such zone", cluster().daemon(agent().on_node_selector(ZONE, "no")).pod(own())),
            ("uses DRA", cluster().daemon(agent().dra()).pod(own())),
        ],
        expect![[r#"
            does not tolerate: claim default: a | small-instance-type +5
            tolerates: claim default: a | default-instance-type +3
            unknown label: claim default: a | small-instance-type +5
            no such zone: claim default: a | small-instance-type +5
            uses DRA: claim default: a | small-instance-type +5
        "#]],
    );
}

#[test]
fn daemons_never_mind_a_pool_that_prefers_not_to_be_used() {
    check(
        cluster_of(pool("default").taint("shy", "", PreferNoSchedule))
            .daemon(agent())
            .pod(pod("a").cpu("1").mem("1Gi")),
        expect![[r#"
            claim default: a | default-instance-type +3
        "#]],
    );
}

#[test]
fn startup_taints_do_not_keep_daemons_away() {
    check(
        cluster_of(pool("default").startup_taint("starting", "", NoSchedule))
            .daemon(agent())
            .pod(pod("a").cpu("1").mem("1Gi")),
        expect![[r#"
            claim default: a | default-instance-type +3
        "#]],
    );
}

#[test]
fn a_daemon_counts_only_on_types_it_runs_on() {
    check(
        cluster()
            .daemon(pod("on-small").cpu("1").on_node_selector("size", "small"))
            .daemon(pod("on-large").cpu("10").on_node_selector("size", "large"))
            .pod(pod("a").cpu("1")),
        expect![[r#"
            claim default: a | default-instance-type +3
        "#]],
    );
}

#[test]
fn one_alternative_of_a_daemon_is_enough() {
    let terms = agent().require("no", In, ["such"]).or_require(ZONE, In, ["test-zone-1"]);
    check(
        cluster().daemon(terms).pod(pod("a").cpu("1").mem("1Gi")),
        expect![[r#"
            claim default: a | default-instance-type +3
        "#]],
    );
}

#[test]
fn what_a_daemon_prefers_and_how_it_is_spread_does_not_matter() {
    let picky = agent()
        .prefer(1, ZONE, In, ["invalid"])
        .affinity(ZONE, joiner_core::testing::selector([("no", "such")]))
        .spread("unknown", 1, joiner_core::testing::selector([("no", "such")]));
    check(
        cluster().daemon(picky).pod(pod("a").cpu("1").mem("1Gi")),
        expect![[r#"
            claim default: a | default-instance-type +3
        "#]],
    );
}

#[test]
fn daemons_that_wait_for_a_registered_node_count_and_leave_no_trace() {
    let waiting = agent().require(REGISTERED, Exists, []).require(INITIALIZED, In, ["true"]);
    check(
        cluster().daemon(waiting).pod(pod("a").cpu("1").mem("1Gi")),
        expect![[r#"
            claim default: a | default-instance-type +3
        "#]],
    );
}

#[test]
fn a_claim_requests_what_its_pods_and_daemons_do() {
    expect!["cpu 3, pods 3"].assert_eq(&requests(
        cluster().daemon(pod("agent").cpu("1")).pods(pod("a").cpu("1").replicas(2)),
    ));
}

#[test]
fn a_claim_requests_only_what_daemons_need_on_every_type_that_is_left() {
    // Both types are left; the smaller need of the two counts.
    let types = || {
        let sized = |name, cpu| instance_type(name).cpu(cpu).require("size", In, [name]).build();
        snapshot().pool(pool("default"), [sized("small", "4"), sized("large", "8")])
    };
    let on = |name, size, cpu| pod(name).cpu(cpu).on_node_selector("size", size);
    expect!["cpu 2, pods 2"].assert_eq(&requests(
        types().daemon(on("s", "small", "1")).daemon(on("l", "large", "2")).pod(pod("a").cpu("1")),
    ));
    // Only the large one is left.
    expect!["cpu 7, pods 2"].assert_eq(&requests(
        types().daemon(on("s", "small", "1")).daemon(on("l", "large", "2")).pod(pod("a").cpu("5")),
    ));
}

#[test]
fn a_node_keeps_room_for_daemons_that_are_still_to_come() {
    let busy = || cluster().daemon(agent()).pod(pod("a").cpu("3500m"));
    check_each(
        [
            ("to come", busy().node(node("n"))),
            ("there", busy().node(node("n").pod(agent().of_daemon("default/agent")))),
            ("room for both", busy().node(node("n").cpu("5"))),
            (
                "there, and room for both",
                busy().node(node("n").cpu("4500m").pod(agent().of_daemon("default/agent"))),
            ),
            // The pod that is there asks for less than a new one would.
            (
                "there, but smaller",
                busy().node(
                    node("n").cpu("4400m").pod(pod("old").cpu("500m").of_daemon("default/agent")),
                ),
            ),
            (
                "tainted",
                busy()
                    .node(node("n").taint("own", "", NoSchedule))
                    .pod(pod("b").cpu("3500m").tolerate("own")),
            ),
        ],
        expect![[r#"
            to come: claim default: a | arm-instance-type
            there: claim default: a | arm-instance-type
            room for both: node n: a
            there, and room for both: node n: a
            there, but smaller: claim default: a | arm-instance-type
            tainted: claim default: a | arm-instance-type
            tainted: node n: b
        "#]],
    );
}

#[test]
fn a_daemon_that_is_not_expected_uses_room_and_frees_none() {
    // One CPU of 16 is taken by the pod of a daemon set that is gone.
    check(
        cluster()
            .node(node("n").cpu("16").pod(pod("gone").cpu("1").of_daemon("default/gone")))
            .pod(pod("a").cpu("15500m")),
        expect![[r#"
            claim default: a | arm-instance-type
        "#]],
    );
}
