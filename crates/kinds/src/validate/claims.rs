//! `PersistentVolumes` and `PersistentVolumeClaims`.

use serde_json::{Map, Value};

use super::{
    diff,
    errors::{Errors, IMMUTABLE, Path},
    formats, internal,
    resources::{self, quantity},
    selectors,
    volume_sources::{self, csi_driver},
};
use crate::fields::{Fields, same};

const ACCESS_MODES: [&str; 4] =
    ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const VOLUME_MODES: [&str; 2] = ["Block", "Filesystem"];

fn access_modes(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let (mut alone, mut shared) = (false, false);
    for mode in spec.texts("accessModes") {
        errors.supported(path, mode, &ACCESS_MODES);
        if mode == "ReadWriteOncePod" {
            alone = true;
        } else if ACCESS_MODES.contains(&mode) {
            shared = true;
        }
    }
    if alone && shared {
        errors.forbidden(path, "may not use ReadWriteOncePod with other access modes");
    }
}

fn class_name(errors: &mut Errors, path: &Path<'_>, class: &str) {
    if !class.is_empty() {
        errors.invalid_each(path, class, formats::dns_subdomain(class));
    }
}

/// The spec of a claim, also in templates of pods and `StatefulSets`.
pub(super) fn claim_spec(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    if spec.list("accessModes").is_empty() {
        errors.required(&path.child("accessModes"), "at least 1 access mode is required");
    }
    selectors::label_selector(errors, &path.child("selector"), spec.field("selector"));
    access_modes(errors, &path.child("accessModes"), spec);
    let resources = path.child("resources");
    let storage = resources.key("storage");
    match spec.part("resources").part("requests").field("storage") {
        None => errors.required(&storage, ""),
        Some(size) => resources::positive_quantity(errors, &storage, size),
    }
    class_name(errors, &path.child("storageClassName"), spec.text("storageClassName"));
    if let Some(mode) = spec.given_text("volumeMode") {
        errors.supported(&path.child("volumeMode"), mode, &VOLUME_MODES);
    }
    data_sources(errors, path, spec);
    let class = spec.text("volumeAttributesClassName");
    class_name(errors, &path.child("volumeAttributesClassName"), class);
}

fn data_sources(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let (source, reference) = (spec.field("dataSource"), spec.field("dataSourceRef"));
    for (name, source) in [("dataSource", source), ("dataSourceRef", reference)] {
        let Some(source) = source else { continue };
        let path = path.child(name);
        for field in ["name", "kind"] {
            if source.text(field).is_empty() {
                errors.required(&path.child(field), "");
            }
        }
        let (group, kind) = (source.text("apiGroup"), source.text("kind"));
        if group.is_empty() && kind != "PersistentVolumeClaim" {
            let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
            errors.invalid(&path, kind, detail);
        }
        class_name(errors, &path.child("apiGroup"), group);
        let namespace = source.text("namespace");
        if !namespace.is_empty() {
            errors.invalid_each(&path.child("namespace"), namespace, formats::dns_label(namespace));
        }
    }
    let (Some(source), Some(reference)) = (source, reference) else { return };
    // The API server shows the path where the value should be; it prints as an empty struct.
    if !reference.text("namespace").is_empty() {
        let detail = "may not be specified when dataSourceRef.namespace is specified";
        errors.invalid_shown(path, "{}", detail);
    } else if ["apiGroup", "kind", "name"]
        .iter()
        .any(|field| source.field(field) != reference.field(field))
    {
        errors.invalid_shown(path, "{}", "must match dataSourceRef");
    }
}

/// A claim that is created.
pub(super) fn create_claim(errors: &mut Errors, claim: &Value) {
    claim_spec(errors, &Path::new("spec"), claim.part("spec"));
}

const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

