use joiner_core::{
    disruption::{DisruptionSettings, Fleet},
    settings::PlanSettings,
    snapshot::Snapshot,
    testing::{
        NodeBuilder, SnapshotBuilder, budget, fleet, instance_type, node, pod, pool, snapshot,
    },
};

use super::*;

/// An instance with so many small pods.
fn holding(name: &str, of: &str, pods: usize) -> NodeBuilder {
    let instance = node(name).pool("default").of_type(of);
    (0..pods).fold(instance, |instance, i| instance.pod(pod(&format!("{name}-{i}")).cpu("500m")))
}

/// Two instances with three pods each, two with one, and one of somebody else with room for six. `c` is of type `of_c`.
fn cluster(of_c: &str) -> Snapshot {
    let types = [instance_type("dear").price(1.0), instance_type("cheap").price(0.5)];
    let instances = [("a", "dear", 3), ("b", "dear", 3), ("c", of_c, 1), ("d", "dear", 1)];
    let start = snapshot().pool(pool("default"), types).node(node("other").cpu("3"));
    instances
        .into_iter()
        .fold(start, |all, (name, of, pods)| all.node(holding(name, of, pods)))
        .build()
}

fn names(set: &[&Removable<'_>]) -> BTreeSet<String> {
    set.iter().map(|each| each.name().to_owned()).collect()
}

fn both(one: &str, other: &str) -> BTreeSet<String> {
    [one, other].map(str::to_owned).into()
}

/// What is made of the set of `a` and `b`.
fn exchanged_for(snapshot: &Snapshot, fleet: &Fleet) -> BTreeSet<String> {
    let settings = DisruptionSettings::default();
    let mut pass = Pass::new(snapshot, fleet, &PlanSettings::default(), settings);
    let candidates = pass.candidates(|each| each.may_be_consolidated(fleet));
    let set: Vec<_> = candidates.iter().filter(|each| ["a", "b"].contains(&each.name())).collect();
    let proposal = together(&mut pass, &set).expect("other has room for both");
    let found = exchanged(&mut pass, &candidates, Found::new(set, proposal));
    assert!((found.proposal.savings - 2.0).abs() < 1e-9, "as much is saved");
    names(&found.set)
}

#[test]
fn instances_whose_pods_are_dear_to_move_are_exchanged_for_others() {
    let snapshot = cluster("dear");
    assert_eq!(exchanged_for(&snapshot, &fleet(&snapshot).build()), both("c", "d"));
}

#[test]
fn no_instance_is_exchanged_for_one_that_saves_less_or_must_stay() {
    let snapshot = cluster("cheap");
    let fleet = fleet(&snapshot).instance("d", |instance| instance.do_not_disrupt = true);
    assert_eq!(exchanged_for(&snapshot, &fleet.build()), both("a", "b"));
}

/// Two dear instances with three pods each save more than a dear and a cheap one with one each, but not for as much moving.
#[test]
fn less_is_saved_where_much_less_moves() {
    let snapshot = cluster("cheap");
    let fleet = fleet(&snapshot).build();
    let settings = DisruptionSettings::default();
    let mut pass = Pass::new(&snapshot, &fleet, &PlanSettings::default(), settings);
    let candidates = pass.candidates(|each| each.may_be_consolidated(&fleet));
    let mut of = |names: [&str; 2]| {
        let set: Vec<_> = candidates.iter().filter(|each| names.contains(&each.name())).collect();
        let proposal = together(&mut pass, &set).expect("other has room for both");
        Found::new(set, proposal)
    };
    let (more, less) = (of(["a", "b"]), of(["c", "d"]));
    assert!(more.proposal.savings > less.proposal.savings);
    assert!(less.is_better_than(&more, &pass.totals));
    assert!(!more.is_better_than(&less, &pass.totals));
}

#[test]
fn budgets_hold_for_instances_that_go_one_by_one() {
    let snapshot = cluster("dear");
    let fleet = fleet(&snapshot).budgets("default", [budget("2")]).build();
    let settings = DisruptionSettings::default();
    let mut pass = Pass::new(&snapshot, &fleet, &PlanSettings::default(), settings);
    let candidates = pass.candidates(|each| each.may_be_consolidated(&fleet));
    let order: Vec<&Removable<'_>> = candidates.iter().collect();
    let found = one_by_one(&mut pass, &order).expect("two can go");
    assert_eq!(names(&found.set), both("a", "b"));
}

/// `a` and `b` can go, and `c` has the only room for their pods. By itself `c` could become a cheap instance, which would
/// save more than it adds to the set; but not once it has their pods.
#[test]
fn an_instance_that_would_take_the_pods_of_others_goes_with_them() {
    let types = [
        instance_type("dear").cpu("8").price(1.0),
        instance_type("fair").cpu("6").price(0.7),
        instance_type("cheap").cpu("4").price(0.5),
    ];
    let full = |all: SnapshotBuilder, i: usize| {
        let name = format!("full-{i}");
        all.node(holding(&name, "dear", 16).cpu("8"))
    };
    let start = snapshot().pool(pool("default"), types);
    let snapshot = (0..8)
        .fold(start, full)
        .node(holding("a", "dear", 2).cpu("8"))
        .node(holding("b", "dear", 2).cpu("8"))
        .node(holding("c", "dear", 6).cpu("8"))
        .build();
    let fleet = fleet(&snapshot).build();
    let settings = DisruptionSettings::default();
    let mut pass = Pass::new(&snapshot, &fleet, &PlanSettings::default(), settings);
    let candidates = pass.candidates(|each| each.may_be_consolidated(&fleet));
    let set: Vec<_> = candidates.iter().filter(|each| ["a", "b"].contains(&each.name())).collect();
    let proposal = together(&mut pass, &set).expect("c has room for both");
    let found = grown(&mut pass, &candidates, Found::new(set, proposal)).expect("it still can go");
    assert_eq!(names(&found.set), ["a", "b", "c"].map(str::to_owned).into());
    assert_eq!(found.proposal.replacements.len(), 1);
}
