//! Pods of workloads in manifests that no controller has processed yet.
//!
//! Names, labels and owners follow Kubernetes' own controllers. Random parts are derived from the
//! workload, so the same manifests always give the same pods.

mod claims;
#[cfg(test)]
mod tests;
mod wishes;

use std::{collections::HashSet, sync::Arc};

use joiner_api::hash;
use k8s_openapi::{
    api::core::v1::{Pod, PodTemplateSpec},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};

use self::{
    claims::Claims,
    wishes::{Naming, Wish},
};
use crate::{index, objects::Objects, random::Random};

/// Pods that are made at most: a third of what Kubernetes is made for in one cluster, 150,000.
const PODS_MAX: u64 = 50_000;

/// What the templates of all those pods may come to as text, in bytes. What planning depends on is some 500 bytes of
/// usual templates: four times that for each pod, so that what people write is planned and memory stays bounded.
const TEXT_MAX: u64 = 2_000 * PODS_MAX;

/// The characters of a name before the random part; with it, the name has the maximum length of a
/// label.
const PREFIX_MAX: usize = 58;

/// A workload whose pods were made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// Kind, namespace and name.
    pub workload: String,
    /// How many pods it will have.
    pub pods: usize,
}

/// Workloads would have more pods than anybody plans for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{workload}: {field} is {pods}: with those of the other workloads {why}; lower it, or leave the \
     object out"
)]
pub struct TooMany {
    /// Kind, namespace and name.
    pub workload: String,
    /// The field that says how many.
    pub field: &'static str,
    /// How many.
    pub pods: u64,
    /// The limit that would be exceeded.
    pub why: String,
}

/// Adds pods for Deployments, `ReplicaSets`, `StatefulSets` and Jobs without pods, and the volume
/// claims of those pods. `others` are further objects whose pods count too.
pub fn make_pods(objects: &mut Objects, others: &Objects) -> Result<Vec<Made>, TooMany> {
    let owners = owners(objects, others);
    let wishes = wishes::all(objects, &owners);
    check(&wishes)?;
    let mut claims = Claims::new(objects, others);
    let mut made = Vec::new();
    for wish in wishes {
        let pods = pods(&wish);
        for pod in &pods {
            claims.add(pod, &wish);
        }
        made.push(Made { workload: wish.workload.clone(), pods: pods.len() });
        objects.pods.extend(pods.into_iter().map(Arc::new));
        objects.replica_sets.extend(wish.replica_set.map(Arc::new));
    }
    objects.persistent_volume_claims.extend(claims.made());
    Ok(made)
}

/// Namespace, kind and name of everything that has pods.
type Owners = HashSet<(String, String, String)>;

fn owners(objects: &Objects, others: &Objects) -> Owners {
    let mut owners = Owners::new();
    let mut add = |metadata: &ObjectMeta, kind: &str, name: &str| {
        let namespace = metadata.namespace.clone().unwrap_or_default();
        owners.insert((namespace, kind.to_owned(), name.to_owned()));
    };
    for pod in objects.pods.iter().chain(&others.pods) {
        for owner in pod.metadata.owner_references.iter().flatten() {
            add(&pod.metadata, &owner.kind, &owner.name);
            // Its replica set may be missing.
            if let Some(deployment) = deployment_of(&pod.metadata, owner) {
                add(&pod.metadata, "Deployment", deployment);
            }
        }
    }
    // The pods of a Deployment are those of its replica sets.
    for set in objects.replica_sets.iter().chain(&others.replica_sets) {
        for owner in set.metadata.owner_references.iter().flatten() {
            add(&set.metadata, &owner.kind, &owner.name);
        }
    }
    owners
}

/// The Deployment that a pod's replica set is of, by the name that it gives its replica sets.
fn deployment_of<'o>(metadata: &ObjectMeta, owner: &'o OwnerReference) -> Option<&'o str> {
    let hash = metadata.labels.as_ref()?.get(wishes::TEMPLATE_HASH)?;
    owner.name.strip_suffix(hash.as_str())?.strip_suffix('-')
}

fn check(wishes: &[Wish]) -> Result<(), TooMany> {
    let (mut pods, mut text) = (0_u64, 0_u64);
    for wish in wishes {
        pods = pods.saturating_add(wish.pods);
        text = text.saturating_add(wish.text.saturating_mul(wish.pods));
        let why = if pods > PODS_MAX {
            format!("that makes {pods} pods, and {PODS_MAX} can be planned for at most")
        } else if text > TEXT_MAX {
            format!("that makes {text} bytes of pods, and {TEXT_MAX} can be planned for at most")
        } else {
            continue;
        };
        let workload = wish.workload.clone();
        return Err(TooMany { workload, field: wish.field, pods: wish.pods, why });
    }
    Ok(())
}

fn pods(wish: &Wish) -> Vec<Pod> {
    let random = Random::seeded(hash::text(&wish.workload));
    let mut drawn = HashSet::new();
    let mut draw = |prefix: &str| {
        let prefix: String = prefix.chars().take(PREFIX_MAX).collect();
        let mut name = format!("{prefix}{}", random.suffix());
        while !drawn.insert(name.clone()) {
            name = format!("{prefix}{}", random.suffix());
        }
        name
    };
    let pods = (0..wish.pods).map(|index| {
        let (name, labels) = match &wish.naming {
            Naming::Drawn => (draw(&format!("{}-", wish.owner.name)), Vec::new()),
            Naming::Indexed => {
                let name = draw(&format!("{}-{index}-", wish.owner.name));
                (name, vec![("batch.kubernetes.io/job-completion-index", index.to_string())])
            }
            Naming::Ordinal { start } => {
                let ordinal = start.saturating_add(index).to_string();
                let name = format!("{}-{ordinal}", wish.owner.name);
                let labels = vec![
                    ("apps.kubernetes.io/pod-index", ordinal),
                    ("statefulset.kubernetes.io/pod-name", name.clone()),
                ];
                (name, labels)
            }
        };
        pod(wish, name, labels)
    });
    pods.collect()
}

fn pod(wish: &Wish, name: String, labels: Vec<(&str, String)>) -> Pod {
    let PodTemplateSpec { metadata, spec } = wish.template.clone();
    let mut metadata = metadata.unwrap_or_default();
    let all = metadata.labels.get_or_insert_default();
    all.extend(wish.labels.iter().cloned());
    all.extend(labels.into_iter().map(|(key, value)| (key.to_owned(), value)));
    metadata.name = Some(name);
    metadata.namespace = Some(wish.namespace.clone());
    metadata.owner_references = Some(vec![wish.owner.clone()]);
    let mut spec = index::with_limits_as_requests(spec.unwrap_or_default());
    claims::mount(&mut spec, metadata.name.as_deref().unwrap_or_default(), wish);
    Pod { metadata, spec: Some(spec), status: None }
}
