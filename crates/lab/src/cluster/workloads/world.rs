//! Pods and nodes, read once per change and indexed by what controllers look them up by.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use joiner_apiserver::{Change, ChangeKind, Key, Object};
use joiner_core::{label::Labels, taint::Taint};
use serde::Deserialize;

use super::{
    facts::{ConditionJson, Meta, TaintJson, read},
    pods::Pod,
};

/// All pods and nodes.
#[derive(Debug, Default)]
pub(super) struct World {
    pods: BTreeMap<Key, Arc<Pod>>,
    on_node: BTreeMap<Arc<str>, BTreeSet<Key>>,
    controlled: BTreeMap<Arc<str>, BTreeSet<Key>>,
    uncontrolled: BTreeSet<Key>,
    nodes: BTreeMap<Arc<str>, Arc<Node>>,
}

/// What controllers need to know of a node.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) name: Arc<str>,
    pub(super) uid: Arc<str>,
    pub(super) labels: Labels,
    pub(super) taints: Vec<Taint>,
    pub(super) unschedulable: bool,
    pub(super) created: Timestamp,
    pub(super) conditions: Vec<ConditionJson>,
    pub(super) volumes_in_use: BTreeSet<String>,
}

/// A change, and what it means for pods and nodes.
#[derive(Debug)]
pub(super) struct News<'a> {
    pub(super) change: &'a Change,
    pub(super) now: Timestamp,
    /// The pod before and after, if it is a pod that changed.
    pub(super) pod: Option<Both<Pod>>,
    /// The node before and after, if it is a node that changed.
    pub(super) node: Option<Both<Node>>,
}

/// Something before and after a change.
#[derive(Debug)]
pub(super) struct Both<T> {
    pub(super) before: Option<Arc<T>>,
    pub(super) after: Option<Arc<T>>,
}

impl<T> Both<T> {
    /// The one before and the one after, as far as there are two.
    pub(super) fn each(&self) -> impl Iterator<Item = &Arc<T>> {
        self.before.iter().chain(&self.after)
    }

    /// The state after the change, or the last one of something that is gone.
    pub(super) fn last(&self) -> Option<&Arc<T>> {
        self.after.as_ref().or(self.before.as_ref())
    }
}

impl News<'_> {
    /// The object, if it is of this resource; with whether it is gone.
    pub(super) fn of(&self, group: &str, plural: &str) -> Option<(&Arc<Object>, bool)> {
        let of_it = self.change.resource.is(group, plural);
        of_it.then(|| (&self.change.object, self.change.kind == ChangeKind::Deleted))
    }
}

#[derive(Deserialize)]
struct NodeJson {
    metadata: Meta,
    spec: Option<NodeSpecJson>,
    status: Option<NodeStatusJson>,
}

#[derive(Default, Deserialize)]
struct NodeSpecJson {
    taints: Option<Vec<TaintJson>>,
    unschedulable: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeStatusJson {
    conditions: Option<Vec<ConditionJson>>,
    volumes_in_use: Option<BTreeSet<String>>,
}

impl Node {
    /// What an object says of its node.
    pub(super) fn of(object: &Object) -> Self {
        let NodeJson { metadata, spec, status } = read(object);
        let (spec, status) = (spec.unwrap_or_default(), status.unwrap_or_default());
        Self {
            name: Arc::clone(&object.key.name),
            uid: Arc::clone(&object.uid),
            created: metadata.created(),
            labels: metadata.labels.unwrap_or_default(),
            taints: spec.taints.into_iter().flatten().map(TaintJson::taint).collect(),
            unschedulable: spec.unschedulable.unwrap_or_default(),
            conditions: status.conditions.unwrap_or_default(),
            volumes_in_use: status.volumes_in_use.unwrap_or_default(),
        }
    }

    /// The condition of this type.
    pub(super) fn condition(&self, kind: &str) -> Option<&ConditionJson> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }

