//! Volume claims that pods come with: of a `StatefulSet`'s templates, and of ephemeral volumes.

use std::{cmp::Reverse, collections::HashSet, sync::Arc};

use k8s_openapi::{
    api::{
        core::v1::{
            PersistentVolumeClaim, PersistentVolumeClaimSpec, PersistentVolumeClaimVolumeSource,
            Pod, PodSpec, Volume,
        },
        storage::v1::StorageClass,
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use super::wishes::Wish;
use crate::{claims::name, objects::Objects};

/// Annotation of the class that claims are given which name none.
const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

/// Mounts what a `StatefulSet` claims for its pod of this name.
pub(super) fn mount(spec: &mut PodSpec, pod: &str, wish: &Wish) {
    if wish.claims.is_empty() {
        return;
    }
    let volumes = spec.volumes.get_or_insert_default();
    for claim in &wish.claims {
        let volume = name(&claim.metadata);
        volumes.retain(|known| known.name != volume);
        volumes.push(Volume {
            name: volume.to_owned(),
            persistent_volume_claim: Some(PersistentVolumeClaimVolumeSource {
                claim_name: format!("{volume}-{pod}"),
                ..PersistentVolumeClaimVolumeSource::default()
            }),
            ..Volume::default()
        });
    }
}

/// Claims that are made where they are not there yet.
#[derive(Debug)]
pub(super) struct Claims {
    known: HashSet<(String, String)>,
    default_class: Option<String>,
    made: Vec<Arc<PersistentVolumeClaim>>,
}

impl Claims {
    pub(super) fn new(objects: &Objects, others: &Objects) -> Self {
        let known = objects.persistent_volume_claims.iter().chain(&others.persistent_volume_claims);
        let key = |claim: &Arc<PersistentVolumeClaim>| {
            let namespace = claim.metadata.namespace.clone().unwrap_or_default();
            (namespace, name(&claim.metadata).to_owned())
        };
        let classes = objects.storage_classes.iter().chain(&others.storage_classes);
        Self {
            known: known.map(key).collect(),
            default_class: default_class(classes.map(Arc::as_ref)),
            made: Vec::new(),
        }
    }

    /// Makes what a pod claims for itself.
    pub(super) fn add(&mut self, pod: &Pod, wish: &Wish) {
        let pod_name = name(&pod.metadata);
        for claim in &wish.claims {
            let name = format!("{}-{pod_name}", name(&claim.metadata));
            self.claim(&wish.namespace, name, claim.spec.clone().unwrap_or_default());
        }
        for volume in pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten()) {
            let ephemeral = volume.ephemeral.as_ref();
            if let Some(claim) = ephemeral.and_then(|it| it.volume_claim_template.as_ref()) {
                let name = format!("{pod_name}-{}", volume.name);
                self.claim(&wish.namespace, name, claim.spec.clone());
            }
        }
    }

    fn claim(&mut self, namespace: &str, name: String, spec: PersistentVolumeClaimSpec) {
        if !self.known.insert((namespace.to_owned(), name.clone())) {
            return;
        }
        let class = spec.storage_class_name.or_else(|| self.default_class.clone());
        let metadata = ObjectMeta {
            name: Some(name),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        };
        let spec = PersistentVolumeClaimSpec { storage_class_name: class, ..spec };
        let claim = PersistentVolumeClaim { metadata, spec: Some(spec), status: None };
        self.made.push(Arc::new(claim));
    }

    pub(super) fn made(self) -> Vec<Arc<PersistentVolumeClaim>> {
        self.made
    }
}

/// The class that a claim gets which names none: of several defaults the newest, as the API server does it.
fn default_class<'c>(classes: impl Iterator<Item = &'c StorageClass>) -> Option<String> {
    let is_default = |class: &&StorageClass| {
        let annotations = class.metadata.annotations.as_ref();
        annotations.and_then(|all| all.get(DEFAULT_CLASS)).is_some_and(|value| value == "true")
    };
    let newest = classes.filter(is_default).min_by_key(|class| {
        let created = class.metadata.creation_timestamp.as_ref().map(|time| time.0);
        (Reverse(created), class.metadata.name.clone())
    });
    newest.and_then(|class| class.metadata.name.clone())
}
