//! ReplicaSets, and `ReplicationController` objects as their elder brothers: so many pods of one template, no more and no fewer.

use std::{cmp::Ordering, collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use joiner_apiserver::{Key, Object, Resource, Server, Status};
use joiner_core::selector::LabelSelector;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    super::selection::labels,
    Part,
    facts::{Condition, Meta, merge_between, read, remove_condition, selector, set_condition},
    owned::{Owner, Owners, Owning, PodMaker, pod_from_template},
    pods::{Pod, next_available, sort_for_deletion},
    queue::Queue,
    world::{News, World},
};

/// What tells the two kinds apart.
#[derive(Clone, Copy, Debug)]
struct Flavour {
    group: &'static str,
    plural: &'static str,
    api_version: &'static str,
    kind: &'static str,
}

/// The controller of one of the two kinds.
pub(super) struct ReplicaSets {
    flavour: Flavour,
    resource: Resource,
    owners: Owners<ReplicaSet>,
    queue: Queue<Key>,
    maker: PodMaker,
}

/// What is needed to know of one of them.
#[derive(Debug)]
struct ReplicaSet {
    owning: Owning,
    replicas: i64,
    min_ready_seconds: i64,
}

#[derive(Deserialize)]
struct SetJson {
    metadata: Meta,
    spec: Option<SpecJson>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SpecJson {
    replicas: Option<i64>,
    min_ready_seconds: Option<i64>,
    selector: Option<Value>,
}

impl Owner for ReplicaSet {
    fn owning(&self) -> &Owning {
        &self.owning
    }
}

impl ReplicaSet {
    fn of(object: &Object, flavour: Flavour) -> Self {
        let SetJson { metadata, spec } = read(object);
        let spec = spec.unwrap_or_default();
        let written = spec.selector.unwrap_or_default();
        // A ReplicationController's selector is a plain map of labels.
        let selector = if flavour.group.is_empty() {
            LabelSelector::labels(&labels(&written))
        } else {
            selector(&written)
        };
        Self {
            owning: Owning::new(object, (flavour.api_version, flavour.kind), &metadata, selector),
            replicas: spec.replicas.unwrap_or(1),
            min_ready_seconds: spec.min_ready_seconds.unwrap_or(0),
        }
    }
}

impl ReplicaSets {
    /// The controller of ReplicaSets.
    pub(super) fn of_replica_sets(server: &Server) -> Self {
        let flavour = Flavour {
            group: "apps",
            plural: "replicasets",
            api_version: "apps/v1",
            kind: "ReplicaSet",
        };
        Self::new(server, flavour, "replicaset-controller")
    }

    /// The controller of `ReplicationController` objects.
    pub(super) fn of_replication_controllers(server: &Server) -> Self {
        let flavour = Flavour {
            group: "",
            plural: "replicationcontrollers",
            api_version: "v1",
            kind: "ReplicationController",
        };
        Self::new(server, flavour, "replication-controller")
    }

    fn new(server: &Server, flavour: Flavour, component: &'static str) -> Self {
        Self {
            flavour,
            resource: Resource::new(flavour.group, flavour.plural),
            owners: Owners::default(),
            queue: Queue::default(),
            maker: PodMaker::new(server, component, component),
        }
    }

