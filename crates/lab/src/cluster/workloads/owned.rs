//! What all controllers that make pods share: whose pod is it, and how is one made.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use joiner_apiserver::{Caller, DeleteOptions, Key, Object, Resource, Server, Status};
use joiner_core::{label::Labels, selector::LabelSelector};
use serde_json::{Value, json};

use super::{
    events::{About, Recorder},
    facts::Meta,
    pods::Pod,
    selectors::Selectors,
    world::{Both, World},
};

/// How many pods are made or deleted for one owner at a time.
const BURST: usize = 500;

/// What all who control pods by a selector have in common.
#[derive(Debug)]
pub(super) struct Owning {
    /// What it is, for references and events.
    pub(super) about: About,
    /// Which pods it selects.
    pub(super) selector: LabelSelector,
    /// Whether it is being deleted; then it takes no more pods.
    pub(super) deleting: bool,
}

impl Owning {
    /// The common part of an object of a kind.
    pub(super) fn new(
        object: &Object,
        (api_version, kind): (&'static str, &'static str),
        metadata: &Meta,
        selector: LabelSelector,
    ) -> Self {
        let (key, uid) = (object.key.clone(), Arc::clone(&object.uid));
        let about = About { api_version, kind, key, uid };
        Self { about, selector, deleting: metadata.deleted().is_some() }
    }
}

/// Something that controls pods by a selector.
pub(super) trait Owner {
    /// What it has in common with all others.
    fn owning(&self) -> &Owning;
}

/// The owners of one kind, by name, by uid and by what they select.
#[derive(Debug)]
pub(super) struct Owners<T> {
    by_key: BTreeMap<Key, Arc<T>>,
    by_uid: BTreeMap<Arc<str>, Key>,
    selectors: Selectors,
}

impl<T> Default for Owners<T> {
    fn default() -> Self {
        Self { by_key: BTreeMap::new(), by_uid: BTreeMap::new(), selectors: Selectors::default() }
    }
}

impl<T: Owner> Owners<T> {
    /// Takes in an owner, in place of an earlier state of it.
    pub(super) fn put(&mut self, owner: T) {
        let key = owner.owning().about.key.clone();
        self.remove(&key);
        self.by_uid.insert(Arc::clone(&owner.owning().about.uid), key.clone());
        self.selectors.put(&key, owner.owning().selector.clone());
        self.by_key.insert(key, Arc::new(owner));
    }

    /// Forgets an owner.
    pub(super) fn remove(&mut self, key: &Key) {
        if let Some(owner) = self.by_key.remove(key) {
            self.by_uid.remove(&owner.owning().about.uid);
            self.selectors.remove(key);
        }
    }

    /// An owner.
    pub(super) fn get(&self, key: &Key) -> Option<Arc<T>> {
        self.by_key.get(key).cloned()
    }

    /// The owner of this uid.
    pub(super) fn key_of(&self, uid: &str) -> Option<&Key> {
        self.by_uid.get(uid)
    }

    /// All of them, in the order of their keys.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.by_key.values()
    }

    /// The owners in a namespace whose selectors match these labels.
    pub(super) fn selecting(&self, namespace: &str, labels: &Labels) -> BTreeSet<Key> {
        self.selectors.selecting(namespace, labels)
    }

    /// The owners to examine again after a change of a pod: its controller, or the owners that might
    /// adopt it.
    pub(super) fn concerned(&self, pod: &Both<Pod>) -> BTreeSet<Key> {
        let mut keys = BTreeSet::new();
        for pod in pod.each() {
            match &pod.controller {
                Some(uid) => keys.extend(self.by_uid.get(uid).cloned()),
                None => keys.extend(self.selecting(&pod.key.namespace, &pod.labels)),
            }
        }
        keys
    }
}

/// One who makes and deletes pods for owners of one kind, and tells about it.
#[derive(Debug)]
pub(super) struct PodMaker {
    pub(super) caller: Caller,
    pub(super) recorder: Recorder,
    pub(super) pods: Resource,
}

impl PodMaker {
    /// One who calls under this name and tells under this component's.
    pub(super) fn new(server: &Server, name: &str, component: &'static str) -> Self {
        Self {
            caller: server.caller(name),
            recorder: Recorder::new(server, component),
            pods: Resource::new("", "pods"),
        }
    }

