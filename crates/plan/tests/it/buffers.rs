//! Spare capacity: pods that stand for room, and go after all others.

use expect_test::expect;
use joiner_core::testing::{node, pod, pool};

use crate::support::{check, cluster, cluster_of};

#[test]
fn real_pods_go_first_whatever_their_size() {
    // COMPAT: upstream lets them compete by size (D17): the spare pod would take the node.
    check(
        cluster()
            .node(node("n").cpu("2"))
            .pod(pod("spare").cpu("2").buffer())
            .pod(pod("real").cpu("500m")),
        expect![[]],
    );
}

#[test]
fn spare_capacity_gets_machines_of_its_own() {
    check(
        cluster().pod(pod("real").cpu("3")).pods(pod("spare").cpu("3").buffer().replicas(2)),
        expect![[]],
    );
}

#[test]
fn real_pods_take_what_a_limit_leaves() {
    check(
        cluster_of(pool("default").limit("nodes", "1"))
            .pod(pod("spare").cpu("15").buffer())
            .pod(pod("real").cpu("100m")),
        expect![[]],
    );
}

#[test]
fn spare_pods_are_ordered_among_themselves_like_others() {
    check(
        cluster()
            .pod(pod("small").cpu("100m").buffer())
            .pod(pod("large").cpu("1").buffer())
            .pod(pod("real").cpu("10m")),
        expect![[]],
    );
}
