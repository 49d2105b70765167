//! `CapacityBuffer`s: pods that stand for room to be kept free.

use std::{
    fmt::{self, Display, Formatter},
    sync::Arc,
};

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
use crate::{objects::Objects, world::Key};

/// The most pods of one buffer: far more than usual, and few enough that a typing error does not
/// exhaust the memory. The value was chosen and not measured separately.
const REPLICAS_MAX: i32 = 100_000;

/// The strategy that makes nodes for a buffer, and the default.
pub const ACTIVE_CAPACITY: &str = "buffer.x-k8s.io/active-capacity";

/// What the names of virtual pods begin with.
const NAME_PREFIX: &str = "capacity-buffer-";

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
        match resolve(buffer, objects) {
            Ok(resolved) => {
                let count = resolved.replicas.min(REPLICAS_MAX);
                if count < resolved.replicas {
                    notes.push(format!(
                        "CapacityBuffer {namespace}/{name} wants {} replicas: only {REPLICAS_MAX} \
                         are planned for; lower replicas or limits",
                        resolved.replicas
                    ));
                }
                pods.extend(pods_of(buffer, &resolved, count, now, reader));
            }
            Err(problem) => {
                notes.push(format!("CapacityBuffer {namespace}/{name} is left out: {problem}"));
            }
        }
    }
    pods
}

/// The buffer that a virtual pod, `namespace/name`, stands for room of.
pub fn buffer_of(pod: &str) -> Option<Key> {
    let (namespace, name) = pod.split_once('/')?;
    let (buffer, _) = name.strip_prefix(NAME_PREFIX)?.rsplit_once('-')?;
    Some(Key::new(Some(namespace), buffer))
}

/// A resolved buffer.
#[derive(Debug)]
pub struct Resolved<'o> {
    template: &'o PodTemplateSpec,
    /// The template's pod without what ties it to one place.
    spec: PodSpec,
    /// How many chunks there are to be.
    pub replicas: i32,
    /// The generation of the `PodTemplate`, where the buffer names one.
    pub template_generation: Option<i64>,
}

/// Why a buffer cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unresolved {
    /// The `PodTemplate` that it names is not there.
    PodTemplateNotFound(String),
    /// The workload that it names is not there.
    ScalableRefNotFound(String),
    /// It says something that cannot be done.
    Invalid(String),
}

impl Unresolved {
    /// The word by which conditions call it.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::PodTemplateNotFound(_) => "PodTemplateNotFound",
            Self::ScalableRefNotFound(_) => "ScalableRefNotFound",
            Self::Invalid(_) => "ResolutionFailed",
        }
    }
}

impl Display for Unresolved {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::PodTemplateNotFound(what) | Self::ScalableRefNotFound(what) => {
                write!(f, "{what} does not exist")
            }
            Self::Invalid(why) => f.write_str(why),
        }
    }
}

/// Resolves a buffer. The objects that it refers to must be among `objects`.
///
/// COMPAT: upstream creates nodes for every strategy, also for those of other programs.
pub fn resolve<'o>(
    buffer: &CapacityBuffer,
    objects: &'o Objects,
) -> Result<Resolved<'o>, Unresolved> {
    let strategy = buffer.spec.provisioning_strategy.as_deref();
    if let Some(other) = strategy.filter(|strategy| !matches!(*strategy, "" | ACTIVE_CAPACITY)) {
        return Err(Unresolved::Invalid(format!(
            "provisioningStrategy is {other:?}; use {ACTIVE_CAPACITY}"
        )));
    }
    let Source { template, workload_replicas, template_generation } = source(buffer, objects)?;
    let spec = sanitized(template.spec.clone().unwrap_or_default());
    let replicas = replicas(&buffer.spec, &requests::of_spec(&spec, None), workload_replicas);
    Ok(Resolved { template, spec, replicas, template_generation })
}

/// Where a buffer's chunks take their shape from.
struct Source<'o> {
    template: &'o PodTemplateSpec,
    /// Replicas of the workload that the buffer is for, if it is for one.
    workload_replicas: Option<i32>,
    template_generation: Option<i64>,
}

fn source<'o>(buffer: &CapacityBuffer, objects: &'o Objects) -> Result<Source<'o>, Unresolved> {
    let namespace = buffer.metadata.namespace.as_deref().unwrap_or_default();
    let is = |metadata: &ObjectMeta, name: &str| {
        metadata.name.as_deref() == Some(name)
            && metadata.namespace.as_deref().unwrap_or_default() == namespace
    };
    if let Some(reference) = &buffer.spec.pod_template_ref {
        let what = format!("PodTemplate {namespace}/{}", reference.name);
        let found = objects.pod_templates.iter().find(|t| is(&t.metadata, &reference.name));
        let Some(found) = found else { return Err(Unresolved::PodTemplateNotFound(what)) };
        let Some(template) = &found.template else {
            return Err(Unresolved::Invalid(format!("{what} is empty; give it a template")));
        };
        let template_generation = found.metadata.generation;
        return Ok(Source { template, workload_replicas: None, template_generation });
    }
    let Some(reference) = &buffer.spec.scalable_ref else {
        let why = "it has neither podTemplateRef nor scalableRef; add one";
        return Err(Unresolved::Invalid(why.to_owned()));
    };
    let (kind, name) = (reference.kind.as_str(), reference.name.as_str());
    let group = reference.api_group.as_deref().unwrap_or_default();
    if !matches!(group, "" | "apps") {
        return Err(Unresolved::Invalid(format!("scalableRef.apiGroup is {group:?}; use apps")));
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
            return Err(Unresolved::Invalid(format!(
                "scalableRef.kind is {kind:?}; use Deployment, StatefulSet or ReplicaSet"
            )));
        }
    };
    match found {
        Some((Some(template), replicas)) => Ok(Source {
            template,
            workload_replicas: Some(replicas.unwrap_or(1)),
            template_generation: None,
        }),
        _ => Err(Unresolved::ScalableRefNotFound(format!("{kind} {namespace}/{name}"))),
    }
}

/// How many chunks a buffer wants: the larger of its two numbers, and no more than its limits hold.
/// Alone, the limits say how many.
fn replicas(spec: &CapacityBufferSpec, chunk: &Resources, workload: Option<i32>) -> i32 {
    // COMPAT: upstream forgets the percentage of a workload without replicas, and fills the limits.
    let by_percentage = spec.percentage.zip(workload).map(|(percentage, replicas)| {
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
    resolved: &Resolved<'_>,
    count: i32,
    now: Timestamp,
    reader: &mut PodReader<'_>,
) -> Vec<Pod> {
    let name = buffer.metadata.name.as_deref().unwrap_or_default();
    let uid = buffer.metadata.uid.as_deref().filter(|uid| !uid.is_empty());
    let common = ObjectMeta {
        namespace: buffer.metadata.namespace.clone(),
        labels: resolved.template.metadata.as_ref().and_then(|metadata| metadata.labels.clone()),
        ..ObjectMeta::default()
    };
    let shared = reader.virtual_pod(&common, &resolved.spec);
    let own = |i: i32| ObjectMeta {
        name: Some(format!("{NAME_PREFIX}{name}-{i}")),
        namespace: common.namespace.clone(),
        uid: uid.map(|uid| format!("{uid}-{i}")),
        creation_timestamp: Some(Time(now)),
        ..ObjectMeta::default()
    };
    (1..=count).map(|i| reader.named(&own(i), &shared, Role::Buffer)).collect()
}

#[cfg(test)]
mod tests;
