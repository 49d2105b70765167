//! The pods that each daemon set would run on a node.

use std::{collections::HashMap, sync::Arc};

use joiner_core::snapshot::Daemon;
use k8s_openapi::{
    api::{
        apps::v1::DaemonSet,
        core::v1::{NodeSelector, Pod, PodSpec},
    },
    apimachinery::pkg::apis::meta::v1::OwnerReference,
};

use super::{pods::PodReader, requests};
use crate::objects::Objects;

/// All daemon sets, each with an example pod. It is the newest existing one, because admission may
/// change requests, or else one from the template. Its required node affinity is the template's,
/// because the controller replaces it by the node's name.
pub(super) fn daemons(
    objects: &Objects,
    ignore_dra: bool,
    reader: &mut PodReader<'_>,
) -> Vec<Daemon> {
    let newest = newest_pods(objects);
    let mut sets: Vec<&DaemonSet> = objects.daemon_sets.iter().map(Arc::as_ref).collect();
    sets.sort_by_key(|set| (&set.metadata.namespace, &set.metadata.name));
    let daemons = sets.into_iter().map(|set| {
        let namespace = set.metadata.namespace.as_deref().unwrap_or_default();
        let name = set.metadata.name.as_deref().unwrap_or_default();
        let template = set.spec.template.spec.clone().unwrap_or_default();
        let required = required_affinity(&template);
        let newest = newest.get(&(namespace, name)).copied();
        let newest = newest.filter(|pod| is_controlled_by(pod, set));
        let (pod_name, mut spec, requests) = if let Some(pod) = newest {
            let pod_name = pod.metadata.name.clone().unwrap_or_default();
            (pod_name, pod.spec.clone().unwrap_or_default(), requests::of_pod(pod))
        } else {
            let spec = requests::with_limits_as_requests(template.clone());
            let requests = requests::of_template(&spec);
            (name.to_owned(), spec, requests)
        };
        if required.is_some() {
            let affinity = spec.affinity.get_or_insert_default();
            let node_affinity = affinity.node_affinity.get_or_insert_default();
            node_affinity.required_during_scheduling_ignored_during_execution = required.cloned();
        }
        let (spec, volumes) = reader.daemon(namespace, &pod_name, &spec, requests);
        Daemon { key: format!("{namespace}/{name}").into(), spec, volumes }
    });
    daemons.filter(|daemon| !(ignore_dra && daemon.spec.uses_dra)).collect()
}

/// The newest pod of each daemon set, by namespace and name of the set.
fn newest_pods(objects: &Objects) -> HashMap<(&str, &str), &Pod> {
    let mut newest: HashMap<(&str, &str), &Pod> = HashMap::new();
    for pod in &objects.pods {
        let Some(owner) = controller(pod).filter(|owner| owner.kind == "DaemonSet") else {
            continue;
        };
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let age = |pod: &Pod| pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
        newest
            .entry((namespace, &owner.name))
            .and_modify(|known| {
                // Among pods of one age the first name counts, whatever the order of files.
                let is_newer = age(pod) > age(known);
                let is_first = age(pod) == age(known) && pod.metadata.name < known.metadata.name;
                if is_newer || is_first {
                    *known = pod;
                }
            })
            .or_insert(pod);
    }
    newest
}

fn controller(pod: &Pod) -> Option<&OwnerReference> {
    let mut owners = pod.metadata.owner_references.iter().flatten();
    owners.find(|owner| owner.controller == Some(true))
}

/// Whether the pod is of this very set, and not of one that had its name before.
fn is_controlled_by(pod: &Pod, set: &DaemonSet) -> bool {
    let uid = set.metadata.uid.as_deref().unwrap_or_default();
    controller(pod).is_some_and(|owner| uid.is_empty() || owner.uid.is_empty() || owner.uid == uid)
}

fn required_affinity(spec: &PodSpec) -> Option<&NodeSelector> {
    let node_affinity = spec.affinity.as_ref()?.node_affinity.as_ref()?;
    node_affinity.required_during_scheduling_ignored_during_execution.as_ref()
}
