//! `CapacityBuffer`s: pods that stand for room to be kept free.

use std::sync::Arc;

use jiff::Timestamp;
use joiner_api::capacity_buffer::{CapacityBuffer, CapacityBufferSpec};
use joiner_core::{
    pod::{Pod, Role},
    quantity::Quantity,
    resources::Resources,
};
use k8s_openapi::{
    api::core::v1::{PodSpec, PodTemplateSpec},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
};

use super::{convert, pods::PodReader, requests};
use crate::objects::Objects;

/// Pods that one buffer stands for at most. Far more than anybody keeps free, and few enough that
/// a slip of the pen does not use up all memory.
const REPLICAS_MAX: i32 = 100_000;

/// The pods of all buffers. A buffer whose template cannot be found has none, and is noted.
pub(super) fn virtual_pods(
    objects: &Objects,
    now: Timestamp,
    reader: &mut PodReader<'_>,
    notes: &mut Vec<String>,
) -> Vec<Pod> {
    let mut buffers: Vec<&CapacityBuffer> =
        objects.capacity_buffers.iter().map(Arc::as_ref).collect();
    buffers.sort_by_key(|buffer| (&buffer.metadata.namespace, &buffer.metadata.name));
    let mut pods = Vec::new();
    for buffer in buffers {
        let namespace = buffer.metadata.namespace.as_deref().unwrap_or_default();
        let name = buffer.metadata.name.as_deref().unwrap_or_default();
        match resolve(buffer, namespace, objects) {
            Ok(Resolved { template, workload_replicas }) => {
                let spec = sanitized(template.spec.clone().unwrap_or_default());
                let wanted =
                    replicas(&buffer.spec, &requests::of_spec(&spec, None), workload_replicas);
                let count = wanted.min(REPLICAS_MAX);
                if count < wanted {
                    notes.push(format!(
                        "CapacityBuffer {namespace}/{name} wants {wanted} replicas: only \
                         {REPLICAS_MAX} are planned for; lower replicas or limits"
                    ));
                }
                pods.extend(pods_of(buffer, template, &spec, count, now, reader));
            }
            Err(problem) => {
                notes.push(format!("CapacityBuffer {namespace}/{name} is left out: {problem}"));
            }
        }
    }
    pods
}

/// What one chunk of a buffer looks like.
struct Resolved<'o> {
    template: &'o PodTemplateSpec,
    /// Replicas of the workload that the buffer is for, if it is for one.
    workload_replicas: Option<i32>,
}

fn resolve<'o>(
    buffer: &CapacityBuffer,
    namespace: &str,
    objects: &'o Objects,
) -> Result<Resolved<'o>, String> {
    let is = |metadata: &ObjectMeta, name: &str| {
        metadata.name.as_deref() == Some(name)
            && metadata.namespace.as_deref().unwrap_or_default() == namespace
    };
    if let Some(reference) = &buffer.spec.pod_template_ref {
        let found = objects.pod_templates.iter().find(|t| is(&t.metadata, &reference.name));
        let template = found.and_then(|found| found.template.as_ref());
        let template = template
            .ok_or_else(|| format!("PodTemplate {namespace}/{} does not exist", reference.name))?;
        return Ok(Resolved { template, workload_replicas: None });
    }
    let Some(reference) = &buffer.spec.scalable_ref else {
        return Err("it has neither podTemplateRef nor scalableRef; add one".to_owned());
    };
    let (kind, name) = (reference.kind.as_str(), reference.name.as_str());
    let group = reference.api_group.as_deref().unwrap_or_default();
    if !matches!(group, "" | "apps") {
        return Err(format!("scalableRef.apiGroup is {group:?}; use apps"));
    }
    let found = match kind {
        "Deployment" => objects
            .deployments
            .iter()
            .find(|workload| is(&workload.metadata, name))
            .map(|workload| (Some(&workload.spec.template), workload.spec.replicas)),
        "StatefulSet" => objects
            .stateful_sets
            .iter()
            .find(|workload| is(&workload.metadata, name))
            .map(|workload| (Some(&workload.spec.template), workload.spec.replicas)),
        "ReplicaSet" => objects
            .replica_sets
            .iter()
            .find(|workload| is(&workload.metadata, name))
            .map(|workload| (workload.spec.template.as_ref(), workload.spec.replicas)),
        _ => {
            return Err(format!(
                "scalableRef.kind is {kind:?}; use Deployment, StatefulSet or ReplicaSet"
            ));
        }
    };
    match found {
        Some((Some(template), replicas)) => {
            Ok(Resolved { template, workload_replicas: Some(replicas.unwrap_or(1)) })
        }
        _ => Err(format!("{kind} {namespace}/{name} does not exist")),
    }
}

/// How many chunks a buffer wants: the larger of its two numbers, and no more than its limits hold.
/// Alone, the limits say how many.
fn replicas(spec: &CapacityBufferSpec, chunk: &Resources, workload: Option<i32>) -> i32 {
    let share = spec.percentage.zip(workload).filter(|(_, replicas)| *replicas > 0);
    let by_percentage = share.map(|(percentage, replicas)| {
        // Rounding up already gives one chunk for the smallest share.
        let share = (i64::from(replicas) * i64::from(percentage) + 99) / 100;
        i32::try_from(share).unwrap_or(i32::MAX)
    });
    let desired = spec.replicas.max(by_percentage);
    let by_limits = fitting(&convert::resources(Some(&spec.limits)), chunk);
    match (desired, by_limits) {
        (Some(desired), Some(fitting)) => desired.min(fitting),
        (desired, fitting) => desired.or(fitting).unwrap_or_default(),
    }
}

/// How many chunks fit into `limits`; nothing if the limits are about nothing that a chunk uses.
fn fitting(limits: &Resources, chunk: &Resources) -> Option<i32> {
    let fitting = limits.iter().filter_map(|(name, limit)| {
        let request = chunk.get(name);
        (request > Quantity::ZERO).then(|| limit.nanos() / request.nanos())
    });
    fitting.min().map(|count| i32::try_from(count).unwrap_or(i32::MAX))
}

/// The template's pod without what ties it to one place.
fn sanitized(mut spec: PodSpec) -> PodSpec {
    spec.node_name = None;
    if let Some(volumes) = &mut spec.volumes {
        volumes.retain(|v| v.persistent_volume_claim.is_none() && v.ephemeral.is_none());
    }
    spec
}

fn pods_of(
    buffer: &CapacityBuffer,
    template: &PodTemplateSpec,
    spec: &PodSpec,
    count: i32,
    now: Timestamp,
    reader: &mut PodReader<'_>,
) -> Vec<Pod> {
    let name = buffer.metadata.name.as_deref().unwrap_or_default();
    let uid = buffer.metadata.uid.as_deref().filter(|uid| !uid.is_empty());
    let common = ObjectMeta {
        namespace: buffer.metadata.namespace.clone(),
        labels: template.metadata.as_ref().and_then(|metadata| metadata.labels.clone()),
        ..ObjectMeta::default()
    };
    let shared = reader.virtual_pod(&common, spec);
    let own = |i: i32| ObjectMeta {
        name: Some(format!("capacity-buffer-{name}-{i}")),
        namespace: common.namespace.clone(),
        uid: uid.map(|uid| format!("{uid}-{i}")),
        creation_timestamp: Some(Time(now)),
        ..ObjectMeta::default()
    };
    (1..=count).map(|i| reader.named(&own(i), &shared, Role::Buffer)).collect()
}

#[cfg(test)]
mod tests;
