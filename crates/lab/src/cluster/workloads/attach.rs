//! Attachments of volumes: a volume is attached to the node of a pod that uses it, and detached
//! when no pod there does any more.
//!
//! This is the attach-detach controller together with the sidecar of a CSI driver that carries
//! out what it asks for: an attachment is attached as soon as it is there.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use joiner_apiserver::{Caller, DeleteOptions, Key, Object, Resource, Server, Status};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Part,
    events::{About, Recorder},
    facts::{later, read},
    owned::unless_gone,
    pods::Pod,
    queue::Queue,
    revisions::fingerprint,
    world::{Both, News, World},
};

/// How long the controller waits for a node to say that a volume is no longer mounted.
const WAIT_FOR_UNMOUNT_SECONDS: i64 = 360;
/// The taint of a node that an administrator declared dead: detaching does not wait for it.
const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

/// The controller of attachments.
pub(super) struct Attachments {
    caller: Caller,
    recorder: Recorder,
    resource: Resource,
    /// The volume that each claim is bound to.
    volume_of: BTreeMap<Key, String>,
    /// The volumes of CSI drivers: driver and handle.
    volumes: BTreeMap<Arc<str>, (String, String)>,
    claims_of: BTreeMap<String, Key>,
    /// The pods that use each claim.
    users: BTreeMap<Key, BTreeSet<Key>>,
    /// Drivers whose volumes need no attaching.
    unattached: BTreeSet<Arc<str>>,
    /// What is attached where: by node and volume, the name of the attachment.
    attached: BTreeMap<(Arc<str>, String), Arc<str>>,
    /// Since when a volume is no longer wanted on a node.
    unwanted: BTreeMap<(Arc<str>, String), Timestamp>,
    queue: Queue<Arc<str>>,
}

#[derive(Deserialize)]
struct ClaimJson {
    spec: Option<ClaimSpecJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaimSpecJson {
    volume_name: Option<String>,
}

#[derive(Deserialize)]
struct VolumeJson {
    spec: VolumeSpecJson,
}

#[derive(Deserialize)]
struct VolumeSpecJson {
    csi: Option<CsiJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CsiJson {
    driver: String,
    volume_handle: String,
}

#[derive(Deserialize)]
struct DriverJson {
    spec: DriverSpecJson,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DriverSpecJson {
    attach_required: Option<bool>,
}

#[derive(Deserialize)]
struct AttachmentJson {
    spec: AttachmentSpecJson,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AttachmentSpecJson {
    node_name: String,
    source: SourceJson,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SourceJson {
    persistent_volume_name: Option<String>,
}

impl Attachments {
    /// The controller of attachments.
    pub(super) fn new(server: &Server) -> Self {
        Self {
            caller: server.caller("attachdetach-controller"),
            recorder: Recorder::new(server, "attachdetach-controller"),
            resource: Resource::new("storage.k8s.io", "volumeattachments"),
            volume_of: BTreeMap::new(),
            volumes: BTreeMap::new(),
            claims_of: BTreeMap::new(),
            users: BTreeMap::new(),
            unattached: BTreeSet::new(),
            attached: BTreeMap::new(),
            unwanted: BTreeMap::new(),
            queue: Queue::default(),
        }
    }

    /// The volumes that should be attached to a node, each with a pod that uses it.
    fn wanted<'a>(&self, world: &'a World, node: &str) -> BTreeMap<String, &'a Arc<Pod>> {
        let mut wanted = BTreeMap::new();
        for pod in world.pods_on(node).filter(|pod| !pod.phase.is_final()) {
            for claim in &pod.claims {
                let claim = Key::new(&pod.key.namespace, claim);
                let Some(volume) = self.volume_of.get(&claim) else { continue };
                let Some((driver, _)) = self.volumes.get(volume.as_str()) else { continue };
                if !self.unattached.contains(driver.as_str()) {
                    wanted.insert(volume.clone(), pod);
                }
            }
        }
        wanted
    }

