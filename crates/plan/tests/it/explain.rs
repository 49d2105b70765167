//! What would happen to one pod, and what each pool would say to it.

use expect_test::{Expect, expect};
use joiner_core::{
    label::ZONE,
    requirement::Operator::In,
    settings::PlanSettings,
    taint::Effect::NoSchedule,
    testing::{SnapshotBuilder, instance_type, node, pod, pool, snapshot},
};
use joiner_plan::explain::{self, Fate};

use crate::support::{cluster, cluster_of};

fn check(snapshot: SnapshotBuilder, key: &str, expected: Expect) {
    let explained = explain::pod(&snapshot.build(), &PlanSettings::default(), key);
    let Some(explained) = explained else {
        expected.assert_eq("no such pod\n");
        return;
    };
    let mut told = match &explained.fate {
        Fate::Existing { node, claim } => format!("on node {node:?}, claim {claim:?}\n"),
        Fate::Claim(position) => format!("on claim {position}\n"),
        Fate::Unschedulable(unplaced) => format!("unschedulable: {}\n", unplaced.message),
        Fate::Deferred(unplaced) => format!("deferred: {}\n", unplaced.message),
    };
    for verdict in &explained.pools {
        let refusal = verdict.refusal.as_ref().map_or("takes it", |reason| reason.id.as_str());
        told += &format!("{}: {refusal}\n", verdict.pool);
        assert_eq!(verdict.refusal.is_some(), verdict.remedy.is_some());
        told += &verdict.remedy.iter().map(|remedy| format!("  {remedy}\n")).collect::<String>();
    }
    expected.assert_eq(&told);
}

#[test]
fn a_pod_on_a_node() {
    check(
        cluster().node(node("n").pool("default")).pod(pod("a")),
        "default/a",
        expect![[r#"
            on node "n", claim "n"
            default: takes it
        "#]],
    );
}

#[test]
fn a_pod_on_a_machine_on_its_way() {
    check(
        cluster().node(node("n").pool("default").in_flight()).pod(pod("a")),
        "default/a",
        expect![[r#"
            on node "", claim "n"
            default: takes it
        "#]],
    );
}

#[test]
fn a_pod_on_a_claim() {
    check(
        snapshot()
            .pool(pool("default"), [instance_type("t").cpu("4")])
            .pod(pod("large").cpu("4"))
            .pod(pod("a").cpu("1")),
        "default/a",
        expect![[r#"
            on claim 1
            default: takes it
        "#]],
    );
}

#[test]
fn a_pod_that_no_pool_takes() {
    check(
        snapshot()
            .pool(pool("tainted").weight(2).taint("own", "", NoSchedule), [instance_type("t")])
            .pool(pool("small").weight(1), [instance_type("t").cpu("2")])
            .pool(pool("elsewhere").require(ZONE, In, ["b"]), [instance_type("t")])
            .pod(pod("a").cpu("3").on_node_selector(ZONE, "a")),
        "default/a",
        expect![[r#"
            unschedulable: no instance type of pool "small" has enough resources: the largest leaves cpu 2 besides daemons, the pod needs 3, 1 more
            tainted: pool.taint.untolerated
              add a toleration for own:NoSchedule to the pod, or use a pool without it
            small: shape.tooSmall
              offer a type with at least 1 more cpu, or request less
            elsewhere: pool.requirement.conflict
              allow topology.kubernetes.io/zone In [a] in the NodePool or its types, or change what the pod requires
        "#]],
    );
}

#[test]
fn a_pod_that_could_have_gone_elsewhere_too() {
    check(
        cluster_of(pool("heavy").weight(1))
            .pool(pool("light"), [instance_type("t")])
            .pool(pool("tainted").taint("own", "", NoSchedule), [instance_type("t")])
            .pod(pod("a")),
        "default/a",
        expect![[r#"
            on claim 0
            heavy: takes it
            tainted: pool.taint.untolerated
              add a toleration for own:NoSchedule to the pod, or use a pool without it
            light: takes it
        "#]],
    );
}

#[test]
fn a_pod_that_waits() {
    check(
        cluster().pod(pod("a").waits_for_volume("claim default/data is lost: restore it")),
        "default/a",
        expect![[r#"
            deferred: claim default/data is lost: restore it
        "#]],
    );
}

#[test]
fn a_pod_that_is_not_there() {
    check(
        cluster().pod(pod("a")),
        "default/b",
        expect![[r#"
            no such pod
        "#]],
    );
}

#[test]
fn verdicts_are_those_of_the_end_of_the_pass() {
    // Everything that the limit allows is used up by then.
    check(
        snapshot()
            .pool(pool("default").limit("cpu", "4"), [instance_type("t").cpu("4")])
            .pod(pod("a").cpu("4"))
            .pod(pod("b").cpu("4")),
        "default/b",
        expect![[r#"
            unschedulable: all available instance types exceed limits for pool "default": 0 is left of its limit of cpu 4
            default: pool.limit.reached
              raise spec.limits.cpu of the NodePool
        "#]],
    );
}