/// An update of a claim's spec.
pub(super) fn update_claim(errors: &mut Errors, new: &Value, old: &Value, sent: &Value) {
    create_claim(errors, new);
    let (spec, before) = (new.part("spec"), old.part("spec"));
    let bound = new.part("status").text("phase") == "Bound";
    let annotation = |claim: &'_ Value| -> String {
        claim.part("metadata").part("annotations").text(CLASS_ANNOTATION).to_owned()
    };
    if annotation(new) != annotation(old) {
        let path = Path::new("metadata.annotations");
        errors.invalid(&path.child(CLASS_ANNOTATION), annotation(new), IMMUTABLE);
    }
    let (now, then) = comparable_specs(spec, before, bound);
    if !same(&now, &then) {
        let (shown, _) = comparable_specs(sent.part("spec"), before, bound);
        let difference = diff::unified("PersistentVolumeClaimSpec", &then, &shown);
        let detail = format!(
            "spec is immutable after creation except resources.requests and \
             volumeAttributesClassName for bound claims\n{difference}"
        );
        errors.forbidden(&Path::new("spec"), detail);
    }
    let size = |owner: &Value, field: &str| quantity(owner.part(field).part("storage"));
    let requested = size(spec.part("resources"), "requests");
    if requested < size(before.part("resources"), "requests")
        && requested <= size(old.part("status"), "capacity")
    {
        let detail = "field can not be less than status.capacity";
        errors.forbidden(&Path::new("spec.resources.requests.storage"), detail);
    }
    volume_mode_kept(errors, spec, before);
    let class = "volumeAttributesClassName";
    if spec.field(class) != before.field(class)
        && old.part("status").has("currentVolumeAttributesClassName")
    {
        let to = match spec.given_text(class) {
            None => "nil",
            Some("") => "empty string",
            Some(_) => return,
        };
        let detail = format!(
            "update to {to} is forbidden when status.currentVolumeAttributesClassName is not nil"
        );
        errors.forbidden(&Path::new("spec.volumeAttributesClassName"), detail);
    }
}

/// Both specs without what may change: a volume and a class that were not there before, and of a
/// bound claim its size and its class of attributes.
fn comparable_specs(new: &Value, old: &Value, bound: bool) -> (Value, Value) {
    let (mut now, mut then) = (new.clone(), old.clone());
    let put = |to: &mut Value, field: &str, value: Option<&Value>| {
        if let Some(to) = to.as_object_mut() {
            match value {
                Some(value) => to.insert(field.to_owned(), value.clone()),
                None => to.remove(field),
            };
        }
    };
    if old.text("volumeName").is_empty() {
        put(&mut then, "volumeName", new.field("volumeName"));
    }
    if !old.has("storageClassName") {
        put(&mut now, "storageClassName", None);
    }
    if bound {
        let class = "volumeAttributesClassName";
        put(&mut now, class, old.field(class));
        let size = old.part("resources").part("requests").field("storage");
        let requests = now.pointer_mut("/resources/requests");
        if let Some(requests) = requests {
            put(requests, "storage", size);
        }
    }
    (now, then)
}

fn volume_mode_kept(errors: &mut Errors, new: &Value, old: &Value) {
    if new.field("volumeMode") != old.field("volumeMode") {
        errors.invalid(&Path::new("volumeMode"), new.part("volumeMode").clone(), IMMUTABLE);
    }
}

/// An update of a claim's status.
pub(super) fn update_claim_status(errors: &mut Errors, new: &Value) {
    if new.part("spec").list("accessModes").is_empty() {
        errors.required(&Path::new("Spec.accessModes"), "");
    }
    let capacity = Path::new("status.capacity");
    for (name, value) in new.part("status").entries("capacity") {
        resources::basic_amount(errors, &capacity.key(name), value);
    }
    let path = Path::new("status.allocatedResourceStatuses");
    let states = [
        "ControllerResizeInProgress",
        "ControllerResizeInfeasible",
        "NodeResizeInProgress",
        "NodeResizeInfeasible",
        "NodeResizePending",
    ];
    for (name, state) in new.part("status").entries("allocatedResourceStatuses") {
        allocated_name(errors, &path, name);
        if !state.as_str().is_some_and(|state| states.contains(&state)) {
            errors.not_supported(&path, name, &states);
        }
    }
    let path = Path::new("status.allocatedResources");
    for (name, value) in new.part("status").entries("allocatedResources") {
        let before = errors.len();
        allocated_name(errors, &path, name);
        if errors.len() == before {
            resources::basic_amount(errors, &path.key(name), value);
        }
    }
}

fn allocated_name(errors: &mut Errors, path: &Path<'_>, name: &str) {
    let wrong = formats::qualified_name(name);
    if !wrong.is_empty() {
        errors.invalid_each(path, name, wrong);
    } else if resources::is_native(name) {
        errors.supported(path, name, &["storage"]);
    }
}

