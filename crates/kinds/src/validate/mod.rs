//! What is wrong with an object, as the API server would say it.
//!
//! Objects have been decoded, defaulted and prepared for storage. Metadata of new objects is checked
//! first, by [`metadata`](fn@metadata); [`create`] checks the rest. The order
//! of errors is the API server's; where it follows the random order of a map there, it follows the
//! sorted order of the keys here.

mod base64;
mod batch;
mod certificates;
mod claims;
mod classes;
mod cluster;
mod config;
mod cron;
mod definitions;
mod diff;
mod endpoints;
mod errors;
mod formats;
mod int_or_percent;
mod internal;
mod ip;
mod leases_and_events;
mod metadata;
mod networking;
mod node;
mod pod;
mod pod_sums;
mod pod_warnings;
mod policy;
mod rbac;
mod resources;
mod selectors;
mod service;
mod storage;
mod volume_sources;
mod warnings;
mod workloads;

use joiner_schema::{FieldError, names::NameRule};
use serde_json::Value;

use crate::{Resource, fields::Fields};
use errors::Errors;
use metadata::Metadata;
pub use metadata::metadata;
pub use warnings::warnings;

/// The rule for names of a kind.
pub fn name_rule(group: &str, kind: &str) -> NameRule {
    match (group, kind) {
        ("", "Namespace" | "Service") | ("apps", "StatefulSet") => NameRule::DnsLabel,
        ("", "Event")
        | ("rbac.authorization.k8s.io", _)
        | ("certificates.k8s.io", "CertificateSigningRequest") => NameRule::PathSegment,
        _ => NameRule::DnsSubdomain,
    }
}

/// What is wrong with an object that is created; nothing if it can be stored. Kinds without rules
/// of their own have nothing wrong with them.
pub fn create(group: &str, kind: &str, object: &Value) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let e = &mut errors;
    match (group, kind) {
        ("", "Pod") => pod::create(e, object),
        ("", "Binding") => pod::binding(e, object),
        ("", "PodTemplate") => {
            pod::template(e, &errors::Path::new("template"), &object["template"]);
        }
        ("", "Node") => node::create(e, object),
        ("apps", "Deployment") => workloads::create_deployment(e, object),
        ("apps", "ReplicaSet") => workloads::create_replica_set(e, object),
        ("apps", "StatefulSet") => workloads::create_stateful_set(e, object),
        ("apps", "DaemonSet") => workloads::create_daemon_set(e, object),
        ("apps", "ControllerRevision") => workloads::create_controller_revision(e, object),
        ("", "ReplicationController") => workloads::create_replication_controller(e, object),
        ("batch", "Job") => batch::create_job(e, object),
        ("batch", "CronJob") => batch::create_cron_job(e, object),
        ("policy", "PodDisruptionBudget") => policy::create_budget(e, object),
        ("", "PersistentVolumeClaim") => claims::create_claim(e, object),
        ("", "PersistentVolume") => claims::create_volume(e, object),
        ("storage.k8s.io", "StorageClass") => storage::create_storage_class(e, object),
        ("storage.k8s.io", "CSINode") => storage::create_csi_node(e, object),
        ("storage.k8s.io", "CSIDriver") => storage::csi_driver_spec(e, object),
        ("storage.k8s.io", "CSIStorageCapacity") => storage::create_capacity(e, object),
        ("storage.k8s.io", "VolumeAttachment") => storage::create_attachment(e, object),
        ("coordination.k8s.io", "Lease") => leases_and_events::lease(e, object),
        ("" | "events.k8s.io", "Event") => {
            leases_and_events::create_event(e, object, group.is_empty());
        }
        ("", "ConfigMap") => config::create_config_map(e, object),
        ("", "Secret") => config::create_secret(e, object),
        ("", "Service") => service::create(e, object),
        ("", "Endpoints") => endpoints::create_endpoints(e, object),
        ("discovery.k8s.io", "EndpointSlice") => endpoints::create_slice(e, object),
        ("", "Namespace") => cluster::create_namespace(e, object),
        ("", "ResourceQuota") => {
            cluster::quota_spec(e, object);
            cluster::quota_status(e, object);
        }
        ("", "LimitRange") => cluster::limit_range(e, object),
        ("scheduling.k8s.io", "PriorityClass") => classes::create_priority_class(e, object),
        ("node.k8s.io", "RuntimeClass") => classes::create_runtime_class(e, object),
        ("certificates.k8s.io", "CertificateSigningRequest") => certificates::create(e, object),
        ("rbac.authorization.k8s.io", "Role") => rbac::role(e, object, true),
        ("rbac.authorization.k8s.io", "ClusterRole") => rbac::role(e, object, false),
        ("rbac.authorization.k8s.io", "RoleBinding") => rbac::binding(e, object, true),
        ("rbac.authorization.k8s.io", "ClusterRoleBinding") => rbac::binding(e, object, false),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definitions::create(e, object),
        ("networking.k8s.io", "NetworkPolicy") => networking::network_policy(e, object),
        ("networking.k8s.io", "Ingress") => networking::ingress(e, object),
        ("autoscaling", "HorizontalPodAutoscaler") => networking::autoscaler(e, object),
        _ => {}
    }
    errors.into_vec()
}

