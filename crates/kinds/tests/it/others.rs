//! What the server makes of new objects of the smaller kinds.

use expect_test::expect;
use serde_json::json;

use crate::describe::{created, object};

#[test]
fn data_accounts_and_limits() {
    for (api_version, kind, fields, expected) in [
        ("v1", "ConfigMap", json!({ "data": { "a": "" } }), expect![[r#""#]]),
        (
            "v1",
            "Secret",
            json!({ "stringData": { "a": "b" } }),
            expect![[r#"
            + data: {"a":"Yg=="}
            - stringData: {"a":"b"}
            + type: "Opaque"
        "#]],
        ),
        (
            "v1",
            "ServiceAccount",
            json!({ "secrets": [{ "name": "a", "kind": "b" }] }),
            expect![[r#"
                - secrets[0].kind: "b"
            "#]],
        ),
        (
            "v1",
            "LimitRange",
            json!({ "spec": { "limits": [{
                "type": "Container",
                "max": { "cpu": "2" },
                "min": { "cpu": "1", "memory": "1Mi" },
            }] } }),
            expect![[r#"
                + spec.limits[0].default: {"cpu":"2"}
                + spec.limits[0].defaultRequest: {"cpu":"2","memory":"1Mi"}
            "#]],
        ),
    ] {
        expected.assert_eq(&created(&object(api_version, kind, fields)));
    }
}

#[test]
fn budgets_and_classes() {
    for (api_version, kind, fields, expected) in [
        (
            "policy/v1",
            "PodDisruptionBudget",
            json!({}),
            expect![[r#"
            + metadata.generation: 1
            + spec: {}
            + status: {"currentHealthy":0,"desiredHealthy":0,"disruptionsAllowed":0,"expectedPods":0}
        "#]],
        ),
        (
            "storage.k8s.io/v1",
            "StorageClass",
            json!({ "provisioner": "a" }),
            expect![[r#"
            + reclaimPolicy: "Delete"
            + volumeBindingMode: "Immediate"
        "#]],
        ),
        (
            "storage.k8s.io/v1",
            "CSIDriver",
            json!({ "spec": {} }),
            expect![[r#"
            + spec.attachRequired: true
            + spec.fsGroupPolicy: "ReadWriteOnceWithFSType"
            + spec.podInfoOnMount: false
            + spec.requiresRepublish: false
            + spec.seLinuxMount: false
            + spec.storageCapacity: false
            + spec.volumeLifecycleModes: ["Persistent"]
        "#]],
        ),
        (
            "scheduling.k8s.io/v1",
            "PriorityClass",
            json!({}),
            expect![[r#"
            + metadata.generation: 1
            + preemptionPolicy: "PreemptLowerPriority"
            + value: 0
        "#]],
        ),
    ] {
        expected.assert_eq(&created(&object(api_version, kind, fields)));
    }
}

#[test]
fn bindings_slices_and_requests() {
    for (api_version, kind, fields, expected) in [
        (
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            json!({ "roleRef": { "kind": "Role", "name": "r" }, "subjects": [
                { "kind": "User", "name": "u" },
                { "kind": "ServiceAccount", "name": "s" },
            ] }),
            expect![[r#"
                + roleRef.apiGroup: "rbac.authorization.k8s.io"
                + subjects[0].apiGroup: "rbac.authorization.k8s.io"
            "#]],
        ),
        (
            "discovery.k8s.io/v1",
            "EndpointSlice",
            json!({ "addressType": "IPv4", "ports": [{ "port": 80 }] }),
            expect![[r#"
                + endpoints: null
                + metadata.generation: 1
                + ports[0].name: ""
                + ports[0].protocol: "TCP"
            "#]],
        ),
        (
            "certificates.k8s.io/v1",
            "CertificateSigningRequest",
            json!({
                "spec": { "request": "YQ==", "signerName": "a/b", "username": "eve" },
                "status": { "certificate": "YQ==" },
            }),
            expect![[r#"
                + spec.groups: ["system:masters"]
                + spec.uid: "7"
                ~ spec.username: "eve" -> "ada"
                - status.certificate: "YQ=="
            "#]],
        ),
    ] {
        expected.assert_eq(&created(&object(api_version, kind, fields)));
    }
}

#[test]
fn extensions_of_the_api() {
    for (api_version, kind, fields, expected) in [
        (
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            json!({ "spec": {
                "group": "example.com",
                "names": { "plural": "foos", "kind": "Foo" },
                "versions": [{ "name": "v1", "served": true, "storage": true }],
            } }),
            expect![[r#"
                + metadata.generation: 1
                + spec.conversion: {"strategy":"None"}
                + spec.names.listKind: "FooList"
                + spec.names.singular: "foo"
                + spec.scope: ""
                + status: {"acceptedNames":{"kind":"","plural":""},"conditions":null,"storedVersions":["v1"]}
            "#]],
        ),
        (
            "admissionregistration.k8s.io/v1",
            "MutatingWebhookConfiguration",
            json!({ "webhooks": [{
                "name": "a.example.com",
                "clientConfig": { "service": { "name": "s", "namespace": "n" } },
                "rules": [{ "operations": ["CREATE"] }],
            }] }),
            expect![[r#"
                + metadata.generation: 1
                + webhooks[0].admissionReviewVersions: null
                + webhooks[0].clientConfig.service.port: 443
                + webhooks[0].failurePolicy: "Fail"
                + webhooks[0].matchPolicy: "Equivalent"
                + webhooks[0].namespaceSelector: {}
                + webhooks[0].objectSelector: {}
                + webhooks[0].reinvocationPolicy: "Never"
                + webhooks[0].rules[0].scope: "*"
                + webhooks[0].sideEffects: null
                + webhooks[0].timeoutSeconds: 10
            "#]],
        ),
    ] {
        expected.assert_eq(&created(&object(api_version, kind, fields)));
    }
}

#[test]
fn autoscalers_and_network_policies() {
    for (api_version, kind, fields, expected) in [
        (
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            json!({ "spec": { "maxReplicas": 3, "behavior": { "scaleDown": {} } } }),
            expect![[r#"
                + spec.behavior.scaleDown.policies: [{"periodSeconds":15,"type":"Percent","value":100}]
                + spec.behavior.scaleDown.selectPolicy: "Max"
                + spec.behavior.scaleUp: {"policies":[{"periodSeconds":15,"type":"Pods","value":4},{"periodSeconds":15,"type":"Percent","value":100}],"selectPolicy":"Max","stabilizationWindowSeconds":0}
                + spec.metrics: [{"resource":{"name":"cpu","target":{"averageUtilization":80,"type":"Utilization"}},"type":"Resource"}]
                + spec.minReplicas: 1
                + spec.scaleTargetRef: {"kind":"","name":""}
                + status: {"currentMetrics":null,"desiredReplicas":0}
            "#]],
        ),
        (
            "networking.k8s.io/v1",
            "NetworkPolicy",
            json!({ "spec": { "egress": [{ "ports": [{ "port": 80 }] }] } }),
            expect![[r#"
                + metadata.generation: 1
                + spec.egress[0].ports[0].protocol: "TCP"
                + spec.podSelector: {}
                + spec.policyTypes: ["Ingress","Egress"]
            "#]],
        ),
    ] {
        expected.assert_eq(&created(&object(api_version, kind, fields)));
    }
}
