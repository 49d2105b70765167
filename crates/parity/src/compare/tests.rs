use std::collections::BTreeMap;

use joiner_core::plan::{PlannedClaim, Unplaced};
use serde_json::json;

use super::*;

/// Claims as `pods@price`, pods without a place after a `-`.
fn plan(claims: &[&str], unplaced: &str) -> Checked {
    let claim = |text: &&str| {
        let (pods, price) = text.split_once('@').expect("a claim is pods@price");
        PlannedClaim {
            pods: pods.split_whitespace().map(str::to_owned).collect(),
            price: price.parse().expect("a price is a number"),
            ..PlannedClaim::default()
        }
    };
    let no_place =
        |pod: &str| Unplaced { pod: pod.to_owned(), message: String::new(), reasons: Vec::new() };
    let plan = Plan {
        claims: claims.iter().map(claim).collect(),
        unschedulable: unplaced.split_whitespace().map(no_place).collect(),
        ..Plan::default()
    };
    Checked { plan, findings: Vec::new() }
}

fn breaking(mut checked: Checked, rule: Rule) -> Checked {
    checked.findings.push(Finding { rule, subject: "a".to_owned(), message: "it does".to_owned() });
    checked
}

fn scenario(objects: Vec<serde_json::Value>) -> Scenario {
    Scenario {
        seed: 0,
        kinds: BTreeSet::new(),
        objects,
        instance_types: json!({}),
        flags: BTreeMap::new(),
    }
}

/// The verdict and the differences, as text.
fn told(objects: Vec<serde_json::Value>, ours: &Checked, theirs: &[Checked]) -> String {
    let comparison = compare(&scenario(objects), ours, theirs);
    let mut lines = vec![format!("{:?}", comparison.verdict())];
    for (difference, verdict) in &comparison.differences {
        lines.push(format!("{verdict:?}: {difference}"));
    }
    lines.join("\n")
}

#[test]
fn equal_plans_are_the_same() {
    let runs = [plan(&["a b@1", "c@2"], "d"), plan(&["c b@2", "a@1"], "d")];
    assert_eq!(told(vec![], &plan(&["a c@1", "b@2"], "d"), &runs), "Same");
}

#[test]
fn cheaper_than_the_median_is_better() {
    let runs = [plan(&["a@1", "b@2"], ""), plan(&["a b@2"], ""), plan(&["a@2", "b@2"], "")];
    assert_eq!(
        told(vec![], &plan(&["a b@2.5"], ""), &runs),
        "Better\n\
         Better: 1 instances, Karpenter 2 (1 to 2)\n\
         Better: price 2.5000, Karpenter 3.0000 (2.0000 to 4.0000)"
    );
}

#[test]
fn dearer_than_the_median_is_worse_even_with_fewer_instances() {
    let runs = [plan(&["a@1", "b@1"], "")];
    assert_eq!(
        told(vec![], &plan(&["a b@3"], ""), &runs),
        "Worse\nBetter: 1 instances, Karpenter 2\nWorse: price 3.0000, Karpenter 2.0000"
    );
}

#[test]
fn a_pod_that_every_run_places_must_be_placed() {
    let runs = [plan(&["a b@1"], "c"), plan(&["a c@1"], "b")];
    assert_eq!(
        told(vec![], &plan(&["b c@1"], "a"), &runs),
        "Worse\nWorse: only Karpenter places a"
    );
}

#[test]
fn a_pod_that_only_some_runs_place_may_be_left_out_or_placed() {
    let runs = [plan(&["a b@1"], ""), plan(&["a@1"], "b")];
    assert_eq!(told(vec![], &plan(&["a@1"], "b"), &runs), "Same");
    assert_eq!(told(vec![], &plan(&["a b@1"], ""), &runs), "Same");
}

#[test]
fn placing_what_karpenter_never_places_needs_a_reason() {
    let runs = [plan(&["a@1"], "b")];
    let ours = plan(&["a b@1"], "");
    assert_eq!(told(vec![], &ours, &runs), "Worse\nWorse: only we place b");
    let spread = json!({"kind": "Pod", "spec": {"topologySpreadConstraints": [{"maxSkew": 1}]}});
    assert_eq!(told(vec![spread], &ours, &runs), "Named(\"D2\")\nNamed(\"D2\"): only we place b");
}

#[test]
fn a_rule_that_our_plan_breaks_is_never_excused() {
    let ours = breaking(plan(&["a@1"], ""), Rule::LimitNodes);
    assert_eq!(
        told(vec![], &ours, &[plan(&["a@1"], "")]),
        "Worse\nWorse: our plan breaks a rule: limit.nodes: a: it does"
    );
}

#[test]
fn a_run_that_breaks_a_known_rule_is_no_measure() {
    let broken = breaking(plan(&["a b@1"], ""), Rule::LimitNodes);
    assert_eq!(told(vec![], &plan(&["a@1"], "b"), &[broken.clone(), plan(&["a@1"], "b")]), "Same");
    assert_eq!(
        told(vec![], &plan(&["a@1"], "b"), &[broken]),
        "Named(\"D6\")\n\
         Named(\"D6\"): each of Karpenter's plans breaks the rule limit.nodes\n\
         Named(\"D6\"): only Karpenter places b"
    );
}

#[test]
fn a_rule_that_karpenter_is_not_known_to_break_must_be_looked_at() {
    let run = breaking(plan(&["a@1"], ""), Rule::HostPort);
    assert_eq!(
        told(vec![], &plan(&["a@1"], ""), &[run.clone(), run, plan(&["a@1"], "")]),
        "Worse\nWorse: Karpenter's plan breaks a rule: hostPort: a: it does"
    );
}
