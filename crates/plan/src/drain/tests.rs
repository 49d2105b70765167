//! Instances that are drained, and where their pods go.

use jiff::Timestamp;
use joiner_core::testing::{fleet, instance_type, node, pod, pool, snapshot};

use super::*;

/// Two instances with a pod each, one of them with room for another, and a pool that can make more.
fn two_instances(room: &str) -> Snapshot {
    snapshot()
        .pool(pool("general"), [instance_type("small").cpu("4").mem("8Gi").price(0.1)])
        .node(node("a").pool("general").cpu("4").mem("8Gi").pod(pod("web-0").cpu("2")))
        .node(node("b").pool("general").cpu(room).mem("8Gi").pod(pod("web-1").cpu("2")))
        .build()
}

fn drained(snapshot: &Snapshot, fleet: &Fleet, instances: &[usize]) -> String {
    let moves = drain(snapshot, fleet, &PlanSettings::default(), instances);
    let existing = moves.existing.iter().map(|at| format!("{} to {}", at.pods.join(" "), at.node));
    let claims = moves.claims.iter().map(|claim| format!("{} to a new one", claim.pods.join(" ")));
    let unplaced = moves.unplaced.iter().map(|each| format!("{} nowhere", each.pod));
    existing.chain(claims).chain(unplaced).collect::<Vec<_>>().join(", ")
}

#[test]
fn pods_go_where_there_is_room_and_else_to_a_new_instance() {
    let roomy = two_instances("4");
    assert_eq!(drained(&roomy, &fleet(&roomy).build(), &[0]), "default/web-0 to b");
    let full = two_instances("2");
    assert_eq!(drained(&full, &fleet(&full).build(), &[0]), "default/web-0 to a new one");
}

#[test]
fn instances_that_are_drained_together_take_no_pods_of_each_other() {
    let roomy = two_instances("4");
    assert_eq!(
        drained(&roomy, &fleet(&roomy).build(), &[0, 1]),
        "default/web-0 default/web-1 to a new one"
    );
}

#[test]
fn pods_that_cannot_be_moved_stay_where_they_are() {
    let roomy = two_instances("4");
    let fleet = fleet(&roomy).pod("web-0", |facts| facts.movable = false).build();
    assert_eq!(drained(&roomy, &fleet, &[0]), "");
}

#[test]
fn pods_that_are_kept_for_a_while_need_a_place_after_it() {
    let roomy = two_instances("4");
    let kept = |until: Option<Timestamp>| {
        let fleet = fleet(&roomy).kept("web-0", KeptBy::DoNotDisrupt(until));
        drained(&roomy, &fleet.build(), &[0])
    };
    assert_eq!(kept(Some(Timestamp::MAX)), "default/web-0 to b");
    assert_eq!(kept(None), "", "kept for good");
}

#[test]
fn pods_that_go_by_force_in_the_end_need_a_place_then() {
    let roomy = two_instances("4");
    let forced = fleet(&roomy)
        .kept("web-0", KeptBy::Budget("default/web".to_owned()))
        .claim("a", |claim| claim.has_grace_period = true);
    assert_eq!(drained(&roomy, &forced.build(), &[0]), "default/web-0 to b");
}

#[test]
fn pods_of_instances_that_are_leaving_already_are_moved_with_the_others() {
    let mut roomy = two_instances("4");
    roomy.nodes[1].leaving = true;
    let fleet = fleet(&roomy).build();
    assert_eq!(drained(&roomy, &fleet, &[1]), "default/web-1 to a");
    // Nobody has asked where the other one's pod goes, but it needs a place all the same.
    assert_eq!(drained(&roomy, &fleet, &[0]), "default/web-0 default/web-1 to a new one");
}

#[test]
fn pods_that_wait_anyway_are_not_told_of() {
    let mut full = two_instances("2");
    full.nodes[0].allocatable = full.nodes[1].allocatable.clone();
    full.pods.push(pod("new").cpu("1").build());
    let fleet = fleet(&full).build();
    let moves = drain(&full, &fleet, &PlanSettings::default(), &[0]);
    assert_eq!(moves.claims.len(), 1);
    assert_eq!(moves.claims[0].pods, ["default/web-0", "default/new"]);
    assert!((moves.price() - 0.1).abs() < 1e-9);
    assert_eq!(drain(&full, &fleet, &PlanSettings::default(), &[]), Moves::default());
}
