//! Spot instances.

use expect_test::expect;
use joiner_core::{
    disruption::DisruptionSettings,
    label::{CAPACITY_TYPE, INSTANCE_TYPE},
    requirement::Operator::Exists,
    testing::{PoolBuilder, SnapshotBuilder, instance_type, node, pod, pool, snapshot},
};

use super::{Settings, as_it_is, check_reasons, check_with, decide};

/// A spot instance of a type with `cheaper` cheaper ones beside it.
fn spot(pool: PoolBuilder, cheaper: usize) -> SnapshotBuilder {
    let types = (0..=cheaper).map(|i| {
        instance_type(&format!("t{i:02}")).capacity_types(["spot"]).price(1.0 + i as f64 / 10.0)
    });
    snapshot().pool(pool, types).node(
        node("n")
            .pool("default")
            .of_type(&format!("t{cheaper:02}"))
            .label(CAPACITY_TYPE, "spot")
            .pod(pod("a").cpu("4")),
    )
}

fn allowed() -> Settings {
    Settings {
        disruption: DisruptionSettings { spot_to_spot: true, as_scheduled: false },
        ..Settings::default()
    }
}

/// O-33
#[test]
fn spot_instances_are_not_replaced_by_spot_instances_unless_that_is_switched_on() {
    check_reasons(
        spot(pool("default"), 20),
        as_it_is,
        expect![[r#"
        n: move.spotToSpot: SpotToSpotConsolidation is disabled, so a spot instance is not replaced by a spot instance
    "#]],
    );
}

/// O-32, O-34
#[test]
fn fifteen_types_must_be_cheaper() {
    check_with(
        &allowed(),
        spot(pool("default"), 14),
        as_it_is,
        expect![[r#"
        n stays: move.spotOptions
    "#]],
    );
    check_with(
        &allowed(),
        spot(pool("default"), 15),
        as_it_is,
        expect![[r#"
        singleNodeConsolidation: n -> new t00 +14: a; saves 1.50
    "#]],
    );
}

/// O-35, O-38
#[test]
fn the_fifteen_cheapest_are_kept() {
    let flexible = pool("default").min_values(INSTANCE_TYPE, Exists, [], 5);
    check_with(
        &allowed(),
        spot(flexible, 20),
        as_it_is,
        expect![[r#"
        singleNodeConsolidation: n -> new t00 +14: a; saves 2.00
    "#]],
    );
    let cluster = spot(pool("default"), 20).build();
    let fleet = joiner_core::testing::fleet(&cluster).build();
    let decided = decide(&allowed(), &cluster, &fleet);
    let types = &decided.commands[0].replacements[0].instance_types;
    assert_eq!((types.len(), types[0].as_str(), types[14].as_str()), (15, "t00", "t14"));
}

/// O-36
#[test]
fn more_are_kept_where_the_pool_asks_for_more() {
    let flexible = pool("default").min_values(INSTANCE_TYPE, Exists, [], 17);
    check_with(
        &allowed(),
        spot(flexible, 20),
        as_it_is,
        expect![[r#"
        singleNodeConsolidation: n -> new t00 +16: a; saves 2.00
    "#]],
    );
}