/// What keeps an object from getting what the server sets aside for it: addresses of services. It
/// is looked at before anything else, and only told by itself. A `dry_run` sets nothing aside.
pub fn allocation(
    resource: &Resource,
    object: &Value,
    old: Option<&Value>,
    dry_run: bool,
) -> Vec<FieldError> {
    let mut errors = Errors::default();
    if resource.id() == ("", "Service") {
        service::addressing(&mut errors, object, old, old.is_none() && !dry_run);
    }
    errors.into_vec()
}

/// An object that is changed.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// What it is to be.
    pub new: &'a Value,
    /// What it was.
    pub old: &'a Value,
    /// What it is to be, with lists and maps that were sent with nothing in them: see
    /// [`as_sent`](crate::as_sent). Nothing of them will be stored, but some rules see them.
    pub sent: &'a Value,
}

/// What is wrong with an update of an object through its main endpoint or a subresource. Kinds that
/// look at the metadata themselves do it here.
pub fn update(
    resource: &Resource,
    subresource: Option<&str>,
    change: Change<'_>,
) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let Change { new, old, sent } = change;
    let metadata = Metadata { resource, new, old, sent };
    match subresource {
        None => update_object(&mut errors, metadata),
        Some(subresource) => update_part(&mut errors, metadata, subresource),
    }
    errors.into_vec()
}

/// Updates of a whole object. Kinds that have no rules about changes are checked as if created.
fn update_object(e: &mut Errors, metadata: Metadata<'_>) {
    let Metadata { resource, new, old, sent } = metadata;
    match resource.id() {
        ("", "Node") => {
            metadata.whole(e);
            node::create(e, new);
            metadata.change(e);
            node::update(e, new, old);
        }
        ("batch", "Job") => {
            metadata.whole(e);
            batch::whole_job(e, new);
            metadata.change(e);
            batch::job_spec_with_selector(e, new.part("spec"));
            batch::update_job(e, new, old);
        }
        ("", "PersistentVolume") => {
            // The real server looks twice.
            for _ in 0..2 {
                metadata.whole(e);
                claims::create_volume(e, new);
            }
            claims::update_volume(e, new, old, sent);
        }
        ("certificates.k8s.io", "CertificateSigningRequest") => {
            metadata.whole(e);
            certificates::update(e, new, old, None);
            metadata.change(e);
        }
        ("rbac.authorization.k8s.io", kind) => {
            metadata.whole(e);
            e.extend(create(resource.group, kind, new));
            metadata.change(e);
            if matches!(kind, "RoleBinding" | "ClusterRoleBinding") {
                rbac::role_kept(e, new, old);
            }
        }
        ("node.k8s.io", "RuntimeClass") => {
            metadata.whole(e);
            classes::create_runtime_class(e, new);
            metadata.change(e);
            classes::update_runtime_class(e, new, old);
        }
        ("storage.k8s.io", "StorageClass" | "CSIStorageCapacity") => {
            metadata.whole(e);
            e.extend(create(resource.group, resource.kind, new));
            metadata.change(e);
            update_rest(e, metadata);
        }
        ("", "Namespace") => {
            metadata.whole(e);
            cluster::create_namespace(e, new);
            metadata.change(e);
        }
        ("", "ConfigMap") => {
            metadata.change(e);
            config::update_config_map(e, sent, old);
            metadata.whole(e);
            config::create_config_map(e, new);
        }
        ("", "Secret") => {
            metadata.change(e);
            config::update_secret(e, sent, old);
            metadata.whole(e);
            config::create_secret(e, new);
        }
        ("events.k8s.io", "Event") => {
            leases_and_events::whole_event(e, new, false);
            metadata.change(e);
            leases_and_events::update_event(e, new, old);
        }
        ("", "Event") => leases_and_events::whole_event(e, new, true),
        ("policy", "PodDisruptionBudget") => policy::create_budget(e, new),
        ("", "LimitRange")
        | ("discovery.k8s.io", _)
        | ("storage.k8s.io", "VolumeAttachment" | "CSINode") => {
            metadata.whole(e);
            update_rest(e, metadata);
        }
        ("", "ServiceAccount" | "Endpoints" | "PersistentVolumeClaim" | "Pod")
        | ("apps", "ControllerRevision")
        | ("networking.k8s.io", "Ingress" | "IngressClass") => {
            metadata.change(e);
            metadata.whole(e);
            update_rest(e, metadata);
        }
        _ => {
            metadata.change(e);
            update_rest(e, metadata);
        }
    }
}

