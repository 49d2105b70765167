//! Commands, looked at once more.

use expect_test::{Expect, expect};
use joiner_core::{
    disruption::{Candidate, Command, Fleet, KeptBy, Method},
    label::ZONE,
    snapshot::Snapshot,
    testing::{FleetBuilder, SnapshotBuilder, budget, fleet, node, pod},
};
use joiner_plan::disrupt::{validate, validate_all};

use super::{Settings, as_it_is, cluster, decide, instance, replacement::splittable, tell_command};

/// The first command for a cluster, looked at again in another.
fn check_change(
    before: SnapshotBuilder,
    after: SnapshotBuilder,
    change: impl FnOnce(FleetBuilder) -> FleetBuilder,
    expected: Expect,
) {
    let command = first_command(&before.build());
    let (snapshot, fleet) = world(after, change);
    let settings = Settings::default();
    let answer = validate(&command, &snapshot, &fleet, &settings.planning, &settings.disruption);
    expected.assert_eq(&match answer {
        Ok(command) => tell_command(&command),
        Err(rejected) => format!("{}: {}", rejected.because, rejected.message),
    });
}

fn world(
    cluster: SnapshotBuilder,
    change: impl FnOnce(FleetBuilder) -> FleetBuilder,
) -> (Snapshot, Fleet) {
    let snapshot = cluster.build();
    let fleet = change(fleet(&snapshot)).build();
    (snapshot, fleet)
}

fn first_command(snapshot: &Snapshot) -> Command {
    let decided = decide(&Settings::default(), snapshot, &fleet(snapshot).build());
    decided.commands.into_iter().next().expect("a command")
}

fn two_empty() -> SnapshotBuilder {
    cluster().node(instance("a", "small")).node(instance("b", "small"))
}

fn deletable() -> SnapshotBuilder {
    cluster().node(instance("n", "small").pod(pod("p").cpu("1"))).node(node("other"))
}

fn replaceable() -> SnapshotBuilder {
    cluster().node(instance("n", "large").pod(pod("p").cpu("1")))
}

/// P-19, O-69, O-79
#[test]
fn a_command_that_is_still_good_is_kept() {
    check_change(two_empty(), two_empty(), as_it_is, expect!["emptiness: a b; saves 2.00"]);
    check_change(
        deletable(),
        deletable(),
        as_it_is,
        expect!["singleNodeConsolidation: n -> other: p; saves 1.00"],
    );
    check_change(
        replaceable(),
        replaceable(),
        as_it_is,
        expect!["singleNodeConsolidation: n -> new small +1: p; saves 3.00"],
    );
}

/// Its own mark does not count against it.
#[test]
fn a_candidate_may_be_marked_already() {
    check_change(
        deletable(),
        deletable(),
        |fleet| {
            fleet.budgets("default", [budget("1")]).instance("n", |instance| instance.queued = true)
        },
        expect!["singleNodeConsolidation: n -> other: p; saves 1.00"],
    );
}

/// O-08, O-09, O-10, V-04
#[test]
fn empty_instances_that_are_no_longer_empty_or_allowed_are_left_out() {
    let one_used =
        || cluster().node(instance("a", "small").pod(pod("new"))).node(instance("b", "small"));
    check_change(two_empty(), one_used(), as_it_is, expect!["emptiness: b; saves 1.00"]);
    check_change(
        two_empty(),
        two_empty(),
        |fleet| fleet.budgets("default", [budget("1")]),
        expect!["emptiness: a; saves 1.00"],
    );
    let promised = |fleet: FleetBuilder| fleet.instance("a", |instance| instance.nominated = true);
    check_change(two_empty(), two_empty(), promised, expect!["emptiness: b; saves 1.00"]);
}

#[test]
fn without_any_empty_instance_left_the_command_is_rejected() {
    let used = cluster().node(instance("a", "small").pod(pod("new")));
    check_change(two_empty(), used, as_it_is, expect!["churn: a is not empty any more"]);
    check_change(
        two_empty(),
        two_empty(),
        |fleet| fleet.budgets("default", [budget("0")]),
        expect![[
            r#"budget: the budgets of NodePool "default" allow no disruption for reason Empty now"#
        ]],
    );
    check_change(
        cluster().node(instance("a", "small")),
        cluster(),
        as_it_is,
        expect!["churn: NodeClaim a is gone"],
    );
}

