//! The pod garbage collector: removes pods of missing or out-of-service nodes, and finished pods
//! above a limit.

use std::{collections::BTreeSet, sync::Arc};

use jiff::Timestamp;
use joiner_apiserver::{Caller, DeleteOptions, Key, Resource, Server, Status};
use serde_json::json;

use super::super::{
    Part,
    facts::{Condition, later},
    owned::unless_gone,
    pods::Pod,
    queue::Queue,
    tainted::add_pod_condition,
    world::{News, World},
};

/// How long a node has to be gone before its pods go.
const QUARANTINE_SECONDS: i64 = 40;
/// How many finished pods may stay (`--terminated-pod-gc-threshold`).
const FINISHED_KEPT: usize = 12_500;
/// The taint of a node that an administrator declared dead.
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// The garbage collector of pods.
pub(in super::super) struct PodGarbage {
    caller: Caller,
    pods: Resource,
    finished: BTreeSet<(Timestamp, Key)>,
    /// Nodes whose pods may have to go.
    nodes: Queue<Arc<str>>,
}

impl PodGarbage {
    /// The garbage collector of pods.
    pub(in super::super) fn new(server: &Server) -> Self {
        Self {
            caller: server.caller("pod-garbage-collector"),
            pods: Resource::new("", "pods"),
            finished: BTreeSet::new(),
            nodes: Queue::default(),
        }
    }

    fn sync(&self, world: &World, name: &Arc<str>, now: Timestamp) -> Result<(), Status> {
        let pods = || world.pods_on(name);
        match world.node(name) {
            None => {
                let condition = Condition {
                    kind: "DisruptionTarget",
                    status: "True",
                    reason: "DeletionByPodGC",
                    message: "PodGC: node no longer exists",
                };
                for pod in pods() {
                    add_pod_condition(&self.caller, &self.pods, &pod.key, condition, now)?;
                    self.remove(pod)?;
                }
            }
            Some(node) if node.has_taint(OUT_OF_SERVICE) && !node.says("Ready", "True") => {
                for pod in pods().filter(|pod| pod.deleted.is_some()) {
                    self.remove(pod)?;
                }
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// Deletes a pod without waiting for a kubelet.
    fn remove(&self, pod: &Pod) -> Result<(), Status> {
        if !pod.phase.is_final() {
            let patch = json!({"status": {"phase": "Failed"}});
            unless_gone(self.caller.merge(&self.pods, &pod.key, Some("status"), patch))?;
        }
        let options = DeleteOptions {
            grace_period_seconds: Some(0),
            uid: Some((*pod.uid).into()),
            ..DeleteOptions::default()
        };
        unless_gone(self.caller.delete(&self.pods, &pod.key, options))
    }
}

impl Part for PodGarbage {
    fn observe(&mut self, world: &World, news: &News<'_>) {
        if let Some(node) = &news.node
            && let Some(last) = node.last()
        {
            match &node.after {
                None => {
                    let due = later(news.now, QUARANTINE_SECONDS);
                    self.nodes.add_at(Arc::clone(&last.name), due);
                }
                Some(after) if after.has_taint(OUT_OF_SERVICE) => {
                    self.nodes.add(Arc::clone(&last.name));
                }
                Some(_) => {}
            }
        }
        let Some(pod) = &news.pod else { return };
        if let Some(before) = &pod.before {
            self.finished.remove(&(before.created, before.key.clone()));
        }
        let Some(after) = &pod.after else { return };
        if after.phase.is_final() {
            self.finished.insert((after.created, after.key.clone()));
        }
        if let Some(name) = &after.node {
            match world.node(name) {
                None => self.nodes.add_at(Arc::clone(name), later(news.now, QUARANTINE_SECONDS)),
                Some(node) if after.deleted.is_some() && node.has_taint(OUT_OF_SERVICE) => {
                    self.nodes.add(Arc::clone(name));
                }
                Some(_) => {}
            }
        }
    }

    fn act(&mut self, world: &World, now: Timestamp) -> Option<Timestamp> {
        for name in self.nodes.take(now) {
            let result = self.sync(world, &name, now);
            self.nodes.settle(name, now, &result.map(|()| None));
        }
        let surplus = self.finished.len().saturating_sub(FINISHED_KEPT);
        for (_, key) in self.finished.iter().take(surplus) {
            // Refused deletions are repeated with the next change.
            if let Some(pod) = world.pod(key).filter(|pod| pod.deleted.is_none()) {
                let _ = self.remove(pod);
            }
        }
        self.nodes.next()
    }
}