/// The sources of a `PersistentVolume`, with the names that errors have for them.
const SOURCES: [(&str, &str, &str); 21] = [
    ("hostPath", "hostPath", "hostPath"),
    ("gcePersistentDisk", "gcePersistentDisk", "persistentDisk"),
    ("awsElasticBlockStore", "awsElasticBlockStore", "awsElasticBlockStore"),
    ("glusterfs", "glusterfs", "glusterfs"),
    ("flocker", "flocker", "flocker"),
    ("nfs", "nfs", "nfs"),
    ("rbd", "rbd", "rbd"),
    ("quobyte", "quobyte", "quobyte"),
    ("cephfs", "cephFS", "cephfs"),
    ("iscsi", "iscsi", "iscsi"),
    ("cinder", "cinder", "cinder"),
    ("fc", "fc", "fc"),
    ("flexVolume", "flexVolume", "flexVolume"),
    ("azureFile", "azureFile", "azureFile"),
    ("vsphereVolume", "vsphereVolume", "vsphereVolume"),
    ("photonPersistentDisk", "photonPersistentDisk", "photonPersistentDisk"),
    ("portworxVolume", "portworxVolume", "portworxVolume"),
    ("azureDisk", "azureDisk", "azureDisk"),
    ("scaleIO", "scaleIO", "scaleIO"),
    ("local", "local", "local"),
    ("storageos", "storageos", "storageos"),
];

/// A volume that is created.
pub(super) fn create_volume(errors: &mut Errors, volume: &Value) {
    let (path, spec) = (Path::new("spec"), volume.part("spec"));
    let modes = path.child("accessModes");
    if spec.list("accessModes").is_empty() {
        errors.required(&modes, "");
    }
    access_modes(errors, &modes, spec);
    let capacity = path.child("capacity");
    let empty = Map::new();
    let amounts = spec.map("capacity").unwrap_or(&empty);
    if amounts.is_empty() {
        errors.required(&capacity, "");
    }
    if !amounts.contains_key("storage") || amounts.len() > 1 {
        let shown = spec.part("capacity").to_string();
        errors.not_supported_shown(&capacity, &shown, &["storage"]);
    }
    for (name, value) in spec.entries("capacity") {
        resources::basic_amount(errors, &capacity.key(name), value);
        resources::positive_quantity(errors, &capacity.key(name), value);
    }
    let reclaim = spec.text("persistentVolumeReclaimPolicy");
    let reclaim_path = path.child("persistentVolumeReclaimPolicy");
    if !reclaim.is_empty() {
        errors.supported(&reclaim_path, reclaim, &["Delete", "Recycle", "Retain"]);
    }
    if let Some(affinity) = spec.field("nodeAffinity") {
        let at = path.child("nodeAffinity.required");
        match affinity.field("required") {
            Some(required) => selectors::node_selector(errors, &at, required),
            None => errors.required(&at, "must specify required node constraints"),
        }
    }
    volume_source(errors, &path, spec);
    let root = spec.part("hostPath").given_text("path").is_some_and(|dir| {
        dir.starts_with('/') && dir.split('/').all(|part| part.is_empty() || part == ".")
    });
    if root && reclaim == "Recycle" {
        errors.forbidden(&reclaim_path, "may not be 'recycle' for a hostPath mount of '/'");
    }
    class_name(errors, &path.child("storageClassName"), spec.text("storageClassName"));
    if let Some(mode) = spec.given_text("volumeMode") {
        errors.supported(&path.child("volumeMode"), mode, &VOLUME_MODES);
    }
    if let Some(class) = spec.given_text("volumeAttributesClassName") {
        let at = path.child("volumeAttributesClassName");
        if class.is_empty() {
            errors.required(&at, "an empty string is disallowed");
        }
        class_name(errors, &at, class);
        if !spec.has("csi") {
            let detail = "has to be specified when using volumeAttributesClassName";
            errors.required(&path.child("csi"), detail);
        }
    }
}

fn volume_source(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let mut given = 0;
    let second = "may not specify more than 1 volume type";
    for (field, field_if_many, field_in_errors) in SOURCES {
        let Some(source) = spec.field(field) else { continue };
        given += 1;
        if given > 1 && field != "flexVolume" {
            errors.forbidden(&path.child(field_if_many), second);
            continue;
        }
        volume_sources::common(errors, &path.child(field_in_errors), field, source);
        if field == "local" && !spec.has("nodeAffinity") {
            errors.required(&path.child("nodeAffinity"), "Local volume requires node affinity");
        }
    }
    if let Some(csi) = spec.field("csi") {
        given += 1;
        let path = path.child("csi");
        if given > 1 {
            errors.forbidden(&path, second);
        } else {
            csi_source(errors, &path, csi);
        }
    }
    if given == 0 {
        errors.required(path, "must specify a volume type");
    }
}

