//! What the server itself writes into an object before it is validated and stored.
//!
//! [`admit_create`] is what the admission plugins do that every API server runs; it comes before
//! admission webhooks. [`prepare_create`] and [`prepare_update`] come after them: clients write the
//! spec, controllers the status, the server the generation.

mod admission;
mod binding;
mod others;
mod pod;
mod service;
mod workload;

use std::fmt;

use jiff::Timestamp;
use serde_json::{Map, Value};

pub use admission::{admit_create, admit_valid};
pub use binding::bind;
pub use pod::grace_period;
pub use workload::bare_metadata;

use crate::{
    Resource,
    decode::empty_field,
    edit::{object_at, text_at, value_at},
    types::types,
};

/// What preparing an object may have to know beside the object.
pub trait World {
    /// The time.
    fn now(&self) -> Timestamp;

    /// Who sent the request.
    fn user(&self) -> User;

    /// A priority class.
    fn priority_class(&self, name: &str) -> Option<Value>;

    /// The priority class of pods that name none: of those marked as the default, the lowest.
    fn default_priority_class(&self) -> Option<Value>;

    /// A runtime class.
    fn runtime_class(&self, name: &str) -> Option<Value>;

    /// The name of the storage class of claims that name none.
    fn default_storage_class(&self) -> Option<String>;

    /// A free address for a service.
    fn allocate_cluster_ip(&self) -> String;

    /// A free port of all nodes for a service.
    fn allocate_node_port(&self) -> u16;
}

/// Who sent a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: String,
    /// A number that outlives the name; may be empty.
    pub uid: String,
    /// The groups.
    pub groups: Vec<String>,
}

