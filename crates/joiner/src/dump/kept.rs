//! What a dump keeps of objects: fields and annotations that plans depend on, and no others.
//!
//! What is not listed here is left out, so that nothing new gets into a dump unseen. Tools keep copies of whole objects in
//! annotations of their own, and classes hold what instances run when they start.

use std::{collections::BTreeMap, sync::LazyLock};

use joiner_core::label::{CONSOLIDATION_MIN_SCORE, DO_NOT_DISRUPT, PAUSE_DISRUPTION};
use joiner_operator::marks::{
    BIND_COMPLETED, DISRUPTION_COMMAND, POD_DELETION_COST, STATIC_DRIFT, TERMINATION_TIMESTAMP,
};
use serde_json::Value;

use crate::clouds;

/// Annotations of objects and of templates of pods.
const ANNOTATIONS: [&str; 8] = [
    BIND_COMPLETED,
    CONSOLIDATION_MIN_SCORE,
    DISRUPTION_COMMAND,
    DO_NOT_DISRUPT,
    PAUSE_DISRUPTION,
    POD_DELETION_COST,
    STATIC_DRIFT,
    TERMINATION_TIMESTAMP,
];

/// Metadata of objects and of templates of pods, besides annotations.
const METADATA: [&str; 9] = [
    "name",
    "namespace",
    "uid",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "ownerReferences",
];

/// Fields of pods. Only that a volume is ephemeral matters, not what its claim says.
const POD_SPEC: [&str; 24] = [
    "affinity",
    "containers.name",
    "containers.ports",
    "containers.resources",
    "containers.restartPolicy",
    "hostNetwork",
    "initContainers.name",
    "initContainers.ports",
    "initContainers.resources",
    "initContainers.restartPolicy",
    "nodeName",
    "nodeSelector",
    "overhead",
    "priority",
    "priorityClassName",
    "resourceClaims",
    "resources",
    "schedulingGates",
    "terminationGracePeriodSeconds",
    "tolerations",
    "topologySpreadConstraints",
    "volumes.ephemeral{}",
    "volumes.name",
    "volumes.persistentVolumeClaim.claimName",
];

const POD: [&str; 15] = [
    "status.conditions.lastTransitionTime",
    "status.conditions.reason",
    "status.conditions.status",
    "status.conditions.type",
    "status.containerStatuses.allocatedResources",
    "status.containerStatuses.name",
    "status.containerStatuses.resources",
    "status.containerStatuses.state.terminated.finishedAt",
    "status.initContainerStatuses.allocatedResources",
    "status.initContainerStatuses.name",
    "status.initContainerStatuses.resources",
    "status.initContainerStatuses.state.terminated.finishedAt",
    "status.nominatedNodeName",
    "status.phase",
    "status.startTime",
];

const NODE: [&str; 7] = [
    "spec.providerID",
    "spec.taints",
    "spec.unschedulable",
    "status.allocatable",
    "status.capacity",
    "status.conditions",
    "status.nodeInfo.kubeletVersion",
];

const JOB: [&str; 7] = [
    "spec.completionMode",
    "spec.completions",
    "spec.parallelism",
    "spec.suspend",
    "status.conditions",
    "status.failed",
    "status.succeeded",
];

const STATEFUL_SET: [&str; 5] = [
    "spec.ordinals",
    "spec.replicas",
    "spec.selector",
    "spec.volumeClaimTemplates.metadata.name",
    "spec.volumeClaimTemplates.spec.storageClassName",
];

/// Only of what kind a volume is matters, and where it can be reached.
const PERSISTENT_VOLUME: [&str; 11] = [
    "spec.awsElasticBlockStore{}",
    "spec.azureDisk{}",
    "spec.azureFile{}",
    "spec.cinder{}",
    "spec.csi.driver",
    "spec.gcePersistentDisk{}",
    "spec.hostPath{}",
    "spec.local{}",
    "spec.nodeAffinity",
    "spec.portworxVolume{}",
    "spec.vsphereVolume{}",
];

