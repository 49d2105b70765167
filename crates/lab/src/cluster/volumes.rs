//! Volumes: claims get the volumes that suit them, or ones that are made for them.
//!
//! One controller does the work of several: it binds, it makes and deletes volumes as every
//! provisioner would, and it keeps claims and volumes that are in use from going away.

mod make;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::{Caller, Change, ChangeKind, DeleteOptions, Key, Resource, Server, Status};
use joiner_core::label::Labels;
use serde_json::{Value, json};

use super::{
    Controller,
    events::{About, Recorder, Tone},
    scheduler::claims,
    storage::{BIND_COMPLETED, BOUND_BY_CONTROLLER, Claim, Class, SELECTED_NODE, Volume, best},
    times::{Timers, later},
};

/// Keeps a claim while pods use it.
const CLAIM_IN_USE: &str = "kubernetes.io/pvc-protection";
/// Keeps a volume while a claim is bound to it.
const VOLUME_IN_USE: &str = "kubernetes.io/pv-protection";

/// How long it takes to make a volume: what a storage system of some size needs.
const MAKING_TAKES: SignedDuration = SignedDuration::from_secs(2);
/// How long to wait after a call that was refused.
const RETRY_AFTER: SignedDuration = SignedDuration::from_secs(5);

/// Binds, makes, deletes and protects volumes.
#[derive(Debug)]
pub struct Volumes {
    caller: Caller,
    recorder: Recorder,
    pvcs: Resource,
    pvs: Resource,
    claims: BTreeMap<Key, Claim>,
    known: BTreeMap<Arc<str>, Volume>,
    classes: BTreeMap<Arc<str>, Class>,
    nodes: BTreeMap<Arc<str>, Labels>,
    /// The claims of pods that have a node, and the pods by claim.
    used_by_pod: BTreeMap<Key, Vec<Key>>,
    users: BTreeMap<Key, BTreeSet<Key>>,
    /// What is to be looked at.
    open: BTreeSet<Item>,
    timers: Timers<Item>,
    /// When the volume of a claim will be made.
    making: BTreeMap<Key, Timestamp>,
}

/// Why the server refused a call.
type Refused = Box<Status>;

/// Something to look at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Volume(Arc<str>),
    Claim(Key),
}

/// What to do about a claim.
#[derive(Debug, PartialEq)]
enum Step {
    /// Nothing, until something changes.
    Rest,
    /// Let it go, or keep it from going.
    Finalizers(Vec<String>),
    /// Give it the default class.
    Class(Arc<str>),
    /// Bind it to a volume.
    Bind(Arc<str>),
    /// Make a volume for it.
    Make,
    /// Its volume is gone.
    Lose,
    /// Say what it waits for.
    Wait(&'static str, String),
}

impl Volumes {
    /// A controller for a server's cluster.
    pub fn new(server: &Server) -> Self {
        let caller = server.caller("persistentvolume-controller");
        Self {
            recorder: Recorder::new(caller.clone(), "persistentvolume-controller"),
            caller,
            pvcs: Resource::new("", "persistentvolumeclaims"),
            pvs: Resource::new("", "persistentvolumes"),
            claims: BTreeMap::new(),
            known: BTreeMap::new(),
            classes: BTreeMap::new(),
            nodes: BTreeMap::new(),
            used_by_pod: BTreeMap::new(),
            users: BTreeMap::new(),
            open: BTreeSet::new(),
            timers: Timers::default(),
            making: BTreeMap::new(),
        }
    }

    fn observe_claim(&mut self, change: &Change) {
        let key = change.object.key.clone();
        let known = if change.kind == ChangeKind::Deleted {
            self.making.remove(&key);
            self.claims.remove(&key)
        } else {
            self.claims.insert(key.clone(), Claim::read(&change.object))
        };
        let now = self.claims.get(&key);
        let volumes = [known.as_ref(), now].into_iter().flatten().filter_map(|c| c.volume.clone());
        self.open.extend(volumes.map(|name| Item::Volume(name.into())));
        self.open.insert(Item::Claim(key));
    }

