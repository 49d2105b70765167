//! What the server writes into workloads.

use serde_json::{Value, json};

use crate::edit::{object_at, object_in, text_at};

/// Counts the templates a DaemonSet had; older than generations, and still there.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

pub(super) fn create_daemon_set(object: &mut Value) {
    let generation = template_generation(object).max(1);
    set_template_generation(object, generation);
}

pub(super) fn update_daemon_set(new: &mut Value, old: &Value) {
    let changed = new.pointer("/spec/template") != old.pointer("/spec/template");
    set_template_generation(new, template_generation(old) + i64::from(changed));
}

fn template_generation(object: &Value) -> i64 {
    let annotations = object.pointer("/metadata/annotations");
    let generation = annotations.and_then(|all| all.get(TEMPLATE_GENERATION));
    generation.and_then(Value::as_str).and_then(|text| text.parse().ok()).unwrap_or_default()
}

fn set_template_generation(object: &mut Value, generation: i64) {
    if let Some(metadata) = object_at(object, "/metadata") {
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        annotations[TEMPLATE_GENERATION] = generation.to_string().into();
    }
}

/// The metadata of an object as it is shown without the rest, where an annotation is missing that
/// only a whole DaemonSet has.
pub fn bare_metadata(object: &Value) -> Value {
    let mut metadata = object["metadata"].clone();
    let (version, kind) = (text_at(object, "/apiVersion"), text_at(object, "/kind"));
    if version.starts_with("apps/")
        && kind == "DaemonSet"
        && let Some(metadata) = metadata.as_object_mut()
        && let Some(annotations) = object_in(metadata, "annotations")
    {
        annotations.remove(TEMPLATE_GENERATION);
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
    metadata
}

/// Unless its selector is the client's own affair, a job selects the pods with its uid.
pub(super) fn create_job(job: &mut Value) {
    if job.pointer("/spec/manualSelector") == Some(&Value::Bool(true)) {
        return;
    }
    let name = text_at(job, "/metadata/name").to_owned();
    let uid = text_at(job, "/metadata/uid").to_owned();
    // A job without labels has those of its template, also those that are added here.
    // COMPAT: labels of its own that equal the template's are taken for the template's.
    let labels = job.pointer("/metadata/labels");
    let shared = labels.is_none() || labels == job.pointer("/spec/template/metadata/labels");
    if let Some(metadata) = object_at(job, "/spec/template/metadata") {
        let labels = metadata.entry("labels").or_insert_with(|| json!({}));
        for (label, value) in [
            ("job-name", &name),
            ("batch.kubernetes.io/job-name", &name),
            ("controller-uid", &uid),
            ("batch.kubernetes.io/controller-uid", &uid),
        ] {
            if labels.get(label).is_none() {
                labels[label] = value.as_str().into();
            }
        }
    }
    if shared && let Some(labels) = job.pointer("/spec/template/metadata/labels").cloned() {
        job["metadata"]["labels"] = labels;
    }
    let Some(spec) = object_at(job, "/spec") else { return };
    let selector = spec.entry("selector").or_insert_with(|| json!({}));
    let labels = &mut selector["matchLabels"];
    if labels.get("batch.kubernetes.io/controller-uid").is_none() {
        labels["batch.kubernetes.io/controller-uid"] = uid.into();
    }
}