    fn sync(
        &mut self,
        world: &World,
        node: &Arc<str>,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, Status> {
        let wanted = self.wanted(world, node);
        for (volume, pod) in &wanted {
            let place = (Arc::clone(node), volume.clone());
            self.unwanted.remove(&place);
            if !self.attached.contains_key(&place) && world.node(node).is_some() {
                self.attach(node, volume, pod, now)?;
            }
        }
        let of_node = (Arc::clone(node), String::new())..;
        let surplus: Vec<(String, Arc<str>)> = self
            .attached
            .range(of_node)
            .take_while(|((at, _), _)| at == node)
            .filter(|((_, volume), _)| !wanted.contains_key(volume))
            .map(|((_, volume), name)| (volume.clone(), Arc::clone(name)))
            .collect();
        let mut next: Option<Timestamp> = None;
        for (volume, name) in surplus {
            match self.detachable_at(world, node, &volume, now) {
                moment if moment <= now => {
                    self.unwanted.remove(&(Arc::clone(node), volume));
                    let options = DeleteOptions::default();
                    let key = Key::new("", &name);
                    unless_gone(self.caller.delete(&self.resource, &key, options))?;
                }
                moment => next = Some(next.map_or(moment, |next| next.min(moment))),
            }
        }
        Ok(next)
    }

    /// When a volume that no pod uses may be detached: once the node no longer says that it has it
    /// mounted, or cannot say so any more.
    fn detachable_at(
        &mut self,
        world: &World,
        node: &Arc<str>,
        volume: &str,
        now: Timestamp,
    ) -> Timestamp {
        let place = (Arc::clone(node), volume.to_owned());
        let since = *self.unwanted.entry(place).or_insert(now);
        let Some(node) = world.node(node) else { return now };
        let mounted = self.volumes.get(volume).is_some_and(|(driver, handle)| {
            node.volumes_in_use.contains(&format!("kubernetes.io/csi/{driver}^{handle}"))
        });
        if !mounted || node.has_taint(OUT_OF_SERVICE) {
            return now;
        }
        // A healthy node is waited for; it will say so, and that is a change.
        if node.says("Ready", "True") {
            return Timestamp::MAX;
        }
        later(since, WAIT_FOR_UNMOUNT_SECONDS)
    }

    fn attach(
        &mut self,
        node: &Arc<str>,
        volume: &str,
        pod: &Arc<Pod>,
        now: Timestamp,
    ) -> Result<(), Status> {
        let Some((driver, handle)) = self.volumes.get(volume) else { return Ok(()) };
        let name = attachment_name(handle, driver, node);
        let created = self.caller.create(
            &self.resource,
            json!({
                "apiVersion": "storage.k8s.io/v1",
                "kind": "VolumeAttachment",
                "metadata": {
                    "name": name,
                    "annotations": {"csi.alpha.kubernetes.io/node-id": &**node},
                },
                "spec": {
                    "attacher": driver,
                    "nodeName": &**node,
                    "source": {"persistentVolumeName": volume},
                },
            }),
        );
        match created {
            Ok(_) => {}
            Err(status) if status.reason == "AlreadyExists" => return Ok(()),
            Err(status) => return Err(status),
        }
        let patch = json!({"status": {"attached": true}});
        let key = Key::new("", &name);
        self.caller.merge(&self.resource, &key, Some("status"), patch)?;
        let message = format!("AttachVolume.Attach succeeded for volume \"{volume}\" ");
        let about = About::pod(&pod.key, &pod.uid);
        self.recorder.normal(&about, "SuccessfulAttachVolume", &message, now);
        Ok(())
    }

    fn observe_attachment(&mut self, object: &Object, gone: bool) {
        let AttachmentJson { spec } = read(object);
        let Some(volume) = spec.source.persistent_volume_name else { return };
        let node: Arc<str> = spec.node_name.into();
        let place = (Arc::clone(&node), volume);
        if gone {
            self.attached.remove(&place);
        } else {
            self.attached.insert(place, Arc::clone(&object.key.name));
        }
        self.queue.add(node);
    }

    fn observe_pod(&mut self, pod: &Both<Pod>) {
        if !pod.each().any(|pod| !pod.claims.is_empty()) {
            return;
        }
        let claims = |pod: &Arc<Pod>| -> Vec<Key> {
            pod.claims.iter().map(|claim| Key::new(&pod.key.namespace, claim)).collect()
        };
        if let Some(before) = &pod.before {
            for claim in claims(before) {
                if let Some(users) = self.users.get_mut(&claim) {
                    users.remove(&before.key);
                    if users.is_empty() {
                        self.users.remove(&claim);
                    }
                }
            }
        }
        if let Some(after) = &pod.after {
            for claim in claims(after) {
                self.users.entry(claim).or_default().insert(after.key.clone());
            }
        }
        for node in pod.each().filter_map(|pod| pod.node.clone()) {
            self.queue.add(node);
        }
    }

    /// The nodes of the pods that use a claim have to be looked at.
    fn touch(&mut self, world: &World, claim: &Key) {
        for pod in self.users.get(claim).into_iter().flatten() {
            if let Some(node) = world.pod(pod).and_then(|pod| pod.node.clone()) {
                self.queue.add(node);
            }
        }
    }

    fn observe_claim(&mut self, world: &World, object: &Object, gone: bool) {
        let ClaimJson { spec } = read(object);
        let volume = spec.and_then(|spec| spec.volume_name).filter(|name| !name.is_empty());
        match volume.filter(|_| !gone) {
            Some(volume) => {
                self.claims_of.insert(volume.clone(), object.key.clone());
                self.volume_of.insert(object.key.clone(), volume);
            }
            None => {
                if let Some(volume) = self.volume_of.remove(&object.key) {
                    self.claims_of.remove(&volume);
                }
            }
        }
        self.touch(world, &object.key);
    }

    fn observe_volume(&mut self, world: &World, object: &Object, gone: bool) {
        let VolumeJson { spec } = read(object);
        let name = &object.key.name;
        match spec.csi.filter(|_| !gone) {
            Some(CsiJson { driver, volume_handle }) => {
                self.volumes.insert(Arc::clone(name), (driver, volume_handle));
            }
            None => {
                self.volumes.remove(name);
            }
        }
        if let Some(claim) = self.claims_of.get(&**name).cloned() {
            self.touch(world, &claim);
        }
    }
}

/// The name of an attachment: the same for the same volume on the same node.
fn attachment_name(handle: &str, driver: &str, node: &str) -> String {
    let part = |salt: &str| fingerprint(&Value::from(format!("{salt}{handle}{driver}{node}")));
    let parts = ["", "2", "3", "4"].map(|salt| format!("{:016x}", part(salt)));
    format!("csi-{}", parts.concat())
}

impl Part for Attachments {
    fn observe(&mut self, world: &World, news: &News<'_>) {
        if let Some((object, gone)) = news.of("storage.k8s.io", "volumeattachments") {
            self.observe_attachment(object, gone);
        }
        if let Some((object, gone)) = news.of("storage.k8s.io", "csidrivers") {
            let DriverJson { spec } = read(object);
            if !gone && spec.attach_required == Some(false) {
                self.unattached.insert(Arc::clone(&object.key.name));
            } else {
                self.unattached.remove(&object.key.name);
            }
        }
        if let Some((object, gone)) = news.of("", "persistentvolumeclaims") {
            self.observe_claim(world, object, gone);
        }
        if let Some((object, gone)) = news.of("", "persistentvolumes") {
            self.observe_volume(world, object, gone);
        }
        if let Some(pod) = &news.pod {
            self.observe_pod(pod);
        }
        if let Some(node) = &news.node
            && let Some(last) = node.last()
        {
            let first = (Arc::clone(&last.name), String::new());
            let has_some =
                self.attached.range(first..).next().is_some_and(|((at, _), _)| *at == last.name);
            if has_some || node.before.is_none() {
                self.queue.add(Arc::clone(&last.name));
            }
        }
    }

    fn act(&mut self, world: &World, now: Timestamp) -> Option<Timestamp> {
        for node in self.queue.take(now) {
            let result = self.sync(world, &node, now);
            let result = result.map(|next| next.filter(|next| *next < Timestamp::MAX));
            self.queue.settle(node, now, &result);
        }
        self.queue.next()
    }
}
