//! Claims, volumes and classes of storage, and what suits what.
//!
//! The controller that binds volumes and the scheduler that chooses nodes for them must agree, so
//! both ask here.

use std::sync::Arc;

use joiner_apiserver::{Key, Object};
use joiner_core::{
    label::Labels, quantity::Quantity, resources::Resources, selector::LabelSelector,
};
use serde_json::Value;

use super::{
    requests::resources,
    selection::{NodeTerm, labels, list, selector, text, texts},
};

/// On a claim: the node whose pod waits for the volume.
pub(crate) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// On a claim: both sides of the binding are written.
pub(crate) const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// On either side: a controller, not a person, chose the other side.
pub(crate) const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";
/// The provisioner of classes whose volumes are made by hand.
const BY_HAND: &str = "kubernetes.io/no-provisioner";

/// A `PersistentVolumeClaim`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Claim {
    pub(crate) key: Key,
    pub(crate) uid: Arc<str>,
    pub(crate) deleting: bool,
    pub(crate) finalizers: Vec<String>,
    /// None when it does not say; an empty text asks for volumes without a class.
    pub(crate) class: Option<String>,
    pub(crate) modes: Vec<String>,
    pub(crate) mode: String,
    pub(crate) size: Quantity,
    pub(crate) selector: Option<LabelSelector>,
    /// The volume it has or asks for.
    pub(crate) volume: Option<String>,
    pub(crate) bind_completed: bool,
    pub(crate) selected_node: Option<String>,
    pub(crate) phase: String,
}

impl Claim {
    /// Reads a claim.
    pub(crate) fn read(object: &Object) -> Self {
        let value = object.value();
        let (meta, spec) = (&value["metadata"], &value["spec"]);
        let annotation = |key: &str| meta["annotations"][key].as_str();
        let some = |value: Option<&str>| value.filter(|text| !text.is_empty()).map(str::to_owned);
        Self {
            key: object.key.clone(),
            uid: Arc::clone(&object.uid),
            deleting: object.deleting,
            finalizers: texts(&meta["finalizers"]),
            class: spec["storageClassName"].as_str().map(ToOwned::to_owned),
            modes: texts(&spec["accessModes"]),
            mode: volume_mode(spec),
            size: resources(&spec["resources"]["requests"]).get("storage"),
            selector: spec["selector"].is_object().then(|| selector(&spec["selector"])),
            volume: some(spec["volumeName"].as_str()),
            bind_completed: annotation(BIND_COMPLETED).is_some(),
            selected_node: some(annotation(SELECTED_NODE)),
            phase: text(&value["status"]["phase"]),
        }
    }

    /// Whether its volume is there and both sides know.
    pub(crate) fn is_bound(&self) -> bool {
        self.volume.is_some() && self.bind_completed
    }

    /// Whether only one pod at a time may use it.
    pub(crate) fn is_for_one_pod(&self) -> bool {
        self.modes.iter().any(|mode| mode == "ReadWriteOncePod")
    }

    /// The name of the volume that is made for it.
    pub(crate) fn made_volume(&self) -> String {
        format!("pvc-{}", self.uid)
    }
}

/// A `PersistentVolume`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Volume {
    pub(crate) name: Arc<str>,
    pub(crate) deleting: bool,
    pub(crate) finalizers: Vec<String>,
    pub(crate) labels: Labels,
    pub(crate) class: String,
    pub(crate) modes: Vec<String>,
    pub(crate) mode: String,
    pub(crate) capacity: Resources,
    /// Where it can be reached from; none for everywhere.
    pub(crate) nodes: Option<Vec<NodeTerm>>,
    /// The claim it is reserved for, with the claim's uid once it is known.
    pub(crate) claim: Option<(Key, Option<String>)>,
    pub(crate) phase: String,
    pub(crate) reclaim: String,
    /// The driver that attaches it, and what the driver calls it.
    pub(crate) driver: Option<(String, String)>,
}

