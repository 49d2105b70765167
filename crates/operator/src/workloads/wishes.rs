//! The number of pods of each workload, and their template.

use std::sync::Arc;

use joiner_api::hash;
use k8s_openapi::{
    api::{
        apps::v1::{Deployment, ReplicaSet, ReplicaSetSpec, StatefulSet},
        batch::v1::Job,
        core::v1::{PersistentVolumeClaim, PodTemplateSpec},
    },
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use kube::Resource;

use super::Owners;
use crate::{
    claims::{name, uid},
    objects::Objects,
    random::Random,
};

/// The label by which a pod says of which version of a Deployment it is.
pub(super) const TEMPLATE_HASH: &str = "pod-template-hash";

/// Labels by which a pod says of which Job it is.
const JOB_NAME: [&str; 2] = ["batch.kubernetes.io/job-name", "job-name"];

/// The pods of a workload.
#[derive(Debug)]
pub(super) struct Wish {
    /// Kind, namespace and name, as messages have it.
    pub(super) workload: String,
    /// The field that says how many pods.
    pub(super) field: &'static str,
    pub(super) pods: u64,
    pub(super) namespace: String,
    pub(super) owner: OwnerReference,
    pub(super) naming: Naming,
    pub(super) template: PodTemplateSpec,
    /// How long the template is as text, in bytes.
    pub(super) text: u64,
    /// Labels besides the template's.
    pub(super) labels: Vec<(String, String)>,
    /// Claims that each pod has of its own.
    pub(super) claims: Vec<PersistentVolumeClaim>,
    /// The set that owns the pods, where it is made with them.
    pub(super) replica_set: Option<ReplicaSet>,
}

/// How pods are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Naming {
    /// After their owner, with letters that are drawn.
    Drawn,
    /// The same, with their index before the letters.
    Indexed,
    /// After their owner, with a number that counts from here.
    Ordinal { start: u64 },
}

/// The pods of all workloads that have none, in order of kind, namespace and name.
pub(super) fn all(objects: &Objects, owners: &Owners) -> Vec<Wish> {
    let mut wishes: Vec<Wish> = Vec::new();
    wishes.extend(missing(&objects.deployments, owners, |it| Some(of_deployment(it))));
    wishes.extend(missing(&objects.replica_sets, owners, of_replica_set));
    wishes.extend(missing(&objects.stateful_sets, owners, |it| Some(of_stateful_set(it))));
    wishes.extend(missing(&objects.jobs, owners, of_job));
    wishes.retain(|wish| wish.pods > 0);
    wishes
}

/// The pods of the workloads of a kind that have none and are to have some.
fn missing<T: Resource<DynamicType = ()>>(
    workloads: &[Arc<T>],
    owners: &Owners,
    wish: impl Fn(&T) -> Option<Wish>,
) -> Vec<Wish> {
    let mut workloads: Vec<&T> = workloads.iter().map(Arc::as_ref).collect();
    workloads
        .sort_by_key(|workload| (workload.meta().namespace.clone(), workload.meta().name.clone()));
    let waits = |workload: &&T| {
        let metadata = workload.meta();
        let namespace = metadata.namespace.clone().unwrap_or_default();
        let key = (namespace, T::kind(&()).into_owned(), name(metadata).to_owned());
        metadata.deletion_timestamp.is_none() && !owners.contains(&key)
    };
    workloads.into_iter().filter(waits).filter_map(wish).collect()
}

/// What is the same for workloads of every kind.
fn wish<T: Resource<DynamicType = ()>>(
    workload: &T,
    field: &'static str,
    pods: i32,
    template: &PodTemplateSpec,
) -> Wish {
    let metadata = workload.meta();
    let namespace = metadata.namespace.clone().unwrap_or_default();
    Wish {
        workload: format!("{} {namespace}/{}", T::kind(&()), name(metadata)),
        field,
        pods: u64::try_from(pods).unwrap_or_default(),
        namespace,
        owner: owner(workload),
        naming: Naming::Drawn,
        template: template.clone(),
        text: text_of(template).len() as u64,
        labels: Vec::new(),
        claims: Vec::new(),
        replica_set: None,
    }
}

