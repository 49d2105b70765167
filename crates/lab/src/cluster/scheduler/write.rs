//! What the scheduler writes.

use std::sync::Arc;

use jiff::Timestamp;
use joiner_apiserver::{Caller, DeleteOptions, Key, Resource, Status};
use serde_json::{Value, json};

use super::{
    pod::Pod,
    storage::{Storage, Supply},
};
use crate::cluster::{
    conditions,
    events::{About, Recorder, Tone},
    storage::{BOUND_BY_CONTROLLER, SELECTED_NODE},
};

/// Carries out decisions.
#[derive(Debug)]
pub(super) struct Writer {
    caller: Caller,
    pods: Resource,
    recorder: Recorder,
}

impl Writer {
    pub(super) fn new(caller: Caller) -> Self {
        let recorder = Recorder::new(caller.clone(), super::DEFAULT_SCHEDULER);
        Self { caller, pods: Resource::new("", "pods"), recorder }
    }

    /// Binds a pod to a node.
    pub(super) fn bind(
        &mut self,
        pod: &Pod,
        node: &str,
        now: Timestamp,
    ) -> Result<(), Box<Status>> {
        self.caller.bind(&pod.key, node)?;
        let message = format!("Successfully assigned {} to {node}", pod.key);
        let about = About::pod(&pod.key, &pod.uid);
        self.recorder.tell(now, &about, Tone::Normal, "Scheduled", &message, "");
        Ok(())
    }

    /// Says that a pod found no node, on the pod and as an event.
    pub(super) fn refuse(
        &mut self,
        pod: &Pod,
        message: &str,
        nominated: Option<&str>,
        now: Timestamp,
    ) {
        let condition = json!({
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": message,
        });
        let mut patch = json!({});
        if nominated != pod.nominated.as_deref() {
            patch["nominatedNodeName"] = json!(nominated);
        }
        self.patch_status(&pod.key, condition, patch, now);
        let about = About::pod(&pod.key, &pod.uid);
        self.recorder.tell(now, &about, Tone::Warning, "FailedScheduling", message, "");
    }

    /// Deletes pods that have to make room for another.
    pub(super) fn push_out(&mut self, pod: &Pod, victims: &[Arc<Pod>], node: &str, now: Timestamp) {
        for victim in victims {
            let condition = json!({
                "type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler",
                "message": "default-scheduler: preempting to accommodate a higher priority pod",
            });
            self.patch_status(&victim.key, condition, json!({}), now);
            let options = DeleteOptions { uid: Some((*victim.uid).into()), ..Default::default() };
            // A victim that is gone already has made room.
            if self.caller.delete(&self.pods, &victim.key, options).is_ok() {
                let message = format!("Preempted by pod {} on node {node}", pod.uid);
                let about = About::pod(&victim.key, &victim.uid);
                self.recorder.tell(now, &about, Tone::Normal, "Preempted", &message, "");
            }
        }
    }

    /// Reserves volumes for the claims of a pod, and asks for those that are to be made.
    pub(super) fn supply(
        &mut self,
        storage: &mut Storage,
        supplies: &[Supply],
        node: &str,
    ) -> Result<(), Box<Status>> {
        let volumes = Resource::new("", "persistentvolumes");
        let claims = Resource::new("", "persistentvolumeclaims");
        for supply in supplies {
            match supply {
                Supply::Volume(key, name) => {
                    let Some(claim) = storage.claims.get(key) else { continue };
                    let uid = claim.uid.to_string();
                    let patch = json!({
                        "metadata": {"annotations": {BOUND_BY_CONTROLLER: "yes"}},
                        "spec": {"claimRef": {
                            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "uid": uid,
                            "namespace": &*key.namespace, "name": &*key.name,
                        }},
                    });
                    self.caller.merge(&volumes, &Key::new("", name), None, patch)?;
                    if let Some(volume) = storage.volumes.get_mut(name) {
                        volume.claim = Some((key.clone(), Some(uid)));
                    }
                }
                Supply::Made(key) => {
                    let patch = json!({"metadata": {"annotations": {SELECTED_NODE: node}}});
                    self.caller.merge(&claims, key, None, patch)?;
                    if let Some(claim) = storage.claims.get_mut(key) {
                        claim.selected_node = Some(node.to_owned());
                    }
                }
            }
        }
        Ok(())
    }

    /// Sets a condition and other fields in a pod's status if they are missing. A pod that changed
    /// meanwhile is left as it is: the change brings it back here.
    fn patch_status(&self, key: &Key, condition: Value, mut patch: Value, now: Timestamp) {
        let Ok(object) = self.caller.get(&self.pods, key) else { return };
        let value = object.value();
        if let Some(conditions) = conditions::with(&value["status"]["conditions"], condition, now) {
            patch["conditions"] = conditions;
        }
        if patch.as_object().is_some_and(|fields| !fields.is_empty()) {
            let version = &value["metadata"]["resourceVersion"];
            let patch = json!({"metadata": {"resourceVersion": version}, "status": patch});
            // Refused only when the pod has just changed or gone.
            drop(self.caller.merge(&self.pods, key, Some("status"), patch));
        }
    }
}
