//! `StorageClasses`, CSI drivers, and attachments of volumes to nodes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    errors::{Errors, IMMUTABLE, Path},
    formats, resources, selectors,
    volume_sources::csi_driver,
};
use crate::fields::{Fields, same};

const PARAMETERS_SIZE: usize = 256 * 1024;

pub(super) fn create_storage_class(errors: &mut Errors, class: &Value) {
    let provisioner = class.text("provisioner");
    let path = Path::new("provisioner");
    if provisioner.is_empty() {
        errors.required(&path, "");
    } else {
        let lower = provisioner.to_lowercase();
        errors.invalid_each(&path, &lower, formats::qualified_name(&lower));
    }
    parameters(errors, class);
    let reclaim = class.text("reclaimPolicy");
    if !reclaim.is_empty() {
        errors.supported(&Path::new("reclaimPolicy"), reclaim, &["Delete", "Retain"]);
    }
    let path = Path::new("volumeBindingMode");
    match class.given_text("volumeBindingMode") {
        None => errors.required(&path, ""),
        Some(mode) => errors.supported(&path, mode, &["Immediate", "WaitForFirstConsumer"]),
    }
    allowed_topologies(errors, class);
}

fn parameters(errors: &mut Errors, class: &Value) {
    let path = Path::new("parameters");
    let parameters: Vec<(&str, &Value)> = class.entries("parameters").collect();
    if parameters.len() > 512 {
        errors.too_long(&path, 512);
        return;
    }
    let mut size = 0;
    for (key, value) in parameters {
        if key.is_empty() {
            errors.invalid(&path, key, "field can not be empty.");
        }
        size += key.len() + value.as_str().unwrap_or_default().len();
    }
    if size > PARAMETERS_SIZE {
        errors.too_long(&path, PARAMETERS_SIZE);
    }
}

fn allowed_topologies(errors: &mut Errors, class: &Value) {
    let path = Path::new("allowedTopologies");
    let mut seen: Vec<BTreeMap<&str, BTreeSet<&str>>> = Vec::new();
    let terms = class.list("allowedTopologies");
    for (index, term) in terms.iter().enumerate() {
        let path = path.index(index);
        let expressions = path.child("matchLabelExpressions");
        let mut values_of: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (index, requirement) in term.list("matchLabelExpressions").iter().enumerate() {
            let path = expressions.index(index);
            let (key, values) = (requirement.text("key"), path.child("values"));
            if requirement.list("values").is_empty() {
                errors.required(&values, "");
            }
            let mut distinct = BTreeSet::new();
            for (index, value) in requirement.texts("values").enumerate() {
                if !distinct.insert(value) {
                    errors.duplicate(&values.index(index), value);
                }
            }
            selectors::label_key(errors, &path.child("key"), key);
            if values_of.insert(key, distinct).is_some() {
                errors.duplicate(&path.child("key"), key);
            }
        }
        // To the real server a term without expressions is also the double of as many others as
        // there are terms.
        let yet_to_come = if values_of.is_empty() { terms.len() } else { 0 };
        let seen_before = seen.iter().filter(|other| **other == values_of).count();
        for _ in 0..yet_to_come + seen_before {
            errors.duplicate(&expressions, "");
        }
        seen.push(values_of);
    }
}

pub(super) fn update_storage_class(errors: &mut Errors, new: &Value, old: &Value) {
    for field in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
        if !same(new.part(field), old.part(field)) {
            errors.invalid(&Path::new(field), new.part(field).clone(), IMMUTABLE);
        }
    }
}

