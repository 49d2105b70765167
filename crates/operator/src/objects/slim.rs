//! Removes the fields of objects that no decision depends on.
//!
//! A cluster has far more pods than other objects. Most of a pod concerns running it: images,
//! environments, probes, container statuses. All of it would take more than ten kilobytes per pod.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::{
        apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet},
        batch::v1::Job,
        core::v1::{
            Container, ContainerPort, ContainerState, ContainerStateTerminated, ContainerStatus,
            Node, NodeStatus, NodeSystemInfo, Pod, PodCondition, PodSpec, PodStatus, PodTemplate,
            PodTemplateSpec, ReplicationController, ResourceRequirements, Volume,
        },
    },
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use serde_json::Value;

use crate::marks::POD_DELETION_COST;

/// Annotations that start with one of these are read.
const READ_ANNOTATIONS: [&str; 2] = ["karpenter.sh/", POD_DELETION_COST];

/// The pod with what planning depends on.
pub(crate) fn pod(pod: Pod) -> Pod {
    Pod {
        metadata: metadata(pod.metadata),
        spec: pod.spec.map(|pod| spec(pod, container)),
        status: pod.status.and_then(status),
    }
}

/// What `kubectl apply` keeps of the file: the whole object again, with everything that is left out
/// here.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Metadata without copies of what else is in the object.
pub(crate) fn without_copies(metadata: &mut ObjectMeta) {
    metadata.managed_fields = None;
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove(LAST_APPLIED);
    }
}

/// The same for an object of a kind that has no type here.
pub(crate) fn value_without_copies(object: &mut Value) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    metadata.remove("managedFields");
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove(LAST_APPLIED);
    }
}

/// Owners of pods, with templates that say what planning depends on.
macro_rules! owners {
    ($($name:ident: $type:ident, |$owner:ident| $template:expr;)+) => {
        $(
            #[doc = concat!("The `", stringify!($type), "` with what planning depends on.")]
            pub(crate) fn $name(mut $owner: $type) -> $type {
                $template;
                $owner
            }
        )+
    };
}

owners! {
    daemon_set: DaemonSet, |owner| template(&mut owner.spec.template);
    deployment: Deployment, |owner| template(&mut owner.spec.template);
    replica_set: ReplicaSet, |owner| owner.spec.template.iter_mut().for_each(template);
    stateful_set: StatefulSet, |owner| template(&mut owner.spec.template);
    job: Job, |owner| owner.spec.iter_mut().for_each(|spec| template(&mut spec.template));
    replication_controller: ReplicationController, |owner| {
        owner.spec.iter_mut().filter_map(|spec| spec.template.as_mut()).for_each(template);
    };
    pod_template: PodTemplate, |owner| owner.template.iter_mut().for_each(template);
}

/// Limits stay: where a template has no requests, the API server makes them of the limits.
fn template(template: &mut PodTemplateSpec) {
    let with_limits = |full: Container| {
        let resources = full.resources.clone();
        Container { resources, ..container(full) }
    };
    template.metadata = template.metadata.take().map(metadata);
    template.spec = template.spec.take().map(|pod| spec(pod, with_limits));
}

fn metadata(metadata: ObjectMeta) -> ObjectMeta {
    let owner = |owner: OwnerReference| OwnerReference { block_owner_deletion: None, ..owner };
    let read = |annotations: BTreeMap<String, String>| {
        let is_read = |key: &str| READ_ANNOTATIONS.iter().any(|start| key.starts_with(start));
        not_empty(annotations.into_iter().filter(|(key, _)| is_read(key)).collect())
    };
    ObjectMeta {
        name: metadata.name,
        namespace: metadata.namespace,
        uid: metadata.uid,
        labels: metadata.labels,
        annotations: metadata.annotations.and_then(read),
        creation_timestamp: metadata.creation_timestamp,
        deletion_timestamp: metadata.deletion_timestamp,
        deletion_grace_period_seconds: metadata.deletion_grace_period_seconds,
        owner_references: metadata.owner_references.map(|owners| exactly(owners, owner)),
        ..ObjectMeta::default()
    }
}

