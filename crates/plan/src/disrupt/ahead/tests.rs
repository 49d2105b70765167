use joiner_core::{
    disruption::KeptBy,
    testing::{PoolBuilder, fleet, instance_type, node, pod, pool, snapshot},
};

use super::*;

/// A drifted instance that holds a pod that may move and one that may not, which ends with it in time.
fn cluster(pool: PoolBuilder) -> (Snapshot, Fleet) {
    let sizes = [("small", "2", 1.0), ("large", "8", 4.0)];
    let types = sizes.map(|(name, cpu, price)| instance_type(name).cpu(cpu).price(price));
    let old = node("old").pool("default").of_type("large").cpu("8");
    let old = old.pod(pod("free").cpu("2")).pod(pod("kept").cpu("1"));
    let snapshot = snapshot().pool(pool, types).node(old).build();
    let fleet = fleet(&snapshot).drifted("old", 60).kept("kept", KeptBy::DoNotDisrupt(None));
    let fleet = fleet.claim("old", |claim| claim.has_grace_period = true).build();
    (snapshot, fleet)
}

/// The future of one such cluster once what is decided about another has been done.
fn after<'p>(
    planning: &'p PlanSettings,
    decided: &(Snapshot, Fleet),
    done: (Snapshot, Fleet),
) -> Option<Future<'p>> {
    let (snapshot, fleet) = decided;
    let settings = DisruptionSettings::default();
    let pass = Sight { snapshot, fleet, planning, settings }.pass(Way::AllAtOnce);
    assert_eq!(pass.commands().len(), 1, "the instance is replaced");
    let (snapshot, fleet) = done;
    let mut future = Future { snapshot, fleet, planning, made: 0, moved: 0 };
    future.carry_out(pass.commands())?;
    Some(future)
}

#[test]
fn instances_come_as_the_cheapest_they_may_be_and_pods_that_nobody_moved_get_a_place_too() {
    let planning = PlanSettings::default();
    let future = after(&planning, &cluster(pool("default")), cluster(pool("default")));
    let future = future.expect("there is a place for every pod");
    let nodes = future.snapshot.nodes.iter().zip(&future.fleet.instances);
    let told = nodes.map(|(node, instance)| {
        assert_eq!(node.pods.len(), instance.pods.len(), "each pod has its facts");
        let pods: Vec<String> = node.pods.iter().map(Pod::key).collect();
        format!("{} {}: {}", node.name(), node.labels[label::INSTANCE_TYPE], pods.join(" "))
    });
    let told: Vec<String> = told.collect();
    assert_eq!(told, ["new/1 small: default/free", "new/2 small: default/kept"]);
    assert!((future.price() - 2.0).abs() < 1e-9, "{}", future.price());
    assert_eq!(future.moved, 2);
}

#[test]
fn a_way_that_leaves_pods_without_a_place_has_no_end_to_compare() {
    let planning = PlanSettings::default();
    let limited = cluster(pool("default").limit("cpu", "2"));
    assert!(after(&planning, &cluster(pool("default")), limited).is_none());
}
