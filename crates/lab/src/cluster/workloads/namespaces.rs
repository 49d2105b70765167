//! Namespaces: the ones that every cluster has, what every namespace has, and their deletion.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use joiner_apiserver::{
    Caller, ChangeKind, DeleteOptions, Key, Operation, Propagation, Resource, Server, Status,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Part,
    facts::{Condition, Meta, read, set_condition},
    owned::unless_gone,
    queue::Queue,
    world::{News, World},
};

/// The namespaces that are there from the start.
const SYSTEM: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];
/// The `ConfigMap` with the certificate of the API server's authority.
const ROOT_CA: &str = "kube-root-ca.crt";

/// The controller of namespaces.
pub(super) struct Namespaces {
    server: Server,
    caller: Caller,
    resource: Resource,
    accounts: Resource,
    configs: Resource,
    /// Whether the namespaces of the system were made.
    started: bool,
    there: BTreeMap<Arc<str>, Phase>,
    /// How many objects of each resource each namespace has.
    contents: BTreeMap<Arc<str>, BTreeMap<Resource, usize>>,
    queue: Queue<Arc<str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Active,
    Terminating,
}

#[derive(Deserialize)]
struct NamespaceJson {
    metadata: Meta,
}

impl Namespaces {
    /// The controller of namespaces.
    pub(super) fn new(server: &Server) -> Self {
        Self {
            server: server.clone(),
            caller: server.caller("namespace-controller"),
            resource: Resource::new("", "namespaces"),
            accounts: Resource::new("", "serviceaccounts"),
            configs: Resource::new("", "configmaps"),
            started: false,
            there: BTreeMap::new(),
            contents: BTreeMap::new(),
            queue: Queue::default(),
        }
    }

    /// Makes the namespaces of the system that are not there. Says whether all are.
    fn start(&self) -> bool {
        let make = |name: &&str| {
            let key = Key::new("", name);
            let namespace =
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            self.caller.get(&self.resource, &key).is_ok()
                || self.caller.create(&self.resource, namespace).is_ok()
        };
        SYSTEM.iter().filter(|name| !make(name)).count() == 0
    }

    fn sync(&self, name: &Arc<str>, now: Timestamp) -> Result<(), Status> {
        match self.there.get(name) {
            None => Ok(()),
            Some(Phase::Active) => self.furnish(name),
            Some(Phase::Terminating) => self.clear(name, now),
        }
    }

