//! What the server makes of new objects.

use expect_test::expect;
use serde_json::{Value, json};

use crate::describe::{created, object};

fn template() -> Value {
    json!({
        "metadata": { "labels": { "app": "web" } },
        "spec": { "containers": [{ "name": "a", "image": "web:1" }] },
    })
}

fn selector() -> Value {
    json!({ "matchLabels": { "app": "web" } })
}

#[test]
fn a_small_pod() {
    let pod = object("v1", "Pod", json!({ "spec": template()["spec"] }));
    expect![[r#"
        + metadata.generation: 1
        + spec.containers[0].imagePullPolicy: "IfNotPresent"
        + spec.containers[0].resources: {}
        + spec.containers[0].terminationMessagePath: "/dev/termination-log"
        + spec.containers[0].terminationMessagePolicy: "File"
        + spec.dnsPolicy: "ClusterFirst"
        + spec.enableServiceLinks: true
        + spec.preemptionPolicy: "PreemptLowerPriority"
        + spec.priority: 0
        + spec.restartPolicy: "Always"
        + spec.schedulerName: "default-scheduler"
        + spec.securityContext: {}
        + spec.terminationGracePeriodSeconds: 30
        + spec.tolerations: [{"effect":"NoExecute","key":"node.kubernetes.io/not-ready","operator":"Exists","tolerationSeconds":300},{"effect":"NoExecute","key":"node.kubernetes.io/unreachable","operator":"Exists","tolerationSeconds":300}]
        + status: {"phase":"Pending","qosClass":"BestEffort"}
    "#]].assert_eq(&created(&pod));
}

#[test]
fn a_pod_with_volumes_probes_and_ports() {
    let pod = object(
        "v1",
        "Pod",
        json!({ "spec": {
            "hostNetwork": true,
            "containers": [{
                "name": "a",
                "image": "web",
                "ports": [{ "containerPort": 80 }],
                "resources": { "limits": { "cpu": "1", "memory": "1Gi" } },
                "livenessProbe": { "httpGet": { "port": 80 } },
                "readinessProbe": { "grpc": { "port": 80 } },
            }],
            "volumes": [
                { "name": "a" },
                { "name": "b", "secret": { "secretName": "s" } },
                { "name": "c", "hostPath": { "path": "/" } },
                { "name": "d", "image": { "reference": "data:1" } },
            ],
            "tolerations": [{ "key": "node.kubernetes.io/not-ready", "operator": "Exists" }],
            "priorityClassName": "system-node-critical",
            "schedulingGates": [{ "name": "example.com/gate" }],
        } }),
    );
    expect![[r#"
        + metadata.generation: 1
        + spec.containers[0].imagePullPolicy: "Always"
        + spec.containers[0].livenessProbe.failureThreshold: 3
        + spec.containers[0].livenessProbe.httpGet.path: "/"
        + spec.containers[0].livenessProbe.httpGet.scheme: "HTTP"
        + spec.containers[0].livenessProbe.periodSeconds: 10
        + spec.containers[0].livenessProbe.successThreshold: 1
        + spec.containers[0].livenessProbe.timeoutSeconds: 1
        + spec.containers[0].ports[0].hostPort: 80
        + spec.containers[0].ports[0].protocol: "TCP"
        + spec.containers[0].readinessProbe.failureThreshold: 3
        + spec.containers[0].readinessProbe.grpc.service: ""
        + spec.containers[0].readinessProbe.periodSeconds: 10
        + spec.containers[0].readinessProbe.successThreshold: 1
        + spec.containers[0].readinessProbe.timeoutSeconds: 1
        + spec.containers[0].resources.requests: {"cpu":"1","memory":"1Gi"}
        + spec.containers[0].terminationMessagePath: "/dev/termination-log"
        + spec.containers[0].terminationMessagePolicy: "File"
        + spec.dnsPolicy: "ClusterFirst"
        + spec.enableServiceLinks: true
        + spec.preemptionPolicy: "PreemptLowerPriority"
        + spec.priority: 2000001000
        + spec.restartPolicy: "Always"
        + spec.schedulerName: "default-scheduler"
        + spec.securityContext: {}
        + spec.terminationGracePeriodSeconds: 30
        ~ spec.tolerations: [{"key":"node.kubernetes.io/not-ready","operator":"Exists"}] -> [{"key":"node.kubernetes.io/not-ready","operator":"Exists"},{"effect":"NoExecute","key":"node.kubernetes.io/unreachable","operator":"Exists","tolerationSeconds":300}]
        + spec.volumes[0].emptyDir: {}
        + spec.volumes[1].secret.defaultMode: 420
        + spec.volumes[2].hostPath.type: ""
        + spec.volumes[3].image.pullPolicy: "IfNotPresent"
        + status: {"conditions":[{"lastProbeTime":null,"lastTransitionTime":"2030-01-01T00:00:00Z","message":"Scheduling is blocked due to non-empty scheduling gates","reason":"SchedulingGated","status":"False","type":"PodScheduled"}],"phase":"Pending","qosClass":"Guaranteed"}
    "#]].assert_eq(&created(&pod));
}

#[test]
fn a_pod_that_asks_for_resources_as_a_whole() {
    let pod = object(
        "v1",
        "Pod",
        json!({ "spec": {
            "containers": [{
                "name": "a",
                "image": "web:1",
                "resources": { "requests": { "cpu": "300m" } },
            }],
            "initContainers": [{
                "name": "b",
                "image": "web:1",
                "resources": { "requests": { "cpu": "2" } },
            }],
            "resources": { "limits": { "cpu": "4", "memory": "1Gi" } },
        } }),
    );
    expect![[r#"
        + metadata.generation: 1
        + spec.containers[0].imagePullPolicy: "IfNotPresent"
        + spec.containers[0].terminationMessagePath: "/dev/termination-log"
        + spec.containers[0].terminationMessagePolicy: "File"
        + spec.dnsPolicy: "ClusterFirst"
        + spec.enableServiceLinks: true
        + spec.initContainers[0].imagePullPolicy: "IfNotPresent"
        + spec.initContainers[0].terminationMessagePath: "/dev/termination-log"
        + spec.initContainers[0].terminationMessagePolicy: "File"
        + spec.preemptionPolicy: "PreemptLowerPriority"
        + spec.priority: 0
        + spec.resources.requests: {"cpu":"2","memory":"1Gi"}
        + spec.restartPolicy: "Always"
        + spec.schedulerName: "default-scheduler"
        + spec.securityContext: {}
        + spec.terminationGracePeriodSeconds: 30
        + spec.tolerations: [{"effect":"NoExecute","key":"node.kubernetes.io/not-ready","operator":"Exists","tolerationSeconds":300},{"effect":"NoExecute","key":"node.kubernetes.io/unreachable","operator":"Exists","tolerationSeconds":300}]
        + status: {"phase":"Pending","qosClass":"Burstable"}
    "#]].assert_eq(&created(&pod));
}

#[test]
fn priorities_are_computed_not_given() {
    let pod = |fields: Value| {
        let mut pod = object("v1", "Pod", json!({ "spec": template()["spec"] }));
        let spec = pod["spec"].as_object_mut().expect("a spec");
        spec.extend(fields.as_object().expect("fields").clone());
        pod
    };
    for (fields, expected) in [
        (
            json!({ "priorityClassName": "nothing" }),
            expect!["no PriorityClass with name nothing was found"],
        ),
        (
            json!({ "priority": 5 }),
            expect![
                "the integer value of priority (5) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name"
            ],
        ),
        (
            json!({ "preemptionPolicy": "Never" }),
            expect![
                "the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission controller computed PreemptLowerPriority from the given PriorityClass name"
            ],
        ),
    ] {
        expected.assert_eq(&created(&pod(fields)));
    }
}

#[test]
fn labels_named_by_key_are_filled_in() {
    let mut pod = object("v1", "Pod", json!({ "spec": template()["spec"] }));
    pod["metadata"]["labels"] = json!({ "version": "3" });
    pod["spec"]["topologySpreadConstraints"] = json!([{
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector(),
        "matchLabelKeys": ["version", "other"],
    }]);
    let created = created(&pod);
    let lines: Vec<&str> = created.lines().filter(|line| line.contains("Constraints")).collect();
    expect![[r#"+ spec.topologySpreadConstraints[0].labelSelector.matchExpressions: [{"key":"version","operator":"In","values":["3"]}]"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn nodes_start_unready() {
    let node = object(
        "v1",
        "Node",
        json!({ "status": { "capacity": { "cpu": "4000m" }, "conditions": [{ "type": "Ready" }] } }),
    );
    expect![[r#"
        + spec: {"taints":[{"effect":"NoSchedule","key":"node.kubernetes.io/not-ready"}]}
        + status.allocatable: {"cpu":"4"}
        ~ status.capacity.cpu: "4000m" -> "4"
        + status.conditions[0].lastHeartbeatTime: null
        + status.conditions[0].lastTransitionTime: null
        + status.conditions[0].status: ""
        + status.daemonEndpoints: {"kubeletEndpoint":{"Port":0}}
        + status.nodeInfo: {"architecture":"","bootID":"","containerRuntimeVersion":"","kernelVersion":"","kubeProxyVersion":"","kubeletVersion":"","machineID":"","operatingSystem":"","osImage":"","systemUUID":""}
    "#]].assert_eq(&created(&node));
}

#[test]
fn workloads() {
    let workload = |kind: &str| {
        object(
            "apps/v1",
            kind,
            json!({ "spec": { "selector": selector(), "template": template() } }),
        )
    };
    let without_template = |text: String| -> String {
        let lines = text.lines().filter(|line| !line.contains("spec.template."));
        lines.map(|line| line.to_owned() + "\n").collect()
    };
    for (kind, expected) in [
        (
            "Deployment",
            expect![[r#"
            + metadata.generation: 1
            + spec.progressDeadlineSeconds: 600
            + spec.replicas: 1
            + spec.revisionHistoryLimit: 10
            + spec.strategy: {"rollingUpdate":{"maxSurge":"25%","maxUnavailable":"25%"},"type":"RollingUpdate"}
            + status: {}
        "#]],
        ),
        (
            "ReplicaSet",
            expect![[r#"
            + metadata.generation: 1
            + spec.replicas: 1
            + status: {"replicas":0}
        "#]],
        ),
        (
            "StatefulSet",
            expect![[r#"
            + metadata.generation: 1
            + spec.persistentVolumeClaimRetentionPolicy: {"whenDeleted":"Retain","whenScaled":"Retain"}
            + spec.podManagementPolicy: "OrderedReady"
            + spec.replicas: 1
            + spec.revisionHistoryLimit: 10
            + spec.serviceName: ""
            + spec.updateStrategy: {"rollingUpdate":{"partition":0},"type":"RollingUpdate"}
            + status: {"availableReplicas":0,"replicas":0}
        "#]],
        ),
        (
            "DaemonSet",
            expect![[r#"
            + metadata.annotations: {"deprecated.daemonset.template.generation":"1"}
            + metadata.generation: 1
            + spec.revisionHistoryLimit: 10
            + spec.updateStrategy: {"rollingUpdate":{"maxSurge":0,"maxUnavailable":1},"type":"RollingUpdate"}
            + status: {"currentNumberScheduled":0,"desiredNumberScheduled":0,"numberMisscheduled":0,"numberReady":0}
        "#]],
        ),
    ] {
        expected.assert_eq(&without_template(created(&workload(kind))));
    }
}

#[test]
fn claim_templates_are_claims() {
    let mut set = object(
        "apps/v1",
        "StatefulSet",
        json!({ "spec": { "selector": selector(), "template": template() } }),
    );
    set["spec"]["volumeClaimTemplates"] = json!([{ "metadata": { "name": "data" } }]);
    let created = created(&set);
    let lines: Vec<&str> = created.lines().filter(|line| line.contains("ClaimTemp")).collect();
    expect![[r#"
        + spec.volumeClaimTemplates[0].apiVersion: "v1"
        + spec.volumeClaimTemplates[0].kind: "PersistentVolumeClaim"
        + spec.volumeClaimTemplates[0].spec: {"resources":{},"volumeMode":"Filesystem"}
        + spec.volumeClaimTemplates[0].status: {"phase":"Pending"}"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn jobs_select_their_pods_by_uid() {
    let job = object("batch/v1", "Job", json!({ "spec": { "template": template() } }));
    let created = created(&job);
    let lines: Vec<&str> = created.lines().filter(|line| !line.contains("template.spec")).collect();
    expect![[r#"
        + metadata.generation: 1
        + metadata.labels: {"app":"web","batch.kubernetes.io/controller-uid":"u-1","batch.kubernetes.io/job-name":"one","controller-uid":"u-1","job-name":"one"}
        + spec.backoffLimit: 6
        + spec.completionMode: "NonIndexed"
        + spec.completions: 1
        + spec.manualSelector: false
        + spec.parallelism: 1
        + spec.podReplacementPolicy: "TerminatingOrFailed"
        + spec.selector: {"matchLabels":{"batch.kubernetes.io/controller-uid":"u-1"}}
        + spec.suspend: false
        + spec.template.metadata.labels.batch.kubernetes.io/controller-uid: "u-1"
        + spec.template.metadata.labels.batch.kubernetes.io/job-name: "one"
        + spec.template.metadata.labels.controller-uid: "u-1"
        + spec.template.metadata.labels.job-name: "one"
        + status: {}"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn services_get_addresses_and_ports() {
    for (spec, expected) in [
        (
            json!({ "ports": [{ "port": 80 }] }),
            expect![[r#"
            + spec.clusterIP: "10.96.0.7"
            + spec.clusterIPs: ["10.96.0.7"]
            + spec.internalTrafficPolicy: "Cluster"
            + spec.ipFamilies: ["IPv4"]
            + spec.ipFamilyPolicy: "SingleStack"
            + spec.ports[0].protocol: "TCP"
            + spec.ports[0].targetPort: 80
            + spec.sessionAffinity: "None"
            + spec.type: "ClusterIP"
            + status: {"loadBalancer":{}}
        "#]],
        ),
        (
            json!({ "clusterIP": "None", "ports": [{ "port": 80 }] }),
            expect![[r#"
            + spec.clusterIPs: ["None"]
            + spec.internalTrafficPolicy: "Cluster"
            + spec.ipFamilies: ["IPv4","IPv6"]
            + spec.ipFamilyPolicy: "RequireDualStack"
            + spec.ports[0].protocol: "TCP"
            + spec.ports[0].targetPort: 80
            + spec.sessionAffinity: "None"
            + spec.type: "ClusterIP"
            + status: {"loadBalancer":{}}
        "#]],
        ),
        (
            json!({ "type": "LoadBalancer", "ports": [{ "port": 80, "targetPort": "http" }] }),
            expect![[r#"
                + spec.allocateLoadBalancerNodePorts: true
                + spec.clusterIP: "10.96.0.7"
                + spec.clusterIPs: ["10.96.0.7"]
                + spec.externalTrafficPolicy: "Cluster"
                + spec.internalTrafficPolicy: "Cluster"
                + spec.ipFamilies: ["IPv4"]
                + spec.ipFamilyPolicy: "SingleStack"
                + spec.ports[0].nodePort: 30007
                + spec.ports[0].protocol: "TCP"
                + spec.sessionAffinity: "None"
                + status: {"loadBalancer":{}}
            "#]],
        ),
        (
            json!({ "type": "ExternalName", "externalName": "example.com" }),
            expect![[r#"
            + spec.sessionAffinity: "None"
            + status: {"loadBalancer":{}}
        "#]],
        ),
    ] {
        let service = object("v1", "Service", json!({ "spec": spec }));
        expected.assert_eq(&created(&service));
    }
}

#[test]
fn what_is_protected_from_deletion() {
    let namespace = object("v1", "Namespace", json!({}));
    expect![[r#"
        + metadata.labels: {"kubernetes.io/metadata.name":"one"}
        + spec: {"finalizers":["kubernetes"]}
        + status: {"phase":"Active"}
    "#]]
    .assert_eq(&created(&namespace));
    let amount = json!({ "storage": "1024Mi" });
    let volume = object(
        "v1",
        "PersistentVolume",
        json!({ "spec": { "capacity": amount, "hostPath": { "path": "/" } } }),
    );
    expect![[r#"
        + metadata.finalizers: ["kubernetes.io/pv-protection"]
        ~ spec.capacity.storage: "1024Mi" -> "1Gi"
        + spec.hostPath.type: ""
        + spec.persistentVolumeReclaimPolicy: "Retain"
        + spec.volumeMode: "Filesystem"
        + status: {"lastPhaseTransitionTime":"2030-01-01T00:00:00Z","phase":"Pending"}
    "#]]
    .assert_eq(&created(&volume));
    let claim = object(
        "v1",
        "PersistentVolumeClaim",
        json!({ "spec": {
            "resources": { "requests": amount },
            "dataSource": { "kind": "PersistentVolumeClaim", "name": "other" },
        } }),
    );
    expect![[r#"
        + metadata.finalizers: ["kubernetes.io/pvc-protection"]
        + spec.dataSource.apiGroup: null
        + spec.dataSourceRef: {"apiGroup":null,"kind":"PersistentVolumeClaim","name":"other"}
        ~ spec.resources.requests.storage: "1024Mi" -> "1Gi"
        + spec.storageClassName: "standard"
        + spec.volumeMode: "Filesystem"
        + status: {"phase":"Pending"}
    "#]]
    .assert_eq(&created(&claim));
}
