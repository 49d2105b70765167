//! Spare capacity: pods that stand for room, and go after all others.

use expect_test::expect;
use joiner_core::testing::{instance_type, node, pod, pool, snapshot};

use crate::support::{check, cluster};

#[test]
fn real_pods_go_first_whatever_their_size() {
    // COMPAT: upstream lets them compete by size (D17): the spare pod would take the node.
    check(
        cluster()
            .node(node("n").cpu("2"))
            .pod(pod("spare").cpu("2").buffer())
            .pod(pod("real").cpu("500m")),
        expect![[r#"
            claim default: spare | default-instance-type +4
            node n: real
        "#]],
    );
}

#[test]
fn spare_capacity_gets_instances_too() {
    check(
        snapshot()
            .pool(pool("default"), [instance_type("t").cpu("4")])
            .pod(pod("real").cpu("3"))
            .pods(pod("spare").cpu("1").buffer().replicas(2)),
        expect![[r#"
            claim default: real spare-0 | t
            claim default: spare-1 | t
        "#]],
    );
}

#[test]
fn real_pods_take_what_a_limit_leaves() {
    check(
        snapshot()
            .pool(pool("default").limit("nodes", "1"), [instance_type("t").cpu("4")])
            .pod(pod("spare").cpu("4").buffer())
            .pod(pod("real").cpu("3")),
        expect![[r#"
            claim default: real | t
            unschedulable spare: pool.limit.reached
        "#]],
    );
}

#[test]
fn spare_pods_are_ordered_among_themselves_like_others() {
    check(
        cluster()
            .pod(pod("small").cpu("100m").buffer())
            .pod(pod("large").cpu("1").buffer())
            .pod(pod("real").cpu("10m")),
        expect![[r#"
            claim default: real large small | small-instance-type +4
        "#]],
    );
}
