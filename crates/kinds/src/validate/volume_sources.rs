//! Sources of volumes that pods and `PersistentVolumes` have in common.

use serde_json::Value;

use super::{
    errors::{Errors, Path},
    formats,
};
use crate::fields::Fields;

/// Fields that a source must give, in the order in which they are asked for. A field with a dot is
/// asked for only if what is before the dot is given.
const REQUIRED: [(&str, &[&str]); 19] = [
    ("gcePersistentDisk", &["pdName"]),
    ("awsElasticBlockStore", &["volumeID"]),
    ("nfs", &["server", "path"]),
    ("iscsi", &["targetPortal", "iqn"]),
    ("glusterfs", &["endpoints", "path"]),
    ("rbd", &["monitors", "image"]),
    ("cinder", &["volumeID", "secretRef.name"]),
    ("cephfs", &["monitors"]),
    ("quobyte", &["registry", "volume"]),
    ("flexVolume", &["driver"]),
    ("azureFile", &["secretName", "shareName"]),
    ("azureDisk", &["diskName", "diskURI"]),
    ("vsphereVolume", &["volumePath"]),
    ("photonPersistentDisk", &["pdID"]),
    ("portworxVolume", &["volumeID"]),
    ("scaleIO", &["gateway", "system", "volumeName"]),
    ("storageos", &["volumeName", "secretRef.name"]),
    ("persistentVolumeClaim", &["claimName"]),
    ("local", &["path"]),
];

/// What is checked of a source besides the fields it must give.
///
/// COMPAT: the formats of names within sources whose drivers Kubernetes has removed (flocker,
/// quobyte, storageos, …) are not checked.
pub(crate) fn common(errors: &mut Errors, path: &Path<'_>, kind: &str, source: &Value) {
    let required = REQUIRED.iter().find(|(name, _)| *name == kind).map_or(&[][..], |(_, all)| all);
    for field in required {
        let (owner, name) = match field.split_once('.') {
            Some((outer, name)) if source.has(outer) => (source.part(outer), name),
            Some(_) => continue,
            None => (source, *field),
        };
        if owner.text(name).is_empty() && owner.list(name).is_empty() {
            errors.required(&path.child(field), "");
        }
    }
    match kind {
        "hostPath" => host_path(errors, path, source),
        "nfs" if !source.text("path").starts_with('/') => {
            errors.invalid(&path.child("path"), source.text("path"), "must be an absolute path");
        }
        "gcePersistentDisk" | "awsElasticBlockStore" => {
            let partition = source.count("partition");
            if !(0..=255).contains(&partition) {
                errors.invalid(&path.child("partition"), partition, formats::range_message(1, 255));
            }
        }
        "iscsi" => iscsi(errors, path, source),
        "fc" => fibre_channel(errors, path, source),
        "local" => no_backsteps(errors, &path.child("path"), source.text("path")),
        _ => {}
    }
}

fn host_path(errors: &mut Errors, path: &Path<'_>, source: &Value) {
    if source.text("path").is_empty() {
        errors.required(&path.child("path"), "");
        return;
    }
    no_backsteps(errors, &path.child("path"), source.text("path"));
    let kinds = [
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ];
    errors.supported(&path.child("type"), source.text("type"), &kinds);
}

fn iscsi(errors: &mut Errors, path: &Path<'_>, source: &Value) {
    let iqn = source.text("iqn");
    if !iqn.is_empty() && !["iqn", "eui", "naa"].iter().any(|prefix| iqn.starts_with(prefix)) {
        let detail = "must be valid format starting with iqn, eui, or naa";
        errors.invalid(&path.child("iqn"), iqn, detail);
    }
    let lun = source.count("lun");
    if !(0..=255).contains(&lun) {
        errors.invalid(&path.child("lun"), lun, formats::range_message(0, 255));
    }
    let authenticates = source.flag("chapAuthDiscovery") || source.flag("chapAuthSession");
    if authenticates && !source.has("secretRef") {
        errors.required(&path.child("secretRef"), "");
    }
}

fn fibre_channel(errors: &mut Errors, path: &Path<'_>, source: &Value) {
    let (targets, ids) = (source.list("targetWWNs"), source.list("wwids"));
    let at = path.child("targetWWNs");
    if targets.is_empty() && ids.is_empty() {
        errors.required(&at, "must specify either targetWWNs or wwids, but not both");
    }
    if !targets.is_empty() && !ids.is_empty() {
        let detail = "targetWWNs and wwids can not be specified simultaneously";
        errors.invalid(&at, targets.to_vec(), detail);
    }
    if !targets.is_empty() {
        match source.number("lun") {
            None => {
                let detail = "lun is required if targetWWNs is specified";
                errors.required(&path.child("lun"), detail);
            }
            Some(lun) if !(0..=255).contains(&lun) => {
                errors.invalid(&path.child("lun"), lun, formats::range_message(0, 255));
            }
            Some(_) => {}
        }
    }
}

/// A path that does not lead upwards.
pub(crate) fn no_backsteps(errors: &mut Errors, path: &Path<'_>, value: &str) {
    if value.split('/').any(|part| part == "..") {
        errors.invalid(path, value, "must not contain '..'");
    }
}

/// A path below where it is used.
pub(crate) fn relative_path(errors: &mut Errors, path: &Path<'_>, value: &str) {
    if value.starts_with('/') {
        errors.invalid(path, value, "must be a relative path");
    }
    no_backsteps(errors, path, value);
}

/// A path below where it is used, whose first name does not start with two dots: those are the
/// names that kubelet uses itself.
pub(crate) fn projected_path(errors: &mut Errors, path: &Path<'_>, value: &str) {
    relative_path(errors, path, value);
    if value.starts_with("..") && !value.starts_with("../") {
        errors.invalid(path, value, "must not start with '..'");
    }
}

/// The name of a CSI driver.
pub(crate) fn csi_driver(errors: &mut Errors, path: &Path<'_>, value: &str) {
    if value.is_empty() {
        errors.required(path, "");
        return;
    }
    if value.len() > 63 {
        errors.too_long(path, 63);
    }
    errors.invalid_each(path, value, formats::dns_subdomain(&value.to_lowercase()));
}

/// The bits of a file's mode.
pub(crate) fn file_mode(errors: &mut Errors, path: &Path<'_>, mode: Option<i64>) {
    if let Some(mode) = mode.filter(|mode| !(0..=0o777).contains(mode)) {
        let detail = "must be a number between 0 and 0777 (octal), both inclusive";
        errors.invalid(path, mode, detail);
    }
}