/// O-11 to O-16, V-03
#[test]
fn a_budget_that_has_closed_rejects() {
    check_change(
        deletable(),
        deletable(),
        |fleet| fleet.budgets("default", [budget("0")]),
        expect![[
            r#"budget: the budgets of NodePool "default" allow no disruption for reason Underutilized now"#
        ]],
    );
    let promised = |fleet: FleetBuilder| fleet.instance("n", |instance| instance.nominated = true);
    check_change(
        deletable(),
        deletable(),
        promised,
        expect!["budget: n was promised to a pod that waits for a node"],
    );
}

/// O-72, O-73, O-74, O-75, V-05
#[test]
fn a_candidate_that_is_none_any_more_rejects() {
    for kept_by in [KeptBy::DoNotDisrupt(None), KeptBy::Budget("default/b".to_owned())] {
        let expected = match kept_by {
            KeptBy::DoNotDisrupt(_) => {
                expect!["churn: pod default/p has the annotation karpenter.sh/do-not-disrupt"]
            }
            _ => expect![
                "churn: PodDisruptionBudget default/b allows no eviction of pod default/p now"
            ],
        };
        check_change(deletable(), deletable(), |fleet| fleet.kept("p", kept_by), expected);
    }
    check_change(
        deletable(),
        cluster().node(instance("n", "small")),
        as_it_is,
        expect!["churn: n is empty now"],
    );
    check_change(deletable(), cluster(), as_it_is, expect!["churn: NodeClaim n is gone"]);
    check_change(
        deletable(),
        deletable(),
        |fleet| fleet.paused("ops"),
        expect![
            "churn: disruption is paused by ops; remove the annotation joiner.sh/pause-disruption from Namespace joiner to resume"
        ],
    );
}

/// O-70, O-71, V-04
#[test]
fn pods_that_would_not_find_places_as_they_did_reject() {
    let full = node("other").pod(pod("x").cpu("4"));
    check_change(
        deletable(),
        cluster().node(instance("n", "small").pod(pod("p").cpu("1"))).node(full),
        as_it_is,
        expect![
            "scheduling: its pods need an instance like n: the best replacement is another small (now on-demand in zone a)"
        ],
    );
    check_change(
        replaceable(),
        replaceable().node(node("other")),
        as_it_is,
        expect!["scheduling: no new instance is needed any more"],
    );
    // It would have to be larger than it was to be.
    let more =
        || cluster().node(instance("n", "large").pod(pod("p").cpu("1")).pod(pod("q").cpu("2")));
    check_change(
        replaceable(),
        more(),
        as_it_is,
        expect!["scheduling: the new instance could not be a small any more"],
    );
    let in_zone = pod("p").cpu("1").on_node_selector(ZONE, "a");
    check_change(
        replaceable(),
        cluster().node(instance("n", "large").pod(in_zone)),
        as_it_is,
        expect![
            "scheduling: pods demand something else of the new instance's topology.kubernetes.io/zone now"
        ],
    );
}

/// Which of two new instances is for which pods does not matter, but two have to be enough and needed.
#[test]
fn two_new_instances_have_to_be_needed_still() {
    check_change(
        splittable(9.0, 2),
        splittable(9.0, 2),
        as_it_is,
        expect!["singleNodeConsolidation: n -> new two: p0; new two: p1; saves 7.00"],
    );
    check_change(
        splittable(9.0, 2),
        splittable(9.0, 2).node(node("other").cpu("2")),
        as_it_is,
        expect!["scheduling: new instances that are needed now: 1 instead of 2"],
    );
    check_change(
        splittable(9.0, 2),
        splittable(9.0, 3),
        as_it_is,
        expect![
            "scheduling: can't remove without creating 3 instances: its pods do not fit on one or two new instances besides what the others can take"
        ],
    );
}

/// Commands of one pass are looked at together.
#[test]
fn two_commands_that_only_fit_one_by_one_are_not_both_kept() {
    let two = || {
        cluster()
            .node(instance("a", "small").pod(pod("p").cpu("2")))
            .node(instance("b", "small").pod(pod("q").cpu("2")))
            .node(node("x").cpu("2"))
    };
    let both = first_command(&two().node(node("y").cpu("2")).build());
    let alone = |candidate: &Candidate| Command {
        method: Method::SingleNode,
        candidates: vec![candidate.clone()],
        ..both.clone()
    };
    let singles: Vec<Command> = both.candidates.iter().map(alone).collect();
    let (now, fleet) = world(two(), as_it_is);
    let settings = Settings::default();
    let answers = validate_all(&singles, &now, &fleet, &settings.planning, &settings.disruption);
    let kept: Vec<bool> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(kept, [true, false]);
}