    fn observe_volume(&mut self, change: &Change) {
        let name = Arc::clone(&change.object.key.name);
        let known = if change.kind == ChangeKind::Deleted {
            self.known.remove(&name)
        } else {
            self.known.insert(Arc::clone(&name), Volume::read(&change.object))
        };
        let now = self.known.get(&name);
        let claims = [known.as_ref(), now].into_iter().flatten().filter_map(|v| v.claim.clone());
        self.open.extend(claims.map(|(key, _)| Item::Claim(key)));
        if now.is_some_and(|volume| volume.claim.is_none()) {
            self.open_waiting_claims();
        }
        self.open.insert(Item::Volume(name));
    }

    fn open_waiting_claims(&mut self) {
        let waiting = self.claims.values().filter(|claim| !claim.is_bound());
        self.open.extend(waiting.map(|claim| Item::Claim(claim.key.clone())));
    }

    fn observe_pod(&mut self, change: &Change) {
        let object = &change.object;
        let counts =
            change.kind != ChangeKind::Deleted && !object.field("spec.nodeName").is_empty();
        if counts == self.used_by_pod.contains_key(&object.key) {
            return;
        }
        if !counts {
            for claim in self.used_by_pod.remove(&object.key).unwrap_or_default() {
                if let Some(users) = self.users.get_mut(&claim) {
                    users.remove(&object.key);
                    if users.is_empty() {
                        self.users.remove(&claim);
                    }
                }
                self.open.insert(Item::Claim(claim));
            }
            return;
        }
        let names = claims(&object.key.name, &object.value()["spec"]);
        let keys = names.iter().map(|name| Key::new(&object.key.namespace, name));
        let keys: Vec<_> = keys.collect();
        for claim in &keys {
            self.users.entry(claim.clone()).or_default().insert(object.key.clone());
        }
        self.used_by_pod.insert(object.key.clone(), keys);
    }

    /// What a claim needs next.
    fn step(&self, claim: &Claim) -> Step {
        let protected = claim.finalizers.iter().any(|own| own == CLAIM_IN_USE);
        if claim.deleting {
            if protected && !self.users.contains_key(&claim.key) {
                return Step::Finalizers(without(&claim.finalizers, CLAIM_IN_USE));
            }
            return Step::Rest;
        }
        if !protected {
            return Step::Finalizers(with(&claim.finalizers, CLAIM_IN_USE));
        }
        if claim.is_bound() {
            let volume = claim.volume.as_deref().and_then(|name| self.known.get(name));
            return match volume {
                None if claim.phase != "Lost" => Step::Lose,
                Some(volume) if claim.phase != "Bound" => Step::Bind(Arc::clone(&volume.name)),
                _ => Step::Rest,
            };
        }
        if let Some(name) = &claim.volume {
            let volume = self.known.get(name.as_str());
            return match volume {
                Some(own) if own.claim.is_none() || own.is_for(claim) => {
                    Step::Bind(Arc::clone(&own.name))
                }
                _ => Step::Rest,
            };
        }
        self.step_of_unbound(claim)
    }

    fn step_of_unbound(&self, claim: &Claim) -> Step {
        let reserved = self.known.values().find(|volume| volume.is_for(claim));
        if let Some(volume) = reserved {
            return Step::Bind(Arc::clone(&volume.name));
        }
        let Some(class) = &claim.class else {
            if let Some(class) = self.classes.values().find(|class| class.default) {
                return Step::Class(Arc::clone(&class.name));
            }
            return self.step_at_once(claim, None);
        };
        match self.classes.get(class.as_str()) {
            Some(class) if class.waits && claim.selected_node.is_none() => Step::Wait(
                "WaitForFirstConsumer",
                "waiting for first consumer to be created before binding".to_owned(),
            ),
            Some(class) if class.waits && class.makes_volumes() => Step::Make,
            known => self.step_at_once(claim, known),
        }
    }