/// Fields by what roles call a kind, where its pods' template is, and the fields themselves.
const KINDS: [(&str, Option<&str>, &[&str]); 22] = [
    ("pods", Some(""), &POD),
    ("nodes", None, &NODE),
    ("namespaces", None, &[]),
    ("daemonsets.apps", Some("spec.template"), &["spec.selector"]),
    ("deployments.apps", Some("spec.template"), &["spec.replicas", "spec.selector"]),
    ("replicasets.apps", Some("spec.template"), &["spec.replicas", "spec.selector"]),
    ("statefulsets.apps", Some("spec.template"), &STATEFUL_SET),
    ("jobs.batch", Some("spec.template"), &JOB),
    ("services", None, &["spec.selector"]),
    ("replicationcontrollers", Some("spec.template"), &["spec.replicas", "spec.selector"]),
    ("persistentvolumeclaims", None, &["spec.storageClassName", "spec.volumeName", "status.phase"]),
    ("persistentvolumes", None, &PERSISTENT_VOLUME),
    (
        "storageclasses.storage.k8s.io",
        None,
        &["allowedTopologies", "provisioner", "volumeBindingMode"],
    ),
    (
        "csinodes.storage.k8s.io",
        None,
        &["spec.drivers.allocatable", "spec.drivers.name", "spec.drivers.nodeID"],
    ),
    (
        "volumeattachments.storage.k8s.io",
        None,
        &["spec.attacher", "spec.nodeName", "spec.source.persistentVolumeName", "status.attached"],
    ),
    ("poddisruptionbudgets.policy", None, &["spec", "status"]),
    ("priorityclasses.scheduling.k8s.io", None, &["globalDefault", "preemptionPolicy", "value"]),
    ("podtemplates", Some("template"), &[]),
    // Of these every field is ours, and matters.
    ("nodepools.karpenter.sh", None, &["spec", "status"]),
    ("nodeclaims.karpenter.sh", None, &["spec", "status"]),
    ("nodeoverlays.karpenter.sh", None, &["spec", "status"]),
    ("capacitybuffers.autoscaling.x-k8s.io", None, &["spec", "status"]),
];

/// Fields of classes of every kind: whether they can be used.
const NODE_CLASS: [&str; 4] = [
    "status.conditions.message",
    "status.conditions.reason",
    "status.conditions.status",
    "status.conditions.type",
];

/// Ends a path of which only matters that it is there.
const PRESENCE: &str = "{}";

static FIELDS: LazyLock<BTreeMap<String, Fields>> = LazyLock::new(|| {
    let built_in = KINDS.iter().map(|(resource, template, paths)| {
        let mut fields = Fields::of_object(paths);
        if let Some(template) = template {
            let template = fields.at(template);
            template.add_metadata();
            template.at("spec").add_all(&POD_SPEC);
        }
        ((*resource).to_owned(), fields)
    });
    let classes = clouds::ALL.classes().map(|class| {
        let mut fields = Fields::of_object(class.planned_by);
        fields.add_all(&NODE_CLASS);
        (format!("{}.{}", class.kind.plural, class.kind.group), fields)
    });
    built_in.chain(classes).collect()
});

/// Removes the fields that no plan depends on. Of unknown kinds, only the readiness is kept.
pub(super) fn cut(resource: &str, object: &mut Value) {
    match FIELDS.get(resource) {
        Some(fields) => fields.cut(object),
        None => Fields::of_object(&NODE_CLASS).cut(object),
    }
}

/// What is kept of a value: all of it, or some of its fields. A list is looked at item by item.
#[derive(Debug, Default)]
struct Fields {
    whole: bool,
    fields: BTreeMap<&'static str, Fields>,
}

