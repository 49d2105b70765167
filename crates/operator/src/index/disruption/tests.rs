use std::fmt::Write;

use super::*;
use crate::index::tests::{NOW, objects};

/// Whether the pod of a leaving node can be moved now. `pod` are fields of its metadata, spec and
/// status, each optional; `budgets` are specs of disruption budgets.
#[track_caller]
fn check(metadata: &str, spec: &str, status: &str, budgets: &[&str], expected: bool) {
    let mut yaml = format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: p, labels: {{app: web}}{metadata}}}, \
         spec: {{containers: []{spec}}}, status: {{{status}}}}}\n"
    );
    for (i, budget) in budgets.iter().enumerate() {
        writeln!(
            yaml,
            "---\n{{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {{name: b{i}}}, \
             spec: {{{budget}}}}}"
        )
        .unwrap();
    }
    let objects = objects(&yaml);
    let disruption = Disruption::new(&objects, NOW.parse().unwrap());
    assert_eq!(disruption.is_currently_reschedulable(&objects.pods[0]), expected, "{yaml}");
}

const WEB: &str = "selector: {matchLabels: {app: web}}";
const DELETING: &str = ", deletionTimestamp: '2026-01-01T00:00:00Z'";

fn owned(api_version: &str, kind: &str) -> String {
    format!(", ownerReferences: [{{apiVersion: {api_version}, kind: {kind}, name: o, uid: u}}]")
}

#[test]
fn a_pod_moves_unless_it_has_ended_or_belongs_to_the_node() {
    check("", "", "", &[], true);
    check("", "", "phase: Running", &[], true);
    check("", "", "phase: Succeeded", &[], false);
    check("", "", "phase: Failed", &[], false);
    check(&owned("apps/v1", "ReplicaSet"), "", "", &[], true);
    check(&owned("apps/v1", "DaemonSet"), "", "", &[], false);
    check(&owned("v1", "Node"), "", "", &[], false);
}

#[test]
fn a_terminating_pod_moves_only_if_its_successor_needs_its_name() {
    check(DELETING, "", "", &[], false);
    check(&(owned("apps/v1", "ReplicaSet") + DELETING), "", "", &[], false);
    check(&(owned("apps/v1", "StatefulSet") + DELETING), "", "", &[], true);
    // It terminates already, so that nothing can protect it any more.
    let protected = ", annotations: {karpenter.sh/do-not-disrupt: 'true'}";
    check(&(owned("apps/v1", "StatefulSet") + DELETING + protected), "", "", &[], true);
}

#[test]
fn do_not_disrupt_holds_for_ever_or_for_a_while_after_the_start() {
    let annotated =
        |value: &str| format!(", annotations: {{karpenter.sh/do-not-disrupt: '{value}'}}");
    check(&annotated("true"), "", "", &[], false);
    check(&annotated("false"), "", "", &[], true);
    check(&annotated("soon"), "", "", &[], true);
    check(&annotated("-1h"), "", "", &[], true);
    check(&annotated("0s"), "", "", &[], true);
    // Without a start there is no end.
    check(&annotated("1h"), "", "", &[], false);
    let started = |time: &str| format!("startTime: '{time}'");
    check(&annotated("1h"), "", &started("2026-06-01T11:00:01Z"), &[], false);
    check(&annotated("1h"), "", &started("2026-06-01T11:00:00Z"), &[], true);
}

#[test]
fn a_budget_that_is_always_closed_keeps_a_pod() {
    for closed in ["maxUnavailable: 0", "maxUnavailable: 0%", "minAvailable: 100%"] {
        check("", "", "", &[&format!("{closed}, {WEB}")], false);
        check("", "", "", &[&format!("{closed}, selector: {{}}")], false);
        check("", "", "", &[&format!("{closed}, selector: {{matchLabels: {{app: db}}}}")], true);
        check("", "", "", &[closed], true);
    }
    for open in ["maxUnavailable: 1", "maxUnavailable: 10%", "minAvailable: 1", "minAvailable: 0%"]
    {
        check("", "", "", &[&format!("{open}, {WEB}")], true);
    }
}

#[test]
fn two_budgets_keep_a_pod_whatever_they_say() {
    let open = format!("maxUnavailable: 1, {WEB}");
    check("", "", "", &[&open, &open], false);
}

#[test]
fn a_budget_may_spare_only_healthy_pods() {
    let budget = format!("maxUnavailable: 0, unhealthyPodEvictionPolicy: AlwaysAllow, {WEB}");
    let ready = |status: &str| format!("conditions: [{{type: Ready, status: '{status}'}}]");
    check("", "", &ready("False"), &[&budget], true);
    check("", "", &ready("True"), &[&budget], false);
    check("", "", "", &[&budget], false);
}

#[test]
fn budgets_do_not_hold_pods_that_are_not_evicted() {
    let closed = format!("maxUnavailable: 0, {WEB}");
    check("", ", tolerations: [{operator: Exists}]", "", &[&closed], true);
    check(
        "",
        ", tolerations: [{key: karpenter.sh/disrupted, operator: Exists}]",
        "",
        &[&closed],
        true,
    );
    check("", ", tolerations: [{key: other, operator: Exists}]", "", &[&closed], false);
    check(&(owned("apps/v1", "StatefulSet") + DELETING), "", "", &[&closed], true);
}

#[test]
fn budgets_are_of_one_namespace() {
    let yaml = "
{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, spec: {maxUnavailable: 0, selector: {}}}
";
    let objects = objects(yaml);
    let disruption = Disruption::new(&objects, NOW.parse().unwrap());
    assert!(disruption.is_currently_reschedulable(&objects.pods[0]));
}
