//! Volumes of a pod.

use serde_json::Value;

use super::{PodSpec, env};
use crate::{
    fields::Fields,
    validate::{
        claims,
        errors::{Errors, Path},
        formats, selectors,
        volume_sources::{self, csi_driver, file_mode, projected_path},
    },
};

/// The sources a volume can have: the name of the field, the name of the field in an error about
/// two sources, and the name of the field in errors about the source. They are not always the same.
const SOURCES: [(&str, &str, &str); 29] = [
    ("emptyDir", "emptyDir", "emptyDir"),
    ("hostPath", "hostPath", "hostPath"),
    ("gitRepo", "gitRepo", "gitRepo"),
    ("gcePersistentDisk", "gcePersistentDisk", "persistentDisk"),
    ("awsElasticBlockStore", "awsElasticBlockStore", "awsElasticBlockStore"),
    ("secret", "secret", "secret"),
    ("nfs", "nfs", "nfs"),
    ("iscsi", "iscsi", "iscsi"),
    ("glusterfs", "glusterfs", "glusterfs"),
    ("flocker", "flocker", "flocker"),
    ("persistentVolumeClaim", "persistentVolumeClaim", "persistentVolumeClaim"),
    ("rbd", "rbd", "rbd"),
    ("cinder", "cinder", "cinder"),
    ("cephfs", "cephFS", "cephfs"),
    ("quobyte", "quobyte", "quobyte"),
    ("downwardAPI", "downwarAPI", "downwardAPI"),
    ("fc", "fc", "fc"),
    ("flexVolume", "flexVolume", "flexVolume"),
    ("configMap", "configMap", "configMap"),
    ("azureFile", "azureFile", "azureFile"),
    ("vsphereVolume", "vsphereVolume", "vsphereVolume"),
    ("photonPersistentDisk", "photonPersistentDisk", "photonPersistentDisk"),
    ("portworxVolume", "portworxVolume", "portworxVolume"),
    ("azureDisk", "azureDisk", "azureDisk"),
    ("storageos", "storageos", "storageos"),
    ("projected", "projected", "projected"),
    ("scaleIO", "scaleIO", "scaleIO"),
    ("csi", "csi", "csi"),
    ("ephemeral", "ephemeral", "ephemeral"),
];

/// Checks the volumes and returns those that can be mounted: the ones without an error.
pub(super) fn volumes<'a>(
    errors: &mut Errors,
    path: &Path<'_>,
    spec: &PodSpec<'a>,
) -> Vec<(&'a str, &'a Value)> {
    let all = spec.spec.list("volumes");
    let mut usable: Vec<(&str, &Value)> = Vec::with_capacity(all.len());
    for (index, volume) in all.iter().enumerate() {
        let path = path.index(index);
        let name = volume.text("name");
        let before = errors.len();
        source(errors, &path, spec, volume);
        if name.is_empty() {
            errors.required(&path.child("name"), "");
        } else {
            errors.invalid_each(&path.child("name"), name, formats::dns_label(name));
        }
        if usable.iter().any(|(other, _)| *other == name) {
            errors.duplicate(&path.child("name"), name);
        }
        if errors.len() == before {
            usable.push((name, volume));
        }
        let claim = volume.part("persistentVolumeClaim").text("claimName");
        let made_for_pod = |other: &Value| {
            other.has("ephemeral") && claim == format!("{}-{}", spec.name, other.text("name"))
        };
        if !claim.is_empty() && !spec.name.is_empty() && all.iter().any(made_for_pod) {
            let detail = "must not reference a PVC that gets created for an ephemeral volume";
            errors.invalid(&path.child("persistentVolumeClaim.claimName"), claim, detail);
        }
    }
    usable
}