impl Fields {
    fn of_object(paths: &[&'static str]) -> Self {
        let mut fields = Self::default();
        fields.add("apiVersion");
        fields.add("kind");
        fields.add_metadata();
        fields.add_all(paths);
        fields
    }

    fn add(&mut self, path: &'static str) {
        match path.strip_suffix(PRESENCE) {
            Some(path) => {
                self.at(path);
            }
            None => self.at(path).whole = true,
        }
    }

    fn add_all(&mut self, paths: &[&'static str]) {
        for path in paths {
            self.add(path);
        }
    }

    fn add_metadata(&mut self) {
        let metadata = self.at("metadata");
        metadata.add_all(&METADATA);
        let annotations = metadata.at("annotations");
        for key in ANNOTATIONS {
            annotations.fields.entry(key).or_default().whole = true;
        }
    }

    fn at(&mut self, path: &'static str) -> &mut Self {
        let fields = path.split('.').filter(|field| !field.is_empty());
        fields.fold(self, |place, field| place.fields.entry(field).or_default())
    }

    fn cut(&self, value: &mut Value) {
        if self.whole {
            return;
        }
        match value {
            Value::Object(found) => {
                found.retain(|name, value| match self.fields.get(name.as_str()) {
                    Some(fields) => {
                        fields.cut(value);
                        true
                    }
                    None => false,
                });
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.cut(item)),
            // No fields, where fields are expected: it may say anything.
            other => *other = Value::Null,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use jiff::Timestamp;
    use joiner_operator::{
        files,
        index::{self, IndexSettings},
        objects::Objects,
    };
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_that_is_read_is_listed() {
        for list in Objects::default().lists() {
            assert!(FIELDS.contains_key(list.resource.as_str()), "{}", list.resource);
        }
    }

    /// All that the planner is told of these objects.
    fn told(objects: &Objects) -> String {
        let settings = IndexSettings { capacity_buffer: true, ..IndexSettings::default() };
        let now: Timestamp = "2026-02-02T10:00:00Z".parse().unwrap();
        let pools = objects.node_pools.iter().filter_map(|pool| pool.metadata.name.as_deref());
        let indexed = index::snapshot(objects, joiner_kwok::catalog(pools), &settings, now);
        let live = index::Live::of_nobody();
        let fleet = index::fleet(objects, &indexed.snapshot, &settings, &live, now);
        format!("{:#?}\n{fleet:#?}\n{:#?}", indexed.snapshot, indexed.notes)
    }

    #[test]
    fn the_planner_is_told_the_same_of_objects_and_of_what_is_kept_of_them() {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        for example in ["first-look", "right-size", "capacity"] {
            let objects = files::read(&[examples.join(example)], std::io::empty()).unwrap();
            let folder = tempfile::tempdir().unwrap();
            for list in objects.lists() {
                let mut items = list.items;
                for item in &mut items {
                    cut(&list.resource, item);
                }
                let text = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
                let file = folder.path().join(format!("{}.json", list.resource));
                std::fs::write(file, text).unwrap();
            }
            let kept = files::read(&[folder.path().to_owned()], std::io::empty()).unwrap();
            let (whole, kept) = (told(&objects), told(&kept));
            let differs = whole.lines().zip(kept.lines()).find(|(whole, kept)| whole != kept);
            assert_eq!(differs, None, "{example}");
            assert_eq!(whole.len(), kept.len(), "{example}");
        }
    }

    #[test]
    fn what_is_not_listed_is_left_out() {
        let mut volume = json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": "v", "annotations": {"objectset.rio.cattle.io/applied": "H4sI"}},
            "spec": {
                "csi": {"driver": "d", "volumeHandle": "h", "volumeAttributes": {"password": "p"}},
                "azureFile": {"secretName": "s"}, "local": "a text",
            },
        });
        cut("persistentvolumes", &mut volume);
        let expected = json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": "v", "annotations": {}},
            "spec": {"csi": {"driver": "d"}, "azureFile": {}, "local": null},
        });
        assert_eq!(volume, expected);

        let mut class = json!({
            "kind": "ExampleNodeClass", "metadata": {"name": "c"}, "spec": {"password": "p"},
            "status": {"conditions": [{"type": "Ready", "status": "True"}], "token": "t"},
        });
        cut("examplenodeclasses.example.com", &mut class);
        assert_eq!(
            class,
            json!({
                "kind": "ExampleNodeClass", "metadata": {"name": "c"},
                "status": {"conditions": [{"type": "Ready", "status": "True"}]},
            })
        );
    }
}