    fn step_at_once(&self, claim: &Claim, class: Option<&Class>) -> Step {
        if let Some(volume) = best(claim, self.known.values()) {
            return Step::Bind(Arc::clone(&volume.name));
        }
        if class.is_some_and(Class::makes_volumes) {
            return Step::Make;
        }
        let asked = claim.class.as_deref().unwrap_or_default();
        if class.is_none() && !asked.is_empty() {
            return Step::Wait(
                "ProvisioningFailed",
                format!("storageclass.storage.k8s.io {asked:?} not found"),
            );
        }
        let why = "no persistent volumes available for this claim and no storage class is set";
        Step::Wait("FailedBinding", why.to_owned())
    }

    fn look_at_claim(&mut self, key: &Key, now: Timestamp) -> Result<(), Refused> {
        let Some(claim) = self.claims.get(key).cloned() else { return Ok(()) };
        match self.step(&claim) {
            Step::Rest => Ok(()),
            Step::Finalizers(finalizers) => {
                let patch = json!({"metadata": {"finalizers": finalizers}});
                self.patch_claim(key, None, patch)
            }
            Step::Class(name) => {
                self.patch_claim(key, None, json!({"spec": {"storageClassName": &*name}}))
            }
            Step::Bind(volume) => self.bind(&claim, &volume),
            Step::Make => self.make(&claim, now),
            Step::Lose => {
                self.patch_claim(key, Some("status"), json!({"status": {"phase": "Lost"}}))
            }
            Step::Wait(reason, message) => {
                let tone = match reason {
                    "ProvisioningFailed" => Tone::Warning,
                    _ => Tone::Normal,
                };
                self.tell(&claim, tone, reason, &message, now);
                self.pend(&claim)
            }
        }
    }

    /// Makes sure that a claim says that it is pending.
    fn pend(&self, claim: &Claim) -> Result<(), Refused> {
        if claim.phase == "Pending" {
            return Ok(());
        }
        self.patch_claim(&claim.key, Some("status"), json!({"status": {"phase": "Pending"}}))
    }

    fn tell(&mut self, claim: &Claim, tone: Tone, reason: &str, message: &str, now: Timestamp) {
        let kind = ("v1", "PersistentVolumeClaim");
        let about = About { kind, key: &claim.key, uid: &claim.uid };
        self.recorder.tell(now, &about, tone, reason, message, "");
    }

    /// Writes both sides of a binding, as far as they are not written yet.
    fn bind(&self, claim: &Claim, volume: &Arc<str>) -> Result<(), Refused> {
        let Some(volume) = self.known.get(volume) else { return Ok(()) };
        let of_claim = Some((claim.key.clone(), Some(claim.uid.to_string())));
        if volume.claim != of_claim {
            let mut patch = json!({"spec": {"claimRef": reference(claim)}});
            if volume.claim.is_none() {
                patch["metadata"] = json!({"annotations": {BOUND_BY_CONTROLLER: "yes"}});
            }
            self.patch_volume(&volume.name, None, patch)?;
        }
        if volume.phase != "Bound" {
            self.patch_volume(&volume.name, Some("status"), json!({"status": {"phase": "Bound"}}))?;
        }
        if !claim.is_bound() {
            let mut annotations = json!({BIND_COMPLETED: "yes"});
            if claim.volume.is_none() {
                annotations[BOUND_BY_CONTROLLER] = json!("yes");
            }
            let spec = json!({"volumeName": &*volume.name});
            let patch = json!({"metadata": {"annotations": annotations}, "spec": spec});
            self.patch_claim(&claim.key, None, patch)?;
        }
        let capacity: Value =
            volume.capacity.iter().map(|(name, amount)| (name, amount.to_string())).collect();
        let status = json!({"phase": "Bound", "accessModes": volume.modes, "capacity": capacity});
        self.patch_claim(&claim.key, Some("status"), json!({"status": status}))
    }