    /// Gives a namespace what pods in it expect.
    fn furnish(&self, namespace: &str) -> Result<(), Status> {
        let missing = |resource: &Resource, name: &str| {
            self.caller.get(resource, &Key::new(namespace, name)).is_err()
        };
        if missing(&self.accounts, "default") {
            let account = json!({
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": {"name": "default", "namespace": namespace},
            });
            self.caller.create(&self.accounts, account)?;
        }
        if missing(&self.configs, ROOT_CA) {
            let about = "Contains a CA bundle that can be used to verify the kube-apiserver when \
                         using internal endpoints such as the internal service IP or \
                         kubernetes.default.svc.";
            let config = json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {
                    "name": ROOT_CA,
                    "namespace": namespace,
                    "annotations": {"kubernetes.io/description": about},
                },
                "data": {"ca.crt": ""},
            });
            self.caller.create(&self.configs, config)?;
        }
        Ok(())
    }

    /// Deletes what a namespace has; once it is empty, lets it go.
    fn clear(&self, namespace: &Arc<str>, now: Timestamp) -> Result<(), Status> {
        let resources: Vec<&Resource> =
            self.contents.get(namespace).into_iter().flat_map(BTreeMap::keys).collect();
        for resource in &resources {
            for object in self.caller.list(resource, Some(namespace)) {
                if object.deleting {
                    continue;
                }
                let options = DeleteOptions {
                    uid: Some((*object.uid).into()),
                    propagation: Some(Propagation::Background),
                    ..DeleteOptions::default()
                };
                unless_gone(self.caller.delete(resource, &object.key, options))?;
            }
        }
        let key = Key::new("", namespace);
        let Ok(object) = self.caller.get(&self.resource, &key) else { return Ok(()) };
        let mut object = object.value();
        let left: BTreeMap<String, usize> = resources
            .iter()
            .map(|resource| {
                let count = self.caller.list(resource, Some(namespace)).len();
                (resource.to_string(), count)
            })
            .filter(|(_, count)| *count > 0)
            .collect();
        if !left.is_empty() {
            return self.say_what_is_left(&key, &object, &left, now);
        }
        let finalizers = object["spec"]["finalizers"].as_array_mut();
        let Some(finalizers) = finalizers.filter(|list| list.contains(&json!("kubernetes"))) else {
            return Ok(());
        };
        finalizers.retain(|finalizer| finalizer != "kubernetes");
        let operation = Operation::update(&self.resource, key, Some("finalize"), object);
        unless_gone(self.server.execute(self.caller.name(), operation))
    }

    fn say_what_is_left(
        &self,
        key: &Key,
        object: &Value,
        left: &BTreeMap<String, usize>,
        now: Timestamp,
    ) -> Result<(), Status> {
        let list: Vec<_> = left
            .iter()
            .map(|(resource, count)| format!("{resource} has {count} resource instances"))
            .collect();
        let message = format!("Some resources are remaining: {}", list.join(", "));
        let mut conditions = object["status"]["conditions"].clone();
        let condition = Condition {
            kind: "NamespaceContentRemaining",
            status: "True",
            reason: "SomeResourcesRemain",
            message: &message,
        };
        if set_condition(&mut conditions, condition, now) {
            let patch = json!({"status": {"conditions": conditions}});
            unless_gone(self.caller.merge(&self.resource, key, Some("status"), patch))?;
        }
        Ok(())
    }

    fn count(&mut self, news: &News<'_>) {
        let (change, namespace) = (news.change, &news.change.object.key.namespace);
        match change.kind {
            ChangeKind::Modified => {}
            ChangeKind::Added => {
                let contents = self.contents.entry(Arc::clone(namespace)).or_default();
                *contents.entry(change.resource.clone()).or_default() += 1;
                if self.there.get(namespace) == Some(&Phase::Terminating) {
                    self.queue.add(Arc::clone(namespace));
                }
            }
            ChangeKind::Deleted => {
                if let Some(contents) = self.contents.get_mut(namespace) {
                    if let Some(count) = contents.get_mut(&change.resource) {
                        *count -= 1;
                        if *count == 0 {
                            contents.remove(&change.resource);
                        }
                    }
                    let emptied = contents.is_empty();
                    if emptied {
                        self.contents.remove(namespace);
                    }
                    let terminating = self.there.get(namespace) == Some(&Phase::Terminating);
                    if terminating && emptied {
                        self.queue.add(Arc::clone(namespace));
                    }
                }
                let furniture = [("serviceaccounts", "default"), ("configmaps", ROOT_CA)];
                let of_it = (&*change.resource.plural, &*change.object.key.name);
                if change.resource.group.is_empty() && furniture.contains(&of_it) {
                    self.queue.add(Arc::clone(namespace));
                }
            }
        }
    }
}

impl Part for Namespaces {
    fn observe(&mut self, _: &World, news: &News<'_>) {
        if !news.change.object.key.namespace.is_empty() {
            self.count(news);
        }
        let Some((object, gone)) = news.of("", "namespaces") else { return };
        let name = &object.key.name;
        if gone {
            self.there.remove(name);
            self.queue.forget(name);
            return;
        }
        let NamespaceJson { metadata } = read(object);
        let phase = if metadata.deleted().is_some() { Phase::Terminating } else { Phase::Active };
        if self.there.insert(Arc::clone(name), phase) != Some(phase) {
            self.queue.add(Arc::clone(name));
        }
    }

    fn act(&mut self, _: &World, now: Timestamp) -> Option<Timestamp> {
        self.started = self.started || self.start();
        let names: BTreeSet<Arc<str>> = self.queue.take(now);
        for name in names {
            let result = self.sync(&name, now);
            self.queue.settle(name, now, &result.map(|()| None));
        }
        self.queue.next()
    }
}