pub(super) fn create_attachment(errors: &mut Errors, attachment: &Value) {
    let (path, spec) = (Path::new("spec"), attachment.part("spec"));
    csi_driver(errors, &path.child("attacher"), spec.text("attacher"));
    let at = path.child("source");
    let source = spec.part("source");
    let name = source.given_text("persistentVolumeName");
    let one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    match (source.has("inlineVolumeSpec"), name) {
        (false, None) => errors.required(&at, one),
        (true, Some(_)) => errors.forbidden(&at, one),
        (false, Some("")) => {
            let detail = "must specify non empty persistentVolumeName";
            errors.required(&at.child("persistentVolumeName"), detail);
        }
        _ => {}
    }
    let node = spec.text("nodeName");
    errors.invalid_each(&path.child("nodeName"), node, formats::dns_subdomain(node));
    attachment_status(errors, attachment.part("status"));
    if let Some(name) = name {
        let at = Path::new("spec.source.persistentVolumeName");
        errors.invalid_each(&at, name, formats::dns_subdomain(name));
    }
}

fn attachment_status(errors: &mut Errors, status: &Value) {
    let path = Path::new("status");
    let entries = status.entries("attachmentMetadata");
    let size: usize =
        entries.map(|(key, value)| key.len() + value.as_str().unwrap_or_default().len()).sum();
    if size > PARAMETERS_SIZE {
        errors.too_long(&path.child("attachmentMetadata"), PARAMETERS_SIZE);
    }
    for field in ["attachError", "detachError"] {
        let (path, error) = (path.child(field), status.part(field));
        if error.text("message").len() > 1024 {
            errors.too_long(&path.child("message"), PARAMETERS_SIZE);
        }
        if let Some(code) = error.number("errorCode").filter(|code| *code < 0) {
            let detail = formats::range_message(0, i64::from(i32::MAX));
            errors.invalid(&path.child("errorCode"), code, detail);
        }
    }
}

pub(super) fn update_attachment(errors: &mut Errors, new: &Value, old: &Value) {
    create_attachment(errors, new);
    let spec = new.part("spec");
    if !same(spec, old.part("spec")) {
        let source = spec.part("source");
        let shown = format!(
            "{{\"Attacher\":{},\"Source\":{{\"PersistentVolumeName\":{},\"InlineVolumeSpec\":{}}},\
             \"NodeName\":{}}}",
            spec.part("attacher"),
            source.part("persistentVolumeName"),
            source.part("inlineVolumeSpec"),
            spec.part("nodeName")
        );
        errors.invalid_shown(&Path::new("spec"), &shown, IMMUTABLE);
    }
}

pub(super) fn create_csi_node(errors: &mut Errors, node: &Value) {
    let path = Path::new("spec.drivers");
    let drivers = node.part("spec").list("drivers");
    for (index, driver) in drivers.iter().enumerate() {
        let path = path.index(index);
        let (name, id) = (driver.text("name"), driver.text("nodeID"));
        csi_driver(errors, &path.child("name"), name);
        if id.is_empty() {
            errors.required(&path.child("nodeID"), "");
        }
        if id.len() > 256 {
            errors.invalid(&path.child("nodeID"), id, "must be 256 characters or less");
        }
        let count = driver.part("allocatable").count("count");
        errors.nonnegative(&path.child("allocatable.count"), count);
        if drivers[..index].iter().any(|other| other.text("name") == name) {
            errors.duplicate(&path.child("name"), name);
        }
        let keys: Vec<&str> = driver.texts("topologyKeys").collect();
        for (index, key) in keys.iter().enumerate() {
            if key.is_empty() {
                errors.required(&path, "");
            }
            if keys[..index].contains(key) {
                errors.duplicate(&path, *key);
            }
            errors.invalid_each(&path, key, formats::qualified_name(key));
        }
    }
}

pub(super) fn update_csi_node(errors: &mut Errors, new: &Value, old: &Value) {
    create_csi_node(errors, new);
    let fixed = |driver: &Value| {
        let mut fixed = driver.clone();
        fixed.as_object_mut().map(|fixed| fixed.remove("allocatable"));
        fixed
    };
    for before in old.part("spec").list("drivers") {
        for driver in new.part("spec").list("drivers") {
            if driver.text("name") == before.text("name") && !same(&fixed(driver), &fixed(before)) {
                let shown = format!(
                    "{{\"Name\":{},\"NodeID\":{},\"TopologyKeys\":{},\"Allocatable\":null}}",
                    driver.part("name"),
                    driver.part("nodeID"),
                    driver.part("topologyKeys")
                );
                errors.invalid_shown(&Path::new("spec.drivers"), &shown, IMMUTABLE);
            }
        }
    }
}

