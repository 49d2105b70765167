//! What is best now may be in the way of what is better later.

use expect_test::expect;
use joiner_core::testing::{SnapshotBuilder, fleet, node, pod};

use super::{Settings, check, check_reasons, cluster, decide, instance, tell_command};

/// `dear` could go, and its pod to `full-1` or `full-2`. But it is the first to be asked for a place for the pod of `old`.
fn a_drifted_instance_beside_a_dear_one() -> SnapshotBuilder {
    cluster()
        .node(instance("old", "small").pod(pod("o").cpu("1")))
        .node(instance("dear", "huge").pod(pod("d").cpu("1")))
        .node(instance("full-1", "medium").pod(pod("f1").cpu("3")))
        .node(instance("full-2", "medium").pod(pod("f2").cpu("3")))
}

/// In one pass the drifted instance would go and then, since an instance that has just taken pods cannot go, the two small
/// ones instead of the dear one: 8 an hour would be left, and not 4.
#[test]
fn an_instance_that_takes_pods_first_and_goes_then_is_waited_for() {
    check(
        a_drifted_instance_beside_a_dear_one(),
        |fleet| fleet.drifted("old", 60),
        expect![[r#"
            drift: old -> dear: o; saves 1.00
            dear stays: node.receives
            full-1 stays: node.later
            full-2 stays: node.later
        "#]],
    );
    check_reasons(
        a_drifted_instance_beside_a_dear_one(),
        |fleet| fleet.drifted("old", 60),
        expect![[r#"
            node.drifted: old is not what NodePool "default" wants any more (NodePoolDrifted); its pod fits on dear (1)
            dear: node.receives: dear takes pods of old, which goes in this pass
            full-1: node.later: full-1 is looked at once what goes in this pass is gone: step by step ends better here than all at once
            full-2: node.later: full-2 is looked at once what goes in this pass is gone: step by step ends better here than all at once
        "#]],
    );
}

/// What is too large to be looked at to its end is not worse off than before: all that can be done at once is done.
#[test]
fn in_a_large_cluster_all_is_done_at_once() {
    let others = (0..64).fold(a_drifted_instance_beside_a_dear_one(), |cluster, i| {
        let full = node(&format!("somebody-elses-{i}")).cpu("1");
        cluster.node(full.pod(pod(&format!("p{i}")).cpu("1")))
    });
    let others = others.build();
    let fleet = fleet(&others).drifted("old", 60).build();
    let decided = decide(&Settings::default(), &others, &fleet);
    let commands: Vec<String> = decided.commands.iter().map(tell_command).collect();
    expect![[r#"
        drift: old -> dear: o; saves 1.00
        multiNodeConsolidation: full-1 full-2 -> dear: f1 f2; saves 4.00"#]]
    .assert_eq(&commands.join("\n"));
}