    /// The pods that an owner controls, after adopting matching orphans and releasing pods that no
    /// longer match.
    pub(super) fn claim<T: Owner>(
        &self,
        world: &World,
        owner: &T,
    ) -> Result<Vec<Arc<Pod>>, Status> {
        let Owning { about, selector, deleting } = owner.owning();
        let mut pods = Vec::new();
        for pod in world.pods_of(&about.uid) {
            if selector.matches(&pod.labels) {
                pods.push(Arc::clone(pod));
            } else if !deleting && pod.deleted.is_none() {
                unless_gone(self.release(&pod.key, &about.uid))?;
            }
        }
        if *deleting {
            return Ok(pods);
        }
        for pod in world.uncontrolled_in(&about.key.namespace) {
            if pod.deleted.is_none() && selector.matches(&pod.labels) {
                unless_gone(self.adopt(&pod.key, about))?;
                pods.push(Arc::clone(pod));
            }
        }
        Ok(pods)
    }

    fn adopt(&self, pod: &Key, about: &About) -> Result<(), Status> {
        let object = self.caller.get(&self.pods, pod)?.value();
        let mut owners = object["metadata"]["ownerReferences"].clone();
        match owners.as_array_mut() {
            Some(owners) => owners.push(about.controller_reference()),
            None => owners = json!([about.controller_reference()]),
        }
        self.set_owners(pod, &object, &owners)
    }

    fn release(&self, pod: &Key, owner: &str) -> Result<(), Status> {
        let object = self.caller.get(&self.pods, pod)?.value();
        let mut owners = object["metadata"]["ownerReferences"].clone();
        if let Some(owners) = owners.as_array_mut() {
            owners.retain(|reference| reference["uid"] != owner);
        }
        self.set_owners(pod, &object, &owners)
    }

    fn set_owners(&self, pod: &Key, object: &Value, owners: &Value) -> Result<(), Status> {
        let version = object["metadata"]["resourceVersion"].clone();
        let patch = json!({"metadata": {"ownerReferences": owners, "resourceVersion": version}});
        self.caller.merge(&self.pods, pod, None, patch)?;
        Ok(())
    }

    /// Makes pods until one is refused, and tells about each. A few hundred are made at a time: the
    /// rest follows when these exist.
    pub(super) fn create(
        &mut self,
        about: &About,
        count: usize,
        now: Timestamp,
        mut pod: impl FnMut(usize) -> Value,
    ) -> Result<(), Status> {
        for number in 0..count.min(BURST) {
            self.create_one(about, pod(number), now)?;
        }
        Ok(())
    }

    /// Makes one pod and tells about it.
    pub(super) fn create_one(
        &mut self,
        about: &About,
        pod: Value,
        now: Timestamp,
    ) -> Result<Arc<Object>, Status> {
        match self.caller.create(&self.pods, pod) {
            Ok(object) => {
                let message = format!("Created pod: {}", object.key.name);
                self.recorder.normal(about, "SuccessfulCreate", &message, now);
                Ok(object)
            }
            Err(status) => {
                let message = format!("Error creating: {status}");
                self.recorder.warning(about, "FailedCreate", &message, now);
                Err(status)
            }
        }
    }

    /// Deletes pods and tells about each.
    pub(super) fn delete<'a>(
        &mut self,
        about: &About,
        pods: impl IntoIterator<Item = &'a Arc<Pod>>,
        now: Timestamp,
    ) -> Result<(), Status> {
        for pod in pods.into_iter().take(BURST) {
            let uid = Some((*pod.uid).into());
            let options = DeleteOptions { uid, ..DeleteOptions::default() };
            match self.caller.delete(&self.pods, &pod.key, options) {
                Ok(()) => {
                    let message = format!("Deleted pod: {}", pod.key.name);
                    self.recorder.normal(about, "SuccessfulDelete", &message, now);
                }
                // Another controller was faster.
                Err(status) if status.code == 404 || status.code == 409 => {}
                Err(status) => {
                    let message = format!("Error deleting: {status}");
                    self.recorder.warning(about, "FailedDelete", &message, now);
                    return Err(status);
                }
            }
        }
        Ok(())
    }
}

/// A pod from an owner's template, with a name that the server makes up.
pub(super) fn pod_from_template(template: &Value, about: &About) -> Value {
    let mut metadata = json!({
        "namespace": &*about.key.namespace,
        "generateName": format!("{}-", about.key.name),
        "ownerReferences": [about.controller_reference()],
    });
    for field in ["labels", "annotations", "finalizers"] {
        if let Some(value) = template["metadata"].get(field) {
            metadata[field] = value.clone();
        }
    }
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})
}

/// A call about an object that may have gone in the meantime: that is no failure.
pub(super) fn unless_gone<T>(result: Result<T, Status>) -> Result<(), Status> {
    match result {
        Ok(_) => Ok(()),
        Err(status) if status.code == 404 => Ok(()),
        Err(status) => Err(status),
    }
}