pub(super) fn csi_driver_spec(errors: &mut Errors, driver: &Value) {
    let (path, spec) = (Path::new("spec"), driver.part("spec"));
    for (field, shown) in [
        ("attachRequired", "attachedRequired"),
        ("podInfoOnMount", "podInfoOnMount"),
        ("storageCapacity", "storageCapacity"),
    ] {
        if !spec.has(field) {
            errors.required(&path.child(shown), "");
        }
    }
    if let Some(policy) = spec.given_text("fsGroupPolicy") {
        let known = ["File", "None", "ReadWriteOnceWithFSType"];
        errors.supported(&path.child("fsGroupPolicy"), policy, &known);
    }
    let requests = spec.list("tokenRequests");
    let at = path.child("tokenRequests");
    for (index, request) in requests.iter().enumerate() {
        let at = at.index(index);
        let audience = request.text("audience");
        if requests[..index].iter().any(|other| other.text("audience") == audience) {
            errors.duplicate(&at.child("audience"), audience);
            continue;
        }
        let Some(seconds) = request.number("expirationSeconds") else { continue };
        let at = at.child("expirationSeconds");
        if seconds < 600 {
            errors.invalid(&at, seconds, "may not specify a duration less than 10 minutes");
        }
        if seconds > 1 << 32 {
            errors.invalid(&at, seconds, "may not specify a duration larger than 2^32 seconds");
        }
    }
    for mode in spec.texts("volumeLifecycleModes") {
        let at = path.child("volumeLifecycleModes");
        errors.supported(&at, mode, &["Persistent", "Ephemeral"]);
    }
    if !spec.has("seLinuxMount") {
        errors.required(&path.child("seLinuxMount"), "");
    }
    let period = "nodeAllocatableUpdatePeriodSeconds";
    if let Some(seconds) = spec.number(period).filter(|seconds| *seconds < 10) {
        let detail = "must be greater than or equal to 10 seconds";
        errors.invalid(&path.child(period), seconds, detail);
    }
    let tokens = "serviceAccountTokenInSecrets";
    if let Some(flag) = spec.given_flag(tokens).filter(|_| requests.is_empty()) {
        let detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
        errors.invalid(&path.child(tokens), flag, detail);
    }
}

pub(super) fn update_csi_driver(errors: &mut Errors, new: &Value, old: &Value) {
    csi_driver_spec(errors, new);
    let (spec, before) = (new.part("spec"), old.part("spec"));
    for (field, shown) in
        [("attachRequired", "attachedRequired"), ("volumeLifecycleModes", "volumeLifecycleModes")]
    {
        if !same(spec.part(field), before.part(field)) {
            let at = Path::new("spec");
            errors.invalid(&at.child(shown), spec.part(field).clone(), IMMUTABLE);
        }
    }
}

pub(super) fn create_capacity(errors: &mut Errors, capacity: &Value) {
    let topology = capacity.field("nodeTopology");
    selectors::label_selector(errors, &Path::new("nodeTopology"), topology);
    let class = capacity.text("storageClassName");
    errors.invalid_each(&Path::new("storageClassName"), class, formats::dns_subdomain(class));
    if let Some(amount) = capacity.field("capacity") {
        resources::nonnegative_quantity(errors, &Path::new("capacity"), amount);
    }
}

pub(super) fn update_capacity(errors: &mut Errors, new: &Value, old: &Value) {
    if !same(new.part("nodeTopology"), old.part("nodeTopology")) {
        let shown = selectors::shown(new.field("nodeTopology"));
        errors.invalid_shown(&Path::new("nodeTopology"), &shown, IMMUTABLE);
    }
    if new.text("storageClassName") != old.text("storageClassName") {
        let class = new.text("storageClassName");
        errors.invalid(&Path::new("storageClassName"), class, IMMUTABLE);
    }
}
