//! Drifted instances of pools that keep a fixed number.

use expect_test::expect;
use joiner_core::{
    pool::Readiness,
    testing::{FleetBuilder, SnapshotBuilder, budget, minutes, now, pod, pool, snapshot},
};

use super::{check, check_reasons, instance_of, sizes};

/// A static pool with instances that have a pod each.
fn fixed(count: usize) -> SnapshotBuilder {
    fixed_in(snapshot(), "fixed", count)
}

fn fixed_in(cluster: SnapshotBuilder, name: &str, count: usize) -> SnapshotBuilder {
    (0..count).fold(cluster.pool(pool(name).fixed(), sizes()), |cluster, i| {
        let instance = instance_of(name, &format!("{name}-{i}"), "small");
        cluster.node(instance.pod(pod(&format!("{name}-pod-{i}")).cpu("1")))
    })
}

fn drifted(fleet: FleetBuilder, name: &str, count: usize) -> FleetBuilder {
    (0..count).fold(fleet, |fleet, i| fleet.drifted(&format!("{name}-{i}"), 60 - i as i64))
}

/// SD-01, SD-02, SD-11
#[test]
fn as_many_are_replaced_as_the_budget_allows() {
    for (budget_of, expected) in [
        (
            "2",
            expect![[r#"
        staticDrift: fixed-0 -> new instance; saves 0.00
        staticDrift: fixed-1 -> new instance; saves 0.00
        fixed-2 stays: budget.used, static.replicas
    "#]],
        ),
        (
            "60%",
            expect![[r#"
        staticDrift: fixed-0 -> new instance; saves 0.00
        staticDrift: fixed-1 -> new instance; saves 0.00
        fixed-2 stays: budget.used, static.replicas
    "#]],
        ),
    ] {
        check(
            fixed(3),
            |fleet| drifted(fleet, "fixed", 3).budgets("fixed", [budget(budget_of)]),
            expected,
        );
    }
}

/// SD-03, SD-09
#[test]
fn pools_do_not_depend_on_each_other() {
    check(
        fixed_in(fixed_in(snapshot(), "a", 2), "b", 2),
        |fleet| {
            drifted(drifted(fleet, "a", 2), "b", 2)
                .budgets("a", [budget("0")])
                .budgets("b", [budget("1")])
        },
        expect![[r#"
            staticDrift: b-0 -> new instance; saves 0.00
            a-0 stays: budget.closed, static.replicas
            a-1 stays: budget.closed, static.replicas
            b-1 stays: budget.used, static.replicas
        "#]],
    );
}

/// SD-04, SD-05, SD-06
#[test]
fn the_limit_of_nodes_must_leave_room_for_replacements() {
    for limit in [3, 4, 5] {
        let expected = match limit {
            3 => expect![[r#"
                fixed-0 stays: pool.limit.reached, static.replicas
                fixed-1 stays: pool.limit.reached, static.replicas
                fixed-2 stays: pool.limit.reached, static.replicas
            "#]],
            4 => expect![[r#"
                staticDrift: fixed-0 -> new instance; saves 0.00
                fixed-1 stays: pool.limit.reached, static.replicas
                fixed-2 stays: pool.limit.reached, static.replicas
            "#]],
            _ => expect![[r#"
                staticDrift: fixed-0 -> new instance; saves 0.00
                staticDrift: fixed-1 -> new instance; saves 0.00
                fixed-2 stays: pool.limit.reached, static.replicas
            "#]],
        };
        check(
            fixed(3),
            |fleet| drifted(fleet, "fixed", 3).pool("fixed", |rules| rules.nodes_max = Some(limit)),
            expected,
        );
    }
}

/// SD-04, for people.
#[test]
fn what_keeps_a_drifted_instance_of_a_full_pool_is_said() {
    check_reasons(
        fixed(1),
        |fleet| drifted(fleet, "fixed", 1).pool("fixed", |rules| rules.nodes_max = Some(1)),
        expect![[r#"
            fixed-0: pool.limit.reached: NodePool "fixed" is limited to 1 nodes and has 1, so no replacement can come first
            fixed-0: static.replicas: NodePool "fixed" keeps 1 instances, whether they are used or not
        "#]],
    );
}

#[test]
fn where_the_owner_says_so_instances_go_first() {
    check(
        fixed(2),
        |fleet| {
            drifted(fleet, "fixed", 2).budgets("fixed", [budget("1")]).pool("fixed", |rules| {
                rules.nodes_max = Some(2);
                rules.delete_first = true;
            })
        },
        expect![[r#"
            staticDrift: fixed-0; saves 0.00
            fixed-1 stays: budget.used, static.replicas
        "#]],
    );
}

/// Two instances may be away at a time, and one that went has not come back: it is away as well.
#[test]
fn where_instances_go_first_those_that_are_not_back_yet_are_away() {
    let delete_first = |fleet: FleetBuilder, allowed: &str| {
        drifted(fleet, "fixed", 2).budgets("fixed", [budget(allowed)]).pool("fixed", |rules| {
            (rules.replicas, rules.nodes_max) = (Some(3), Some(3));
            rules.delete_first = true;
        })
    };
    let coming = || fixed(2).node(instance_of("fixed", "fixed-2", "small").uninitialized());
    check(
        coming(),
        |fleet| delete_first(fleet, "2"),
        expect![[r#"
            staticDrift: fixed-0; saves 0.00
            fixed-1 stays: budget.used, static.replicas
            fixed-2 stays: node.uninitialized
        "#]],
    );
    check_reasons(
        coming(),
        |fleet| delete_first(fleet, "1"),
        expect![[r#"
            fixed-0: budget.used: NodePool "fixed" keeps 3 instances, of which 1 are not there yet: no other may go before they have joined, or its budgets allow more to be away
            fixed-0: static.replicas: NodePool "fixed" keeps 3 instances, whether they are used or not
            fixed-1: budget.used: NodePool "fixed" keeps 3 instances, of which 1 are not there yet: no other may go before they have joined, or its budgets allow more to be away
            fixed-1: static.replicas: NodePool "fixed" keeps 3 instances, whether they are used or not
            fixed-2: node.uninitialized: fixed-2 is not initialized
        "#]],
    );
}

/// Nothing would come in the place of an instance that goes.
#[test]
fn instances_of_a_pool_that_can_make_none_stay() {
    for delete_first in [true, false] {
        let broken = Readiness::NotReady("its NodeClass is being deleted".to_owned());
        let broken = pool("fixed").fixed().readiness(broken);
        let instance = instance_of("fixed", "fixed-0", "small").pod(pod("fixed-pod-0").cpu("1"));
        check_reasons(
            snapshot().pool(broken, sizes()).node(instance),
            |fleet| {
                drifted(fleet, "fixed", 1).pool("fixed", |rules| {
                    rules.nodes_max = Some(1);
                    rules.delete_first = delete_first;
                })
            },
            expect![[r#"
                fixed-0: pool.notReady: NodePool "fixed" can make no instances now, so none would take the place of this one: its NodeClass is being deleted
                fixed-0: static.replicas: NodePool "fixed" keeps 1 instances, whether they are used or not
            "#]],
        );
    }
}

/// What is in the way of its replacement comes first, also where nothing runs on it.
#[test]
fn what_keeps_an_empty_drifted_instance_from_being_replaced_comes_first() {
    let empty = instance_of("fixed", "fixed-0", "small");
    check(
        snapshot().pool(pool("fixed").fixed(), sizes()).node(empty),
        |fleet| drifted(fleet, "fixed", 1).pool("fixed", |rules| rules.nodes_max = Some(1)),
        expect![[r#"
            fixed-0 stays: pool.limit.reached, static.replicas
        "#]],
    );
}

/// SD-08, SD-10
#[test]
fn instances_too_many_go_before_drifted_ones_are_replaced() {
    for replicas in [1, 0] {
        check(
            fixed(2),
            |fleet| {
                drifted(fleet, "fixed", 2).pool("fixed", |rules| rules.replicas = Some(replicas))
            },
            expect![[r#"
                fixed-0 stays: static.replicas, static.replicas
                fixed-1 stays: static.replicas, static.replicas
            "#]],
        );
    }
}

/// SD-12, SD-13, SD-14
#[test]
fn only_drifted_instances_that_may_go_are_replaced() {
    check(
        fixed(2),
        |fleet| {
            fleet
                .drifted("fixed-0", 5)
                .instance("fixed-0", |instance| instance.do_not_disrupt = true)
        },
        expect![[r#"
            fixed-0 stays: node.doNotDisrupt
            fixed-1 stays: static.replicas
        "#]],
    );
}

#[test]
fn the_replacement_is_made_from_the_template_alone() {
    let cluster = fixed(1).build();
    let fleet = drifted(joiner_core::testing::fleet(&cluster), "fixed", 1).build();
    let decided = super::decide(&super::Settings::default(), &cluster, &fleet);
    let [claim] = decided.commands[0].replacements.as_slice() else { panic!("one replacement") };
    assert_eq!(claim.node_pool, "fixed");
    assert!(claim.pods.is_empty() && claim.instance_types.is_empty());
    assert_eq!(claim.labels["karpenter.sh/nodepool"], "fixed");
    assert_eq!(claim.annotations["karpenter.sh/nodepool-hash"], "fixed-hash");
}

#[test]
fn a_pool_whose_replacement_has_failed_waits() {
    check_reasons(
        fixed(1),
        |fleet| {
            let until = now() + minutes(2);
            drifted(fleet, "fixed", 1).pool("fixed", |rules| rules.drift_resumes = Some(until))
        },
        expect![[r#"
            fixed-0: drift.backoff: replacing a drifted instance of NodePool "fixed" has failed; it is tried again from 2026-03-04T12:02:00Z
            fixed-0: static.replicas: NodePool "fixed" keeps 1 instances, whether they are used or not
        "#]],
    );
}