fn owner<T: Resource<DynamicType = ()>>(workload: &T) -> OwnerReference {
    OwnerReference {
        api_version: T::api_version(&()).into_owned(),
        kind: T::kind(&()).into_owned(),
        name: name(workload.meta()).to_owned(),
        uid: uid(workload.meta()).to_owned(),
        controller: Some(true),
        ..OwnerReference::default()
    }
}

fn text_of(template: &PodTemplateSpec) -> String {
    serde_json::to_string(template).expect("templates can be written")
}

/// A Deployment makes a replica set that is named after its template.
fn of_deployment(deployment: &Deployment) -> Wish {
    let template = &deployment.spec.template;
    let replicas = deployment.spec.replicas.unwrap_or(1);
    let mut wish = wish(deployment, "spec.replicas", replicas, template);
    let drawn = Random::seeded(hash::text(&text_of(template)));
    let hash = format!("{}{}", drawn.suffix(), drawn.suffix());
    let label = (TEMPLATE_HASH.to_owned(), hash.clone());
    let mut selector = deployment.spec.selector.clone();
    selector.match_labels.get_or_insert_default().extend([label.clone()]);
    let set = ReplicaSet {
        metadata: ObjectMeta {
            name: Some(format!("{}-{hash}", name(&deployment.metadata))),
            namespace: Some(wish.namespace.clone()),
            owner_references: Some(vec![wish.owner.clone()]),
            ..ObjectMeta::default()
        },
        spec: ReplicaSetSpec {
            replicas: Some(replicas),
            selector,
            template: Some(template.clone()),
            ..ReplicaSetSpec::default()
        },
        status: None,
    };
    wish.owner = owner(&set);
    wish.labels.push(label);
    wish.replica_set = Some(set);
    wish
}

fn of_replica_set(set: &ReplicaSet) -> Option<Wish> {
    let template = set.spec.template.as_ref()?;
    Some(wish(set, "spec.replicas", set.spec.replicas.unwrap_or(1), template))
}

fn of_stateful_set(set: &StatefulSet) -> Wish {
    let replicas = set.spec.replicas.unwrap_or(1);
    let start = set.spec.ordinals.as_ref().and_then(|ordinals| ordinals.start).unwrap_or_default();
    Wish {
        naming: Naming::Ordinal { start: u64::try_from(start).unwrap_or_default() },
        claims: set.spec.volume_claim_templates.clone().unwrap_or_default(),
        ..wish(set, "spec.replicas", replicas, &set.spec.template)
    }
}

/// A Job has as many pods at a time as it may, and no more than are still to complete.
fn of_job(job: &Job) -> Option<Wish> {
    let spec = job.spec.as_ref()?;
    let conditions = job.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let mut ends = conditions.filter(|it| matches!(it.type_.as_str(), "Complete" | "Failed"));
    if spec.suspend == Some(true) || ends.any(|it| it.status == "True") {
        return None;
    }
    let succeeded = job.status.as_ref().and_then(|status| status.succeeded).unwrap_or_default();
    let parallelism = spec.parallelism.unwrap_or(1);
    // A Job that says neither has one pod to complete.
    let completions = spec.completions.or(spec.parallelism.is_none().then_some(1));
    let left = completions.map(|completions| completions.saturating_sub(succeeded));
    let (field, pods) = match left {
        Some(left) if left < parallelism => ("spec.completions", left),
        _ => ("spec.parallelism", parallelism),
    };
    let is_indexed = spec.completion_mode.as_deref() == Some("Indexed");
    let job_name = name(&job.metadata);
    Some(Wish {
        naming: if is_indexed { Naming::Indexed } else { Naming::Drawn },
        labels: JOB_NAME.map(|key| (key.to_owned(), job_name.to_owned())).to_vec(),
        ..wish(job, field, pods, &spec.template)
    })
}