    fn look_at_volume(&mut self, name: &Arc<str>) -> Result<(), Refused> {
        let Some(volume) = self.known.get(name) else { return Ok(()) };
        let protected = volume.finalizers.iter().any(|own| own == VOLUME_IN_USE);
        let claimed = volume.claim.as_ref().is_some_and(|(key, uid)| {
            let claim = self.claims.get(key);
            claim.is_some_and(|claim| uid.as_ref().is_none_or(|uid| **uid == *claim.uid))
        });
        if volume.deleting {
            if protected && !(claimed && volume.phase == "Bound") {
                let left = without(&volume.finalizers, VOLUME_IN_USE);
                return self.patch_volume(name, None, json!({"metadata": {"finalizers": left}}));
            }
            return Ok(());
        }
        if !protected {
            let all = with(&volume.finalizers, VOLUME_IN_USE);
            return self.patch_volume(name, None, json!({"metadata": {"finalizers": all}}));
        }
        match &volume.claim {
            Some((_, Some(_))) if !claimed => {
                if volume.reclaim == "Delete" && volume.driver.is_some() {
                    let key = Key::new("", name);
                    self.caller.delete(&self.pvs, &key, DeleteOptions::default())?;
                    return Ok(());
                }
                self.set_phase(volume, "Released")
            }
            Some(_) => Ok(()),
            None => self.set_phase(volume, "Available"),
        }
    }

    fn set_phase(&self, volume: &Volume, phase: &str) -> Result<(), Refused> {
        if volume.phase == phase {
            return Ok(());
        }
        self.patch_volume(&volume.name, Some("status"), json!({"status": {"phase": phase}}))
    }

    fn patch_claim(
        &self,
        key: &Key,
        subresource: Option<&'static str>,
        patch: Value,
    ) -> Result<(), Refused> {
        self.caller.merge(&self.pvcs, key, subresource, patch)?;
        Ok(())
    }

    fn patch_volume(
        &self,
        name: &str,
        subresource: Option<&'static str>,
        patch: Value,
    ) -> Result<(), Refused> {
        self.caller.merge(&self.pvs, &Key::new("", name), subresource, patch)?;
        Ok(())
    }
}

/// A claim as a volume refers to it.
fn reference(claim: &Claim) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "uid": &*claim.uid,
        "namespace": &*claim.key.namespace, "name": &*claim.key.name,
    })
}

fn with(finalizers: &[String], finalizer: &str) -> Vec<String> {
    finalizers.iter().cloned().chain([finalizer.to_owned()]).collect()
}

fn without(finalizers: &[String], finalizer: &str) -> Vec<String> {
    finalizers.iter().filter(|own| *own != finalizer).cloned().collect()
}

impl Controller for Volumes {
    fn name(&self) -> &'static str {
        "persistentvolume-controller"
    }

    fn observe(&mut self, change: &Change, _now: Timestamp) {
        let (key, gone) = (&change.object.key, change.kind == ChangeKind::Deleted);
        match (&*change.resource.group, &*change.resource.plural) {
            ("", "persistentvolumeclaims") => self.observe_claim(change),
            ("", "persistentvolumes") => self.observe_volume(change),
            ("", "pods") => self.observe_pod(change),
            ("storage.k8s.io", "storageclasses") => {
                if gone {
                    self.classes.remove(&key.name);
                } else {
                    self.classes.insert(Arc::clone(&key.name), Class::read(&change.object));
                }
                self.open_waiting_claims();
            }
            ("", "nodes") if gone => drop(self.nodes.remove(&key.name)),
            ("", "nodes") => {
                let own = change.object.labels.iter();
                let own = own.map(|(label, value)| (label.to_string(), value.to_string()));
                self.nodes.insert(Arc::clone(&key.name), own.collect());
            }
            _ => {}
        }
    }

    fn act(&mut self, now: Timestamp) -> Option<Timestamp> {
        while let Some(item) = self.timers.pop_due(now) {
            self.open.insert(item);
        }
        for item in std::mem::take(&mut self.open) {
            let done = match &item {
                Item::Claim(key) => self.look_at_claim(key, now),
                Item::Volume(name) => self.look_at_volume(name),
            };
            // What is gone by now is seen as a change; everything else is tried again.
            if done.is_err_and(|status| status.code != 404) {
                self.timers.add(later(now, RETRY_AFTER), item);
            }
        }
        self.timers.next()
    }
}