impl Volume {
    /// Reads a volume.
    pub(crate) fn read(object: &Object) -> Self {
        let value = object.value();
        let spec = &value["spec"];
        let required = &spec["nodeAffinity"]["required"];
        let claim = &spec["claimRef"];
        let csi = &spec["csi"];
        Self {
            name: Arc::clone(&object.key.name),
            deleting: object.deleting,
            finalizers: texts(&value["metadata"]["finalizers"]),
            labels: labels(&value["metadata"]["labels"]),
            class: text(&spec["storageClassName"]),
            modes: texts(&spec["accessModes"]),
            mode: volume_mode(spec),
            capacity: resources(&spec["capacity"]),
            nodes: required
                .is_object()
                .then(|| list(&required["nodeSelectorTerms"]).iter().map(NodeTerm::read).collect()),
            claim: claim.is_object().then(|| {
                let key = Key::new(&text(&claim["namespace"]), &text(&claim["name"]));
                (key, claim["uid"].as_str().filter(|uid| !uid.is_empty()).map(ToOwned::to_owned))
            }),
            phase: text(&value["status"]["phase"]),
            reclaim: text(&spec["persistentVolumeReclaimPolicy"]),
            driver: csi.is_object().then(|| (text(&csi["driver"]), text(&csi["volumeHandle"]))),
        }
    }

    /// Whether it can be reached from a node.
    pub(crate) fn reaches(&self, node: &str, labels: &Labels) -> bool {
        self.nodes.as_ref().is_none_or(|terms| terms.iter().any(|term| term.matches(node, labels)))
    }

    /// Whether it is reserved for this very claim.
    pub(crate) fn is_for(&self, claim: &Claim) -> bool {
        self.claim.as_ref().is_some_and(|(key, uid)| {
            *key == claim.key && uid.as_ref().is_none_or(|uid| **uid == *claim.uid)
        })
    }

    /// Whether a claim could have it, wherever it is.
    pub(crate) fn suits(&self, claim: &Claim) -> bool {
        let free = self.claim.is_none() && (self.phase.is_empty() || self.phase == "Available");
        (free || self.is_for(claim))
            && !self.deleting
            && self.class == claim.class.as_deref().unwrap_or_default()
            && self.mode == claim.mode
            && claim.modes.iter().all(|mode| self.modes.contains(mode))
            && self.capacity.get("storage") >= claim.size
            && claim.selector.as_ref().is_none_or(|selector| selector.matches(&self.labels))
    }
}

/// The best of some volumes for a claim: one that is reserved for it, else the smallest, else the
/// first by name.
pub(crate) fn best<'v>(
    claim: &Claim,
    volumes: impl IntoIterator<Item = &'v Volume>,
) -> Option<&'v Volume> {
    let suitable = volumes.into_iter().filter(|volume| volume.suits(claim));
    suitable.min_by_key(|volume| {
        (!volume.is_for(claim), volume.capacity.get("storage"), Arc::clone(&volume.name))
    })
}

/// Labels that nodes must have to reach something, each with the values that will do.
pub(crate) type Place = Vec<(String, Vec<String>)>;

/// A `StorageClass`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Class {
    pub(crate) name: Arc<str>,
    pub(crate) provisioner: String,
    /// Whether volumes are chosen only when a pod needs them.
    pub(crate) waits: bool,
    pub(crate) reclaim: String,
    pub(crate) default: bool,
    /// Where volumes may be made; none for everywhere.
    pub(crate) topologies: Option<Vec<Place>>,
}

impl Class {
    /// Reads a class.
    pub(crate) fn read(object: &Object) -> Self {
        let value = object.value();
        let topologies = list(&value["allowedTopologies"]).iter().map(|term| {
            let expressions = list(&term["matchLabelExpressions"]).iter();
            expressions.map(|own| (text(&own["key"]), texts(&own["values"]))).collect()
        });
        let topologies: Vec<_> = topologies.collect();
        let default = "storageclass.kubernetes.io/is-default-class";
        Self {
            name: Arc::clone(&object.key.name),
            provisioner: text(&value["provisioner"]),
            waits: value["volumeBindingMode"] == "WaitForFirstConsumer",
            reclaim: value["reclaimPolicy"].as_str().unwrap_or("Delete").to_owned(),
            default: value["metadata"]["annotations"][default] == "true",
            topologies: (!topologies.is_empty()).then_some(topologies),
        }
    }

    /// Whether volumes are made on demand.
    pub(crate) fn makes_volumes(&self) -> bool {
        !self.provisioner.is_empty() && self.provisioner != BY_HAND
    }

    /// The topology in which a volume for a node with these labels may be made; none when there is
    /// no such topology.
    pub(crate) fn topology_of(&self, labels: &Labels) -> Option<&[(String, Vec<String>)]> {
        let Some(topologies) = &self.topologies else { return Some(&[]) };
        let meets = |(key, values): &(String, Vec<String>)| {
            labels.get(key).is_some_and(|value| values.contains(value))
        };
        topologies.iter().find(|term| term.iter().all(meets)).map(Vec::as_slice)
    }
}

fn volume_mode(spec: &Value) -> String {
    spec["volumeMode"].as_str().unwrap_or("Filesystem").to_owned()
}
