//! Room that is kept for a `CapacityBuffer`.

use expect_test::expect;
use joiner_core::testing::{SnapshotBuilder, node, pod};

use super::{as_it_is, check, cluster, instance};

fn with_buffer(cluster: SnapshotBuilder, count: usize) -> SnapshotBuilder {
    cluster.pods(pod("buffer").cpu("1500m").buffer().replicas(count))
}

/// P-21, P-23, P-25
#[test]
fn an_instance_that_keeps_room_stays_and_the_others_go() {
    let three = || {
        cluster()
            .node(instance("a", "small"))
            .node(instance("b", "small"))
            .node(instance("c", "small"))
    };
    check(
        with_buffer(three(), 1),
        as_it_is,
        expect![[r#"
        emptiness: b c; saves 2.00
        a stays: buffer.protects
    "#]],
    );
    check(
        with_buffer(three(), 2),
        as_it_is,
        expect![[r#"
        emptiness: c; saves 1.00
        a stays: buffer.protects
        b stays: buffer.protects
    "#]],
    );
    // P-22, P-26
    check(
        with_buffer(three(), 0),
        as_it_is,
        expect![[r#"
        emptiness: a b c; saves 3.00
    "#]],
    );
}

/// P-24, O-92 to O-95
#[test]
fn room_that_is_kept_moves_with_the_pods_of_an_instance() {
    let used = || instance("a", "medium").pod(pod("p").cpu("500m"));
    // Both fit elsewhere.
    check(
        with_buffer(cluster().node(used()).node(node("z")), 1),
        as_it_is,
        expect![[r#"
        singleNodeConsolidation: a -> z: p buffer-0; saves 2.00
    "#]],
    );
    // What fits nowhere gets an instance that is cheaper, or everything stays.
    check(
        with_buffer(cluster().node(used()).node(node("z").cpu("1")), 1),
        as_it_is,
        expect![[r#"
        singleNodeConsolidation: a -> z: p; new small: buffer-0; saves 1.00
    "#]],
    );
}
