//! The volumes of a pod: where they can attach, and whether they are ready.

use std::collections::{BTreeSet, HashMap};

use joiner_core::{
    label,
    pod::{AttachedVolume, PodVolumes},
    requirement::{Operator, RequirementSpec, Requirements},
};
use k8s_openapi::api::{
    core::v1::{
        PersistentVolume, PersistentVolumeClaim, PersistentVolumeSpec, Pod, PodSpec, Volume,
    },
    storage::v1::StorageClass,
};

use super::convert::node_term;
use crate::{marks::BIND_COMPLETED, objects::Objects};

/// The most alternatives that are kept. They multiply with every volume, and a pod with so many
/// possible places fits one of the first. The value was chosen and not measured separately.
const ALTERNATIVES_MAX: usize = 1000;

/// In-tree storage drivers, and the CSI drivers that replaced them.
const IN_TREE_DRIVERS: [(&str, &str); 7] = [
    ("kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
    ("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    ("kubernetes.io/azure-file", "file.csi.azure.com"),
    ("kubernetes.io/cinder", "cinder.csi.openstack.org"),
    ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
    ("kubernetes.io/portworx-volume", "pxd.portworx.com"),
    ("kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"),
];

/// Claims, volumes and storage classes by name.
#[derive(Debug)]
pub(super) struct VolumeIndex<'o> {
    claims: HashMap<(&'o str, &'o str), &'o PersistentVolumeClaim>,
    volumes: HashMap<&'o str, &'o PersistentVolume>,
    classes: HashMap<&'o str, &'o StorageClass>,
}

/// The volume or storage class of a claim.
enum Source<'o> {
    Volume(&'o PersistentVolume),
    Class(&'o StorageClass),
    /// Neither.
    Nothing,
    /// The named volume or class does not exist.
    Missing(String),
}

impl<'o> VolumeIndex<'o> {
    pub(super) fn new(objects: &'o Objects) -> Self {
        let claims = objects.persistent_volume_claims.iter().map(|claim| {
            let metadata = &claim.metadata;
            let namespace = metadata.namespace.as_deref().unwrap_or_default();
            ((namespace, metadata.name.as_deref().unwrap_or_default()), &**claim)
        });
        let volumes = objects
            .persistent_volumes
            .iter()
            .map(|volume| (volume.metadata.name.as_deref().unwrap_or_default(), &**volume));
        let classes = objects
            .storage_classes
            .iter()
            .map(|class| (class.metadata.name.as_deref().unwrap_or_default(), &**class));
        Self { claims: claims.collect(), volumes: volumes.collect(), classes: classes.collect() }
    }

    /// The volumes of a pending pod, which waits for claims that are not ready.
    pub(super) fn of_pending(&self, pod: &Pod) -> PodVolumes {
        self.placed(pod, |claim, source| not_ready(claim, source))
    }

    /// The volumes of a pod that moves. They were bound already, so the pod waits only for deleted
    /// objects.
    ///
    /// COMPAT: upstream places such a pod as if it had no volumes.
    pub(super) fn of_moving(&self, pod: &Pod) -> PodVolumes {
        self.placed(pod, |_, source| match source {
            Source::Missing(what) => Some(format!("{what}, which does not exist; restore it")),
            _ => None,
        })
    }

    /// The attached volumes of a bound pod. A volume that cannot be found counts as not attached.
    pub(super) fn of_bound(&self, namespace: &str, name: &str, spec: &PodSpec) -> PodVolumes {
        let mut attached = BTreeSet::new();
        for claim_name in claim_names(name, spec) {
            if let Some(claim) = self.claims.get(&(namespace, claim_name.as_str())) {
                attached.extend(attachment(namespace, &claim_name, &self.source(claim)));
            }
        }
        PodVolumes { attached, ..PodVolumes::default() }
    }

    fn placed(
        &self,
        pod: &Pod,
        waits: impl Fn(&PersistentVolumeClaim, &Source<'o>) -> Option<String>,
    ) -> PodVolumes {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let pod_name = pod.metadata.name.as_deref().unwrap_or_default();
        let mut volumes = PodVolumes::default();
        let Some(spec) = &pod.spec else { return volumes };
        // A claim may be mounted several times, and several claims may allow the same places.
        let (mut names, mut places) = (BTreeSet::new(), BTreeSet::new());
        for name in claim_names(pod_name, spec).filter(|name| names.insert(name.clone())) {
            let Some(claim) = self.claims.get(&(namespace, name.as_str())) else {
                let text =
                    format!("PersistentVolumeClaim {namespace}/{name} does not exist; create it");
                volumes.waiting.get_or_insert(text);
                continue;
            };
            let source = self.source(claim);
            if let Some(why) = waits(claim, &source) {
                let text = format!("PersistentVolumeClaim {namespace}/{name} {why}");
                volumes.waiting.get_or_insert(text);
            }
            volumes.attached.extend(attachment(namespace, &name, &source));
            let more = alternatives(&source);
            if !places.contains(&more) {
                volumes.alternatives = combine(volumes.alternatives, more.clone());
                places.insert(more);
            }
        }
        volumes
    }

    fn source(&self, claim: &PersistentVolumeClaim) -> Source<'o> {
        let Some(spec) = &claim.spec else { return Source::Nothing };
        if let Some(name) = given(spec.volume_name.as_deref()) {
            return match self.volumes.get(name) {
                Some(volume) => Source::Volume(volume),
                None => Source::Missing(format!("names PersistentVolume {name}")),
            };
        }
        match given(spec.storage_class_name.as_deref()) {
            None => Source::Nothing,
            Some(name) => match self.classes.get(name) {
                Some(class) => Source::Class(class),
                None => Source::Missing(format!("names StorageClass {name}")),
            },
        }
    }
}

fn given(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.is_empty())
}

/// The claims that a pod's volumes stand for. An ephemeral volume's claim is named after both.
pub(crate) fn claim_names<'s>(
    pod: &'s str,
    spec: &'s PodSpec,
) -> impl Iterator<Item = String> + 's {
    let name = move |volume: &Volume| match (&volume.persistent_volume_claim, &volume.ephemeral) {
        (Some(claim), _) => Some(claim.claim_name.clone()),
        (None, Some(_)) => Some(format!("{pod}-{}", volume.name)),
        (None, None) => None,
    };
    spec.volumes.iter().flatten().filter_map(name)
}