fn source(errors: &mut Errors, path: &Path<'_>, spec: &PodSpec<'_>, volume: &Value) {
    let mut given = 0;
    for (field, field_if_many, field_in_errors) in SOURCES {
        let Some(source) = volume.field(field) else { continue };
        given += 1;
        if given > 1 {
            let detail = "may not specify more than 1 volume type";
            errors.forbidden(&path.child(field_if_many), detail);
        } else {
            one_source(errors, &path.child(field_in_errors), field, source);
            if field == "ephemeral" {
                ephemeral_claim_name(errors, path, spec.name, volume.text("name"));
            }
        }
    }
    if let Some(image) = volume.field("image") {
        given += 1;
        let at = path.child("image");
        if given > 1 {
            errors.forbidden(&at, "may not specify more than 1 volume type");
        } else {
            if spec.is_pod && image.text("reference").is_empty() {
                errors.required(&at.child("reference"), "");
            }
            super::containers::pull_policy(
                errors,
                &at.child("pullPolicy"),
                image.text("pullPolicy"),
            );
        }
    }
    if given == 0 {
        errors.required(path, "must specify a volume type");
    }
}

fn one_source(errors: &mut Errors, path: &Path<'_>, field: &str, source: &Value) {
    match field {
        "emptyDir" => {
            let limit = source.part("sizeLimit");
            if crate::validate::resources::quantity(limit).nanos() < 0 {
                let detail = "SizeLimit field must be a valid resource quantity";
                errors.forbidden(&path.child("sizeLimit"), detail);
            }
        }
        "gitRepo" => {
            if source.text("repository").is_empty() {
                errors.required(&path.child("repository"), "");
            }
            let directory = source.text("directory");
            volume_sources::relative_path(errors, &path.child("directory"), directory);
        }
        "secret" => files(errors, path, source, "secretName"),
        "configMap" => files(errors, path, source, "name"),
        "downwardAPI" => {
            file_mode(errors, &path.child("defaultMode"), source.number("defaultMode"));
            for file in source.list("items") {
                downward_file(errors, path, file);
            }
        }
        "projected" => projected(errors, path, source),
        "csi" => {
            csi_driver(errors, &path.child("driver"), source.text("driver"));
            if let Some(secret) = source.field("nodePublishSecretRef") {
                let name = secret.text("name");
                if name.is_empty() {
                    errors.required(&path.child("nodePublishSecretRef.name"), "");
                } else {
                    errors.invalid_each(&path.child("name"), name, formats::dns_subdomain(name));
                }
            }
        }
        "ephemeral" => ephemeral(errors, path, source),
        _ => volume_sources::common(errors, path, field, source),
    }
}

/// Files made of the keys of a ConfigMap or Secret.
fn files(errors: &mut Errors, path: &Path<'_>, source: &Value, name: &str) {
    if source.text(name).is_empty() {
        errors.required(&path.child(name), "");
    }
    file_mode(errors, &path.child("defaultMode"), source.number("defaultMode"));
    let items = path.child("items");
    for (index, item) in source.list("items").iter().enumerate() {
        key_to_path(errors, &items.index(index), item);
    }
}

fn key_to_path(errors: &mut Errors, path: &Path<'_>, item: &Value) {
    for field in ["key", "path"] {
        if item.text(field).is_empty() {
            errors.required(&path.child(field), "");
        }
    }
    projected_path(errors, &path.child("path"), item.text("path"));
    file_mode(errors, &path.child("mode"), item.number("mode"));
}

fn downward_file(errors: &mut Errors, path: &Path<'_>, file: &Value) {
    if file.text("path").is_empty() {
        errors.required(&path.child("path"), "");
    }
    projected_path(errors, &path.child("path"), file.text("path"));
    match (file.field("fieldRef"), file.field("resourceFieldRef")) {
        (Some(reference), other) => {
            let at = path.child("fieldRef");
            env::field_reference(errors, &at, reference, &env::FIELDS_IN_FILES);
            if other.is_some() {
                let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
                errors.invalid(path, "resource", detail);
            }
        }
        (None, Some(reference)) => {
            env::resource_reference(errors, &path.child("resourceFieldRef"), reference, true);
        }
        (None, None) => {
            errors.required(path, "one of fieldRef and resourceFieldRef is required");
        }
    }
    file_mode(errors, &path.child("mode"), file.number("mode"));
}

