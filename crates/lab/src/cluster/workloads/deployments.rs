//! Deployments: they roll from one ReplicaSet to the next.

mod read;
mod rollout;
mod status;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use joiner_apiserver::{Caller, DeleteOptions, Key, Object, Propagation, Resource, Server, Status};
use serde_json::{Value, json};

use self::{
    read::{Deployment, Set, Wanted, without_hash},
    rollout::Size,
};
use super::{
    Part,
    events::{About, Recorder},
    facts::merge_between,
    owned::{Owners, unless_gone},
    pods::Pod,
    queue::Queue,
    revisions::{fingerprint, template_hash},
    world::{News, World},
};

/// The label by which pods and ReplicaSets of one template version are told from others.
const HASH: &str = "pod-template-hash";
/// The annotation with the number of a version.
const REVISION: &str = "deployment.kubernetes.io/revision";
/// The annotation with the size of the Deployment that a ReplicaSet was last sized for.
const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
/// The annotation with the number of pods that were allowed when a ReplicaSet was last sized.
const MAX: &str = "deployment.kubernetes.io/max-replicas";
/// Annotations of a Deployment that its ReplicaSets do not get.
const NOT_COPIED: [&str; 5] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    "deployment.kubernetes.io/revision-history",
    DESIRED,
    MAX,
];

/// The controller of Deployments.
pub(super) struct Deployments {
    caller: Caller,
    recorder: Recorder,
    resource: Resource,
    replicasets: Resource,
    owners: Owners<Deployment>,
    sets: BTreeMap<Key, Arc<Set>>,
    set_of_uid: BTreeMap<Arc<str>, Key>,
    sets_of: BTreeMap<Arc<str>, BTreeSet<Key>>,
    orphans: BTreeSet<Key>,
    queue: Queue<Key>,
}

/// A Deployment while it is looked at.
struct Rollout {
    about: About,
    object: Value,
    wanted: Wanted,
    new: Option<Arc<Set>>,
    /// All others, oldest first.
    old: Vec<Arc<Set>>,
}

impl Rollout {
    fn old_sizes(&self) -> Vec<Size> {
        self.old.iter().map(|set| set.size).collect()
    }
}

impl Deployments {
    /// The controller of Deployments.
    pub(super) fn new(server: &Server) -> Self {
        Self {
            caller: server.caller("deployment-controller"),
            recorder: Recorder::new(server, "deployment-controller"),
            resource: Resource::new("apps", "deployments"),
            replicasets: Resource::new("apps", "replicasets"),
            owners: Owners::default(),
            sets: BTreeMap::new(),
            set_of_uid: BTreeMap::new(),
            sets_of: BTreeMap::new(),
            orphans: BTreeSet::new(),
            queue: Queue::default(),
        }
    }