/// Why an admission plugin does not let an object in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It forbids the object; the server puts `pods "x" is forbidden: ` before it.
    Forbidden(String),
    /// It cannot find out what it has to know.
    Failed(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forbidden(why) | Self::Failed(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Refusal {}

/// Prepares a new object: its status is the server's to write, and so is its generation.
///
/// Name, uid and creation time must be set before.
pub fn prepare_create(resource: &Resource, object: &mut Value, world: &dyn World) {
    if let Some(metadata) = object_at(object, "/metadata") {
        metadata.remove("deletionTimestamp");
        metadata.remove("deletionGracePeriodSeconds");
        if starts_with_generation(resource) {
            metadata.insert("generation".to_owned(), 1.into());
        }
    }
    let given = object.get("status").cloned().unwrap_or_default();
    if resource.subresource("status").is_some() && resource.id() != ("", "Node") {
        clear_status(resource, object);
    }
    match resource.id() {
        ("", "Pod") => pod::create(object, &given, world),
        ("", "Service") => service::create(object, world),
        ("", "Namespace") => others::create_namespace(object),
        ("", "PersistentVolume") => others::create_volume(object, world),
        ("", "PersistentVolumeClaim") => others::create_claim(object),
        ("", "ServiceAccount") => others::name_secrets_only(object),
        ("apps", "DaemonSet") => workload::create_daemon_set(object),
        ("batch", "Job") => workload::create_job(object),
        ("certificates.k8s.io", "CertificateSigningRequest") => others::create_csr(object, world),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => others::add_stored_version(object),
        ("apiregistration.k8s.io", "APIService") => others::create_api_service(object, world),
        ("resource.k8s.io", "ResourceSlice") => others::stamp_taints(object, world),
        _ => {}
    }
}

/// A new object as it is written, where it is read with more: the phase of a claim and the labels of
/// a job that was given none are filled in on the way out of the store.
pub fn as_written(resource: &Resource, unlabelled: bool, object: &Value) -> Option<Value> {
    let (parent, field) = match resource.id() {
        ("", "PersistentVolumeClaim") => ("/status", "phase"),
        ("batch", "Job") if unlabelled => ("/metadata", "labels"),
        _ => return None,
    };
    let mut written = object.clone();
    object_at(&mut written, parent)?.remove(field)?;
    Some(written)
}

/// Prepares a change of an object through its main endpoint or a subresource: what the endpoint
/// cannot change is taken from the old object, and the generation goes up where the wish changed.
pub fn prepare_update(
    resource: &Resource,
    subresource: Option<&str>,
    new: &mut Value,
    old: &Value,
    world: &dyn World,
) {
    copy(new, old, "/metadata", "generation");
    match (subresource, resource.id()) {
        (None, _) => update_main(resource, new, old, world),
        (Some("ephemeralcontainers"), _) => pod::update_ephemeral_containers(new, old),
        (Some("resize"), _) => pod::update_resources(new, old),
        (Some("approval"), _) => others::approve_csr(new, old, world),
        (Some("finalize"), _) => copy(new, old, "", "status"),
        (Some(_), _) => update_status(resource, new, old, world),
    }
}

fn update_main(resource: &Resource, new: &mut Value, old: &Value, world: &dyn World) {
    if resource.subresource("status").is_some() {
        copy(new, old, "", "status");
    }
    match resource.id() {
        ("", "Pod") => pod::update(new, old),
        ("", "Service") => service::update(new, old, world),
        ("", "Namespace") => copy(new, old, "/spec", "finalizers"),
        ("", "PersistentVolumeClaim") => others::settle_data_sources(new, Some(old)),
        ("", "ServiceAccount") => others::name_secrets_only(new),
        ("", "Secret") if text_at(new, "/type").is_empty() => copy(new, old, "", "type"),
        ("apps", "DaemonSet") => workload::update_daemon_set(new, old),
        ("certificates.k8s.io", "CertificateSigningRequest") => copy(new, old, "", "spec"),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => others::add_stored_version(new),
        ("resource.k8s.io", "ResourceSlice") => others::stamp_taints(new, world),
        _ => {}
    }
    let changed = |part: &&str| value_at(new, part) != value_at(old, part);
    if generation_parts(resource).iter().any(changed) {
        raise_generation(new, old);
    }
}

fn update_status(resource: &Resource, new: &mut Value, old: &Value, world: &dyn World) {
    let Some(of) = types().named(&resource.type_name) else { return };
    let kept = ["apiVersion", "kind", "metadata", "status"];
    for field in of.fields.iter().filter(|field| !kept.contains(&field.name)) {
        copy(new, old, "", field.name);
    }
    let metadata: &[&str] = match resource.id() {
        ("", "Pod") => &["ownerReferences"],
        ("apps", "Deployment") => &["labels"],
        ("apiregistration.k8s.io", _) => {
            &["labels", "annotations", "finalizers", "ownerReferences"]
        }
        (
            "storage.k8s.io"
            | "admissionregistration.k8s.io"
            | "resource.k8s.io"
            | "flowcontrol.apiserver.k8s.io",
            _,
        )
        | ("networking.k8s.io", "ServiceCIDR") => SETTLED_METADATA,
        _ => &[],
    };
    for field in metadata {
        copy(new, old, "/metadata", field);
    }
    match resource.id() {
        ("", "Pod") => pod::update_status(new, old),
        ("", "PersistentVolume") => others::stamp_phase(new, old, world),
        ("apps", "DaemonSet") => workload::update_daemon_set(new, old),
        ("certificates.k8s.io", "CertificateSigningRequest") => {
            others::update_csr_status(new, old, world);
        }
        _ => {}
    }
}

/// What endpoints that cannot change metadata take from the old object.
const SETTLED_METADATA: &[&str] =
    &["deletionTimestamp", "labels", "annotations", "finalizers", "ownerReferences"];

/// The parts of an object whose change raises its generation; none if it has no generation, or one
/// that never changes.
fn generation_parts(resource: &Resource) -> &'static [&'static str] {
    const SPEC: &[&str] = &["/spec"];
    match resource.id() {
        ("apps", "Deployment") => &["/spec", "/metadata/annotations"],
        ("", "PodTemplate") => &["/template"],
        ("discovery.k8s.io", _) => &["/endpoints", "/ports", "/addressType", "/metadata/labels"],
        (_, "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration") => &["/webhooks"],
        ("", "Pod" | "ReplicationController")
        | ("apps", "DaemonSet" | "ReplicaSet" | "StatefulSet")
        | (
            "batch"
            | "policy"
            | "flowcontrol.apiserver.k8s.io"
            | "apiextensions.k8s.io"
            | "admissionregistration.k8s.io",
            _,
        )
        | ("networking.k8s.io", "Ingress" | "IngressClass" | "NetworkPolicy")
        | ("resource.k8s.io", "DeviceClass" | "ResourceSlice")
        | ("storage.k8s.io", "CSIDriver") => SPEC,
        _ => &[],
    }
}

/// Whether new objects have a generation. A `PriorityClass` has one that never changes, and a
/// `CSIDriver` gets one with its first change.
fn starts_with_generation(resource: &Resource) -> bool {
    match resource.kind {
        "PriorityClass" => true,
        "CSIDriver" => false,
        _ => !generation_parts(resource).is_empty(),
    }
}

fn raise_generation(new: &mut Value, old: &Value) {
    let generation =
        old.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default();
    if let Some(metadata) = object_at(new, "/metadata") {
        metadata.insert("generation".to_owned(), (generation + 1).into());
    }
}

/// Makes a field of the new object what it is in the old one.
fn copy(new: &mut Value, old: &Value, parent: &str, field: &str) {
    let value = value_at(old, parent).and_then(|parent| parent.get(field));
    let Some(target) = object_at(new, parent) else { return };
    match value {
        // Most often it is so already, and a whole spec is no small thing to copy.
        Some(value) if target.get(field) == Some(value) => return,
        Some(value) => target.insert(field.to_owned(), value.clone()),
        None => target.remove(field),
    };
}

fn clear_status(resource: &Resource, object: &mut Value) {
    let empty = empty_field(&resource.type_name, "status");
    if let (Some(empty), Some(object)) = (empty, object.as_object_mut()) {
        object.insert("status".to_owned(), empty);
    }
}

/// The status of an object.
fn status(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object_at(object, "/status")
}

/// A time as objects have it.
fn stamp(time: Timestamp) -> Value {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into()
}

/// The priority classes that every cluster has.
pub fn system_priority_classes() -> Vec<Value> {
    let class = |name: &str, value: i64, description: &str| {
        serde_json::json!({
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": { "name": name },
            "value": value,
            "description": description,
            "preemptionPolicy": "PreemptLowerPriority",
        })
    };
    vec![
        class("system-node-critical", 2_000_001_000, "For pods that must stay on their node."),
        class(
            "system-cluster-critical",
            2_000_000_000,
            "For pods that a cluster cannot be without.",
        ),
    ]
}
