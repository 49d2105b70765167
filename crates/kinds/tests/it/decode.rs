//! Decoding: what is dropped, kept, rewritten and refused.

use expect_test::{Expect, expect};
use joiner_kinds::{normalize, normalize_kind, normalize_merged};
use serde_json::{Value, json};

use crate::describe::{changes, resource_of};

fn pod(spec: Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a" }, "spec": spec })
}

fn container(fields: Value) -> Value {
    pod(json!({ "containers": [fields] }))
}

fn check(object: &Value, expected: &Expect) {
    let mut decoded = object.clone();
    let text = match normalize(resource_of(object), &mut decoded) {
        Ok(noticed) => noticed.warnings().join("\n") + "\n" + &changes(object, &decoded),
        Err(error) => error.refusal(resource_of(object)),
    };
    expected.assert_eq(text.trim_start());
}

#[test]
fn unknown_fields_are_dropped_and_named() {
    let object = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": "a" },
        "spec": {
            "containers": [{ "name": "a", "foo": 1 }],
            "tolerations": [{}, { "x": {} }],
            "zoo": {},
        },
        "aaa": 1,
    });
    check(
        &object,
        &expect![[r#"
        unknown field "aaa"
        unknown field "spec.containers[0].foo"
        unknown field "spec.tolerations[1].x"
        unknown field "spec.zoo"
        - aaa: 1
        - spec.containers[0].foo: 1
        + spec.containers[0].resources: {}
        - spec.tolerations[1].x: {}
        - spec.zoo: {}
        + status: {}
    "#]],
    );
    let noticed = normalize(resource_of(&object), &mut object.clone()).expect("decodes");
    let refusal = noticed.strict().expect_err("unknown fields").refusal(resource_of(&object));
    expect![[r#"Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "aaa", unknown field "spec.containers[0].foo", unknown field "spec.tolerations[1].x", unknown field "spec.zoo""#]].assert_eq(&refusal);
}

#[test]
fn empty_values_are_dropped_unless_they_mean_something() {
    check(
        &pod(json!({
            "containers": [{ "name": "", "image": "", "tty": false, "env": [], "stdin": true }],
            "nodeSelector": {},
            "hostNetwork": false,
            "priority": 0,
            "activeDeadlineSeconds": 0,
            "securityContext": {},
            "hostUsers": null,
            "volumes": [{ "name": "a", "emptyDir": {} }, null],
        })),
        &expect![[r#"
            - spec.containers[0].env: []
            - spec.containers[0].image: ""
            + spec.containers[0].resources: {}
            - spec.containers[0].tty: false
            - spec.hostNetwork: false
            - spec.hostUsers: null
            - spec.nodeSelector: {}
            ~ spec.volumes[1]: null -> {"name":""}
            + status: {}
        "#]],
    );
}

#[test]
fn kinds_fill_in_what_go_always_writes() {
    for (object, expected) in [
        (
            json!({ "apiVersion": "v1", "kind": "Pod" }),
            expect![[r#"
            + metadata: {}
            + spec: {"containers":null}
            + status: {}
        "#]],
        ),
        (
            json!({ "apiVersion": "apps/v1", "kind": "DaemonSet" }),
            expect![[r#"
                + metadata: {"annotations":{"deprecated.daemonset.template.generation":"0"}}
                + spec: {"selector":null,"template":{"metadata":{},"spec":{"containers":null}},"updateStrategy":{}}
                + status: {"currentNumberScheduled":0,"desiredNumberScheduled":0,"numberMisscheduled":0,"numberReady":0}
            "#]],
        ),
        (
            json!({ "apiVersion": "v1", "kind": "Event" }),
            expect![[r#"
            + eventTime: null
            + firstTimestamp: null
            + involvedObject: {}
            + lastTimestamp: null
            + metadata: {}
            + reportingComponent: ""
            + reportingInstance: ""
            + source: {}
        "#]],
        ),
        (
            json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": [] }),
            expect![[r#"
                + metadata: {}
                ~ rules: [] -> null
            "#]],
        ),
        (
            json!({ "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice" }),
            expect![[r#"
            + addressType: ""
            + endpoints: null
            + metadata: {}
            + ports: null
        "#]],
        ),
    ] {
        check(&object, &expected);
    }
}

#[test]
fn amounts_times_and_bytes_are_rewritten() {
    check(
        &container(json!({
            "name": "a",
            "resources": { "requests": { "cpu": "1000m", "memory": "1024Mi", "x/y": 2 } },
        })),
        &expect![[r#"
            ~ spec.containers[0].resources.requests.cpu: "1000m" -> "1"
            ~ spec.containers[0].resources.requests.memory: "1024Mi" -> "1Gi"
            ~ spec.containers[0].resources.requests.x/y: 2 -> "2"
            + status: {}
        "#]],
    );
    check(
        &json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": { "name": "a", "creationTimestamp": "2030-01-01T02:00:00.5+02:00" },
            "spec": { "renewTime": "2030-01-01T00:00:00.123456+02:00" },
        }),
        &expect![[r#"
            ~ metadata.creationTimestamp: "2030-01-01T02:00:00.5+02:00" -> "2030-01-01T00:00:00Z"
            ~ spec.renewTime: "2030-01-01T00:00:00.123456+02:00" -> "2029-12-31T22:00:00.123456Z"
        "#]],
    );
    check(
        &json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": { "name": "a" },
            "data": { "a": "YWI=\n", "b": null, "c": [1, 2], "d": "eA==" },
            "stringData": { "d": "é" },
        }),
        &expect![[r#"
            ~ data.a: "YWI=\n" -> "YWI="
            ~ data.b: null -> ""
            ~ data.c: [1,2] -> "AQI="
            ~ data.d: "eA==" -> "w6k="
            - stringData: {"d":"é"}
        "#]],
    );
}

#[test]
fn two_names_of_one_thing_are_brought_in_line() {
    check(
        &pod(json!({ "containers": [], "serviceAccount": "old" })),
        &expect![[r#"
        ~ spec.containers: [] -> null
        + spec.serviceAccountName: "old"
        + status: {}
    "#]],
    );
    check(
        &json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": { "name": "a" },
            "spec": { "podCIDR": "10.0.0.0/24" },
        }),
        &expect![[r#"
            + spec.podCIDRs: ["10.0.0.0/24"]
            + status: {"daemonEndpoints":{"kubeletEndpoint":{"Port":0}},"nodeInfo":{"architecture":"","bootID":"","containerRuntimeVersion":"","kernelVersion":"","kubeProxyVersion":"","kubeletVersion":"","machineID":"","operatingSystem":"","osImage":"","systemUUID":""}}
        "#]],
    );
    check(
        &json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": { "name": "a" },
            "spec": { "containers": [], "terminationGracePeriodSeconds": -3 },
            "status": { "podIPs": [{ "ip": "10.0.0.1" }] },
        }),
        &expect![[r#"
            ~ spec.containers: [] -> null
            ~ spec.terminationGracePeriodSeconds: -3 -> 1
            + status.podIP: "10.0.0.1"
        "#]],
    );
}

#[test]
fn wrong_types_are_refused_in_gos_words() {
    for (object, expected) in [
        (
            pod(json!({ "priority": "x" })),
            expect![[
                r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field PodSpec.spec.priority of type int32"#
            ]],
        ),
        (
            pod(json!({ "priority": 1.5 })),
            expect![[
                r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number 1.5 into Go struct field PodSpec.spec.priority of type int32"#
            ]],
        ),
        (
            pod(json!({ "priority": 99_999_999_999_i64 })),
            expect![[
                r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number 99999999999 into Go struct field PodSpec.spec.priority of type int32"#
            ]],
        ),
        (
            pod(json!({ "restartPolicy": 3 })),
            expect![[
                r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field PodSpec.spec.restartPolicy of type v1.RestartPolicy"#
            ]],
        ),
        (
            pod(json!({ "nodeSelector": { "a": 1 } })),
            expect![[
                r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field PodSpec.spec.nodeSelector of type string"#
            ]],
        ),
        (
            pod(json!({ "nodeSelector": ["a"] })),
            expect![[
                r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal array into Go struct field PodSpec.spec.nodeSelector of type map[string]string"#
            ]],
        ),
        (
            pod(json!({ "tolerations": { "a": 1 } })),
            expect![[
                r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal object into Go struct field PodSpec.spec.tolerations of type []v1.Toleration"#
            ]],
        ),
        (
            pod(json!({ "tolerations": ["x"] })),
            expect![[
                r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field PodSpec.spec.tolerations of type v1.Toleration"#
            ]],
        ),
        (
            pod(json!({ "affinity": "x" })),
            expect![[
                r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field PodSpec.spec.affinity of type v1.Affinity"#
            ]],
        ),
        (
            container(json!({ "ports": [{ "containerPort": "80" }] })),
            expect![[
                r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32"#
            ]],
        ),
        (
            container(json!({ "resources": { "requests": 3 } })),
            expect![[
                r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field ResourceRequirements.spec.containers.resources.requests of type v1.ResourceList"#
            ]],
        ),
        (
            container(json!({ "livenessProbe": { "httpGet": { "port": true } } })),
            expect![[
                r#"Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal bool into Go struct field HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32"#
            ]],
        ),
        (
            container(json!({ "resources": { "limits": { "cpu": "x" } } })),
            expect![[
                r#"Pod in version "v1" cannot be handled as a Pod: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"#
            ]],
        ),
        (
            container(json!({ "resources": { "limits": { "cpu": "1x" } } })),
            expect![[
                r#"Pod in version "v1" cannot be handled as a Pod: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"#
            ]],
        ),
        (
            container(json!({ "resources": { "limits": { "cpu": "1KI" } } })),
            expect![[
                r#"Pod in version "v1" cannot be handled as a Pod: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"#
            ]],
        ),
    ] {
        check(&object, &expected);
    }
}

/// A value that decodes itself ends decoding; a value of the wrong type does not.
#[test]
fn the_refusal_of_an_amount_comes_before_that_of_a_type() {
    check(
        &pod(json!({ "activeDeadlineSeconds": "x", "overhead": { "cpu": "zzz" } })),
        &expect![[
            r#"Pod in version "v1" cannot be handled as a Pod: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"#
        ]],
    );
}

/// What patches make is converted value by value, in the order of Go's fields.
#[test]
fn merged_objects_are_refused_in_other_words() {
    let maps = joiner_kinds::find("", "v1", "configmaps").expect("config maps");
    let deployments = joiner_kinds::find("apps", "v1", "deployments").expect("deployments");
    for (resource, object, refusal) in [
        (maps, json!({ "metadata": "text" }), "cannot restore struct from: string"),
        (maps, json!({ "metadata": { "labels": ["a"] } }), "cannot restore map from slice"),
        (maps, json!({ "metadata": { "namespace": 5 } }), "cannot convert int64 to string"),
        (maps, json!({ "data": { "a": {} }, "immutable": "yes" }), "unrecognized type: bool"),
        (
            maps,
            json!({ "binaryData": { "a": "not base64!" } }),
            "error decoding from json: illegal base64 data at input byte 3",
        ),
        (deployments, json!({ "spec": { "replicas": 1.5 } }), "cannot convert float64 to int32"),
    ] {
        let mut merged = object.clone();
        let error = normalize_merged(resource, &mut merged).expect_err("a wrong type");
        assert_eq!(error.to_string(), refusal, "{object}");
    }
    let mut merged = json!({ "spec": { "replicas": 99_999_999_999_i64 } });
    normalize_merged(deployments, &mut merged).expect("what is too large is cut off");
    assert_eq!(merged["spec"]["replicas"], 1_215_752_191);
}

#[test]
fn fields_of_features_that_are_off_are_dropped_silently() {
    check(
        &container(json!({ "name": "a", "lifecycle": { "stopSignal": "SIGTERM" } })),
        &expect![[r#"
            - spec.containers[0].lifecycle.stopSignal: "SIGTERM"
            + spec.containers[0].resources: {}
            + status: {}
        "#]],
    );
}

#[test]
fn bodies_of_subresources_are_decoded_too() {
    for (group, kind, body) in [
        ("autoscaling", "Scale", json!({ "spec": { "replicas": 0 } })),
        ("policy", "Eviction", json!({ "deleteOptions": { "gracePeriodSeconds": 0 } })),
        ("meta.k8s.io", "DeleteOptions", json!({ "propagationPolicy": "Orphan", "x": 1 })),
        ("authentication.k8s.io", "TokenRequest", json!({ "spec": { "expirationSeconds": 1 } })),
    ] {
        let mut decoded = body.clone();
        let noticed = normalize_kind(group, "v1", kind, &mut decoded).expect("decodes");
        assert_eq!(noticed.unknown.len(), body.get("x").into_iter().count(), "{kind}");
    }
    let mut scale = json!({ "spec": { "replicas": "x" } });
    let error = normalize_kind("autoscaling", "v1", "Scale", &mut scale).expect_err("no number");
    expect![
        "json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32"
    ]
    .assert_eq(&error.to_string());
}

#[test]
fn what_is_no_object_is_refused() {
    for value in [json!([]), json!(3), json!("x"), Value::Null] {
        let pods = joiner_kinds::find("", "v1", "pods").expect("pods");
        normalize(pods, &mut value.clone()).expect_err("no object");
    }
}
