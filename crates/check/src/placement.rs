//! Checks that every pod is in the plan exactly once, and that the snapshot knows every name.

use std::collections::HashMap;

use joiner_core::{
    plan::{ExistingPlacement, Plan},
    pod::Role,
    settings::PlanSettings,
    snapshot::Snapshot,
};

use crate::finding::{Findings, Rule};

/// Where each pod goes, by its number in the snapshot. A pod with several places counts at the first one.
#[derive(Debug)]
pub(crate) struct Placement {
    /// The pods of each claim of the plan.
    pub(crate) claims: Vec<Vec<usize>>,
    /// The new pods of each node of the snapshot.
    pub(crate) nodes: Vec<Vec<usize>>,
}

/// Finds the pods and nodes that the plan names.
pub(crate) fn resolve(snapshot: &Snapshot, plan: &Plan, findings: &mut Findings) -> Placement {
    let mut pods = PodFinder::new(snapshot);
    let claims =
        plan.claims.iter().map(|claim| pods.find_all(&claim.pods, findings)).collect::<Vec<_>>();
    let mut nodes = vec![Vec::new(); snapshot.nodes.len()];
    let finder = NodeFinder::new(snapshot);
    let mut in_plan = vec![false; snapshot.nodes.len()];
    for existing in &plan.existing {
        let found = pods.find_all(&existing.pods, findings);
        let Some(node) = finder.find(existing, findings) else { continue };
        if std::mem::replace(&mut in_plan[node], true) {
            let name = snapshot.nodes[node].name();
            findings.add(Rule::NodeRepeated, name, "the plan has it more than once");
        }
        nodes[node].extend(found);
    }
    for unplaced in plan.unschedulable.iter().chain(&plan.deferred) {
        pods.find(&unplaced.pod, findings);
    }
    for (pod, seen) in snapshot.pods.iter().zip(&pods.seen) {
        if !seen {
            findings.add(Rule::PodMissing, pod.key(), "it has neither a place nor a reason");
        }
    }
    Placement { claims, nodes }
}

struct PodFinder<'a> {
    numbers: HashMap<(&'a str, &'a str), usize>,
    seen: Vec<bool>,
}

impl<'a> PodFinder<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
        let numbers = snapshot.pods.iter().enumerate();
        Self {
            numbers: numbers.map(|(number, pod)| ((&*pod.namespace, &*pod.name), number)).collect(),
            seen: vec![false; snapshot.pods.len()],
        }
    }

    fn find_all(&mut self, keys: &[String], findings: &mut Findings) -> Vec<usize> {
        keys.iter().filter_map(|key| self.find(key, findings)).collect()
    }

    /// The pod's number, if it is known and occurs for the first time.
    fn find(&mut self, key: &str, findings: &mut Findings) -> Option<usize> {
        let found = key.split_once('/').and_then(|name| self.numbers.get(&name));
        let Some(&pod) = found else {
            findings.add(Rule::PodUnknown, key, "the snapshot has no such pod to place");
            return None;
        };
        if std::mem::replace(&mut self.seen[pod], true) {
            findings.add(Rule::PodRepeated, key, "the plan has it more than once");
            return None;
        }
        Some(pod)
    }
}

struct NodeFinder<'a> {
    by_node: HashMap<&'a str, usize>,
    by_claim: HashMap<&'a str, usize>,
}

impl<'a> NodeFinder<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
        let nodes = || snapshot.nodes.iter().enumerate();
        Self {
            by_node: nodes()
                .filter_map(|(number, node)| Some((node.node.as_deref()?, number)))
                .collect(),
            by_claim: nodes()
                .filter_map(|(number, node)| Some((node.claim.as_deref()?, number)))
                .collect(),
        }
    }

    fn find(&self, existing: &ExistingPlacement, findings: &mut Findings) -> Option<usize> {
        let named = |name: &str, numbers: &HashMap<&str, usize>| {
            (!name.is_empty()).then(|| numbers.get(name).copied())
        };
        let by_node = named(&existing.node, &self.by_node);
        let by_claim = named(&existing.node_claim, &self.by_claim);
        let agreed = match (by_node, by_claim) {
            (Some(node), Some(claim)) if node == claim => node,
            (Some(node), None) => node,
            (None, Some(claim)) => claim,
            _ => None,
        };
        if agreed.is_none() {
            let subject = format!("node {:?}, claim {:?}", existing.node, existing.node_claim);
            findings.add(Rule::NodeUnknown, subject, "the snapshot has no such instance");
        }
        agreed
    }
}

/// Checks for claims and nodes without pods, and for pods that must not have a place.
pub(crate) fn check(
    snapshot: &Snapshot,
    settings: &PlanSettings,
    plan: &Plan,
    placement: &Placement,
    findings: &mut Findings,
) {
    for (number, claim) in plan.claims.iter().enumerate() {
        if claim.pods.is_empty() {
            let subject = format!("claims[{number}] of pool {}", claim.node_pool);
            findings.add(Rule::ClaimEmpty, subject, "nobody needs it");
        }
    }
    for existing in &plan.existing {
        if existing.pods.is_empty() {
            let message = "it is in the plan without receiving a pod";
            findings.add(Rule::NodeEmpty, existing.name(), message);
        }
    }
    for (node, pods) in snapshot.nodes.iter().zip(&placement.nodes) {
        if node.leaving && !pods.is_empty() {
            findings.add(Rule::NodeLeaving, node.name(), "it is going away and receives pods");
        }
    }
    for &number in placement.claims.iter().chain(&placement.nodes).flatten() {
        let pod = &snapshot.pods[number];
        if pod.spec.uses_dra && settings.ignore_dra {
            let message = "it asks for devices and has a place, though such pods are refused";
            findings.add(Rule::PodDra, pod.key(), message);
        }
        // A pod that moves has run before, so its volumes exist.
        if let (Some(waiting), false) = (&pod.volumes.waiting, pod.role == Role::Moving) {
            findings.add(Rule::PodVolumeWaiting, pod.key(), format!("it has a place: {waiting}"));
        }
    }
}