    fn sync(
        &mut self,
        world: &World,
        key: &Key,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Status> {
        let Some(deployment) = self.owners.get(key) else { return Ok(None) };
        let object = self.caller.get(&self.resource, key)?.value();
        let wanted = Wanted::of(&object);
        let sets = self.claim(&deployment)?;
        let template = fingerprint(&without_hash(object["spec"]["template"].clone()));
        // Of two with the same template the older one counts, so that the choice is stable.
        let new = sets.iter().find(|set| set.template == template).cloned();
        let old = sets
            .into_iter()
            .filter(|set| new.as_ref().is_none_or(|new| new.key != set.key))
            .collect();
        let about = deployment.owning.about.clone();
        let mut rollout = Rollout { about, object, wanted, new, old };
        if !deployment.owning.deleting {
            let scaled = self.scale_all(&rollout, now)?;
            if !scaled && !rollout.wanted.paused {
                if rollout.wanted.recreates {
                    self.recreate(world, &mut rollout, now)?;
                } else {
                    self.roll(&mut rollout, now)?;
                }
            }
        }
        let deadline = self.write_status(&rollout, now)?;
        if !deployment.owning.deleting {
            self.clean_up(&rollout)?;
        }
        Ok(deadline)
    }

    /// The ReplicaSets of a Deployment, oldest first, after taking in those it selects.
    fn claim(&self, deployment: &Deployment) -> Result<Vec<Arc<Set>>, Status> {
        let about = &deployment.owning.about;
        let own = self.sets_of.get(&about.uid).into_iter().flatten();
        let mut sets: Vec<_> = own.map(|key| Arc::clone(&self.sets[key])).collect();
        if !deployment.owning.deleting {
            let namespace = &about.key.namespace;
            let orphans = self.orphans.range(Key::new(namespace, "")..);
            for key in orphans.take_while(|key| key.namespace == *namespace) {
                let set = &self.sets[key];
                if !set.deleting && deployment.owning.selector.matches(&set.labels) {
                    let owners = json!([about.controller_reference()]);
                    let patch = json!({"metadata": {"ownerReferences": owners, "uid": &*set.uid}});
                    unless_gone(self.caller.merge(&self.replicasets, key, None, patch))?;
                    sets.push(Arc::clone(set));
                }
            }
        }
        sets.sort_by(|a, b| a.created.cmp(&b.created).then_with(|| a.key.cmp(&b.key)));
        Ok(sets)
    }

    /// After a change of the Deployment's size: brings its ReplicaSets to their share of it. Says
    /// whether there was anything to do.
    fn scale_all(&mut self, rollout: &Rollout, now: Timestamp) -> Result<bool, Status> {
        let limits = rollout.wanted.limits;
        let active: Vec<_> =
            rollout.new.iter().chain(&rollout.old).filter(|set| set.size.wanted > 0).collect();
        let resized =
            |set: &&Arc<Set>| set.number(DESIRED).is_some_and(|desired| desired != limits.replicas);
        if !rollout.wanted.paused && !active.iter().any(resized) {
            return Ok(false);
        }
        let sizes: Vec<i64> = match active.as_slice() {
            [] => match &rollout.new {
                Some(new) if rollout.wanted.paused => {
                    self.resize(rollout, new, limits.replicas, now)?;
                    return Ok(true);
                }
                _ => return Ok(false),
            },
            [_] => vec![limits.replicas],
            several if rollout.wanted.recreates => {
                several.iter().map(|set| set.size.wanted).collect()
            }
            several if several.iter().any(resized) => {
                let sizes: Vec<_> = several.iter().map(|set| set.size.wanted).collect();
                let before = several
                    .iter()
                    .map(|set| set.number(MAX).unwrap_or(limits.max_total()))
                    .collect::<Vec<_>>();
                rollout::proportional(limits, &sizes, &before)
            }
            several => several.iter().map(|set| set.size.wanted).collect(),
        };
        for (set, size) in active.into_iter().zip(sizes) {
            self.resize(rollout, set, size, now)?;
        }
        Ok(true)
    }

    fn roll(&mut self, rollout: &mut Rollout, now: Timestamp) -> Result<(), Status> {
        let limits = rollout.wanted.limits;
        let old = rollout.old_sizes();
        let Some(new) = rollout.new.clone() else {
            let size = rollout::new_size(limits, 0, &old);
            return self.create_set(rollout, size, now);
        };
        self.keep_annotations(rollout, &new)?;
        let size = rollout::new_size(limits, new.size.wanted, &old);
        if self.resize(rollout, &new, size, now)? {
            return Ok(());
        }
        let sizes = rollout::old_sizes(limits, new.size, &old);
        for (set, size) in rollout.old.iter().zip(sizes) {
            self.resize(rollout, set, size, now)?;
        }
        Ok(())
    }

    fn recreate(
        &mut self,
        world: &World,
        rollout: &mut Rollout,
        now: Timestamp,
    ) -> Result<(), Status> {
        let mut scaled = false;
        for set in &rollout.old {
            scaled |= self.resize(rollout, set, 0, now)?;
        }
        let running =
            |set: &Arc<Set>| world.pods_of(&set.uid).any(|pod: &Arc<Pod>| !pod.phase.is_final());
        if scaled || rollout.old.iter().any(running) {
            return Ok(());
        }
        let replicas = rollout.wanted.limits.replicas;
        match rollout.new.clone() {
            None => self.create_set(rollout, replicas, now),
            Some(new) => {
                self.keep_annotations(rollout, &new)?;
                self.resize(rollout, &new, replicas, now)?;
                Ok(())
            }
        }
    }

    /// The number that the newest version should have.
    fn next_revision(rollout: &Rollout) -> i64 {
        rollout.old.iter().filter_map(|set| set.number(REVISION)).max().unwrap_or(0) + 1
    }

    fn create_set(
        &mut self,
        rollout: &mut Rollout,
        size: i64,
        now: Timestamp,
    ) -> Result<(), Status> {
        let about = rollout.about.clone();
        let hash = template_hash(
            &without_hash(rollout.object["spec"]["template"].clone()),
            rollout.wanted.collisions,
        );
        let revision = Self::next_revision(rollout).to_string();
        let set = replica_set(rollout, &hash, size, &revision);
        match self.caller.create(&self.replicasets, set) {
            Ok(object) => {
                rollout.new = Some(Arc::new(Set::of(&object)));
            }
            Err(status) if status.reason == "AlreadyExists" => {
                // Another template has this hash: the next one is counted in.
                let collisions = rollout.wanted.collisions + 1;
                let patch = json!({"status": {"collisionCount": collisions}});
                self.caller.merge(&self.resource, &about.key, Some("status"), patch)?;
                return Err(status);
            }
            Err(status) => {
                let message = format!("Failed to create new replica set: {status}");
                self.recorder.warning(&about, "ReplicaSetCreateError", &message, now);
                return Err(status);
            }
        }
        let name = rollout.new.as_ref().map_or("", |set| &*set.key.name);
        if size > 0 {
            let message = format!("Scaled up replica set {name} from 0 to {size}");
            self.recorder.normal(&about, "ScalingReplicaSet", &message, now);
        }
        let message = format!("Created new replica set \"{name}\"");
        let conditions = &mut rollout.object["status"]["conditions"];
        status::note(conditions, "True", "NewReplicaSetCreated", &message, now);
        self.set_revision(rollout, &revision)
    }

    /// Sees to it that a version that is used again has the newest number.
    fn keep_annotations(&self, rollout: &Rollout, new: &Set) -> Result<(), Status> {
        let newest = Self::next_revision(rollout);
        let own = new.number(REVISION).unwrap_or(0);
        let revision = newest.max(own).to_string();
        if newest > own {
            let mut annotations = json!({REVISION: &revision});
            if own > 0 {
                let history = "deployment.kubernetes.io/revision-history";
                let earlier = new.annotations.get(history).map(String::as_str).unwrap_or_default();
                let comma = if earlier.is_empty() { "" } else { "," };
                annotations[history] = format!("{earlier}{comma}{own}").into();
            }
            let patch = json!({"metadata": {"annotations": annotations}});
            self.caller.merge(&self.replicasets, &new.key, None, patch)?;
        }
        self.set_revision(rollout, &revision)
    }

    fn set_revision(&self, rollout: &Rollout, revision: &str) -> Result<(), Status> {
        if rollout.object["metadata"]["annotations"][REVISION] != revision {
            let patch = json!({"metadata": {"annotations": {REVISION: revision}}});
            self.caller.merge(&self.resource, &rollout.about.key, None, patch)?;
        }
        Ok(())
    }

    /// Changes a ReplicaSet's size and notes what it was sized for. Says whether the size changed.
    fn resize(
        &mut self,
        rollout: &Rollout,
        set: &Set,
        size: i64,
        now: Timestamp,
    ) -> Result<bool, Status> {
        let limits = rollout.wanted.limits;
        let noted = set.number(DESIRED) == Some(limits.replicas)
            && set.number(MAX) == Some(limits.max_total());
        let same = size == set.size.wanted;
        // Sets of size 0 are left alone: what they were sized for no longer matters.
        if same && (noted || size == 0) {
            return Ok(false);
        }
        let mut patch = json!({"metadata": {"annotations": {
            DESIRED: limits.replicas.to_string(),
            MAX: limits.max_total().to_string(),
        }}});
        if !same {
            patch["spec"] = json!({"replicas": size});
        }
        self.caller.merge(&self.replicasets, &set.key, None, patch)?;
        if !same {
            let direction = if size > set.size.wanted { "up" } else { "down" };
            let (name, before) = (&set.key.name, set.size.wanted);
            let message = format!("Scaled {direction} replica set {name} from {before} to {size}");
            self.recorder.normal(&rollout.about, "ScalingReplicaSet", &message, now);
        }
        Ok(!same)
    }

    fn write_status(&self, rollout: &Rollout, now: Timestamp) -> Result<Option<Timestamp>, Status> {
        let Rollout { about, object, wanted, new, old } = rollout;
        let old: Vec<&Set> = old.iter().map(|set| &**set).collect();
        let outcome = status::status(wanted, &object["status"], new.as_deref(), &old, now);
        // The object in hand may carry a condition that was only noted in it.
        let stored = self.caller.get(&self.resource, &about.key)?.value();
        if let Some(patch) = merge_between(&stored["status"], &outcome.status) {
            let patch = json!({"status": patch});
            self.caller.merge(&self.resource, &about.key, Some("status"), patch)?;
        }
        Ok(outcome.deadline)
    }

    /// Deletes the oldest ReplicaSets that are empty, beyond those that are kept to go back to.
    fn clean_up(&self, rollout: &Rollout) -> Result<(), Status> {
        let Some(new) = &rollout.new else { return Ok(()) };
        let complete = new.size.available == rollout.wanted.limits.replicas
            && rollout.old.iter().all(|set| set.pods == 0);
        if !complete {
            return Ok(());
        }
        let mut empty: Vec<_> = rollout
            .old
            .iter()
            .filter(|set| set.size.wanted == 0 && set.pods == 0 && !set.deleting)
            .collect();
        empty.sort_by_key(|set| set.number(REVISION));
        let surplus = empty.len().saturating_sub(rollout.wanted.history);
        for set in &empty[..surplus] {
            let options = DeleteOptions {
                propagation: Some(Propagation::Background),
                ..DeleteOptions::default()
            };
            unless_gone(self.caller.delete(&self.replicasets, &set.key, options))?;
        }
        Ok(())
    }

    /// The Deployment that controls the ReplicaSet of this uid.
    fn owner_of_set(&self, uid: &str) -> Option<Arc<Deployment>> {
        let set = self.sets.get(self.set_of_uid.get(uid)?)?;
        self.owners.get(self.owners.key_of(set.owner.as_ref()?)?)
    }

    fn observe_set(&mut self, object: &Object, gone: bool) {
        let key = &object.key;
        let mut concerned = BTreeSet::new();
        if let Some(before) = self.sets.remove(key) {
            self.set_of_uid.remove(&before.uid);
            match &before.owner {
                Some(uid) => {
                    if let Some(keys) = self.sets_of.get_mut(uid) {
                        keys.remove(key);
                        if keys.is_empty() {
                            self.sets_of.remove(uid);
                        }
                    }
                    concerned.extend(self.owners.key_of(uid).cloned());
                }
                None => {
                    self.orphans.remove(key);
                }
            }
        }
        if !gone {
            let set = Set::of(object);
            match &set.owner {
                Some(uid) => {
                    self.sets_of.entry(Arc::clone(uid)).or_default().insert(key.clone());
                    concerned.extend(self.owners.key_of(uid).cloned());
                }
                None => {
                    self.orphans.insert(key.clone());
                    concerned.extend(self.owners.selecting(&key.namespace, &set.labels));
                }
            }
            self.set_of_uid.insert(Arc::clone(&set.uid), key.clone());
            self.sets.insert(key.clone(), Arc::new(set));
        }
        for key in concerned {
            self.queue.add(key);
        }
    }
}

/// The ReplicaSet of a Deployment's present template.
fn replica_set(rollout: &Rollout, hash: &str, size: i64, revision: &str) -> Value {
    let Rollout { about, object, wanted, .. } = rollout;
    let spec = &object["spec"];
    let mut template = spec["template"].clone();
    template["metadata"]["labels"][HASH] = hash.into();
    let mut selector = spec["selector"].clone();
    selector["matchLabels"][HASH] = hash.into();
    let mut annotations =
        object["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
    annotations.retain(|key, _| !NOT_COPIED.contains(&key.as_str()));
    annotations.insert(REVISION.into(), revision.into());
    annotations.insert(DESIRED.into(), wanted.limits.replicas.to_string().into());
    annotations.insert(MAX.into(), wanted.limits.max_total().to_string().into());
    let mut set = json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": format!("{}-{hash}", about.key.name),
            "namespace": &*about.key.namespace,
            "labels": template["metadata"]["labels"],
            "annotations": annotations,
            "ownerReferences": [about.controller_reference()],
        },
        "spec": {"replicas": size, "selector": selector, "template": template},
    });
    if let Some(seconds) = spec.get("minReadySeconds") {
        set["spec"]["minReadySeconds"] = seconds.clone();
    }
    set
}

impl Part for Deployments {
    fn observe(&mut self, world: &World, news: &News<'_>) {
        if let Some((object, gone)) = news.of("apps", "deployments") {
            if gone {
                self.owners.remove(&object.key);
                self.queue.forget(&object.key);
            } else {
                self.owners.put(Deployment::of(object));
                self.queue.add(object.key.clone());
            }
        }
        if let Some((object, gone)) = news.of("apps", "replicasets") {
            self.observe_set(object, gone);
        }
        // A Recreate rollout waits for the last pod of the old version.
        if let Some(pod) = &news.pod
            && pod.after.as_ref().is_none_or(|pod| pod.phase.is_final())
            && let Some(set) = pod.before.as_ref().and_then(|pod| pod.controller.as_ref())
            && !world.pods_of(set).any(|pod| !pod.phase.is_final())
            && let Some(owner) = self.owner_of_set(set)
            && owner.recreates
        {
            self.queue.add(owner.owning.about.key.clone());
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
