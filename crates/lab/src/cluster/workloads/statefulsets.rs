//! StatefulSets: pods with names, claims and an order.

mod steps;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use joiner_apiserver::{DeleteOptions, Key, Object, Resource, Server, Status};
use serde::Deserialize;
use serde_json::{Value, json};

use self::steps::{Step, Wanted, steps};
use super::{
    Part,
    events::About,
    facts::{Meta, merge_between, read, selector, share},
    owned::{Owner, Owners, Owning, PodMaker, pod_from_template, unless_gone},
    pods::{Pod, next_available},
    queue::Queue,
    replicasets::put_count,
    revisions::{REVISION_LABEL, Revisions},
    world::{News, World},
};

/// The controller of StatefulSets.
pub(super) struct StatefulSets {
    sets: Resource,
    claims: Resource,
    owners: Owners<StatefulSet>,
    revisions: Revisions,
    queue: Queue<Key>,
    maker: PodMaker,
}

struct StatefulSet {
    owning: Owning,
}

#[derive(Deserialize)]
struct SetJson {
    metadata: Meta,
    spec: SpecJson,
}

#[derive(Deserialize)]
struct SpecJson {
    selector: Option<Value>,
}

impl Owner for StatefulSet {
    fn owning(&self) -> &Owning {
        &self.owning
    }
}

impl StatefulSet {
    fn of(object: &Object) -> Self {
        let SetJson { metadata, spec } = read(object);
        Self {
            owning: Owning::new(
                object,
                ("apps/v1", "StatefulSet"),
                &metadata,
                selector(&spec.selector.unwrap_or_default()),
            ),
        }
    }
}

/// What the object asks for, given the name of the revision of its template and its pods.
fn wanted(object: &Value, update: &str, pods: &BTreeMap<i64, Arc<Pod>>) -> Wanted {
    let (spec, status) = (&object["spec"], &object["status"]);
    let replicas = spec["replicas"].as_i64().unwrap_or(1);
    let strategy = &spec["updateStrategy"];
    let rolling = &strategy["rollingUpdate"];
    let current = status["currentRevision"].as_str().filter(|name| !name.is_empty());
    let current = current.unwrap_or(update);
    let max_unavailable = share(rolling.get("maxUnavailable"), replicas, true).unwrap_or(1);
    Wanted {
        start: spec["ordinals"]["start"].as_i64().unwrap_or(0),
        replicas,
        parallel: spec["podManagementPolicy"] == "Parallel",
        on_delete: strategy["type"] == "OnDelete",
        partition: rolling["partition"].as_i64().unwrap_or(0),
        max_unavailable: max_unavailable.max(1),
        min_ready_seconds: spec["minReadySeconds"].as_i64().unwrap_or(0),
        current: current.to_owned(),
        update: update.to_owned(),
        current_replicas: pods.values().filter(|pod| is_of(pod, current)).count() as i64,
    }
}

/// Whether a pod is of this revision, and there to stay.
fn is_of(pod: &Pod, revision: &str) -> bool {
    pod.deleted.is_none() && pod.labels.get(REVISION_LABEL).is_some_and(|own| own == revision)
}

/// The ordinal of a pod, if it is named as the set's pods are.
fn ordinal(set: &str, pod: &str) -> Option<i64> {
    let digits = pod.strip_prefix(set)?.strip_prefix('-')?;
    digits.parse().ok().filter(|ordinal: &i64| ordinal.to_string() == digits)
}

impl StatefulSets {
    /// The controller of StatefulSets.
    pub(super) fn new(server: &Server) -> Self {
        Self {
            sets: Resource::new("apps", "statefulsets"),
            claims: Resource::new("", "persistentvolumeclaims"),
            owners: Owners::default(),
            revisions: Revisions::new(server, "statefulset-controller"),
            queue: Queue::default(),
            maker: PodMaker::new(server, "statefulset-controller", "statefulset-controller"),
        }
    }

