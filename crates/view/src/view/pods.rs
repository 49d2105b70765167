//! Pods.

use std::collections::BTreeMap;

use joiner_core::resources::{CPU, MEMORY};
use joiner_operator::index::requests_of_pod;
use k8s_openapi::api::core::v1::Pod;

use super::{Change, View};
use crate::{
    happenings::{Figures, Note},
    scene::{self, Kind, PodState, Waiting},
};

/// What matters of a pod.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Guest {
    pub(super) workload: String,
    pub(super) daemon: bool,
    /// Where it runs; empty while it has no node.
    pub(super) node: String,
    pub(super) state: PodState,
    pub(super) cpu: f64,
    pub(super) memory: f64,
    /// When it was first seen.
    pub(super) since: f64,
    /// Where it is meant to go, as an event says.
    pub(super) headed_for: String,
    /// Why there is no place for it, as an event says.
    pub(super) refused: String,
}

impl View {
    pub(super) fn see_pod(&mut self, at: f64, pod: &Pod, change: Change) {
        let key = key_of(pod);
        if change == Change::Gone || is_over(pod) {
            self.guests.remove(&key);
            return;
        }
        let mut guest = read(pod, at);
        match self.guests.get(&key) {
            Some(before) => {
                guest.since = before.since;
                guest.headed_for.clone_from(&before.headed_for);
                guest.refused.clone_from(&before.refused);
                let was_ready = matches!(before.state, PodState::Running | PodState::Unready);
                match guest.state {
                    PodState::Starting if was_ready => guest.state = PodState::Unready,
                    PodState::Running if !was_ready && !guest.daemon => {
                        self.longest_wait = self.longest_wait.max(at - guest.since);
                    }
                    _ => {}
                }
            }
            None if guest.node.is_empty() && !guest.daemon => self.tell_arrival(at, &guest),
            None => {}
        }
        self.guests.insert(key, guest);
    }

    fn tell_arrival(&mut self, at: f64, guest: &Guest) {
        self.unsettled = true;
        let (cpu, memory) = (guest.cpu, guest.memory);
        let figures = Figures { pods: 1, cpu, memory, ..Figures::default() };
        let note = Note::new(Kind::Arrived, &guest.workload, "", "");
        self.happenings.note(at, Note { figures, ..note });
    }

    /// Pods by their node, daemons last.
    pub(super) fn pods_by_node(&self) -> BTreeMap<&str, Vec<scene::Pod>> {
        let mut by_node: BTreeMap<&str, Vec<scene::Pod>> = BTreeMap::new();
        for ((namespace, name), guest) in &self.guests {
            by_node.entry(&guest.node).or_default().push(scene::Pod {
                namespace: namespace.clone(),
                name: name.clone(),
                workload: guest.workload.clone(),
                state: guest.state,
                daemon: guest.daemon,
                cpu: guest.cpu,
                memory: guest.memory,
            });
        }
        for pods in by_node.values_mut() {
            pods.sort_by_key(|pod| pod.daemon);
        }
        by_node
    }

    /// Pods without a node, those that wait longest first. A daemon's pod waits for nothing but its
    /// own node.
    pub(super) fn waiting(&self) -> Vec<Waiting> {
        let waiting = self.guests.iter().filter(|(_, guest)| guest.waits());
        let mut waiting: Vec<Waiting> = waiting
            .map(|((namespace, name), guest)| Waiting {
                namespace: namespace.clone(),
                name: name.clone(),
                workload: guest.workload.clone(),
                since: guest.since,
                cpu: guest.cpu,
                memory: guest.memory,
                headed_for: guest.headed_for.clone(),
                why: guest.refused.clone(),
            })
            .collect();
        waiting.sort_by(|one, other| one.since.total_cmp(&other.since));
        waiting
    }
}

impl Guest {
    /// Whether it wants a node and has none.
    pub(super) fn waits(&self) -> bool {
        self.node.is_empty() && !self.daemon && self.state != PodState::Ending
    }
}

fn read(pod: &Pod, at: f64) -> Guest {
    let requests = requests_of_pod(pod);
    Guest {
        workload: workload_of(pod),
        daemon: owner(pod).is_some_and(|(kind, _)| kind == "DaemonSet"),
        node: pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap_or_default(),
        state: state_of(pod),
        cpu: requests.get(CPU).as_f64(),
        memory: requests.get(MEMORY).as_f64(),
        since: at,
        headed_for: String::new(),
        refused: String::new(),
    }
}

pub(super) fn key_of(pod: &Pod) -> (String, String) {
    let metadata = &pod.metadata;
    let namespace = metadata.namespace.clone().unwrap_or_default();
    (namespace, metadata.name.clone().unwrap_or_default())
}

/// Whether it needs its node no more.
fn is_over(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

fn state_of(pod: &Pod) -> PodState {
    if pod.metadata.deletion_timestamp.is_some() {
        return PodState::Ending;
    }
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let mut ready = conditions.filter(|condition| condition.type_ == "Ready");
    if ready.any(|condition| condition.status == "True") {
        PodState::Running
    } else {
        PodState::Starting
    }
}

/// Kind and name of its owner.
fn owner(pod: &Pod) -> Option<(&str, &str)> {
    let owners = pod.metadata.owner_references.iter().flatten();
    let controller = owners.into_iter().find(|owner| owner.controller == Some(true))?;
    Some((&controller.kind, &controller.name))
}

/// `namespace/name` of what it belongs to: the Deployment behind a ReplicaSet, any other owner, or
/// the pod itself.
fn workload_of(pod: &Pod) -> String {
    let (namespace, own_name) = key_of(pod);
    let hash = pod.metadata.labels.as_ref().and_then(|labels| labels.get("pod-template-hash"));
    let name = match (owner(pod), hash) {
        (Some(("ReplicaSet", name)), Some(hash)) => {
            let deployment = name.strip_suffix(hash).and_then(|stem| stem.strip_suffix('-'));
            deployment.unwrap_or(name)
        }
        (Some((_, name)), _) => name,
        (None, _) => &own_name,
    };
    format!("{namespace}/{name}")
}
