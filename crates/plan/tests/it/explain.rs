//! What would happen to one pod, and what each pool would say to it.

use expect_test::{Expect, expect};
use joiner_core::{
    label::{ARCH, ZONE},
    pod::SpreadConstraint,
    requirement::Operator::In,
    settings::PlanSettings,
    taint::Effect::NoSchedule,
    testing::{
        SnapshotBuilder, instance_type, node, pod, pool, selector, snapshot, spread_constraint,
    },
};
use joiner_plan::explain::{self, Fate};

use crate::support::{cluster, cluster_of};

fn check(snapshot: SnapshotBuilder, key: &str, expected: Expect) {
    let explained = explain::pod(&snapshot.build(), &PlanSettings::default(), key);
    let Some(explained) = explained else {
        expected.assert_eq("no such pod\n");
        return;
    };
    let mut told = vec![match &explained.fate {
        Fate::Existing { node, claim } => format!("on node {node:?}, claim {claim:?}"),
        Fate::Claim(position) => format!("on claim {position}"),
        Fate::Unschedulable(unplaced) => format!("unschedulable: {}", unplaced.message),
        Fate::Deferred(unplaced) => format!("deferred: {}", unplaced.message),
    }];
    for verdict in &explained.pools {
        let accepts = if verdict.chosen { "takes it, and is chosen" } else { "takes it" };
        let refusal = verdict.refusal.as_ref().map_or(accepts, |reason| reason.id.as_str());
        told.push(format!("{}: {refusal}", verdict.pool));
        assert_eq!(verdict.refusal.is_some(), verdict.remedy.is_some());
        told.extend(verdict.remedy.iter().map(|remedy| format!("  {remedy}")));
    }
    expected.assert_eq(&(told.join("\n") + "\n"));
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
fn a_pod_on_an_instance_on_its_way() {
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
            default: takes it, and is chosen
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
            small: shape.tooSmall
              offer a type with at least 1 more cpu, or request less
            elsewhere: pool.requirement.conflict
              allow topology.kubernetes.io/zone In [a] in the NodePool or its types, or change what the pod requires
            tainted: pool.taint.untolerated
              add a toleration for own:NoSchedule to the pod, or use a pool without it
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
            heavy: takes it, and is chosen
            light: takes it
            tainted: pool.taint.untolerated
              add a toleration for own:NoSchedule to the pod, or use a pool without it
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

#[test]
fn the_chosen_pool_takes_the_pod_that_uses_up_its_limit() {
    let limited = || {
        snapshot()
            .pool(pool("first").weight(1).limit("cpu", "4"), [instance_type("t").cpu("4")])
            .pool(pool("second").limit("cpu", "4"), [instance_type("t").cpu("4")])
            .pod(pod("a").cpu("4"))
            .pod(pod("b").cpu("4"))
    };
    check(
        limited(),
        "default/a",
        expect![[r#"
            on claim 0
            first: takes it, and is chosen
            second: pool.limit.reached
              raise spec.limits.cpu of the NodePool
        "#]],
    );
    check(
        limited(),
        "default/b",
        expect![[r#"
            on claim 1
            second: takes it, and is chosen
            first: pool.limit.reached
              raise spec.limits.cpu of the NodePool
        "#]],
    );
}

#[test]
fn a_pool_whose_requirements_leave_nothing_names_the_requirement_and_what_is_on_offer() {
    check(
        snapshot()
            .pool(
                pool("typo").require(ARCH, In, ["arm46"]),
                [instance_type("x"), instance_type("y").arch("arm64")],
            )
            .pod(pod("a")),
        "default/a",
        expect![[r#"
            unschedulable: nodepool requirements filtered out all available instance types: none of the 2 types of pool "typo" has kubernetes.io/arch In [arm46]; on offer: amd64, arm64
            typo: pool.noTypes
              write a value of kubernetes.io/arch that is on offer into the NodePool's requirements, or offer a type with In [arm46]
        "#]],
    );
}

#[test]
fn a_misspelt_label_is_told_what_it_is_taken_for() {
    check(
        snapshot()
            .pool(pool("db").label("example.com/tier", "db"), [instance_type("t")])
            .pod(pod("a").on_node_selector("example.com/teir", "db")),
        "default/a",
        expect![[r#"
            unschedulable: incompatible requirements with pool "db": label "example.com/teir" does not have known values (typo of "example.com/tier"?)
            db: pool.label.unknown
              write example.com/tier in the pod's selector if that is meant, or set the label example.com/teir in the NodePool's template
        "#]],
    );
}

#[test]
fn verdicts_are_those_of_the_plan_and_not_of_another_that_was_weighed() {
    // Where choices among equals are made in several ways and the best plan is taken, the verdicts
    // must come from the same way as the plan.
    let web = || selector([("app", "web")]);
    let strict = || SpreadConstraint { min_domains: Some(3), ..spread_constraint(ZONE, 1, web()) };
    let types = [
        instance_type("arm").arch("arm64").cpu("8").price(3.0).zones(["c"]),
        instance_type("held").mem("8Gi").price(2.0).reserved("a", "r", 1, 0.1),
    ];
    check(
        snapshot()
            .pool(pool("default"), types)
            .pods(pod("spread").mem("3Gi").spread_constraint(strict()).replicas(2))
            .pod(pod("arm").cpu("100m").on_node_selector(ARCH, "arm64"))
            .pods(pod("web").mem("3Gi").label("app", "web").replicas(3))
            .pod(pod("away").anti_affinity(ZONE, web())),
        "default/away",
        expect![[r#"
            unschedulable: unsatisfiable topology constraint: every domain of pool "default" may have a pod with app=web that this pod must not share its topology.kubernetes.io/zone with; pods there now: a=2 b=2 c=3
            default: antiAffinity.blocked
              add domains, run fewer of these pods, or make the anti-affinity a preference; pods whose domain is still open block all of them until their instance exists
        "#]],
    );
}
