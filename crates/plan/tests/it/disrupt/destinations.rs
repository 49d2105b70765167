//! Instances that take the pods of others.

use expect_test::expect;
use jiff::SignedDuration;
use joiner_core::{
    disruption::{Fleet, PoolRules, VALIDATION_DELAY},
    testing::{FleetBuilder, NodeBuilder, fleet, minutes, node, now, pod},
};
use joiner_plan::disrupt::validate;

use super::{Settings, as_it_is, check, check_reasons, cluster, decide, instance, tell};

/// O-62
#[test]
fn an_instance_on_which_something_just_happened_takes_no_pods() {
    let two = || {
        cluster()
            .node(instance("n", "small").pod(pod("a").cpu("1")))
            .node(instance("other", "medium").pod(pod("b").cpu("3")))
    };
    let busy = |ago| {
        move |fleet: FleetBuilder| {
            fleet
                .pool("default", |rules| rules.consolidate_after = Some(minutes(10)))
                .busy("other", ago)
        }
    };
    check_reasons(
        two(),
        busy(9),
        expect![[r#"
        n: move.equalShape: its pods need an instance like n: the best replacement is another small (now on-demand in zone a)
        other: node.tooYoung: something happened to the pods of other at 2026-03-04T11:51:00Z; NodePool "default" waits 10m, until 2026-03-04T12:01:00Z
    "#]],
    );
    check(
        two(),
        busy(10),
        expect![[r#"
        singleNodeConsolidation: n -> other: a; saves 1.00
        other stays: move.equalShape, node.receives
    "#]],
    );
}

/// What is proposed is looked at once more before it is done, and by then the instance has been quiet for long enough. If
/// not, the proposal is rejected.
#[test]
fn an_instance_that_will_be_quiet_when_the_move_is_made_takes_pods() {
    let cluster = cluster()
        .node(instance("n", "small").pod(pod("a").cpu("1")))
        .node(instance("other", "medium").pod(pod("b").cpu("3")))
        .build();
    let quiet_in = |left: SignedDuration| {
        let waits = |rules: &mut PoolRules| rules.consolidate_after = Some(minutes(9) + left);
        fleet(&cluster).pool("default", waits).busy("other", 9).build()
    };
    let settings = Settings::default();
    let proposed = |fleet: &Fleet| decide(&settings, &cluster, fleet).commands;
    let second = SignedDuration::from_secs(1);
    assert!(proposed(&quiet_in(VALIDATION_DELAY + second)).is_empty());
    let mut seen = quiet_in(VALIDATION_DELAY);
    let commands = proposed(&seen);
    let [command] = commands.as_slice() else { panic!("{commands:?}") };
    let validated = |fleet: &Fleet| {
        validate(command, &cluster, fleet, &settings.planning, &settings.disruption)
    };
    assert!(validated(&seen).is_err(), "it is not quiet yet");
    seen.now += VALIDATION_DELAY;
    assert_eq!(validated(&seen).as_ref(), Ok(command));
}

/// O-63
#[test]
fn an_instance_of_a_pool_without_consolidation_takes_pods() {
    let pools = joiner_core::testing::snapshot()
        .pool(joiner_core::testing::pool("default"), super::sizes())
        .pool(joiner_core::testing::pool("never"), super::sizes());
    check(
        pools
            .node(instance("n", "small").pod(pod("a").cpu("1")))
            .node(super::instance_of("never", "other", "medium").pod(pod("b").cpu("3"))),
        |fleet| fleet.pool("never", |rules| rules.consolidate_after = None).busy("other", 1),
        expect![[r#"
            singleNodeConsolidation: n -> other: a; saves 1.00
            other stays: pool.consolidationOff, node.receives
        "#]],
    );
}

/// O-64
#[test]
fn a_new_instance_may_come_although_others_are_busy() {
    check(
        cluster()
            .node(instance("n", "large").pod(pod("a").cpu("1")))
            .node(instance("other", "medium").pod(pod("b").cpu("3"))),
        |fleet| {
            fleet
                .pool("default", |rules| rules.consolidate_after = Some(minutes(10)))
                .busy("other", 9)
        },
        expect![[r#"
            singleNodeConsolidation: n -> new small +1: a; saves 3.00
            other stays: node.tooYoung
        "#]],
    );
}

/// O-61, O-65
#[test]
fn an_instance_that_is_not_up_takes_no_pods_but_others_may() {
    let two = || {
        cluster()
            .node(instance("n", "small").pod(pod("a").cpu("1")))
            .node(instance("coming", "medium").uninitialized())
    };
    check_reasons(
        two(),
        as_it_is,
        expect![[r#"
        coming: node.uninitialized: coming is not initialized
        n: pod.wouldNotFit: pod default/a would have no place: would schedule against uninitialized nodeclaim/coming, node/coming
    "#]],
    );
    check(
        two().node(node("up")),
        as_it_is,
        expect![[r#"
        singleNodeConsolidation: n -> up: a; saves 1.00
        coming stays: node.uninitialized
    "#]],
    );
}

/// O-49
#[test]
fn instances_whose_pods_come_and_go_stay_while_quiet_ones_go() {
    check(
        cluster()
            .node(instance("churning", "small").pod(pod("a").cpu("1")))
            .node(instance("quiet", "small").pod(pod("b").cpu("1")))
            .node(node("other")),
        |fleet| {
            fleet
                .pool("default", |rules| rules.consolidate_after = Some(minutes(10)))
                .busy("churning", 1)
        },
        expect![[r#"
            singleNodeConsolidation: quiet -> other: b; saves 1.00
            churning stays: node.tooYoung
        "#]],
    );
}

/// While much happens in a pool, only what is well worth its moving is done: better moves show up in a moment. Where
/// much always happens that would be for ever, so that after a quarter of an hour it is like any other.
#[test]
fn a_restless_pool_makes_only_moves_that_pay_well() {
    let dear = || {
        (0..7).fold(instance("dear", "huge"), |dear, i| dear.pod(pod(&format!("d{i}")).cpu("1")))
    };
    let all = || {
        (0..8).fold(cluster().node(dear()), |cluster, i| {
            cluster.node(instance(&format!("n{i}"), "huge").pod(pod(&format!("p{i}")).cpu("16")))
        })
    };
    let busy = |count: usize, for_minutes: i64| {
        move |fleet: FleetBuilder| {
            let fleet = fleet.pool("default", |rules| {
                rules.consolidate_after = Some(minutes(10));
                rules.restless_since = Some(now() - minutes(for_minutes));
            });
            (0..count).fold(fleet, |fleet, i| fleet.busy(&format!("n{i}"), 1))
        }
    };
    let check = |busy_instances, for_minutes, dear: &str, n0: &str| {
        let cluster = all().build();
        let fleet = busy(busy_instances, for_minutes)(fleet(&cluster)).build();
        let others = (1..8).map(|i| format!("n{i} stays: move.equalShape\n"));
        let expected = format!("{dear}\nn0 stays: {n0}\n{}", others.collect::<String>());
        assert_eq!(tell(&decide(&Settings::default(), &cluster, &fleet)), expected);
    };
    let goes = "singleNodeConsolidation: dear -> new large: d0 d1 d2 d3 d4 d5 d6; saves 4.00";
    check(0, 0, goes, "move.equalShape");
    check(1, 14, "dear stays: move.unsettled", "node.tooYoung");
    check(1, 15, goes, "node.tooYoung");
}

/// A pool on many of whose instances something has just happened is waited for, but not for ever. An instance that is
/// empty has no pods that would have to move again.
#[test]
fn an_unsettled_pool_is_waited_for() {
    let busy = |i: usize| {
        let pods = (0..4).map(|each| pod(&format!("p{i}-{each}")).cpu("4"));
        pods.fold(instance(&format!("n{i}"), "huge"), NodeBuilder::pod)
    };
    let all = || {
        let cluster = cluster().node(instance("idle", "huge").pod(pod("p").cpu("1")));
        (0..5).fold(cluster.node(instance("empty", "huge")), |cluster, i| cluster.node(busy(i)))
    };
    let unsettled_for = |for_minutes: Option<i64>| {
        move |fleet: FleetBuilder| {
            let fleet = fleet.pool("default", |rules| {
                rules.consolidate_after = Some(minutes(10));
                rules.restless_since = for_minutes.map(|passed| now() - minutes(passed));
            });
            (0..5).fold(fleet, |fleet, i| fleet.busy(&format!("n{i}"), 1))
        }
    };
    let waits = || {
        expect![[r#"
            emptiness: empty; saves 8.00
            idle stays: move.unsettled
            n0 stays: node.tooYoung
            n1 stays: node.tooYoung
            n2 stays: node.tooYoung
            n3 stays: node.tooYoung
            n4 stays: node.tooYoung
        "#]]
    };
    check(all(), unsettled_for(None), waits());
    check(all(), unsettled_for(Some(4)), waits());
    check(
        all(),
        unsettled_for(Some(5)),
        expect![[r#"
            emptiness: empty; saves 8.00
            singleNodeConsolidation: idle -> new small +2: p; saves 7.00
            n0 stays: node.tooYoung
            n1 stays: node.tooYoung
            n2 stays: node.tooYoung
            n3 stays: node.tooYoung
            n4 stays: node.tooYoung
        "#]],
    );
}

/// To the scheduler an instance that holds nothing is the best place there is. What would be moved before it has gone is put
/// there, so that it stays and the pods have to move once more.
#[test]
fn an_instance_that_has_become_empty_is_waited_for_while_it_goes_soon() {
    let cluster = (0..11)
        .fold(cluster().node(instance("used", "large").pod(pod("p").cpu("1"))), |all, i| {
            all.node(instance(&format!("n{i}"), "huge").pod(pod(&format!("p{i}")).cpu("9")))
        });
    let cluster = cluster.node(instance("emptied", "huge")).build();
    let fate_of_used = |consolidate_after: i64, change: fn(FleetBuilder) -> FleetBuilder| {
        let fleet = fleet(&cluster)
            .pool("default", |rules| rules.consolidate_after = Some(minutes(consolidate_after)))
            .busy("emptied", 1);
        let decided = decide(&Settings::default(), &cluster, &change(fleet).build());
        let fate = tell(&decided).lines().find(|line| line.contains("used")).map(str::to_owned);
        fate.expect("it is told")
    };
    assert_eq!(fate_of_used(5, as_it_is), "used stays: move.unsettled");
    let goes = "singleNodeConsolidation: used -> n0: p; saves 4.00";
    assert_eq!(fate_of_used(10, as_it_is), goes, "it stays for longer than anybody waits");
    let stays = |fleet: FleetBuilder| fleet.instance("emptied", |it| it.do_not_disrupt = true);
    assert_eq!(fate_of_used(5, stays), goes, "it does not go");
    let always = |fleet: FleetBuilder| {
        fleet.pool("default", |rules| rules.restless_since = Some(now() - minutes(15)))
    };
    assert_eq!(fate_of_used(5, always), goes, "there is always one");
}

/// Together with instances that may go in a moment, others may lead to better moves.
#[test]
fn instances_that_may_go_in_a_moment_are_waited_for() {
    let all = || {
        let cluster = cluster().node(node("other"));
        let idle =
            |i: usize| instance(&format!("n{i}"), "small").pod(pod(&format!("p{i}")).cpu("1"));
        (0..6).fold(cluster, |cluster, i| cluster.node(idle(i)))
    };
    let later = |fleet: FleetBuilder| {
        let fleet = fleet.pool("default", |rules| rules.consolidate_after = Some(minutes(10)));
        (0..5).fold(fleet, |fleet, i| {
            fleet.claim(&format!("n{i}"), |claim| claim.consolidatable = false)
        })
    };
    check_reasons(
        all(),
        later,
        expect![[r#"
            n0: node.tooYoung: NodeClaim n0 is not Consolidatable yet
            n1: node.tooYoung: NodeClaim n1 is not Consolidatable yet
            n2: node.tooYoung: NodeClaim n2 is not Consolidatable yet
            n3: node.tooYoung: NodeClaim n3 is not Consolidatable yet
            n4: node.tooYoung: NodeClaim n4 is not Consolidatable yet
            n5: move.unsettled: 5 of the 6 instances of NodePool "default" are not quiet yet, and what is moved now might have to move again: that waits until most of them are, at the latest until 2026-03-04T12:05:00Z
        "#]],
    );
}