fn csi_source(errors: &mut Errors, path: &Path<'_>, source: &Value) {
    csi_driver(errors, &path.child("driver"), source.text("driver"));
    if source.text("volumeHandle").is_empty() {
        errors.required(&path.child("volumeHandle"), "");
    }
    let references = [
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ];
    for field in references {
        let Some(secret) = source.field(field) else { continue };
        let path = path.child(field);
        let (name, namespace) = (secret.text("name"), secret.text("namespace"));
        if name.is_empty() {
            errors.required(&path.child("name"), "");
        } else {
            errors.invalid_each(&path.child("name"), name, formats::dns_subdomain(name));
        }
        if namespace.is_empty() {
            errors.required(&path.child("namespace"), "");
        } else {
            errors.invalid_each(&path.child("namespace"), namespace, formats::dns_label(namespace));
        }
    }
}

/// An update of a volume.
pub(super) fn update_volume(errors: &mut Errors, new: &Value, old: &Value, sent: &Value) {
    let (spec, before) = (new.part("spec"), old.part("spec"));
    let source = |spec: &Value, drop_expand_secret: bool| {
        let fields = SOURCES.iter().map(|(field, ..)| *field).chain(["csi"]);
        let mut source: Map<String, Value> = fields
            .filter_map(|field| spec.field(field).map(|part| (field.to_owned(), part.clone())))
            .collect();
        if let Some(csi) = source.get_mut("csi").and_then(Value::as_object_mut)
            && drop_expand_secret
        {
            csi.remove("controllerExpandSecretRef");
        }
        Value::from(source)
    };
    let secret_is_new = !before.part("csi").has("controllerExpandSecretRef");
    let (now, then) = (source(spec, secret_is_new), source(before, false));
    if !same(&now, &then) {
        let difference = diff::unified("PersistentVolumeSource", &then, &now);
        let detail =
            format!("spec.persistentvolumesource is immutable after creation\n{difference}");
        errors.forbidden(&Path::new("spec.persistentvolumesource"), detail);
    }
    volume_mode_kept(errors, spec, before);
    if before.has("nodeAffinity")
        && !same_nodes(spec.part("nodeAffinity"), before.part("nodeAffinity"))
    {
        let detail = "field is immutable, except for updating from beta label to GA";
        let shown = match sent.part("spec").field("nodeAffinity") {
            Some(affinity) => internal::compact("VolumeNodeAffinity", affinity),
            None => "null".to_owned(),
        };
        errors.invalid_shown(&Path::new("nodeAffinity"), &shown, detail);
    }
    if before.has("volumeAttributesClassName") && !spec.has("volumeAttributesClassName") {
        let detail = "update from non-nil value to nil is forbidden";
        errors.forbidden(&Path::new("spec.volumeAttributesClassName"), detail);
    }
}

/// Labels that have got a new name, with which a volume's affinity may be updated.
const RENAMED_LABELS: [(&str, &str); 5] = [
    ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
    ("beta.kubernetes.io/os", "kubernetes.io/os"),
    ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
    ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
];

fn same_nodes(new: &Value, old: &Value) -> bool {
    let mut old = old.clone();
    let terms = |affinity: &Value| affinity.part("required").list("nodeSelectorTerms").to_vec();
    let mut old_terms = terms(&old);
    for (term, new_term) in old_terms.iter_mut().zip(terms(new)) {
        let requirements = term.get_mut("matchExpressions").and_then(Value::as_array_mut);
        let pairs = requirements.into_iter().flatten().zip(new_term.list("matchExpressions"));
        for (requirement, new_requirement) in pairs {
            let renamed = (requirement.text("key"), new_requirement.text("key"));
            if RENAMED_LABELS.contains(&renamed) {
                requirement["key"] = new_requirement.part("key").clone();
            }
        }
    }
    if let Some(stored) = old.pointer_mut("/required/nodeSelectorTerms") {
        *stored = Value::from(old_terms);
    }
    same(new, &old)
}