    /// Whether a condition has this status.
    pub(super) fn says(&self, kind: &str, status: &str) -> bool {
        self.condition(kind).is_some_and(|condition| condition.status == status)
    }

    /// Whether it carries a taint of this key.
    pub(super) fn has_taint(&self, key: &str) -> bool {
        self.taints.iter().any(|taint| taint.key == key)
    }
}

impl World {
    /// Takes in a change.
    pub(super) fn apply<'a>(&mut self, change: &'a Change, now: Timestamp) -> News<'a> {
        let there = change.kind != ChangeKind::Deleted;
        let pod = change.resource.is("", "pods").then(|| {
            let after = there.then(|| Arc::new(Pod::of(&change.object)));
            Both { before: self.put_pod(&change.object.key, after.clone()), after }
        });
        let node = change.resource.is("", "nodes").then(|| {
            let after = there.then(|| Arc::new(Node::of(&change.object)));
            let name = &change.object.key.name;
            let before = match &after {
                Some(node) => self.nodes.insert(Arc::clone(name), Arc::clone(node)),
                None => self.nodes.remove(name),
            };
            Both { before, after }
        });
        News { change, now, pod, node }
    }

    fn put_pod(&mut self, key: &Key, pod: Option<Arc<Pod>>) -> Option<Arc<Pod>> {
        let before = self.pods.remove(key);
        if let Some(pod) = &before {
            if let Some(node) = &pod.node {
                remove_from(&mut self.on_node, node, key);
            }
            match &pod.controller {
                Some(uid) => remove_from(&mut self.controlled, uid, key),
                None => {
                    self.uncontrolled.remove(key);
                }
            }
        }
        if let Some(pod) = pod {
            if let Some(node) = &pod.node {
                self.on_node.entry(Arc::clone(node)).or_default().insert(key.clone());
            }
            match &pod.controller {
                Some(uid) => {
                    self.controlled.entry(Arc::clone(uid)).or_default().insert(key.clone());
                }
                None => {
                    self.uncontrolled.insert(key.clone());
                }
            }
            self.pods.insert(key.clone(), pod);
        }
        before
    }

    /// A pod.
    pub(super) fn pod(&self, key: &Key) -> Option<&Arc<Pod>> {
        self.pods.get(key)
    }

    /// All pods of a namespace.
    pub(super) fn pods_in(&self, namespace: &str) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods
            .range(Key::new(namespace, "")..)
            .map(|(_, pod)| pod)
            .take_while(move |pod| &*pod.key.namespace == namespace)
    }

    /// The pods on a node.
    pub(super) fn pods_on(&self, node: &str) -> impl Iterator<Item = &Arc<Pod>> {
        self.on_node.get(node).into_iter().flatten().map(|key| &self.pods[key])
    }

    /// The pods that the owner of this uid controls.
    pub(super) fn pods_of(&self, uid: &str) -> impl Iterator<Item = &Arc<Pod>> {
        self.controlled.get(uid).into_iter().flatten().map(|key| &self.pods[key])
    }

    /// The pods of a namespace without a controller.
    pub(super) fn uncontrolled_in(&self, namespace: &str) -> impl Iterator<Item = &Arc<Pod>> {
        self.uncontrolled
            .range(Key::new(namespace, "")..)
            .take_while(move |key| &*key.namespace == namespace)
            .map(|key| &self.pods[key])
    }

    /// A node.
    pub(super) fn node(&self, name: &str) -> Option<&Arc<Node>> {
        self.nodes.get(name)
    }

    /// All nodes, by name.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.nodes.values()
    }
}

fn remove_from(index: &mut BTreeMap<Arc<str>, BTreeSet<Key>>, entry: &Arc<str>, key: &Key) {
    if let Some(keys) = index.get_mut(entry) {
        keys.remove(key);
        if keys.is_empty() {
            index.remove(entry);
        }
    }
}
