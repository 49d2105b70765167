//! A scheduler.
//!
//! It keeps to the same rules as Joiner's planner but shares none of its code: a pod that the
//! planner found a place for and that stays pending here proves one of the two wrong.
//!
//! `decide` finds a node for a pod from what is known; this file takes note of changes and
//! carries decisions out.

mod amounts;
mod counts;
mod decide;
mod fit;
mod pod;
mod preempt;
mod queue;
mod refusal;
mod score;
mod state;
mod storage;
mod topology;
mod write;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use joiner_apiserver::{Change, ChangeKind, Key, Object, Server};

use self::{
    decide::{Decision, Failure, Memory},
    fit::could_fit,
    pod::Pod,
    preempt::Budget,
    queue::Queue,
    refusal::Rule,
    state::{NodeId, State},
    write::Writer,
};
use super::{
    Controller,
    selection::{integer, labels, selector},
    storage::{Claim, Class, Volume},
};

pub(crate) use self::pod::claims;

/// The scheduler that pods mean unless they say otherwise.
const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// A scheduler of pods that name no other.
#[derive(Debug)]
pub struct Scheduler {
    state: State,
    queue: Queue,
    budgets: BTreeMap<Key, Budget>,
    memory: Memory,
    news: News,
    /// Pods that have a node and wait for their volumes.
    binding: BTreeMap<Key, Arc<str>>,
    writer: Writer,
}

/// What happened since stuck pods were last looked at.
#[derive(Debug, Default)]
struct News {
    /// Nodes that came, changed, or lost a pod.
    nodes: BTreeSet<NodeId>,
    /// Pods came to nodes or changed there.
    pods: bool,
    storage: bool,
    namespaces: bool,
}

impl Scheduler {
    /// A scheduler for a server's cluster.
    pub fn new(server: &Server) -> Self {
        Self {
            state: State::default(),
            queue: Queue::default(),
            budgets: BTreeMap::new(),
            memory: Memory::default(),
            news: News::default(),
            binding: BTreeMap::new(),
            writer: Writer::new(server.caller("kube-scheduler")),
        }
    }

    fn observe_pod(&mut self, change: &Change, now: Timestamp) {
        let object = &change.object;
        let ended = matches!(object.field("status.phase"), "Succeeded" | "Failed");
        if change.kind == ChangeKind::Deleted || ended {
            self.forget_pod(object);
            return;
        }
        let node = object.field("spec.nodeName");
        if !node.is_empty() {
            self.observe_assigned(object, node);
        } else if object.deleting {
            self.forget_pod(object);
        } else if object.field("spec.schedulerName") == DEFAULT_SCHEDULER {
            let pod = Arc::new(Pod::read(object, &mut self.state.names));
            self.state.nominate(&pod, pod.nominated.as_deref());
            self.queue.put(&pod, now);
        }
    }

    fn observe_assigned(&mut self, object: &Object, node: &str) {
        if let Some((id, known)) = self.state.assignment(&object.key) {
            let same_labels =
                known.labels.len() == object.labels.len()
                    && known.labels.iter().zip(&object.labels).all(
                        |((key, value), (own_key, own))| **key == **own_key && **value == **own,
                    );
            // A bound pod changes in nothing else that matters here (resizing in place is not
            // simulated), and most changes are of its status.
            if known.uid == object.uid
                && known.deleting == object.deleting
                && *self.state.nodes[id].name == *node
                && same_labels
            {
                self.leave_queue(&object.key);
                return;
            }
        }
        let pod = Arc::new(Pod::read(object, &mut self.state.names));
        self.leave_queue(&pod.key);
        self.state.assign(pod, node);
        self.news.pods = true;
    }

    fn leave_queue(&mut self, key: &Key) {
        if let Some(pod) = self.queue.get(key).cloned() {
            self.state.nominate(&pod, None);
            self.queue.remove(key);
            self.binding.remove(key);
        }
    }

    fn forget_pod(&mut self, object: &Object) {
        self.leave_queue(&object.key);
        let known = self.state.assignment(&object.key);
        if known.is_some_and(|(_, pod)| pod.uid == object.uid)
            && let Some((node, _)) = self.state.unassign(&object.key)
        {
            self.news.nodes.insert(node);
        }
    }

    fn observe_node(&mut self, change: &Change) {
        let name = &change.object.key.name;
        if change.kind == ChangeKind::Deleted {
            self.state.remove_node(name);
            // One domain less may be what a spread was waiting for.
            self.news.pods = true;
        } else if self.state.put_node(&change.object)
            && let Some(id) = self.state.find(name)
        {
            self.news.nodes.insert(id);
        }
    }

    fn observe_storage(&mut self, change: &Change) {
        let (object, key) = (&change.object, &change.object.key);
        let gone = change.kind == ChangeKind::Deleted;
        let storage = &mut self.state.storage;
        match &*change.resource.plural {
            "persistentvolumeclaims" if gone => drop(storage.claims.remove(key)),
            "persistentvolumeclaims" => {
                storage.claims.insert(key.clone(), Claim::read(object));
            }
            "persistentvolumes" if gone => drop(storage.volumes.remove(&key.name)),
            "persistentvolumes" => {
                storage.volumes.insert(Arc::clone(&key.name), Volume::read(object));
            }
            "storageclasses" if gone => drop(storage.classes.remove(&*key.name)),
            "storageclasses" => {
                storage.classes.insert(key.name.to_string(), Class::read(object));
            }
            _ => storage.put_limits(&key.name, (!gone).then_some(object)),
        }
        self.state.touch();
        self.news.storage = true;
    }