fn projected(errors: &mut Errors, path: &Path<'_>, source: &Value) {
    file_mode(errors, &path.child("defaultMode"), source.number("defaultMode"));
    let sources = path.child("sources");
    let mut paths: Vec<&str> = Vec::new();
    for (index, source) in source.list("sources").iter().enumerate() {
        let at = sources.index(index);
        let mut given = 0;
        for kind in ["secret", "configMap"] {
            let Some(part) = source.field(kind) else { continue };
            given += 1;
            projected_keys(errors, &at.child(kind), path, part, &mut paths);
        }
        if let Some(part) = source.field("downwardAPI") {
            given += 1;
            for file in part.list("items") {
                downward_file(errors, &at.child("downwardAPI"), file);
                let file_path = file.text("path");
                once(errors, path, file_path, file_path, &mut paths);
            }
        }
        if let Some(token) = source.field("serviceAccountToken") {
            given += 1;
            service_account_token(errors, &at.child("serviceAccountToken"), path, token);
        }
        given += usize::from(source.has("clusterTrustBundle"))
            + usize::from(source.has("podCertificate"));
        if given > 1 {
            errors.forbidden(&at, "may not specify more than 1 volume type per source");
        }
    }
}

fn projected_keys<'a>(
    errors: &mut Errors,
    path: &Path<'_>,
    volume: &Path<'_>,
    source: &'a Value,
    paths: &mut Vec<&'a str>,
) {
    let name = source.text("name");
    if name.is_empty() {
        errors.required(&path.child("name"), "");
    }
    let items = path.child("items");
    for (index, item) in source.list("items").iter().enumerate() {
        key_to_path(errors, &items.index(index), item);
        once(errors, volume, item.text("path"), name, paths);
    }
}

/// No two sources of one volume may make the same file.
fn once<'a>(
    errors: &mut Errors,
    volume: &Path<'_>,
    path: &'a str,
    shown: &str,
    paths: &mut Vec<&'a str>,
) {
    if path.is_empty() {
        return;
    }
    if paths.contains(&path) {
        errors.invalid(volume, shown, "conflicting duplicate paths");
    } else {
        paths.push(path);
    }
}

fn service_account_token(errors: &mut Errors, path: &Path<'_>, volume: &Path<'_>, token: &Value) {
    let seconds = token.count("expirationSeconds");
    let at = path.child("expirationSeconds");
    if seconds < 600 {
        errors.invalid(&at, seconds, "may not specify a duration less than 10 minutes");
    }
    if seconds > 1 << 32 {
        errors.invalid(&at, seconds, "may not specify a duration larger than 2^32 seconds");
    }
    let file = token.text("path");
    if file.is_empty() {
        errors.required(&volume.child("path"), "");
    } else {
        projected_path(errors, &volume.child("path"), file);
    }
}

/// The claim that is made for the pod and the volume has to have a possible name.
fn ephemeral_claim_name(errors: &mut Errors, path: &Path<'_>, pod: &str, volume: &str) {
    if pod.is_empty() || volume.is_empty() {
        return;
    }
    let claim = format!("{pod}-{volume}");
    for message in formats::dns_subdomain(&claim) {
        errors.invalid(&path.child("name"), volume, format!("PVC name {claim:?}: {message}"));
    }
}

fn ephemeral(errors: &mut Errors, path: &Path<'_>, source: &Value) {
    let at = path.child("volumeClaimTemplate");
    match source.field("volumeClaimTemplate") {
        None => errors.required(&at, ""),
        Some(template) => {
            let metadata = at.child("metadata");
            let labels = metadata.child("labels");
            selectors::labels(errors, &labels, template.part("metadata"), "labels");
            for (field, _) in template.entries("metadata") {
                let allowed = ["labels", "annotations", "creationTimestamp"].contains(&field);
                if !allowed {
                    errors.forbidden(&metadata.child(field), "cannot be set");
                }
            }
            claims::claim_spec(errors, &at.child("spec"), template.part("spec"));
        }
    }
}