/// What is wrong with the rest of an object whose metadata was looked at first.
fn update_rest(e: &mut Errors, metadata: Metadata<'_>) {
    let Metadata { resource, new, old, sent } = metadata;
    match resource.id() {
        ("", "Pod") => pod::update(e, new, old, sent),
        ("apps", "Deployment") => workloads::update_deployment(e, new, old),
        ("apps", "ReplicaSet") => workloads::update_replica_set(e, new, old),
        ("apps", "StatefulSet") => workloads::update_stateful_set(e, new, old),
        ("apps", "DaemonSet") => workloads::update_daemon_set(e, new, old),
        ("apps", "ControllerRevision") => workloads::update_controller_revision(e, new, old),
        ("batch", "CronJob") => batch::update_cron_job(e, new, old),
        ("", "PersistentVolumeClaim") => claims::update_claim(e, new, old, sent),
        ("storage.k8s.io", "StorageClass") => storage::update_storage_class(e, new, old),
        ("storage.k8s.io", "CSINode") => storage::update_csi_node(e, new, old),
        ("storage.k8s.io", "CSIDriver") => storage::update_csi_driver(e, new, old),
        ("storage.k8s.io", "CSIStorageCapacity") => storage::update_capacity(e, new, old),
        ("storage.k8s.io", "VolumeAttachment") => storage::update_attachment(e, new, old),
        ("", "Service") => service::update(e, new, old),
        ("", "Endpoints") => endpoints::update_endpoints(e, new, old),
        ("discovery.k8s.io", "EndpointSlice") => endpoints::update_slice(e, new, old),
        ("", "ResourceQuota") => cluster::update_quota(e, new, old),
        ("scheduling.k8s.io", "PriorityClass") => classes::update_priority_class(e, new, old),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definitions::update(e, new, old),
        (group, kind) => e.extend(create(group, kind, new)),
    }
}

/// Updates through a subresource. Those without rules of their own accept everything.
fn update_part(e: &mut Errors, metadata: Metadata<'_>, subresource: &str) {
    let Metadata { resource, new, old, .. } = metadata;
    match (resource.group, resource.kind, subresource) {
        ("batch", "CronJob", "status") | ("policy", "PodDisruptionBudget", "status") => {}
        ("apps", "StatefulSet", "status") => {
            workloads::update_stateful_set_status(e, new, old);
            metadata.change(e);
            return;
        }
        ("certificates.k8s.io", _, part) => {
            metadata.whole(e);
            certificates::update(e, new, old, Some(part));
            metadata.change(e);
            return;
        }
        ("storage.k8s.io", "VolumeAttachment", _) => metadata.whole(e),
        ("", "Pod", "ephemeralcontainers" | "resize") => {
            metadata.change(e);
            metadata.whole(e);
        }
        _ => metadata.change(e),
    }
    match (resource.group, resource.kind, subresource) {
        ("", "Pod", "status") => pod::update_status(e, new, old),
        ("", "Pod", "ephemeralcontainers") => pod::update_ephemeral_containers(e, new, old),
        ("", "Pod", "resize") => pod::update_resize(e, new, old),
        ("", "Node", "status") => node::update(e, new, old),
        ("apps", "Deployment", "status") => workloads::update_deployment_status(e, new, old),
        ("apps", "ReplicaSet", "status") | ("", "ReplicationController", "status") => {
            workloads::update_replica_set_status(e, new);
        }
        ("apps", "DaemonSet", "status") => workloads::update_daemon_set_status(e, new, old),
        ("batch", "Job", "status") => batch::update_job_status(e, new, old),
        ("policy", "PodDisruptionBudget", "status") => policy::update_budget_status(e, new),
        ("", "PersistentVolumeClaim", "status") => claims::update_claim_status(e, new),
        ("", "Service", "status") => service::update_status(e, new, old),
        ("", "Namespace", "status") => cluster::update_namespace_status(e, new),
        ("", "Namespace", "finalize") => cluster::finalize_namespace(e, new),
        ("", "ResourceQuota", "status") => cluster::quota_status(e, new),
        ("storage.k8s.io", "VolumeAttachment", "status") => storage::update_attachment(e, new, old),
        ("apiextensions.k8s.io", "CustomResourceDefinition", "status") => {
            definitions::update_status(e, new);
        }
        _ => {}
    }
}
