//! What a DaemonSet does on one node: a pure function of the node and the pods there.

use std::sync::Arc;

use jiff::Timestamp;
use joiner_core::taint::{Effect, Taint, Toleration, TolerationOperator};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::{
    super::selection::NodeSelection,
    facts::TolerationJson,
    pods::{Phase, Pod},
    revisions::REVISION_LABEL,
    world::Node,
};

/// The taints that no daemon's pod has to fear, with the effect that it puts up with.
const TOLERATED: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];

/// What pods on the network of their node put up with besides.
const TOLERATED_ON_HOST_NETWORK: (&str, &str) =
    ("node.kubernetes.io/network-unavailable", "NoSchedule");

/// Where the pods of a template may be.
#[derive(Debug)]
pub(super) struct Placement {
    node: Option<String>,
    selection: NodeSelection,
    tolerations: Vec<Toleration>,
}

impl Placement {
    /// What the spec of a template says.
    pub(super) fn of(spec: &Value) -> Self {
        let own = spec["tolerations"].as_array().into_iter().flatten();
        let own = own.filter_map(|one| TolerationJson::deserialize(one).ok());
        let mut tolerations: Vec<_> = own.map(|one| one.toleration()).collect();
        for (key, effect) in tolerated(spec) {
            tolerations.push(Toleration {
                key: key.to_owned(),
                operator: TolerationOperator::Exists,
                value: String::new(),
                effect: Some(Effect::from(effect.to_owned())),
            });
        }
        let node = spec["nodeName"].as_str().filter(|name| !name.is_empty());
        Self {
            node: node.map(ToOwned::to_owned),
            selection: NodeSelection::read(spec),
            tolerations,
        }
    }

    /// Whether a pod should be made for the node, and whether one that is there may stay.
    pub(super) fn on(&self, node: &Node) -> (bool, bool) {
        let named = self.node.as_ref().is_none_or(|name| **name == *node.name);
        if !named || !self.selection.allows(&node.name, &node.labels) {
            return (false, false);
        }
        let untolerated = |effect: &Effect| {
            let mut taints = node.taints.iter().filter(|taint: &&Taint| taint.effect == *effect);
            taints.any(|taint| !self.tolerations.iter().any(|one| one.tolerates(taint)))
        };
        let stays = !untolerated(&Effect::NoExecute);
        (stays && !untolerated(&Effect::NoSchedule), stays)
    }
}

fn tolerated(spec: &Value) -> impl Iterator<Item = (&'static str, &'static str)> {
    let on_host = (spec["hostNetwork"] == true).then_some(TOLERATED_ON_HOST_NETWORK);
    TOLERATED.into_iter().chain(on_host)
}

/// Makes a pod one for this node, and no other.
pub(super) fn bind_to(pod: &mut Value, node: &str) {
    let spec = &mut pod["spec"];
    let field = json!({"key": "metadata.name", "operator": "In", "values": [node]});
    let required =
        &mut spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    match required["nodeSelectorTerms"].as_array_mut().filter(|terms| !terms.is_empty()) {
        Some(terms) => {
            for term in terms {
                term["matchFields"] = json!([field]);
            }
        }
        None => *required = json!({"nodeSelectorTerms": [{"matchFields": [field]}]}),
    }
    let mut tolerations = spec["tolerations"].as_array().cloned().unwrap_or_default();
    for (key, effect) in tolerated(spec) {
        let toleration = json!({"key": key, "operator": "Exists", "effect": effect});
        if !tolerations.contains(&toleration) {
            tolerations.push(toleration);
        }
    }
    spec["tolerations"] = tolerations.into();
}

/// What one node adds to the numbers of a DaemonSet's status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) desired: i64,
    pub(super) current: i64,
    pub(super) misscheduled: i64,
    pub(super) ready: i64,
    pub(super) available: i64,
    pub(super) updated: i64,
    /// Pods of an earlier version, which an update has to replace.
    pub(super) outdated: i64,
}

impl Share {
    /// Adds (or takes away) what a node contributes.
    pub(super) fn add(&mut self, other: Self, sign: i64) {
        self.desired += sign * other.desired;
        self.current += sign * other.current;
        self.misscheduled += sign * other.misscheduled;
        self.ready += sign * other.ready;
        self.available += sign * other.available;
        self.updated += sign * other.updated;
        self.outdated += sign * other.outdated;
    }
}

/// Whether a pod is of this revision.
pub(super) fn is_of(pod: &Pod, revision: &str) -> bool {
    pod.labels.get(REVISION_LABEL).is_some_and(|hash| hash == revision)
}

/// What a node contributes.
pub(super) fn share(
    runs: bool,
    pods: &[Arc<Pod>],
    revision: &str,
    min_ready_seconds: i64,
    now: Timestamp,
) -> Share {
    let active: Vec<_> = pods.iter().filter(|pod| pod.deleted.is_none()).collect();
    let outdated = active.iter().filter(|pod| !is_of(pod, revision)).count() as i64;
    if !runs {
        let misscheduled = i64::from(!pods.is_empty());
        return Share { misscheduled, ..Share::default() };
    }
    // With a surge there may be two: the older one is the one that counts.
    let oldest = active.iter().min_by(|a, b| a.created.cmp(&b.created).then(a.key.cmp(&b.key)));
    let ready = active.iter().any(|pod| pod.ready);
    let available = active.iter().any(|pod| pod.is_available(min_ready_seconds, now));
    Share {
        desired: 1,
        current: i64::from(!pods.is_empty()),
        misscheduled: 0,
        ready: i64::from(ready),
        available: i64::from(available),
        updated: i64::from(oldest.is_some_and(|pod| is_of(pod, revision))),
        outdated,
    }
}

/// What is to be done on a node.
#[derive(Debug, Default)]
pub(super) struct Todo<'a> {
    pub(super) create: bool,
    pub(super) delete: Vec<&'a Arc<Pod>>,
    /// Pods that ended, which a daemon's pods must not: they are replaced, with a pause.
    pub(super) replace: Vec<&'a Arc<Pod>>,
}

/// What is to be done on a node where a pod should be made or not, and may stay or not.
pub(super) fn todo((runs, stays): (bool, bool), pods: &[Arc<Pod>], surges: bool) -> Todo<'_> {
    let mut todo = Todo { create: runs && pods.is_empty(), ..Todo::default() };
    let present = || pods.iter().filter(|pod| pod.deleted.is_none());
    if !stays {
        todo.delete = present().collect();
        return todo;
    }
    todo.replace = present().filter(|pod| pod.phase.is_final()).collect();
    if !surges {
        // Of several pods the oldest one stays, preferably one that runs.
        let mut running: Vec<_> = present().filter(|pod| !pod.phase.is_final()).collect();
        running.sort_by(|a, b| {
            let started = |pod: &Pod| pod.phase != Phase::Running;
            let by_age = a.created.cmp(&b.created).then_with(|| a.key.cmp(&b.key));
            started(a).cmp(&started(b)).then(by_age)
        });
        todo.delete = running.into_iter().skip(1).collect();
    }
    todo
}
