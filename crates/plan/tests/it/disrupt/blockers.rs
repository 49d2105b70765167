//! What keeps an instance, rule by rule.

use expect_test::{Expect, expect};
use joiner_core::{
    disruption::{KeptBy, Paused},
    instance_type::InstanceType,
    label::{CAPACITY_TYPE, INSTANCE_TYPE, NODE_POOL, ZONE},
    testing::{FleetBuilder, NodeBuilder, minutes, node, now, pod, pool, snapshot},
};

use super::{as_it_is, check, check_reasons, cluster, instance, instance_of, sizes};

/// An instance `n` with a pod `a` that would fit on another instance, which is not ours.
fn check_n(
    change_node: impl FnOnce(NodeBuilder) -> NodeBuilder,
    change: impl FnOnce(FleetBuilder) -> FleetBuilder,
    expected: Expect,
) {
    let n = change_node(instance("n", "small").pod(pod("a").cpu("1")));
    check(cluster().node(n).node(node("other")), change, expected);
}

/// What can keep a pod, and what is then said of its instance.
fn protections() -> [(KeptBy, Expect); 2] {
    [
        (
            KeptBy::DoNotDisrupt(None),
            expect![[r#"
                n stays: pod.doNotDisrupt
            "#]],
        ),
        (
            KeptBy::Budget("default/b".to_owned()),
            expect![[r#"
                n stays: pod.pdb
            "#]],
        ),
    ]
}

fn same(node: NodeBuilder) -> NodeBuilder {
    node
}

#[test]
fn without_anything_that_keeps_it_an_instance_goes() {
    check_n(
        same,
        as_it_is,
        expect![[r#"
        singleNodeConsolidation: n -> other: a; saves 1.00
    "#]],
    );
}

/// D-01
#[test]
fn a_pod_that_must_not_be_disturbed_keeps_its_instance() {
    check_n(
        same,
        |fleet| fleet.kept("a", KeptBy::DoNotDisrupt(None)),
        expect![[r#"
        n stays: pod.doNotDisrupt
    "#]],
    );
}

/// D-03, D-15
#[test]
fn a_daemon_that_must_not_be_disturbed_keeps_its_instance_too() {
    let with_daemon = |n: NodeBuilder| n.pod(pod("d").of_daemon("default/d"));
    check_n(
        with_daemon,
        |fleet| fleet.kept("d", KeptBy::DoNotDisrupt(None)),
        expect![[r#"
        n stays: pod.doNotDisrupt
    "#]],
    );
    let by_budget = KeptBy::Budget("default/d".to_owned());
    check_n(
        with_daemon,
        |fleet| fleet.kept("d", by_budget),
        expect![[r#"
        n stays: pod.pdb
    "#]],
    );
}

/// D-02: nothing of it has to start again elsewhere.
#[test]
fn a_mirror_pod_that_must_not_be_disturbed_keeps_its_instance_too() {
    let mirror = |fleet: FleetBuilder| {
        fleet.pod("m", |facts| {
            facts.reschedulable = false;
            facts.movable = false;
        })
    };
    let with_mirror = |n: NodeBuilder| n.pod(pod("m").bound());
    check_n(
        with_mirror,
        mirror,
        expect![[r#"
        singleNodeConsolidation: n -> other: a; saves 1.00
    "#]],
    );
    check_n(
        with_mirror,
        |fleet| mirror(fleet).kept("m", KeptBy::DoNotDisrupt(None)),
        expect![[r#"
            n stays: pod.doNotDisrupt
        "#]],
    );
}

/// D-04, D-05
#[test]
fn a_drifted_instance_with_a_grace_period_goes_although_its_pods_are_protected() {
    for (kept_by, _) in protections() {
        check_n(
            same,
            |fleet| {
                fleet
                    .kept("a", kept_by)
                    .drifted("n", 5)
                    .claim("n", |claim| claim.has_grace_period = true)
            },
            expect![[r#"
                drift: n; saves 1.00
            "#]],
        );
    }
}

/// D-06, D-07, O-55, O-56
#[test]
fn a_grace_period_does_not_let_protected_pods_be_moved_to_save_money() {
    for (kept_by, expected) in protections() {
        check_n(
            same,
            |fleet| fleet.kept("a", kept_by).claim("n", |claim| claim.has_grace_period = true),
            expected,
        );
    }
}

/// D-08, D-09
#[test]
fn a_drifted_instance_without_a_grace_period_is_kept_by_its_pods() {
    for (kept_by, expected) in protections() {
        check_n(same, |fleet| fleet.kept("a", kept_by).drifted("n", 5), expected);
    }
}

/// D-12, O-44, O-53
#[test]
fn a_node_that_must_not_be_disturbed_stays() {
    check_n(
        same,
        |fleet| fleet.instance("n", |n| n.do_not_disrupt = true),
        expect![[r#"
        n stays: node.doNotDisrupt
    "#]],
    );
}

/// D-13, D-14
#[test]
fn disruption_budgets_keep_pods() {
    check_reasons(
        cluster()
            .node(instance("one", "small").pod(pod("a").cpu("1")))
            .node(instance("two", "small").pod(pod("b").cpu("1")))
            .node(instance("until", "small").pod(pod("c").cpu("1"))),
        |fleet| {
            let both = ["default/x", "default/y"].map(str::to_owned).to_vec();
            fleet
                .kept("a", KeptBy::Budget("default/x".to_owned()))
                .kept("b", KeptBy::Budgets(both))
                .kept("c", KeptBy::DoNotDisrupt(Some(now() + minutes(30))))
        },
        expect![[r#"
            one: pod.pdb: PodDisruptionBudget default/x allows no eviction of pod default/a now
            two: pod.pdb: pod default/b has several PodDisruptionBudgets (default/x, default/y), and Kubernetes evicts no such pod
            until: pod.doNotDisrupt: pod default/c has the annotation karpenter.sh/do-not-disrupt, which ends at 2026-03-04T12:30:00Z
        "#]],
    );
}

/// Karpenter 1.15 may have begun a reboot before this controller took over.
#[test]
fn an_instance_that_is_rebooted_stays() {
    check_n(
        same,
        |fleet| fleet.claim("n", |claim| claim.rebooting = true),
        expect![[r#"
        n stays: node.rebooting
    "#]],
    );
}

/// D-20, D-21, D-22, D-23, D-24, D-25, D-32, D-35
#[test]
fn instances_that_come_or_go_are_left_alone() {
    check(
        cluster()
            .node(node("not-ours"))
            .node(instance("no-node", "small").in_flight())
            .node(instance("promised", "small"))
            .node(instance("leaving", "small").leaving())
            .node(instance("queued", "small"))
            .node(instance("young", "small").uninitialized())
            .node(instance("shared", "small"))
            .node(instance("terminating", "small"))
            .node(instance("too-old", "small")),
        |fleet| {
            fleet
                .instance("shared", |instance| instance.shared = true)
                .claim("too-old", |claim| claim.expires = Some(now()))
                .instance("promised", |instance| instance.nominated = true)
                .instance("queued", |instance| instance.queued = true)
                .claim("terminating", |claim| claim.instance_terminating = true)
        },
        expect![[r#"
            leaving stays: node.leaving
            no-node stays: node.missing
            promised stays: node.nominated
            queued stays: node.queued
            shared stays: node.shared
            terminating stays: node.leaving
            too-old stays: node.expired
            young stays: node.uninitialized
        "#]],
    );
}

/// D-26, D-27, defect 20, and pools whose provider gives no types.
#[test]
fn instances_whose_pool_is_not_known_are_left_alone_with_a_word() {
    let mut lost = instance("lost", "small").without_label(NODE_POOL).build();
    lost.pool = None;
    let mut cluster = cluster()
        .pool(pool("typeless"), [] as [InstanceType; 0])
        .node(instance_of("gone", "orphan", "small"))
        .node(instance_of("typeless", "blind", "small"))
        .build();
    cluster.nodes.push(lost);
    let fleet = joiner_core::testing::fleet(&cluster).build();
    let decided = super::decide(&super::Settings::default(), &cluster, &fleet);
    expect![[r#"
        blind stays: pool.noTypes
        lost stays: node.noPool
        orphan stays: pool.notFound
    "#]]
    .assert_eq(&super::tell(&decided));
    let orphan = decided.staying.iter().find(|staying| staying.node == "orphan").unwrap();
    expect![[r#"orphan belongs to NodePool "gone", which does not exist"#]]
        .assert_eq(&orphan.reasons[0].message);
    expect!["create NodePool gone again, or delete the NodeClaim (kubectl delete nodeclaim)"]
        .assert_eq(&joiner_plan::explain::remedy(&orphan.reasons[0]));
}

/// D-28 to D-31, O-04, O-05, O-06
#[test]
fn an_instance_of_unknown_price_is_not_consolidated_but_goes_when_empty_or_drifted() {
    let strange = |name: &str| {
        [
            instance(&format!("{name}-type"), "small").without_label(INSTANCE_TYPE),
            instance(&format!("{name}-unknown"), "small").label(INSTANCE_TYPE, "gone"),
            instance(&format!("{name}-capacity"), "small").without_label(CAPACITY_TYPE),
            instance(&format!("{name}-zone"), "small").without_label(ZONE),
        ]
    };
    let mut cluster = cluster();
    for each in strange("empty") {
        cluster = cluster.node(each);
    }
    for (i, each) in strange("used").into_iter().enumerate() {
        cluster = cluster.node(each.pod(pod(&format!("p{i}")).cpu("1")));
    }
    for (i, each) in strange("drifted").into_iter().enumerate() {
        cluster = cluster.node(each.pod(pod(&format!("q{i}")).cpu("1")));
    }
    check(
        cluster.node(node("other").cpu("16").mem("32Gi")),
        |fleet| {
            ["type", "unknown", "capacity", "zone"]
                .iter()
                .fold(fleet, |fleet, what| fleet.drifted(&format!("drifted-{what}"), 5))
        },
        expect![[r#"
            emptiness: empty-capacity empty-type empty-unknown empty-zone; saves 0.00
            drift: drifted-capacity -> other: q2; saves 0.00
            drift: drifted-type -> other: q0; saves 0.00
            drift: drifted-unknown -> other: q1; saves 0.00
            drift: drifted-zone -> other: q3; saves 0.00
            used-capacity stays: node.labelMissing
            used-type stays: node.labelMissing
            used-unknown stays: node.typeUnknown
            used-zone stays: node.labelMissing
        "#]],
    );
}

/// O-60: a pod without an owner does not keep its instance, but everybody is told.
#[test]
fn a_pod_that_nobody_starts_again_is_named() {
    let bare = |fleet: FleetBuilder| fleet.pod("a", |facts| facts.bare = true);
    let n = || instance("n", "small").pod(pod("a").cpu("1"));
    check_reasons(
        cluster().node(n()).node(node("other")),
        bare,
        expect![[r#"
        node.underutilized: n: its pod fits on other (1); nobody starts pod default/a again, since it has no owner; 1.0000 per hour are saved
    "#]],
    );
    check_reasons(
        cluster().node(n()),
        bare,
        expect![[r#"
        n: move.equalShape: its pods need an instance like n: the best replacement is another small (now on-demand in zone a)
        n: pod.bare: pod default/a has no owner: if its instance went, nobody would start it again
    "#]],
    );
}

#[test]
fn a_pause_stops_everything_and_says_who_wants_it() {
    let cluster = || {
        snapshot()
            .pool(pool("default"), sizes())
            .pool(pool("busy"), sizes())
            .node(instance("empty", "small"))
            .node(instance_of("busy", "drifted", "small").pod(pod("a").cpu("1")))
            .node(instance_of("busy", "used", "small").pod(pod("b").cpu("1")))
    };
    check_reasons(
        cluster(),
        |fleet| {
            fleet.drifted("drifted", 5).pool("busy", |rules| {
                let (by, on) = ("ana, until the sale is over", "NodePool busy");
                rules.paused = Some(Paused { by: by.to_owned(), on: on.to_owned() });
            })
        },
        expect![[r#"
            node.empty: empty holds nothing that would have to move; 1.0000 per hour are saved
            drifted: disruption.paused: disruption is paused by ana, until the sale is over; remove the annotation joiner.sh/pause-disruption from NodePool busy to resume
            used: disruption.paused: disruption is paused by ana, until the sale is over; remove the annotation joiner.sh/pause-disruption from NodePool busy to resume
        "#]],
    );
    check_reasons(
        cluster(),
        |fleet| fleet.drifted("drifted", 5).paused("ops"),
        expect![[r#"
        drifted: disruption.paused: disruption is paused by ops; remove the annotation joiner.sh/pause-disruption from Namespace joiner to resume
        empty: disruption.paused: disruption is paused by ops; remove the annotation joiner.sh/pause-disruption from Namespace joiner to resume
        used: disruption.paused: disruption is paused by ops; remove the annotation joiner.sh/pause-disruption from Namespace joiner to resume
    "#]],
    );
}