/// Why a pod with this claim cannot be placed yet.
fn not_ready(claim: &PersistentVolumeClaim, source: &Source<'_>) -> Option<String> {
    if claim.metadata.deletion_timestamp.is_some() {
        return Some("is being deleted; create it again".to_owned());
    }
    let phase = claim.status.as_ref().and_then(|status| status.phase.as_deref());
    if phase == Some("Lost") {
        return Some("has lost its PersistentVolume; restore the volume or the claim".to_owned());
    }
    match source {
        Source::Missing(what) => Some(format!("{what}, which does not exist; create it")),
        Source::Nothing => {
            Some("is not bound and names no StorageClass; name one, or bind a volume".to_owned())
        }
        Source::Class(class) => {
            let is_immediate = class.volume_binding_mode.as_deref() == Some("Immediate");
            is_immediate.then(|| {
                "is not bound yet, and its StorageClass binds before pods are placed; \
                 wait for its provisioner"
                    .to_owned()
            })
        }
        Source::Volume(volume) => {
            let name = volume.metadata.name.as_deref().unwrap_or_default();
            if volume.metadata.deletion_timestamp.is_some() {
                return Some(format!(
                    "is bound to PersistentVolume {name}, which is being deleted"
                ));
            }
            let annotations = claim.metadata.annotations.as_ref();
            let is_bound = annotations.is_some_and(|all| all.contains_key(BIND_COMPLETED));
            (!is_bound).then(|| {
                format!(
                    "names PersistentVolume {name} but is not bound to it yet (no annotation \
                     {BIND_COMPLETED}); wait for the volume controller"
                )
            })
        }
    }
}

/// The attachment that the claim uses on a node, if its driver has a limit.
fn attachment(namespace: &str, claim: &str, source: &Source<'_>) -> Option<AttachedVolume> {
    let driver = match source {
        Source::Volume(volume) => driver_of_volume(volume.spec.as_ref()?)?,
        Source::Class(class) => driver_of_class(&class.provisioner),
        Source::Nothing | Source::Missing(_) => return None,
    };
    Some(AttachedVolume { driver: driver.to_owned(), claim: format!("{namespace}/{claim}") })
}

