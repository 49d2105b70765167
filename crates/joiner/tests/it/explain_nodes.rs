//! `joiner explain node`, `joiner explain nodes` and `joiner explain drain`.

use expect_test::expect;
use serde_json::Value;

use crate::{check, run};

/// The sample cluster, in the forenoon of a Monday.
const FORENOON: [&str; 4] = ["-f", "examples/right-size", "--at", "2026-03-02T10:00:00Z"];

fn explain<'a>(what: &[&'a str]) -> Vec<&'a str> {
    [&["explain"], what, &FORENOON[..]].concat()
}

fn json(what: &[&str]) -> Value {
    let answer = run(&[&explain(what)[..], &["-o", "json"]].concat());
    assert_eq!(answer.code, Some(0), "{answer}");
    serde_json::from_str(&answer.stdout).unwrap()
}

#[test]
fn all_nodes_at_a_glance() {
    check(&explain(&["nodes"]), "", &expect![[r""]]);
}

#[test]
fn programs_get_the_same_of_all_nodes() {
    let answer = json(&["nodes"]);
    let nodes = answer["nodes"].as_array().unwrap();
    let shown: Vec<String> = nodes
        .iter()
        .map(|node| {
            let text = |key: &str| node[key].as_str().unwrap_or_default().to_owned();
            let id = node["reason"]["id"].as_str().unwrap_or("-");
            format!("{} {} {id}", text("node"), text("verdict"))
        })
        .collect();
    expect![[r""]].assert_eq(&shown.join("\n"));
}

#[test]
fn a_node_that_goes_says_what_is_saved_and_where_its_pods_go() {
    check(&explain(&["node", "worker-3"]), "", &expect![[r""]]);
    check(&explain(&["node", "worker-2"]), "", &expect![[r""]]);
}

#[test]
fn a_node_that_is_kept_by_a_pod_names_what_keeps_it_and_the_remedy() {
    check(&explain(&["node", "worker-5"]), "", &expect![[r""]]);
    check(&explain(&["node", "worker-6"]), "", &expect![[r""]]);
}

#[test]
fn a_node_that_waits_for_a_budget_says_when_it_opens() {
    check(&explain(&["node", "db-1"]), "", &expect![[r""]]);
}

#[test]
fn a_node_of_a_paused_pool_says_who_paused_it() {
    check(&explain(&["node", "edge-1"]), "", &expect![[r""]]);
}

#[test]
fn a_node_that_is_not_ours_is_told_so() {
    check(&explain(&["node", "control-1"]), "", &expect![[r""]]);
}

#[test]
fn a_node_is_also_known_by_its_claim() {
    let by_claim = json(&["node", "databases-q6f8w"]);
    assert_eq!((&by_claim["node"], &by_claim["verdict"]), (&"db-1".into(), &"stay".into()));
}

#[test]
fn programs_get_reasons_remedies_and_places() {
    let answer = json(&["node", "worker-5"]);
    expect![[r""]].assert_eq(&serde_json::to_string_pretty(&answer).unwrap());
}

#[test]
fn nodes_that_are_not_there_are_guessed_all_at_once() {
    check(&explain(&["node", "wroker-3"]), "", &expect![[r""]]);
    check(&explain(&["drain", "worker-33", "worker-1", "nothing-like-it"]), "", &expect![[r""]]);
    check(&["explain", "node", "n", "-f", "examples/vsphere"], "", &expect![[r""]]);
}

#[test]
fn a_drain_says_where_pods_go() {
    check(&explain(&["drain", "worker-3", "worker-4"]), "", &expect![[r""]]);
}

#[test]
fn a_drain_that_would_not_end_says_who_must_do_what() {
    check(&explain(&["drain", "worker-5", "worker-6"]), "", &expect![[r""]]);
}

#[test]
fn a_drain_of_volumes_goes_where_the_volumes_are() {
    check(&explain(&["drain", "db-2"]), "", &expect![[r""]]);
    let answer = json(&["drain", "db-2"]);
    assert_eq!(answer["completes"], true);
    let zones: Vec<&Value> = answer["replacements"][0]["requirements"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|requirement| requirement["key"] == "topology.kubernetes.io/zone")
        .map(|requirement| &requirement["values"])
        .collect();
    assert_eq!(zones, [&serde_json::json!(["test-zone-b"])]);
}

#[test]
fn pods_leave_in_order_of_who_needs_whom() {
    check(&["explain", "drain", "n", "-f", "-"], ORDERED, &expect![[r""]]);
}

/// A node of nobody's with pods of every sort.
const ORDERED: &str = "
{apiVersion: v1, kind: Node, metadata: {name: n}, status: {allocatable: {cpu: 4, pods: 10}}}
---
apiVersion: v1
kind: Pod
metadata: {name: dns-0, namespace: kube-system, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: dns, uid: dns}]}
spec: {nodeName: n, priorityClassName: system-cluster-critical, containers: []}
---
apiVersion: v1
kind: Pod
metadata: {name: agent-0, namespace: kube-system, ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: agent, uid: agent}]}
spec: {nodeName: n, containers: []}
---
apiVersion: v1
kind: Pod
metadata: {name: shell, namespace: shop}
spec: {nodeName: n, containers: []}
---
apiVersion: v1
kind: Pod
metadata: {name: nightly-0, namespace: shop, annotations: {karpenter.sh/do-not-disrupt: 2h}, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: nightly, uid: nightly}]}
spec: {nodeName: n, containers: []}
status: {phase: Running, startTime: '2100-01-01T00:00:00Z'}
";