    fn sync(
        &mut self,
        world: &World,
        key: &Key,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Status> {
        let Some(set) = self.owners.get(key) else { return Ok(None) };
        let about = &set.owning.about;
        let pods: BTreeMap<i64, Arc<Pod>> = self
            .maker
            .claim(world, &*set)?
            .into_iter()
            .filter_map(|pod| Some((ordinal(&key.name, &pod.key.name)?, pod)))
            .collect();
        let object = self.maker.caller.get(&self.sets, key)?.value();
        let collisions = object["status"]["collisionCount"].as_i64().unwrap_or(0);
        let update = self.revisions.ensure(about, &object["spec"]["template"], collisions)?;
        let wanted = wanted(&object, &update.name, &pods);
        if !set.owning.deleting {
            for step in steps(&wanted, &pods, now) {
                self.take(about, &object, &pods, &step, now)?;
            }
        }
        let status = status(&object, &wanted, &pods, now);
        if let Some(patch) = merge_between(&object["status"], &status) {
            let patch = json!({"status": patch});
            self.maker.caller.merge(&self.sets, key, Some("status"), patch)?;
        }
        let mut in_use = BTreeSet::from([wanted.current.as_str(), wanted.update.as_str()]);
        in_use.extend(
            pods.values().filter_map(|pod| pod.labels.get(REVISION_LABEL)).map(String::as_str),
        );
        let kept = object["spec"]["revisionHistoryLimit"].as_u64().unwrap_or(10) as usize;
        self.revisions.trim(about, &in_use, kept)?;
        Ok(next_available(pods.values(), wanted.min_ready_seconds, now))
    }

    fn take(
        &mut self,
        about: &About,
        object: &Value,
        pods: &BTreeMap<i64, Arc<Pod>>,
        step: &Step,
        now: Timestamp,
    ) -> Result<(), Status> {
        let set = Arc::clone(&about.key.name);
        match step {
            Step::Create(ordinal, revision) => {
                let name = format!("{set}-{ordinal}");
                self.create_claims(about, object, &name, now)?;
                let template = self.revisions.template(about, revision);
                let template = template.as_ref().unwrap_or(&object["spec"]["template"]);
                let pod = pod(about, object, template, *ordinal, revision);
                let pods = self.maker.pods.clone();
                let result = self.maker.caller.create(&pods, pod);
                let outcome = outcome(result.as_ref().err());
                let message = format!("create Pod {name} in StatefulSet {set} {outcome}");
                self.tell(about, result.is_ok(), "Create", &message, now);
                result?;
            }
            Step::Delete(ordinal) | Step::Replace(ordinal) => {
                let pod = &pods[ordinal];
                let name = &pod.key.name;
                if matches!(step, Step::Replace(_)) {
                    let message =
                        format!("StatefulSet {} is recreating failed Pod {name}", about.key);
                    self.maker.recorder.warning(about, "RecreatingFailedPod", &message, now);
                }
                let uid = Some((*pod.uid).into());
                let options = DeleteOptions { uid, ..DeleteOptions::default() };
                let result = self.maker.caller.delete(&self.maker.pods, &pod.key, options);
                let outcome = outcome(result.as_ref().err());
                let message = format!("delete Pod {name} in StatefulSet {set} {outcome}");
                self.tell(about, result.is_ok(), "Delete", &message, now);
                unless_gone(result)?;
            }
        }
        Ok(())
    }

    fn tell(&mut self, about: &About, fine: bool, verb: &str, message: &str, now: Timestamp) {
        let recorder = &mut self.maker.recorder;
        match (fine, verb) {
            (true, "Create") => recorder.normal(about, "SuccessfulCreate", message, now),
            (true, _) => recorder.normal(about, "SuccessfulDelete", message, now),
            (false, "Create") => recorder.warning(about, "FailedCreate", message, now),
            (false, _) => recorder.warning(about, "FailedDelete", message, now),
        }
    }

    /// Makes the claims of a pod that are not there yet. Claims outlive their pods.
    fn create_claims(
        &mut self,
        about: &About,
        object: &Value,
        pod: &str,
        now: Timestamp,
    ) -> Result<(), Status> {
        for template in object["spec"]["volumeClaimTemplates"].as_array().into_iter().flatten() {
            let name = format!("{}-{pod}", template["metadata"]["name"].as_str().unwrap_or(""));
            let key = Key::new(&about.key.namespace, &name);
            if self.maker.caller.get(&self.claims, &key).is_ok() {
                continue;
            }
            let mut claim = template.clone();
            claim["apiVersion"] = "v1".into();
            claim["kind"] = "PersistentVolumeClaim".into();
            claim["metadata"]["name"] = name.as_str().into();
            claim["metadata"]["namespace"] = (*about.key.namespace).into();
            let labels = object["spec"]["selector"]["matchLabels"].as_object();
            for (label, value) in labels.into_iter().flatten() {
                claim["metadata"]["labels"][label] = value.clone();
            }
            if let Some(fields) = claim.as_object_mut() {
                fields.remove("status");
            }
            let result = self.maker.caller.create(&self.claims, claim);
            let set = &about.key.name;
            let outcome = match &result {
                Ok(_) => "success".to_owned(),
                Err(status) => format!("failed error: {status}"),
            };
            let message = format!("create Claim {name} Pod {pod} in StatefulSet {set} {outcome}");
            self.tell(about, result.is_ok(), "Create", &message, now);
            result?;
        }
        Ok(())
    }
}

fn outcome(refused: Option<&Status>) -> String {
    match refused {
        None => "successful".to_owned(),
        Some(status) => format!("failed error: {status}"),
    }
}

/// The pod of an ordinal.
fn pod(about: &About, object: &Value, template: &Value, ordinal: i64, revision: &str) -> Value {
    let name = format!("{}-{ordinal}", about.key.name);
    let mut pod = pod_from_template(template, about);
    if let Some(metadata) = pod["metadata"].as_object_mut() {
        metadata.remove("generateName");
        metadata.insert("name".into(), name.as_str().into());
    }
    let labels = &mut pod["metadata"]["labels"];
    labels[REVISION_LABEL] = revision.into();
    labels["statefulset.kubernetes.io/pod-name"] = name.as_str().into();
    labels["apps.kubernetes.io/pod-index"] = ordinal.to_string().into();
    pod["spec"]["hostname"] = name.as_str().into();
    if let Some(service) = object["spec"]["serviceName"].as_str().filter(|name| !name.is_empty()) {
        pod["spec"]["subdomain"] = service.into();
    }
    let templates = object["spec"]["volumeClaimTemplates"].as_array();
    let claimed: BTreeSet<&str> = templates
        .into_iter()
        .flatten()
        .filter_map(|template| template["metadata"]["name"].as_str())
        .collect();
    if claimed.is_empty() {
        return pod;
    }
    let mut volumes: Vec<Value> = claimed
        .iter()
        .map(|volume| {
            let claim = json!({"claimName": format!("{volume}-{name}")});
            json!({"name": volume, "persistentVolumeClaim": claim})
        })
        .collect();
    // A volume of the template of the same name gives way to the claim.
    let others = pod["spec"]["volumes"].as_array().into_iter().flatten();
    volumes.extend(
        others
            .filter(|volume| volume["name"].as_str().is_none_or(|name| !claimed.contains(name)))
            .cloned(),
    );
    pod["spec"]["volumes"] = volumes.into();
    pod
}

/// The status that the pods amount to.
fn status(
    object: &Value,
    wanted: &Wanted,
    pods: &BTreeMap<i64, Arc<Pod>>,
    now: Timestamp,
) -> Value {
    let count = |keep: &dyn Fn(&Pod) -> bool| pods.values().filter(|pod| keep(pod)).count();
    let replicas = count(&|_| true);
    let ready = count(&|pod| pod.ready && pod.deleted.is_none());
    let updated = count(&|pod| is_of(pod, &wanted.update));
    let mut current = count(&|pod| is_of(pod, &wanted.current));
    let mut revision = &wanted.current;
    let all = usize::try_from(wanted.replicas).unwrap_or(0);
    if updated == all && ready == all && replicas == all && wanted.partition == 0 {
        (revision, current) = (&wanted.update, updated);
    }
    let mut status = object["status"].as_object().cloned().unwrap_or_default();
    status.insert("replicas".into(), replicas.into());
    status.insert("observedGeneration".into(), object["metadata"]["generation"].clone());
    status.insert("currentRevision".into(), revision.as_str().into());
    status.insert("updateRevision".into(), wanted.update.as_str().into());
    let available = count(&|pod| pod.is_available(wanted.min_ready_seconds, now));
    status.insert("availableReplicas".into(), available.into());
    put_count(&mut status, "readyReplicas", ready);
    put_count(&mut status, "currentReplicas", current);
    put_count(&mut status, "updatedReplicas", updated);
    let collisions = object["status"]["collisionCount"].as_i64().unwrap_or(0);
    status.insert("collisionCount".into(), collisions.into());
    Value::Object(status)
}

impl Part for StatefulSets {
    fn observe(&mut self, _: &World, news: &News<'_>) {
        if let Some((object, gone)) = news.of("apps", "statefulsets") {
            if gone {
                self.owners.remove(&object.key);
                self.queue.forget(&object.key);
            } else {
                self.owners.put(StatefulSet::of(object));
                self.queue.add(object.key.clone());
            }
        }
        self.revisions.observe(news);
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