fn spec(spec: PodSpec, container: impl Fn(Container) -> Container) -> PodSpec {
    let claims = |volumes: Vec<Volume>| {
        let is_claim = |v: &Volume| v.persistent_volume_claim.is_some() || v.ephemeral.is_some();
        let mut claims: Vec<Volume> = volumes.into_iter().filter(is_claim).collect();
        claims.shrink_to_fit();
        (!claims.is_empty()).then_some(claims)
    };
    PodSpec {
        affinity: spec.affinity,
        containers: exactly(spec.containers, &container),
        host_network: spec.host_network,
        init_containers: spec.init_containers.map(|init| exactly(init, &container)),
        node_name: spec.node_name,
        node_selector: spec.node_selector,
        overhead: spec.overhead,
        priority: spec.priority,
        priority_class_name: spec.priority_class_name,
        resource_claims: spec.resource_claims,
        resources: spec.resources,
        scheduling_gates: spec.scheduling_gates,
        termination_grace_period_seconds: spec.termination_grace_period_seconds,
        tolerations: spec.tolerations.map(|all| exactly(all, |toleration| toleration)),
        topology_spread_constraints: spec.topology_spread_constraints,
        volumes: spec.volumes.and_then(claims),
        ..PodSpec::default()
    }
}

fn container(container: Container) -> Container {
    let requests = |resources: ResourceRequirements| ResourceRequirements {
        requests: resources.requests.and_then(not_empty),
        claims: resources.claims,
        limits: None,
    };
    let port = |port: ContainerPort| ContainerPort { name: None, ..port };
    Container {
        name: container.name,
        ports: container.ports.map(|ports| exactly(ports, port)),
        resources: container.resources.map(requests),
        restart_policy: container.restart_policy,
        ..Container::default()
    }
}

fn status(status: PodStatus) -> Option<PodStatus> {
    let condition = |condition: PodCondition| PodCondition {
        type_: condition.type_,
        status: condition.status,
        reason: condition.reason,
        last_transition_time: condition.last_transition_time,
        ..PodCondition::default()
    };
    let has_ended = matches!(status.phase.as_deref(), Some("Failed" | "Succeeded"));
    // Without resources, the status of a container says nothing about a resize; when it finished
    // says when the pod left its node.
    let container = |status: ContainerStatus| {
        let state = status.state.filter(|_| has_ended).and_then(finish);
        (status.resources.is_some() || state.is_some()).then(|| ContainerStatus {
            name: status.name,
            state,
            resources: status.resources,
            allocated_resources: status.allocated_resources,
            ..ContainerStatus::default()
        })
    };
    let containers = |statuses: Vec<ContainerStatus>| {
        let kept: Vec<ContainerStatus> = statuses.into_iter().filter_map(container).collect();
        (!kept.is_empty()).then_some(kept)
    };
    let slim = PodStatus {
        conditions: status.conditions.map(|all| exactly(all, condition)),
        container_statuses: status.container_statuses.and_then(containers),
        init_container_statuses: status.init_container_statuses.and_then(containers),
        nominated_node_name: status.nominated_node_name,
        phase: status.phase,
        start_time: status.start_time,
        ..PodStatus::default()
    };
    (slim != PodStatus::default()).then_some(slim)
}

/// When a container finished.
fn finish(state: ContainerState) -> Option<ContainerState> {
    let finished_at = Some(state.terminated?.finished_at?);
    let terminated =
        ContainerStateTerminated { finished_at, ..ContainerStateTerminated::default() };
    Some(ContainerState { terminated: Some(terminated), ..ContainerState::default() })
}

/// The node without the fields that only its kubelet and people read.
pub(crate) fn node(mut node: Node) -> Node {
    node.metadata.managed_fields = None;
    if let Some(status) = &mut node.status {
        *status = NodeStatus {
            // Clouds learn where nodes are reached, and which instance they are.
            addresses: status.addresses.take(),
            allocatable: status.allocatable.take(),
            capacity: status.capacity.take(),
            conditions: status.conditions.take(),
            node_info: status.node_info.take().map(|info| NodeSystemInfo {
                kubelet_version: info.kubelet_version,
                system_uuid: info.system_uuid,
                ..NodeSystemInfo::default()
            }),
            ..NodeStatus::default()
        };
    }
    node
}

/// Every element, changed, in a list without room for more.
fn exactly<T>(items: Vec<T>, change: impl FnMut(T) -> T) -> Vec<T> {
    let mut changed: Vec<T> = items.into_iter().map(change).collect();
    changed.shrink_to_fit();
    changed
}

