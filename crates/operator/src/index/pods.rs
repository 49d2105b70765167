//! Which pods stay where they are, and which want a place.

use std::{collections::HashMap, sync::Arc};

use joiner_core::{
    label::Labels,
    pod::{Pod, PodSpec, PodVolumes, Role, Unread},
    resources::Resources,
};
use k8s_openapi::{
    api::core::v1::{self as core},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

use super::{
    Pending, convert, disruption::Disruption, intern::Interner, long::LongPods, requests,
    spread::DefaultSpread, volumes::VolumeIndex,
};
use crate::{
    objects::Objects,
    pods::{
        Owner, belongs_to_node, is_active, is_owned_by, is_provisionable, is_reschedulable,
        is_terminal, is_terminating,
    },
};

/// Pods without a creation time come first.
const NO_TIME: i64 = i64::MIN;

/// Pods, sorted by what becomes of them.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    /// Pods that want a place, in order of namespace and name.
    pub(super) to_place: Vec<Pod>,
    /// Pods that stay, by node.
    pub(super) staying: HashMap<String, Vec<Pod>>,
    /// How many pods are bound to nodes that are not there.
    pub(super) lost: usize,
}

/// Turns Kubernetes' pods into the planner's.
#[derive(Debug)]
pub(super) struct PodReader<'o> {
    volumes: VolumeIndex<'o>,
    spread: DefaultSpread<'o>,
    long: LongPods<'o>,
    interner: Interner,
}

/// The parts of a pod that it shares with pods of its kind.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) labels: Arc<Labels>,
    pub(super) spec: Arc<PodSpec>,
    pub(super) volumes: Arc<PodVolumes>,
}

impl<'o> PodReader<'o> {
    pub(super) fn new(
        volumes: VolumeIndex<'o>,
        spread: DefaultSpread<'o>,
        long: LongPods<'o>,
    ) -> Self {
        Self { volumes, spread, long, interner: Interner::default() }
    }

    /// Sorts all pods. `is_leaving` says of a node whether it goes away; nothing if it is not
    /// there.
    pub(super) fn sort(
        &mut self,
        objects: &Objects,
        pending: Pending,
        disruption: &Disruption,
        is_leaving: impl Fn(&str) -> Option<bool>,
    ) -> Sorted {
        let mut pods: Vec<&core::Pod> = objects.pods.iter().map(Arc::as_ref).collect();
        pods.sort_by_key(|pod| (&pod.metadata.namespace, &pod.metadata.name));
        let mut sorted = Sorted::default();
        for pod in pods {
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or("");
            if node.is_empty() {
                if is_pending(pod, pending) {
                    sorted.to_place.push(self.pending(pod));
                }
                continue;
            }
            match is_leaving(node) {
                Some(true) if disruption.is_currently_reschedulable(pod) => {
                    sorted.to_place.push(self.moving(pod));
                }
                _ if is_terminal(pod) => {}
                Some(_) => {
                    let staying = self.bound(pod);
                    match sorted.staying.get_mut(node) {
                        Some(pods) => pods.push(staying),
                        None => {
                            sorted.staying.insert(node.to_owned(), vec![staying]);
                        }
                    }
                }
                None => sorted.lost += 1,
            }
        }
        sorted
    }

    fn pending(&mut self, pod: &core::Pod) -> Pod {
        if let Some(unread) = self.long.unread(pod) {
            return self.left_unread(pod, unread, Role::Pending);
        }
        let volumes = self.volumes.of_pending(pod);
        self.placed(pod, volumes, Role::Pending)
    }

    fn moving(&mut self, pod: &core::Pod) -> Pod {
        if let Some(unread) = self.long.unread(pod) {
            return self.left_unread(pod, unread, Role::Moving);
        }
        let volumes = self.volumes.of_moving(pod);
        self.placed(pod, volumes, Role::Moving)
    }

    /// A pod that wants a place and is not looked at in this pass.
    fn left_unread(&mut self, pod: &core::Pod, unread: Unread, role: Role) -> Pod {
        let spec = PodSpec { unread: Some(unread), ..PodSpec::default() };
        self.read(pod, spec, PodVolumes::default(), role)
    }

    fn placed(&mut self, pod: &core::Pod, volumes: PodVolumes, role: Role) -> Pod {
        let mut spec = convert_spec(pod);
        self.spread.apply(&pod.metadata, &mut spec);
        self.read(pod, spec, volumes, role)
    }

