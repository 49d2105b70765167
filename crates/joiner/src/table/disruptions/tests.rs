//! Decisions made by hand, and how they read.

use expect_test::{Expect, expect};
use joiner_core::{
    disruption::{Candidate, Method, Paused},
    plan::{ExistingPlacement, PlannedClaim},
    reason::{Reason, ReasonId},
    testing::{node, snapshot},
};

use super::*;

#[track_caller]
fn check(fleet: &Fleet, disruptions: &Disruptions, wide: bool, expected: &Expect) {
    let snapshot = snapshot().node(node("w-0").pool("general")).build();
    let text = render(&snapshot, fleet, disruptions, View { wide, live: false });
    expected.assert_eq(&anstream::adapter::strip_str(&text).to_string());
}

fn candidate(number: usize) -> Candidate {
    Candidate {
        node_claim: format!("c-{number}"),
        node: format!("w-{number}"),
        node_pool: "general".to_owned(),
        pods: Vec::new(),
    }
}

fn stays(number: usize, id: ReasonId, message: &str) -> Staying {
    Staying {
        node: format!("w-{number}"),
        claim: format!("c-{number}"),
        reasons: vec![Reason::new(id, message)],
    }
}

#[test]
fn many_instances_are_named_by_example_and_all_of_them_in_the_wide_form() {
    let disruptions = Disruptions {
        commands: vec![
            Command {
                method: Method::Emptiness,
                decision: Decision::Delete,
                candidates: (1..6).map(candidate).collect(),
                replacements: Vec::new(),
                destinations: Vec::new(),
                reason: Reason::new(ReasonId::NodeEmpty, "5 instances hold nothing"),
                savings: 0.5,
                score: 0.0,
                scores: Vec::new(),
            },
            Command {
                method: Method::SingleNode,
                decision: Decision::Replace,
                candidates: vec![candidate(7)],
                replacements: vec![PlannedClaim {
                    pods: vec!["shop/web-1".to_owned()],
                    instance_types: ["small".to_owned(), "large".to_owned()].into(),
                    ..PlannedClaim::default()
                }],
                destinations: vec![ExistingPlacement {
                    node: "w-0".to_owned(),
                    pods: vec!["shop/web-0".to_owned()],
                    ..ExistingPlacement::default()
                }],
                reason: Reason::new(ReasonId::NodeUnderutilized, "its pods fit on less"),
                savings: 0.25,
                score: 0.0,
                scores: Vec::new(),
            },
        ],
        ..Disruptions::default()
    };
    check(
        &Fleet::default(),
        &disruptions,
        false,
        &expect![[r"
            6 instances would go, 1 would come: 0.7500 per hour less.

              remove w-1, w-2, w-3 and 2 more (general): 0.5000 per hour less
                5 instances hold nothing

              replace w-7 (general) by small or 1 other: 0.2500 per hour less
                its pods fit on less
        "]],
    );
    check(
        &Fleet::default(),
        &disruptions,
        true,
        &expect![[r"
            6 instances would go, 1 would come: 0.7500 per hour less.

              remove w-1, w-2, w-3, w-4, w-5 (general): 0.5000 per hour less
                5 instances hold nothing

              replace w-7 (general) by small or 1 other: 0.2500 per hour less
                its pods fit on less
                to w-0  shop/web-0
                to a new instance  shop/web-1
        "]],
    );
}

#[test]
fn many_instances_that_stay_are_told_by_reason() {
    let pdb = |number| stays(number, ReasonId::PodPdb, &format!("budget of w-{number}"));
    let young = |number| stays(number, ReasonId::NodeTooYoung, &format!("w-{number} is young"));
    let staying: Vec<Staying> = (0..5).map(pdb).chain((5..25).map(young)).collect();
    let few = Disruptions { staying: staying[..3].to_vec(), ..Disruptions::default() };
    check(
        &Fleet::default(),
        &few,
        false,
        &expect![[r"
            No instance would go.

            3 instances stay:

            INSTANCE  POOL     WHY IT STAYS
            w-0       general  budget of w-0
            w-1                budget of w-1
            w-2                budget of w-2

            More: joiner explain node w-0 -f …
        "]],
    );
    let of_cluster = View { wide: false, live: true };
    let text = render(&Snapshot::default(), &Fleet::default(), &few, of_cluster);
    let text = anstream::adapter::strip_str(&text).to_string();
    assert!(text.ends_with("More: joiner explain node w-0\n"), "{text}");
    let many = Disruptions { staying, ..Disruptions::default() };
    check(
        &Fleet::default(),
        &many,
        false,
        &expect![[r"
            No instance would go.

            25 instances stay:

            INSTANCES  SUCH AS        WHY THE FIRST OF THEM STAYS
                   20  w-5, w-6, w-7  w-5 is young
                    5  w-0, w-1, w-2  budget of w-0

            More: joiner explain node w-0 -f …
        "]],
    );
}

#[test]
fn a_pause_is_told_even_where_there_is_nothing_to_do() {
    let paused = Paused { by: "netops".to_owned(), on: "Namespace joiner".to_owned() };
    let fleet = Fleet { paused: Some(paused), ..Fleet::default() };
    check(
        &fleet,
        &Disruptions::default(),
        false,
        &expect![[r"
        No instance would go.

        Disruption is paused for the whole cluster by Namespace joiner: netops
    "]],
    );
}
