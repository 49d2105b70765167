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
fn pd06_a_pod_moves_unless_it_has_ended_or_belongs_to_the_node() {
    check("", "", "", &[], true);
    check("", "", "phase: Running", &[], true);
    check("", "", "phase: Succeeded", &[], false);
    check("", "", "phase: Failed", &[], false);
    check(&owned("apps/v1", "ReplicaSet"), "", "", &[], true);
    check(&owned("apps/v1", "DaemonSet"), "", "", &[], false);
    check(&owned("v1", "Node"), "", "", &[], false);
}

#[test]
fn pd07_a_terminating_pod_moves_only_if_its_successor_needs_its_name() {
    check(DELETING, "", "", &[], false);
    check(&(owned("apps/v1", "ReplicaSet") + DELETING), "", "", &[], false);
    check(&(owned("apps/v1", "StatefulSet") + DELETING), "", "", &[], true);
    // It terminates already, so that nothing can protect it any more.
    let protected = ", annotations: {karpenter.sh/do-not-disrupt: 'true'}";
    check(&(owned("apps/v1", "StatefulSet") + DELETING + protected), "", "", &[], true);
}

#[test]
fn pd08_a_pod_that_is_protected_does_not_move() {
    check(", annotations: {karpenter.sh/do-not-disrupt: 'true'}", "", "", &[], false);
    check(", annotations: {karpenter.sh/do-not-disrupt: 'false'}", "", "", &[], true);
    check("", "", "", &[&format!("maxUnavailable: 0, {WEB}")], false);
    check("", "", "", &[&format!("maxUnavailable: 1, {WEB}")], true);
}

#[test]
fn pd09_budgets_do_not_hold_pods_that_are_not_evicted() {
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