fn not_empty<V>(map: BTreeMap<String, V>) -> Option<BTreeMap<String, V>> {
    (!map.is_empty()).then_some(map)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn slim(value: Value) -> Value {
        serde_json::to_value(pod(serde_json::from_value(value).unwrap())).unwrap()
    }

    #[test]
    fn what_a_plan_depends_on_is_kept() {
        let needed = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "p", "namespace": "n", "uid": "u", "labels": {"a": "b"},
                "annotations": {
                    "karpenter.sh/do-not-disrupt": "true",
                    "controller.kubernetes.io/pod-deletion-cost": "5"
                },
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "deletionTimestamp": "2026-01-02T00:00:00Z",
                "deletionGracePeriodSeconds": 30,
                "ownerReferences": [{
                    "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "v",
                    "controller": true
                }]
            },
            "spec": {
                "affinity": {"nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}
                }},
                "containers": [{
                    "name": "main", "restartPolicy": "Always",
                    "ports": [{
                        "containerPort": 80, "hostPort": 80, "hostIP": "10.0.0.1", "protocol": "TCP"
                    }],
                    "resources": {"requests": {"cpu": "1"}, "claims": [{"name": "gpu"}]}
                }],
                "hostNetwork": true,
                "initContainers": [{"name": "init", "resources": {"requests": {"cpu": "2"}}}],
                "nodeName": "n", "nodeSelector": {"a": "b"}, "overhead": {"cpu": "1"},
                "priority": 2_000_001_000, "priorityClassName": "system-node-critical",
                "resourceClaims": [{"name": "gpu"}], "resources": {"requests": {"cpu": "3"}},
                "schedulingGates": [{"name": "g"}], "terminationGracePeriodSeconds": 30,
                "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}],
                "topologySpreadConstraints": [{
                    "maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"
                }],
                "volumes": [
                    {"name": "c", "persistentVolumeClaim": {"claimName": "c"}},
                    {"name": "e", "ephemeral": {}}
                ]
            },
            "status": {
                "conditions": [{
                    "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                    "lastTransitionTime": "2026-01-01T00:00:00Z"
                }],
                "containerStatuses": [{
                    "name": "main", "image": "", "imageID": "", "ready": false, "restartCount": 0,
                    "resources": {"requests": {"cpu": "1"}}, "allocatedResources": {"cpu": "1"}
                }],
                "nominatedNodeName": "n", "phase": "Running", "startTime": "2026-01-01T00:00:00Z"
            }
        });
        assert_eq!(slim(needed.clone()), needed);
    }

    #[test]
    fn of_a_pod_that_has_ended_it_is_kept_when() {
        let of = |phase: &str| {
            let finished = json!({"terminated": {
                "exitCode": 1, "reason": "Error", "finishedAt": "2026-01-01T00:00:00Z"
            }});
            let container = json!({"name": "main", "image": "i", "state": finished});
            let status = json!({"phase": phase, "containerStatuses": [container]});
            let pod = json!({"metadata": {"name": "p"}, "status": status});
            let kept = &slim(pod)["status"]["containerStatuses"][0];
            kept["state"]["terminated"]["finishedAt"].clone()
        };
        assert_eq!(of("Failed"), "2026-01-01T00:00:00Z");
        assert_eq!(of("Running"), Value::Null, "it will be started again");
    }

    #[test]
    fn what_is_about_running_a_pod_goes() {
        let full = json!({
            "metadata": {
                "name": "p",
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
                "managedFields": [{"manager": "m"}], "finalizers": ["f"], "resourceVersion": "1"
            },
            "spec": {
                "containers": [{
                    "name": "main", "image": "i", "env": [{"name": "A"}], "command": ["c"],
                    "volumeMounts": [{"name": "m", "mountPath": "/"}], "livenessProbe": {},
                    "resources": {"limits": {"cpu": "1"}}
                }],
                "serviceAccountName": "s", "securityContext": {},
                "volumes": [{"name": "m", "configMap": {"name": "c"}}]
            },
            "status": {"podIP": "10.0.0.1", "containerStatuses": [{"name": "main", "image": "i"}]}
        });
        assert_eq!(
            slim(full),
            json!({
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "p"},
                "spec": {"containers": [{"name": "main", "resources": {}}]}
            })
        );
    }
}