fn driver_of_class(provisioner: &str) -> &str {
    let known = IN_TREE_DRIVERS.iter().find(|(in_tree, _)| *in_tree == provisioner);
    known.map_or(provisioner, |(_, driver)| driver)
}

/// COMPAT: of the volumes from before CSI, upstream counts only those of AWS. CSI drivers attach
/// all of them now, so all are counted.
fn driver_of_volume(volume: &PersistentVolumeSpec) -> Option<&str> {
    if let Some(csi) = &volume.csi {
        return Some(&csi.driver);
    }
    let in_tree = [
        ("kubernetes.io/aws-ebs", volume.aws_elastic_block_store.is_some()),
        ("kubernetes.io/azure-disk", volume.azure_disk.is_some()),
        ("kubernetes.io/azure-file", volume.azure_file.is_some()),
        ("kubernetes.io/cinder", volume.cinder.is_some()),
        ("kubernetes.io/gce-pd", volume.gce_persistent_disk.is_some()),
        ("kubernetes.io/portworx-volume", volume.portworx_volume.is_some()),
        ("kubernetes.io/vsphere-volume", volume.vsphere_volume.is_some()),
    ];
    in_tree.into_iter().find(|(_, is_used)| *is_used).map(|(name, _)| driver_of_class(name))
}

/// The places that a claim allows, as alternatives. An empty list allows every place.
fn alternatives(source: &Source<'_>) -> Vec<Requirements> {
    match source {
        Source::Volume(volume) => volume.spec.as_ref().map(of_volume).unwrap_or_default(),
        Source::Class(class) => of_class(class),
        Source::Nothing | Source::Missing(_) => Vec::new(),
    }
}

fn of_class(class: &StorageClass) -> Vec<Requirements> {
    let terms = class.allowed_topologies.iter().flatten();
    let allowed = terms.map(|term| {
        let specs = term.match_label_expressions.iter().flatten().map(|expression| {
            RequirementSpec::new(&expression.key, Operator::In, expression.values.iter().cloned())
        });
        specs.collect::<Vec<_>>()
    });
    allowed
        .filter(|specs| !specs.is_empty())
        .map(|specs| Requirements::from_specs(&specs))
        .collect()
}

/// A volume on an instance's own disk is made anew elsewhere, so the instance's name does not bind it.
fn of_volume(volume: &PersistentVolumeSpec) -> Vec<Requirements> {
    let required = volume.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
    let is_local = volume.local.is_some() || volume.host_path.is_some();
    let mut alternatives = Vec::new();
    for term in required.iter().flat_map(|selector| &selector.node_selector_terms) {
        let mut expressions = node_term(term).expressions;
        if expressions.is_empty() {
            continue;
        }
        if is_local {
            expressions.retain(|expression| expression.key != label::HOSTNAME);
        }
        alternatives.push(Requirements::from_specs(&expressions));
    }
    alternatives
}

/// Every compatible pair of alternatives. If none is compatible, all pairs are kept, so that the
/// plan reports the real reason.
fn combine(before: Vec<Requirements>, more: Vec<Requirements>) -> Vec<Requirements> {
    if more.is_empty() {
        return before;
    }
    if before.is_empty() {
        return more;
    }
    let pairs = || before.iter().flat_map(|a| more.iter().map(move |b| (a, b)));
    let join = |(a, b): (&Requirements, &Requirements)| {
        let mut both = a.clone();
        both.add_all(b);
        both
    };
    let mut seen = BTreeSet::new();
    let mut unique = |requirements: &Requirements| seen.insert(requirements.clone());
    let agreeing = pairs().filter(|(a, b)| a.intersects(b).is_ok()).map(join);
    let combined: Vec<_> = agreeing.filter(&mut unique).take(ALTERNATIVES_MAX).collect();
    if !combined.is_empty() {
        return combined;
    }
    pairs().map(join).filter(&mut unique).take(ALTERNATIVES_MAX).collect()
}

#[cfg(test)]
mod tests;
