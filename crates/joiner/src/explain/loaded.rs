//! Instances with all pods that are on them.

use std::collections::HashMap;

use joiner_core::{
    disruption::{Fleet, PodFacts},
    pod::{Pod, Role},
    snapshot::{Node, Snapshot},
};
use joiner_operator::{objects::Objects, pods::node_of, world::Kept as _};

use crate::{input::Input, settings::Settings};

/// A cluster in which every pod that has an instance is on it.
///
/// To the planner, pods that can move off an instance that is leaving wait for a place like others.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) snapshot: Snapshot,
    pub(super) fleet: Fleet,
}

impl Loaded {
    /// The same cluster as the planner's snapshot of it.
    pub(super) fn new(input: &Input, snapshot: &Snapshot, settings: &Settings) -> Self {
        let snapshot = put_back(&input.objects, snapshot);
        let fleet = input.instances(&snapshot, settings);
        Self { snapshot, fleet }
    }

    /// The instance at this position.
    pub(super) fn node(&self, at: usize) -> &Node {
        &self.snapshot.nodes[at]
    }

    /// The pods of the instance at this position, and what its removal means for each.
    pub(super) fn pods(&self, at: usize) -> impl Iterator<Item = (&Pod, &PodFacts)> {
        self.node(at).pods.iter().zip(&self.fleet.instances[at].pods)
    }
}

fn put_back(objects: &Objects, snapshot: &Snapshot) -> Snapshot {
    let mut loaded = snapshot.clone();
    let nodes = snapshot.nodes.iter().zip(0..);
    let positions: HashMap<&str, usize> =
        nodes.filter_map(|(node, at)| Some((node.node.as_deref()?, at))).collect();
    let position = |node: &str| positions.get(node).copied();
    let pods = objects.pods.iter();
    let bound: HashMap<String, usize> = pods
        .filter_map(|pod| Some((pod.key().to_string(), node_of(pod).and_then(position)?)))
        .collect();
    for pod in std::mem::take(&mut loaded.pods) {
        match bound.get(&pod.key()) {
            Some(at) if pod.role == Role::Moving => loaded.nodes[*at].pods.push(pod),
            _ => loaded.pods.push(pod),
        }
    }
    loaded
}
