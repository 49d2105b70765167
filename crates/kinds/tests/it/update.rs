//! What an update can change, by endpoint.

use expect_test::expect;
use serde_json::{Value, json};

use crate::describe::updated;

fn pod() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": "one" },
        "spec": { "containers": [{ "name": "a", "image": "web:1" }] },
    })
}

fn workload(kind: &str) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": { "name": "one" },
        "spec": {
            "selector": { "matchLabels": { "app": "web" } },
            "template": { "metadata": { "labels": { "app": "web" } }, "spec": pod()["spec"] },
        },
    })
}

#[test]
fn the_main_endpoint_changes_the_wish_not_the_state() {
    expect![[r#"
        ~ metadata.generation: 1 -> 2
        ~ spec.replicas: 1 -> 3
    "#]]
    .assert_eq(&updated(&workload("Deployment"), None, |deployment| {
        deployment["spec"]["replicas"] = 3.into();
        deployment["status"]["replicas"] = 3.into();
        deployment["metadata"]["generation"] = 99.into();
    }));
    expect![[r#"
        + metadata.annotations: {"a":"b"}
        ~ metadata.generation: 1 -> 2
    "#]]
    .assert_eq(&updated(&workload("Deployment"), None, |deployment| {
        deployment["metadata"]["annotations"] = json!({ "a": "b" });
    }));
    expect![[r#"
        + metadata.annotations: {"a":"b"}
    "#]]
    .assert_eq(&updated(&workload("ReplicaSet"), None, |set| {
        set["metadata"]["annotations"] = json!({ "a": "b" });
    }));
}

#[test]
fn the_status_endpoint_changes_the_state_not_the_wish() {
    expect![[r#"
        + metadata.annotations: {"a":"b"}
        + status.replicas: 3
    "#]]
    .assert_eq(&updated(&workload("Deployment"), Some("status"), |deployment| {
        deployment["spec"]["replicas"] = 3.into();
        deployment["status"]["replicas"] = 3.into();
        deployment["metadata"]["labels"] = json!({ "a": "b" });
        deployment["metadata"]["annotations"] = json!({ "a": "b" });
    }));
    expect![[r#"
        ~ status.phase: "Pending" -> "Running"
        + status.podIP: "10.0.0.1"
        + status.podIPs: [{"ip":"10.0.0.1"}]
    "#]]
    .assert_eq(&updated(&pod(), Some("status"), |pod| {
        pod["status"] = json!({ "phase": "Running", "podIP": "10.0.0.1" });
        pod["spec"]["nodeName"] = "n".into();
        pod["metadata"]["ownerReferences"] = json!([{ "name": "x" }]);
    }));
}

#[test]
fn a_daemon_set_counts_its_templates() {
    expect![[r#"
        ~ metadata.annotations.deprecated.daemonset.template.generation: "1" -> "2"
        ~ metadata.generation: 1 -> 2
        + spec.template.spec.nodeName: "n"
    "#]]
    .assert_eq(&updated(&workload("DaemonSet"), None, |set| {
        set["spec"]["template"]["spec"]["nodeName"] = "n".into();
    }));
    expect![[r#"
        ~ metadata.generation: 1 -> 2
        + spec.minReadySeconds: 5
    "#]]
    .assert_eq(&updated(&workload("DaemonSet"), None, |set| {
        set["spec"]["minReadySeconds"] = 5.into();
        set["metadata"].as_object_mut().expect("metadata").remove("annotations");
    }));
}

#[test]
fn a_pod_keeps_what_admission_settled() {
    expect![[r#"
        ~ metadata.generation: 1 -> 2
        ~ spec.containers[0].image: "web:1" -> "web:2"
    "#]]
    .assert_eq(&updated(&pod(), None, |pod| {
        let spec = pod["spec"].as_object_mut().expect("a spec");
        for field in ["priority", "preemptionPolicy", "tolerations"] {
            spec.remove(field);
        }
        pod["spec"]["containers"][0]["image"] = "web:2".into();
    }));
}

#[test]
fn endpoints_of_pods_change_one_thing_each() {
    let change = |pod: &mut Value| {
        pod["metadata"]["labels"] = json!({ "a": "b" });
        pod["spec"]["nodeName"] = "n".into();
        pod["spec"]["ephemeralContainers"] = json!([{ "name": "e", "image": "debug:1" }]);
        pod["spec"]["containers"][0]["resources"] = json!({ "requests": { "cpu": "1" } });
    };
    expect![[r#"
        ~ metadata.generation: 1 -> 2
        + spec.ephemeralContainers: [{"image":"debug:1","imagePullPolicy":"IfNotPresent","name":"e","resources":{},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}]
    "#]].assert_eq(&updated(&pod(), Some("ephemeralcontainers"), change));
    expect![[r#"
        ~ metadata.generation: 1 -> 2
        + spec.containers[0].resources.requests: {"cpu":"1"}
    "#]]
    .assert_eq(&updated(&pod(), Some("resize"), change));
}

#[test]
fn a_service_keeps_its_address() {
    let service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": "one" },
        "spec": { "ports": [{ "port": 80 }], "type": "NodePort" },
    });
    expect![[r#"
        ~ spec.ports[0].port: 80 -> 81
        ~ spec.ports[0].targetPort: 80 -> 81
    "#]]
    .assert_eq(&updated(&service, None, |service| {
        service["spec"] = json!({ "ports": [{ "port": 81 }], "type": "NodePort" });
    }));
    expect![[r#"
        - spec.externalTrafficPolicy: "Cluster"
        - spec.ports[0].nodePort: 30007
        ~ spec.type: "NodePort" -> "ClusterIP"
    "#]]
    .assert_eq(&updated(&service, None, |service| {
        service["spec"]["type"] = "ClusterIP".into();
    }));
    expect![[r#"
        - spec.clusterIP: "10.96.0.7"
        - spec.clusterIPs: ["10.96.0.7"]
        + spec.externalName: "example.com"
        - spec.externalTrafficPolicy: "Cluster"
        - spec.internalTrafficPolicy: "Cluster"
        - spec.ipFamilies: ["IPv4"]
        - spec.ipFamilyPolicy: "SingleStack"
        - spec.ports[0].nodePort: 30007
        ~ spec.type: "NodePort" -> "ExternalName"
    "#]]
    .assert_eq(&updated(&service, None, |service| {
        service["spec"]["type"] = "ExternalName".into();
        service["spec"]["externalName"] = "example.com".into();
    }));
}

#[test]
fn the_approval_of_a_request_is_its_conditions() {
    let request = json!({
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": { "name": "one" },
        "spec": { "request": "YQ==", "signerName": "a/b", "usages": ["client auth"] },
    });
    let decide = |request: &mut Value| {
        request["spec"]["signerName"] = "c/d".into();
        request["status"]["certificate"] = "YQ==".into();
        request["status"]["conditions"] = json!([{ "type": "Approved", "status": "True" }]);
    };
    expect![[r#"
        + status.conditions: [{"lastTransitionTime":"2030-01-01T00:00:00Z","lastUpdateTime":"2030-01-01T00:00:00Z","status":"True","type":"Approved"}]
    "#]].assert_eq(&updated(&request, Some("approval"), decide));
    expect![[r#""#]].assert_eq(&updated(&request, None, decide));
}

#[test]
fn finalizers_of_a_namespace_have_their_own_endpoint() {
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "one" } });
    let change = |namespace: &mut Value| {
        namespace["spec"]["finalizers"] = json!([]);
        namespace["status"]["phase"] = "Terminating".into();
    };
    expect![[r#""#]].assert_eq(&updated(&namespace, None, change));
    expect![[r#"
        - spec.finalizers: ["kubernetes"]
    "#]]
    .assert_eq(&updated(&namespace, Some("finalize"), change));
}

#[test]
fn a_volume_notes_when_its_phase_changed() {
    let volume = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": { "name": "one" },
        "spec": { "hostPath": { "path": "/" } },
    });
    expect![[r#"
        ~ status.phase: "Pending" -> "Available"
    "#]]
    .assert_eq(&updated(&volume, Some("status"), |volume| {
        volume["status"] = json!({ "phase": "Available" });
    }));
    expect![[r#"
        + status.message: "m"
    "#]]
    .assert_eq(&updated(&volume, Some("status"), |volume| {
        volume["status"] = json!({ "phase": "Pending", "message": "m" });
    }));
}