    fn observe_budget(&mut self, change: &Change) {
        let key = change.object.key.clone();
        if change.kind == ChangeKind::Deleted {
            self.budgets.remove(&key);
            return;
        }
        let value = change.object.value();
        let budget = Budget {
            selector: selector(&value["spec"]["selector"]),
            allowed: integer(&value["status"]["disruptionsAllowed"]),
        };
        self.budgets.insert(key, budget);
        self.state.touch();
    }

    fn observe_namespace(&mut self, change: &Change) {
        let own = (change.kind != ChangeKind::Deleted)
            .then(|| labels(&change.object.value()["metadata"]["labels"]));
        if self.state.counts.put_namespace(&change.object.key.name, own.as_ref()) {
            self.state.touch();
            self.news.namespaces = true;
        }
    }

    /// Tries stuck pods again that the news may help.
    fn wake(&mut self, now: Timestamp) {
        let news = std::mem::take(&mut self.news);
        let nodes: Vec<_> = news.nodes.iter().map(|id| &self.state.nodes[*id]).collect();
        if nodes.is_empty() && !news.pods && !news.storage && !news.namespaces {
            return;
        }
        self.queue.wake(now, |pod, rules| {
            let others = rules.contains(&Rule::Spread) || rules.contains(&Rule::Affinity);
            (news.storage && rules.contains(&Rule::Volumes))
                || (others && (news.pods || news.namespaces || !nodes.is_empty()))
                || nodes.iter().any(|node| node.present && could_fit(pod, node))
        });
    }

    fn attempt(&mut self, pod: &Arc<Pod>, now: Timestamp) {
        match self.memory.decide(&mut self.state, pod, &self.budgets) {
            Decision::Place { node, supplies } => {
                let name = Arc::clone(&self.state.nodes[node].name);
                if supplies.is_empty() {
                    self.bind(pod, &name, now);
                    return;
                }
                if self.writer.supply(&mut self.state.storage, &supplies, &name).is_err() {
                    self.queue.retry(&pod.key);
                    return;
                }
                self.state.assign(Arc::clone(pod), &name);
                self.binding.insert(pod.key.clone(), name);
                self.queue.bind_later(&pod.key, now);
            }
            Decision::Refuse(failure) => self.refuse(pod, failure, now),
        }
    }

    /// Says why a pod goes nowhere, and lets others make room for it where that helps.
    fn refuse(&mut self, pod: &Arc<Pod>, failure: Failure, now: Timestamp) {
        let nominated = match &failure.room {
            Some(room) => {
                let name = &self.state.nodes[room.node].name;
                self.writer.push_out(pod, &room.victims, name, now);
                Some(name.to_string())
            }
            None if failure.keeps_nomination => pod.nominated.clone(),
            None => None,
        };
        self.state.nominate(pod, nominated.as_deref());
        self.writer.refuse(pod, &failure.message, nominated.as_deref(), now);
        self.queue.stick(&pod.key, failure.rules, now);
    }

    fn bind(&mut self, pod: &Arc<Pod>, node: &Arc<str>, now: Timestamp) {
        match self.writer.bind(pod, node, now) {
            Ok(()) => {
                self.state.nominate(pod, None);
                self.state.assign(Arc::clone(pod), node);
                self.queue.remove(&pod.key);
                self.news.pods = true;
            }
            Err(_) => {
                // A concurrent deletion or binding soon arrives as a change; other errors are
                // transient.
                self.state.unassign(&pod.key);
                self.queue.retry(&pod.key);
            }
        }
    }

    /// Binds pods whose volumes are there, and starts over with those that waited too long or whose
    /// node is gone.
    fn finish_bindings(&mut self, mut late: Vec<Key>, now: Timestamp) {
        let homeless = self.binding.iter().filter(|(_, node)| self.state.find(node).is_none());
        late.extend(homeless.map(|(key, _)| key.clone()));
        for key in late {
            if self.binding.remove(&key).is_some() {
                self.state.unassign(&key);
                self.queue.retry(&key);
            }
        }
        let ready: Vec<_> = self
            .binding
            .iter()
            .filter_map(|(key, node)| Some((self.queue.get(key)?.clone(), Arc::clone(node))))
            .filter(|(pod, _)| self.state.storage.is_ready(pod))
            .collect();
        for (pod, node) in ready {
            self.binding.remove(&pod.key);
            self.bind(&pod, &node, now);
        }
    }
}

impl Controller for Scheduler {
    fn name(&self) -> &'static str {
        "kube-scheduler"
    }

    fn observe(&mut self, change: &Change, now: Timestamp) {
        match (&*change.resource.group, &*change.resource.plural) {
            ("", "pods") => self.observe_pod(change, now),
            ("", "nodes") => self.observe_node(change),
            ("", "namespaces") => self.observe_namespace(change),
            ("policy", "poddisruptionbudgets") => self.observe_budget(change),
            ("", "persistentvolumeclaims" | "persistentvolumes")
            | ("storage.k8s.io", "storageclasses" | "csinodes") => self.observe_storage(change),
            _ => {}
        }
    }

    fn act(&mut self, now: Timestamp) -> Option<Timestamp> {
        let late = self.queue.pass_time(now);
        self.finish_bindings(late, now);
        self.wake(now);
        while let Some(pod) = self.queue.pop(now) {
            self.attempt(&pod, now);
        }
        self.queue.next()
    }
}
