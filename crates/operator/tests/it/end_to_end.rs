//! §11.5 EE-01 to EE-09: what becomes of a whole cluster, with the whole engine, where no smaller
//! test can tell.

mod draining;
mod drift;
mod expiration;
mod fallback;
mod protection;
mod repair;
mod runaway;
mod static_pools;

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::{Change, ChangeKind, DeleteOptions, Key, Resource};
use joiner_lab::{Lab, history::Timeline};
use serde_json::{Value, json};

use crate::whole::{change_pool, create, deployment};

/// All objects of a resource.
fn list(lab: &Lab, group: &str, plural: &str) -> Vec<Value> {
    let found = lab.caller("admin").list(&Resource::new(group, plural), None);
    found.iter().map(|object| object.value()).collect()
}

/// Somebody changes an object.
fn merge(lab: &Lab, group: &str, plural: &str, key: &Key, patch: Value) {
    lab.caller("user").merge(&Resource::new(group, plural), key, None, patch).unwrap();
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap().to_owned()
}

/// Names of the claims there are.
fn claims(lab: &Lab) -> BTreeSet<String> {
    list(lab, "karpenter.sh", "nodeclaims").iter().map(name).collect()
}

/// Names of the pods that run.
fn running_pods(lab: &Lab) -> BTreeSet<String> {
    let pods = list(lab, "", "pods");
    pods.iter().filter(|pod| pod["status"]["phase"] == "Running").map(name).collect()
}

fn claim_changes(lab: &Lab) -> Vec<Change> {
    lab.history().changes_of("karpenter.sh", "nodeclaims")
}

/// How many claims were ever made.
fn made(lab: &Lab) -> usize {
    claim_changes(lab).iter().filter(|change| change.kind == ChangeKind::Added).count()
}

/// Asserts that the cluster has had these claims from the beginning of the story on, and that
/// nobody has ever asked one of them to go.
#[track_caller]
fn assert_untouched(lab: &Lab, old: &BTreeSet<String>) {
    let is_asked = |change: &&Change| change.object.deleting;
    let is_old = |name: &String| old.contains(name);
    let changes = claim_changes(lab);
    let asked = changes.iter().filter(is_asked).map(|change| change.object.key.name.to_string());
    let asked: BTreeSet<String> = asked.filter(is_old).collect();
    assert_eq!(asked, BTreeSet::new(), "{}", lab.history().timeline(&Timeline::default()));
    assert!(old.is_subset(&claims(lab)));
}

/// A workload whose pods are made from a changed template.
fn workload(name: &str, replicas: u64, change: impl FnOnce(&mut Value)) -> Value {
    let mut workload = deployment(name, replicas);
    change(&mut workload["spec"]["template"]);
    workload
}

/// Has pods of a workload keep to nodes of their own.
fn keep_apart(template: &mut Value) {
    let selector = json!({"matchLabels": template["metadata"]["labels"]});
    template["spec"]["affinity"] = json!({"podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"},
        ],
    }});
}

/// A pod that no workload makes again when it is gone.
fn create_pod(lab: &Lab, name: &str, change: impl FnOnce(&mut Value)) {
    let mut pod = deployment(name, 1)["spec"]["template"].take();
    pod["metadata"] = json!({"name": name, "namespace": "default"});
    change(&mut pod);
    create(lab, "", "pods", pod);
}

/// A budget of the pods of a workload.
fn create_budget(lab: &Lab, workload: &str, mut spec: Value) {
    spec["selector"] = json!({"matchLabels": {"app": workload}});
    let metadata = json!({"name": workload, "namespace": "default"});
    create(lab, "policy", "poddisruptionbudgets", json!({"metadata": metadata, "spec": spec}));
}

/// Has the pool want instances with another label, so that those there are have drifted.
fn want_others(lab: &Lab) {
    change_pool(lab, &json!({"template": {"metadata": {"labels": {"generation": "2"}}}}));
}

/// Whether every node is as [`want_others`] has asked for.
fn all_are_new(lab: &Lab) -> bool {
    list(lab, "", "nodes").iter().all(|node| node["metadata"]["labels"]["generation"] == "2")
}

/// Somebody deletes every node.
fn delete_nodes(lab: &Lab) {
    let nodes = Resource::new("", "nodes");
    for node in list(lab, "", "nodes") {
        let key = Key::new("", &name(&node));
        lab.caller("user").delete(&nodes, &key, DeleteOptions::default()).unwrap();
    }
}

/// How a pod has left.
#[derive(Debug)]
struct Leave {
    /// How long after its start it was asked to go.
    asked_after: SignedDuration,
    /// How long it was then given.
    grace: SignedDuration,
    /// How long it took.
    took: SignedDuration,
    /// What its container ended with.
    exit_code: i64,
}

impl Leave {
    /// How a pod has left; none if it has not.
    fn of(lab: &Lab, pod: &str) -> Option<Self> {
        let changes = lab.history().changes_of("", "pods");
        let mut own = changes.iter().filter(|change| &*change.object.key.name == pod);
        let asked = own.find(|change| change.object.deleting)?;
        let gone = own.find(|change| change.kind == ChangeKind::Deleted)?;
        let (first, last) = (asked.object.value(), gone.object.value());
        let started: Timestamp = first["status"]["startTime"].as_str()?.parse().unwrap();
        let ended = &last["status"]["containerStatuses"][0]["state"]["terminated"];
        Some(Self {
            asked_after: asked.at.duration_since(started),
            grace: SignedDuration::from_secs(
                first["metadata"]["deletionGracePeriodSeconds"].as_i64()?,
            ),
            took: gone.at.duration_since(asked.at),
            exit_code: ended["exitCode"].as_i64()?,
        })
    }
}