    fn sync(
        &mut self,
        world: &World,
        key: &Key,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Status> {
        let Some(set) = self.owners.get(key) else { return Ok(None) };
        let mut active = self.maker.claim(world, &*set)?;
        active.retain(|pod| pod.is_active());
        let object = self.maker.caller.get(&self.resource, key)?.value();
        let managed =
            if set.owning.deleting { Ok(()) } else { self.manage(&set, &object, &active, now) };
        let status = status(&set, &object, &active, managed.as_ref().err(), now);
        if let Some(patch) = merge_between(&object["status"], &status) {
            let patch = json!({"status": patch});
            self.maker.caller.merge(&self.resource, key, Some("status"), patch)?;
        }
        managed?;
        Ok(next_available(&active, set.min_ready_seconds, now))
    }

    /// Makes the pods that are missing or deletes those that are too many.
    fn manage(
        &mut self,
        set: &ReplicaSet,
        object: &Value,
        active: &[Arc<Pod>],
        now: Timestamp,
    ) -> Result<(), Status> {
        let wanted = usize::try_from(set.replicas).unwrap_or(0);
        match active.len().cmp(&wanted) {
            Ordering::Less => {
                let template = &object["spec"]["template"];
                let missing = wanted - active.len();
                self.maker.create(&set.owning.about, missing, now, |_| {
                    pod_from_template(template, &set.owning.about)
                })
            }
            Ordering::Equal => Ok(()),
            Ordering::Greater => {
                let mut ranked = active.to_vec();
                sort_for_deletion(&mut ranked, now);
                self.maker.delete(&set.owning.about, &ranked[..active.len() - wanted], now)
            }
        }
    }
}

/// The status that the pods amount to.
fn status(
    set: &ReplicaSet,
    object: &Value,
    active: &[Arc<Pod>],
    refused: Option<&Status>,
    now: Timestamp,
) -> Value {
    let empty = Map::new();
    let template = object["spec"]["template"]["metadata"]["labels"].as_object().unwrap_or(&empty);
    let template: BTreeMap<&str, &str> = template
        .iter()
        .filter_map(|(label, value)| Some((label.as_str(), value.as_str()?)))
        .collect();
    let fully_labeled = |pod: &Pod| {
        template.iter().all(|(label, value)| pod.labels.get(*label).is_some_and(|has| has == value))
    };
    let count = |keep: &dyn Fn(&Pod) -> bool| active.iter().filter(|pod| keep(pod)).count();
    let mut status = object["status"].as_object().cloned().unwrap_or_default();
    status.insert("replicas".into(), active.len().into());
    put_count(&mut status, "fullyLabeledReplicas", count(&fully_labeled));
    put_count(&mut status, "readyReplicas", count(&|pod| pod.ready));
    let available = count(&|pod| pod.is_available(set.min_ready_seconds, now));
    put_count(&mut status, "availableReplicas", available);
    status.insert("observedGeneration".into(), object["metadata"]["generation"].clone());
    let mut conditions = status.remove("conditions").unwrap_or_default();
    match refused {
        Some(refused) => {
            let creating = active.len() < usize::try_from(set.replicas).unwrap_or(0);
            let condition = Condition {
                kind: "ReplicaFailure",
                status: "True",
                reason: if creating { "FailedCreate" } else { "FailedDelete" },
                message: &refused.message,
            };
            set_condition(&mut conditions, condition, now);
        }
        None => {
            remove_condition(&mut conditions, "ReplicaFailure");
        }
    }
    if conditions.as_array().is_some_and(|list| !list.is_empty()) {
        status.insert("conditions".into(), conditions);
    }
    Value::Object(status)
}

/// Writes a count the way Kubernetes does: none is left out.
pub(super) fn put_count(status: &mut Map<String, Value>, field: &str, count: usize) {
    if count == 0 {
        status.remove(field);
    } else {
        status.insert(field.to_owned(), count.into());
    }
}

impl Part for ReplicaSets {
    fn observe(&mut self, _: &World, news: &News<'_>) {
        if let Some((object, gone)) = news.of(self.flavour.group, self.flavour.plural) {
            if gone {
                self.owners.remove(&object.key);
                self.queue.forget(&object.key);
            } else {
                self.owners.put(ReplicaSet::of(object, self.flavour));
                self.queue.add(object.key.clone());
            }
        }
        if let Some(pod) = &news.pod {
            for key in self.owners.concerned(pod) {
                self.queue.add(key);
            }
        }
    }

    fn act(&mut self, world: &World, now: Timestamp) -> Option<Timestamp> {
        for key in self.queue.take(now) {
            let result = self.sync(world, &key, now);
            self.queue.settle(key, now, &result);
        }
        self.queue.next()
    }
}