    /// A pod that stays. One that would need another place if its node went is read as it would be
    /// placed there, so that its move can be tried.
    fn bound(&mut self, pod: &core::Pod) -> Pod {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        let owner = is_owned_by(pod, Owner::DaemonSet).then(|| daemon_set_name(pod)).flatten();
        let role = Role::Bound {
            daemon_set: owner.map(|owner| self.interner.name(&format!("{namespace}/{owner}"))),
            terminating: is_terminating(pod),
        };
        let unread = self.long.unread(pod);
        if is_reschedulable(pod) && unread.is_none() {
            let volumes = self.volumes.of_moving(pod);
            return self.placed(pod, volumes, role);
        }
        let empty = core::PodSpec::default();
        let written = pod.spec.as_ref().unwrap_or(&empty);
        let volumes = self.volumes.of_bound(namespace, name, written);
        let spec = match unread {
            Some(unread) => convert::unread_pod_spec(written, requests::of_pod(pod), unread),
            None => convert_spec(pod),
        };
        self.read(pod, spec, volumes, role)
    }

    fn read(&mut self, pod: &core::Pod, spec: PodSpec, volumes: PodVolumes, role: Role) -> Pod {
        let shared = Shared {
            labels: self.interner.labels(pod.metadata.labels.as_ref()),
            spec: self.interner.spec(spec),
            volumes: self.interner.volumes(volumes),
        };
        self.named(&pod.metadata, &shared, role)
    }

    /// What the pods of a daemon set ask for and attach.
    pub(super) fn daemon(
        &mut self,
        namespace: &str,
        pod_name: &str,
        written: &core::PodSpec,
        requests: Resources,
    ) -> (Arc<PodSpec>, Arc<PodVolumes>) {
        let volumes = self.volumes.of_bound(namespace, pod_name, written);
        let spec = convert::pod_spec(written, requests);
        (self.interner.spec(spec), self.interner.volumes(volumes))
    }

    /// What pods that only stand for room have in common.
    pub(super) fn virtual_pod(&mut self, metadata: &ObjectMeta, written: &core::PodSpec) -> Shared {
        let mut spec = convert::pod_spec(written, requests::of_template(written));
        self.spread.apply(metadata, &mut spec);
        Shared {
            labels: self.interner.labels(metadata.labels.as_ref()),
            spec: self.interner.spec(spec),
            volumes: self.interner.volumes(PodVolumes::default()),
        }
    }

    /// A pod with its own name and what it shares with others.
    pub(super) fn named(&mut self, metadata: &ObjectMeta, shared: &Shared, role: Role) -> Pod {
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        let name = metadata.name.as_deref().unwrap_or_default();
        let uid = metadata.uid.as_deref().filter(|uid| !uid.is_empty());
        Pod {
            namespace: self.interner.name(namespace),
            name: name.into(),
            uid: uid.map_or_else(|| format!("{namespace}/{name}").into(), Into::into),
            created: metadata.creation_timestamp.as_ref().map_or(NO_TIME, |t| t.0.as_second()),
            labels: Arc::clone(&shared.labels),
            spec: Arc::clone(&shared.spec),
            volumes: Arc::clone(&shared.volumes),
            role,
        }
    }
}

fn convert_spec(pod: &core::Pod) -> PodSpec {
    let empty = core::PodSpec::default();
    convert::pod_spec(pod.spec.as_ref().unwrap_or(&empty), requests::of_pod(pod))
}

/// Whether a pod that has no node wants one from us.
fn is_pending(pod: &core::Pod, rule: Pending) -> bool {
    match rule {
        Pending::Unbound => {
            let gates = pod.spec.as_ref().and_then(|spec| spec.scheduling_gates.as_ref());
            is_active(pod) && !belongs_to_node(pod) && gates.is_none_or(Vec::is_empty)
        }
        Pending::Unschedulable => is_provisionable(pod),
    }
}

/// The name of the daemon set that owns a pod.
fn daemon_set_name(pod: &core::Pod) -> Option<&str> {
    let mut owners = pod.metadata.owner_references.iter().flatten();
    owners.find(|owner| owner.kind == "DaemonSet").map(|owner| owner.name.as_str())
}
