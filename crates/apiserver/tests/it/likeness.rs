//! What the real server was seen to answer, and so does this one.

use bytes::Bytes;
use joiner_apiserver::Server;
use serde_json::{Value, json};

use crate::support::{Answer, send, send_as, server};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const GADGETS: &str = "/apis/example.com/v1/gadgets";
const OLD_GADGETS: &str = "/apis/example.com/v1beta1/gadgets";

/// A server with one config map and a kind of two versions whose objects are stored in the first.
async fn furnished() -> Server {
    let server = server();
    let map = json!({"metadata": {"name": "a"}, "data": {"k": "v"}});
    created(send(&server, &format!("POST {CONFIG_MAPS}"), map).await);
    let version = |name: &str, stored: bool, spec: Value| {
        json!({
            "name": name, "served": true, "storage": stored,
            "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": spec}},
            }},
        })
    };
    let definition = json!({
        "metadata": {"name": "gadgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Cluster",
            "names": {
                "kind": "Gadget", "listKind": "GadgetList", "plural": "gadgets",
                "singular": "gadget",
            },
            "versions": [
                version("v1", true, json!({
                    "size": {"type": "string", "default": "small"},
                    "count": {"type": "integer"},
                })),
                version("v1beta1", false, json!({
                    "count": {"type": "integer"}, "old": {"type": "string"},
                })),
            ],
        },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    created(send(&server, &format!("POST {definitions}"), definition).await);
    server
}

fn created(answer: Answer) -> Answer {
    assert_eq!(answer.code, 201, "{answer:?}");
    answer
}

/// Sends requests that are refused: method and path, media type, body, and the refusal.
async fn refused(cases: &[(&str, &str, &str, &str)]) {
    let server = furnished().await;
    for (line, kind, body, expected) in cases {
        let body = Bytes::copy_from_slice(body.as_bytes());
        let answer = send_as(&server, line, kind, body).await;
        assert_eq!(answer.refusal(), *expected, "{line} [{kind}]");
    }
}

#[tokio::test(start_paused = true)]
async fn bodies_are_refused_for_the_first_thing_that_is_wrong() {
    let json = "application/json";
    refused(&[
        (
            "POST /api/v1/namespaces/default/configmaps",
            "application/xml",
            "{",
            "415 UnsupportedMediaType the body of the request was in an unknown format - accepted \
             media types include: application/json, application/yaml, \
             application/vnd.kubernetes.protobuf",
        ),
        (
            "POST /api/v1/namespaces/default/configmaps",
            json,
            r#"{"apiVersion":1,"kind":"ConfigMap","data":5}"#,
            "400 BadRequest the object provided is unrecognized (must be of type ConfigMap): \
             couldn't get version/kind; json parse error: json: cannot unmarshal number into Go \
             struct field .apiVersion of type string ({\"apiVersion\":1,\"kind\":\"Config ...)",
        ),
        (
            "POST /api/v1/namespaces/default/configmaps",
            json,
            r#"{"apiversion":"x","kind":"ConfigMap","data":5}"#,
            "400 BadRequest ConfigMap in version \"x\" cannot be handled as a ConfigMap: no kind \
             \"ConfigMap\" is registered for version \"x\" in scheme \"pkg/runtime/scheme.go:111\"",
        ),
        (
            "POST /api/v1/namespaces/default/configmaps?fieldValidation=Strict",
            json,
            r#"{"data":{},"spec":{},"metadata":{"name":"b"},"data":{"k":"v"}}"#,
            "400 BadRequest ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict \
             decoding error: unknown field \"spec\", duplicate field \"data\"",
        ),
        (
            "POST /apis/example.com/v1/gadgets",
            json,
            r#"{"metadata":{"name":"b"}}"#,
            "400 BadRequest the object provided is unrecognized (must be of type Gadget): Object \
             'Kind' is missing in '{\"metadata\":{\"name\":\"b\"}}' ({\"metadata\":{\"name\":\"b\"}})",
        ),
        (
            "POST /apis/example.com/v1/gadgets",
            json,
            r#"{"apiVersion":"example.com/v1beta1","kind":"Gadget","metadata":{"name":"b"}}"#,
            "400 BadRequest the API version in the data (example.com/v1beta1) does not match the \
             expected API version (example.com/v1)",
        ),
        (
            "DELETE /api/v1/namespaces/default/configmaps/a",
            json,
            r#"{"gracePeriodSeconds":"x"}"#,
            "400 BadRequest json: cannot unmarshal string into Go struct field \
             DeleteOptions.gracePeriodSeconds of type int64",
        ),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn fields_that_are_kept_as_text_may_be_there_twice() {
    let server = furnished().await;
    let revision = br#"{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"a"},
        "data":{"a":"1","a":"2"},"revision":1}"#;
    let line = "POST /apis/apps/v1/namespaces/default/controllerrevisions?fieldValidation=Strict";
    created(send_as(&server, line, "application/json", Bytes::from_static(revision)).await);
}

#[tokio::test(start_paused = true)]
async fn patches_are_refused_with_what_they_would_have_made() {
    let merge = "application/merge-patch+json";
    refused(&[
        (
            "PATCH /api/v1/namespaces/default/configmaps/b",
            "application/json-patch+json",
            "[{",
            "404 NotFound configmaps \"b\" not found",
        ),
        (
            "PATCH /api/v1/namespaces/default/configmaps/a",
            "application/json-patch+json",
            "[{",
            "400 BadRequest error decoding patch: unexpected end of JSON input",
        ),
        (
            "PATCH /api/v1/namespaces/default/configmaps/a",
            "text/plain",
            "{}",
            "415 UnsupportedMediaType 415: Unsupported Media Type",
        ),
        (
            "PATCH /apis/example.com/v1/gadgets/b",
            "application/strategic-merge-patch+json",
            "{}",
            "415 UnsupportedMediaType the body of the request was in an unknown format - accepted \
             media types include: application/json-patch+json, application/merge-patch+json, \
             application/apply-patch+yaml",
        ),
        (
            "PATCH /api/v1/namespaces/default/configmaps/b?fieldManager=m",
            "application/apply-patch+yaml",
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","uid":"1-2"}}"#,
            "409 Conflict Operation cannot be fulfilled on configmaps \"b\": uid mismatch: the \
             provided object specified uid 1-2, and no existing object was found",
        ),
        (
            "PATCH /api/v1/namespaces/default/configmaps/b?fieldManager=m",
            "application/apply-patch+yaml",
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","resourceVersion":"x"}}"#,
            "500  strconv.ParseUint: parsing \"x\": invalid syntax",
        ),
    ])
    .await;
    let server = furnished().await;
    let patch = Bytes::from_static(br#"{"data":"text"}"#);
    let answer = send_as(&server, &format!("PATCH {CONFIG_MAPS}/a"), merge, patch).await;
    assert_eq!((answer.code, answer.text("/reason")), (422, "Invalid"));
    let told = answer.text("/details/causes/0/message");
    assert!(
        told.starts_with("Invalid value: \"{\\\"apiVersion\\\":\\\"v1\\\",\\\"data\\\":"),
        "{told}"
    );
    assert!(
        told.ends_with(
            "cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string"
        ),
        "{told}"
    );
}

#[tokio::test(start_paused = true)]
async fn paths_and_selectors_lead_where_the_real_ones_do() {
    refused(&[
        (
            "GET /api/v1/namespaces/default/configmaps/%2e%2e",
            "",
            "",
            "400 BadRequest Name parameter invalid: \"..\": may not be '..'",
        ),
        (
            "GET /api/v1/namespaces/default/configmaps/a%20b",
            "",
            "",
            "404 NotFound configmaps \"a b\" not found",
        ),
        (
            "GET /api/v1/namespaces/default/configmaps?labelSelector=app%3Dweb,",
            "",
            "",
            "400 BadRequest found '', expected: identifier after ','",
        ),
        (
            "GET /apis/example.com/v1/gadgets?fieldSelector=metadata.namespace%3Dx",
            "",
            "",
            "400 BadRequest field label not supported: metadata.namespace",
        ),
        ("PUT /apis/example.com/v1/gadgets", "", "{}", "400 BadRequest name must be provided"),
        (
            "OPTIONS /apis/example.com/v1/gadgets",
            "",
            "",
            "405 MethodNotAllowed  is not supported on resources of kind \"gadgets.example.com\"",
        ),
        (
            "GET /apis/apps/v9/deployments",
            "",
            "",
            "404 NotFound the server could not find the requested resource",
        ),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_custom_resource_is_stored_in_one_version_and_shown_in_all() {
    let server = furnished().await;
    let old = json!({
        "apiVersion": "example.com/v1beta1", "kind": "Gadget", "metadata": {"name": "g"},
        "spec": {"count": 5, "old": "x"},
    });
    let answer = created(send(&server, &format!("POST {OLD_GADGETS}"), old).await);
    assert_eq!(answer.body["spec"], json!({"count": 5}), "what the stored version has");
    let answer = send(&server, &format!("GET {GADGETS}/g"), Value::Null).await;
    assert_eq!(answer.body["spec"], json!({"count": 5, "size": "small"}));
    let list = send(&server, &format!("GET {OLD_GADGETS}"), Value::Null).await;
    assert_eq!(list.body["items"][0]["spec"], json!({"count": 5}), "{list:?}");
    assert_eq!(list.text("/items/0/apiVersion"), "example.com/v1beta1");
}

#[tokio::test(start_paused = true)]
async fn an_applied_null_stays_and_a_sent_one_does_not() {
    let server = furnished().await;
    let object = |name: &str| {
        json!({
            "apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": name},
            "spec": {"count": null, "size": null},
        })
    };
    let sent = created(send(&server, &format!("POST {GADGETS}"), object("sent")).await);
    assert_eq!(sent.body["spec"], json!({"size": "small"}));
    let line = format!("PATCH {GADGETS}/applied?fieldManager=m");
    let body = Bytes::from(object("applied").to_string());
    let applied = send_as(&server, &line, "application/apply-patch+yaml", body).await;
    assert_eq!(
        applied.refusal(),
        "422 Invalid Gadget.example.com \"applied\" is invalid: spec.count: Invalid value: \
         \"null\": spec.count in body must be of type integer: \"null\""
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_sent_empty_is_owned_and_not_stored() {
    let server = furnished().await;
    let role = json!({"metadata": {"name": "r"}, "rules": []});
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let answer = created(send(&server, &format!("POST {roles}"), role).await);
    assert_eq!(answer.body["rules"], Value::Null);
    assert_eq!(answer.body["metadata"]["managedFields"][0]["fieldsV1"], json!({"f:rules": {}}));
}

#[tokio::test(start_paused = true)]
async fn an_update_keeps_the_times_and_refuses_another_identity() {
    let server = furnished().await;
    let patch = json!({"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z"}});
    let answer = send(&server, &format!("PATCH {CONFIG_MAPS}/a"), patch).await;
    assert_eq!(answer.text("/metadata/creationTimestamp"), "2026-01-01T00:00:00Z");
    let patch = json!({"metadata": {"uid": "1-2"}});
    let answer = send(&server, &format!("PATCH {CONFIG_MAPS}/a"), patch).await;
    assert_eq!(
        answer.refusal(),
        "422 Invalid ConfigMap \"a\" is invalid: metadata.uid: Invalid value: \"1-2\": field is \
         immutable"
    );
    let causes = answer.body["details"]["causes"].as_array().map(Vec::len);
    assert_eq!(causes, Some(2), "the server looks at metadata, and so does the kind");
}

#[tokio::test(start_paused = true)]
async fn warnings_come_with_refusals_too() {
    let server = furnished().await;
    let map = json!({"metadata": {"name": "Bad_Name"}, "spec": {}});
    let answer = send(&server, &format!("POST {CONFIG_MAPS}"), map).await;
    assert_eq!(answer.code, 422);
    assert_eq!(answer.warnings, ["299 - \"unknown field \\\"spec\\\"\""]);
    let job =
        send(&server, "DELETE /apis/batch/v1/namespaces/default/jobs/none", Value::Null).await;
    assert_eq!(job.code, 404);
    assert!(job.warnings[0].contains("child pods are preserved by default"), "{job:?}");
}

#[tokio::test(start_paused = true)]
async fn a_scale_of_zero_takes_the_field_from_its_owner() {
    let server = furnished().await;
    let sets = "/apis/apps/v1/namespaces/default/replicasets";
    let set = json!({
        "metadata": {"name": "s"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    });
    created(send(&server, &format!("POST {sets}"), set).await);
    let scale = json!({"metadata": {"name": "s"}, "spec": {"replicas": 3}});
    let answer = send(&server, &format!("PUT {sets}/s/scale"), scale).await;
    assert_eq!(answer.body["spec"], json!({"replicas": 3}), "{answer:?}");
    let set = send(&server, &format!("GET {sets}/s"), Value::Null).await;
    let entries = set.body["metadata"]["managedFields"].as_array().unwrap();
    let of_scale = entries.iter().find(|entry| entry["subresource"] == "scale").unwrap();
    assert_eq!(of_scale["fieldsV1"], json!({"f:spec": {"f:replicas": {}}}));
    assert_eq!(of_scale.get("time"), None);
    let none = json!({"metadata": {"name": "s"}, "spec": {"replicas": 0}});
    let answer = send(&server, &format!("PUT {sets}/s/scale"), none).await;
    assert_eq!(answer.body["spec"], json!({}));
    let set = send(&server, &format!("GET {sets}/s"), Value::Null).await;
    let owned = set.body["metadata"]["managedFields"].to_string();
    assert!(!owned.contains("f:replicas"), "{owned}");
}

#[tokio::test(start_paused = true)]
async fn an_empty_map_of_an_immutable_object_is_a_change_though_none_is_stored() {
    let server = furnished().await;
    let map = json!({"metadata": {"name": "b"}, "immutable": true});
    created(send(&server, &format!("POST {CONFIG_MAPS}"), map).await);
    let line = format!("PATCH {CONFIG_MAPS}/b");
    assert_eq!(send(&server, &line, json!({"data": {}})).await.code, 200);
    assert_eq!(
        send(&server, &line, json!({"binaryData": {}})).await.refusal(),
        "422 Invalid ConfigMap \"b\" is invalid: binaryData: Forbidden: field is immutable when \
         `immutable` is set"
    );
}

const PODS: &str = "/api/v1/namespaces/default/pods";

fn pod(name: &str, spec: &Value) -> Value {
    let mut pod = json!({
        "metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]},
    });
    let fields = spec.as_object().cloned().unwrap_or_default();
    pod["spec"].as_object_mut().unwrap().extend(fields);
    pod
}

#[tokio::test(start_paused = true)]
async fn a_pod_runs_with_a_class_that_is_there_and_gets_what_the_class_asks_for() {
    let server = furnished().await;
    let create = |pod: Value| {
        let server = &server;
        async move { send(server, &format!("POST {PODS}"), pod).await }
    };
    for (spec, refusal) in [
        (
            json!({"runtimeClassName": "none"}),
            "403 Forbidden pods \"p\" is forbidden: pod rejected: RuntimeClass \"none\" not found",
        ),
        (json!({"runtimeClassName": ""}), "500  resource name may not be empty"),
        (
            json!({"overhead": {}}),
            "403 Forbidden pods \"p\" is forbidden: pod rejected: Pod Overhead set without \
             corresponding RuntimeClass defined Overhead",
        ),
    ] {
        assert_eq!(create(pod("p", &spec)).await.refusal(), refusal);
    }
    let class = json!({
        "metadata": {"name": "slow"}, "handler": "h", "overhead": {"podFixed": {"cpu": "1"}},
        "scheduling": {"nodeSelector": {"slow": "yes"}},
    });
    created(send(&server, "POST /apis/node.k8s.io/v1/runtimeclasses", class).await);
    let slow = created(create(pod("q", &json!({"runtimeClassName": "slow"}))).await);
    assert_eq!(slow.body["spec"]["overhead"], json!({"cpu": "1"}));
    assert_eq!(slow.body["spec"]["nodeSelector"], json!({"slow": "yes"}));
}

#[tokio::test(start_paused = true)]
async fn an_eviction_says_so_in_a_condition_that_was_there_before() {
    let server = furnished().await;
    let mut held = pod("p", &Value::Null);
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    created(send(&server, &format!("POST {PODS}"), held).await);
    let status = json!({"status": {"conditions": [
        {"type": "DisruptionTarget", "status": "True", "observedGeneration": 1},
    ]}});
    assert_eq!(send(&server, &format!("PATCH {PODS}/p/status"), status).await.code, 200);
    let eviction = json!({"metadata": {"name": "p"}});
    created(send(&server, &format!("POST {PODS}/p/eviction"), eviction).await);
    let pod = send(&server, &format!("GET {PODS}/p"), Value::Null).await;
    assert_eq!(pod.text("/status/conditions/0/reason"), "EvictionByEvictionAPI");
    assert_eq!(pod.text("/status/conditions/0/message"), "Eviction API: evicting");
    assert_eq!(pod.body["status"]["conditions"][0]["observedGeneration"], 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_filled_in_on_reading_is_written_with_the_next_change() {
    let server = furnished().await;
    let claims = "/api/v1/namespaces/default/persistentvolumeclaims";
    let claim = json!({
        "metadata": {"name": "c"},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
        },
    });
    let first = created(send(&server, &format!("POST {claims}"), claim).await);
    assert_eq!(first.text("/status/phase"), "Pending");
    let touch =
        || send(&server, "PATCH /api/v1/namespaces/default/persistentvolumeclaims/c", json!({}));
    let (second, third) = (touch().await, touch().await);
    let version = |answer: &Answer| answer.text("/metadata/resourceVersion").to_owned();
    assert_ne!(version(&first), version(&second));
    assert_eq!(version(&second), version(&third));
    let old = json!({
        "apiVersion": "example.com/v1beta1", "kind": "Gadget", "metadata": {"name": "g"},
        "spec": {"old": "x"},
    });
    let first = created(send(&server, &format!("POST {OLD_GADGETS}"), old).await);
    let touch = || send(&server, "PATCH /apis/example.com/v1/gadgets/g", json!({}));
    let (second, third) = (touch().await, touch().await);
    assert_ne!(version(&first), version(&second), "the size was filled in");
    assert_eq!(version(&second), version(&third));
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_empty_in_the_path_is_missed_with_all_else() {
    refused(&[(
        "POST /api/v1/namespaces//configmaps",
        "application/json",
        "{}",
        "422 Invalid ConfigMap \"\" is invalid: [metadata.name: Required value: name or \
         generateName is required, metadata.namespace: Required value]",
    )])
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_patch_may_bring_a_version_along_that_is_not_served_any_more() {
    let server = furnished().await;
    let sets = "/apis/apps/v1/namespaces/default/deployments";
    let set = json!({
        "metadata": {"name": "d"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    });
    created(send(&server, &format!("POST {sets}"), set).await);
    let patch = json!({"apiVersion": "apps/v1beta1", "spec": {"replicas": 3}});
    let patched = send(&server, &format!("PATCH {sets}/d"), patch).await;
    assert_eq!((patched.code, &patched.body["spec"]["replicas"]), (200, &json!(3)));
    let old = json!({"apiVersion": "apps/v1beta1", "kind": "Deployment"});
    assert_eq!(
        send(&server, &format!("POST {sets}"), old).await.refusal(),
        "400 BadRequest the API version in the data (apps/v1beta1) does not match the expected \
         API version (apps/v1)"
    );
}

#[tokio::test(start_paused = true)]
async fn addresses_of_services_are_looked_at_before_all_else() {
    let service = |metadata: Value, spec: Value| json!({"metadata": metadata, "spec": spec});
    let server = furnished().await;
    let services = "/api/v1/namespaces/default/services";
    for (service, refusal) in [
        (
            service(json!({"name": "Bad_Name"}), json!({"clusterIP": "nonsense"})),
            "422 Invalid Service \"Bad_Name\" is invalid: spec.clusterIPs[0]: Invalid value: \
             \"nonsense\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        ),
        (
            service(json!({"name": "a"}), json!({"ipFamilyPolicy": "RequireDualStack"})),
            "422 Invalid Service \"a\" is invalid: spec.ipFamilyPolicy: Invalid value: \
             \"RequireDualStack\": this cluster is not configured for dual-stack services",
        ),
    ] {
        let answer = send(&server, &format!("POST {services}"), service).await;
        assert_eq!(answer.refusal(), refusal);
    }
    let nameless = send(&server, &format!("POST {services}"), json!({})).await;
    assert!(nameless.refusal().contains("failed to allocate IP"), "{nameless:?}");
    let headless =
        service(json!({"name": "h"}), json!({"clusterIP": "None", "selector": {"a": "b"}}));
    created(send(&server, &format!("POST {services}"), headless).await);
    let patch = json!({"spec": {"clusterIP": "nonsense"}});
    assert_eq!(
        send(&server, &format!("PATCH {services}/h"), patch).await.refusal(),
        "422 Invalid Service \"h\" is invalid: spec.clusterIPs[0]: Invalid value: \"nonsense\": \
         must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
    );
}

#[tokio::test(start_paused = true)]
async fn a_custom_resource_of_another_kind_is_held_against_rules_all_the_same() {
    let server = server();
    let definition = json!({
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com", "scope": "Cluster",
            "names": {
                "kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing",
            },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.replicas",
                        "statusReplicasPath": ".status.replicas",
                    },
                },
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "required": ["size"], "properties": {
                        "size": {"type": "integer"},
                        "tags": {
                            "type": "object", "additionalProperties": {"type": "string"},
                            "x-kubernetes-validations": [{"rule": "self.size() < 3"}],
                        },
                    }},
                    "status": {"type": "object", "minProperties": 1, "properties": {
                        "replicas": {"type": "integer"},
                    }},
                }}},
            }],
        },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    created(send(&server, &format!("POST {definitions}"), definition).await);
    let things = "/apis/example.com/v1/things";
    let thing = |spec: Value| {
        json!({
            "apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"},
            "spec": spec,
        })
    };
    let answer = send(&server, &format!("POST {things}"), thing(json!(1.5))).await;
    assert!(
        answer.refusal().contains(
            ".spec.replicas accessor error: 1.5 is of the type float64, expected \
             map[string]interface{}"
        ),
        "{answer:?}"
    );
    created(send(&server, &format!("POST {things}"), thing(json!({"size": 1}))).await);
    let patch = json!({"apiVersion": "other/v1", "spec": {"size": "x", "tags": 1}});
    assert_eq!(
        send(&server, &format!("PATCH {things}/t"), patch).await.refusal(),
        "422 Invalid Thing.other \"t\" is invalid: [apiVersion: Invalid value: \"other/v1\": must \
         be example.com/v1, spec.tags: Invalid value: \"object\": invalid data, expected a map for \
         the provided schema with type=object evaluating rule: self.size() < 3]"
    );
    assert_eq!(
        send(&server, &format!("PATCH {things}/t/status"), json!({"status": {}})).await.refusal(),
        "422 Invalid Thing.example.com \"t\" is invalid: status: Invalid value: 0:  in body should \
         have at least 1 properties"
    );
    let nothing = json!({"apiVersion": null, "kind": "Thing", "metadata": {"name": "u"}});
    assert_eq!(
        send(&server, &format!("POST {things}"), nothing).await.refusal(),
        "400 BadRequest Thing in version \"\" cannot be handled as a Thing: .apiVersion accessor \
         error: <nil> is of the type <nil>, expected string"
    );
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_leaves_nothing_behind_goes_last() {
    let server = furnished().await;
    created(send(&server, "POST /api/v1/namespaces", json!({"metadata": {"name": "n"}})).await);
    let line = "DELETE /api/v1/namespaces/n?orphanDependents=false";
    let answer = send(&server, line, Value::Null).await;
    assert_eq!(answer.body["metadata"]["finalizers"], json!(["foregroundDeletion"]));
}

#[tokio::test(start_paused = true)]
async fn an_eviction_that_no_budget_counts_is_of_the_newest_version() {
    let server = furnished().await;
    let budget = json!({
        "metadata": {"name": "b"},
        "spec": {
            "minAvailable": 1, "selector": {"matchLabels": {"a": "b"}},
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    });
    let budgets = "POST /apis/policy/v1/namespaces/default/poddisruptionbudgets";
    created(send(&server, budgets, budget).await);
    let mut sick = pod("p", &json!({"nodeName": "n"}));
    sick["metadata"]["labels"] = json!({"a": "b"});
    created(send(&server, &format!("POST {PODS}"), sick).await);
    let running = json!({"status": {"phase": "Running"}});
    assert_eq!(send(&server, &format!("PATCH {PODS}/p/status"), running).await.code, 200);
    let eviction = json!({
        "metadata": {"name": "p"},
        "deleteOptions": {"preconditions": {"resourceVersion": "1"}},
    });
    created(send(&server, &format!("POST {PODS}/p/eviction"), eviction).await);
}

#[tokio::test(start_paused = true)]
async fn what_is_applied_empty_to_a_custom_resource_is_written_until_its_next_change() {
    let server = furnished().await;
    let apply = |metadata: Value| {
        let gadget = json!({
            "apiVersion": "example.com/v1", "kind": "Gadget", "metadata": metadata,
            "spec": {"count": 1},
        });
        let line = "PATCH /apis/example.com/v1/gadgets/g?fieldManager=m";
        let (server, body) = (&server, Bytes::from(gadget.to_string()));
        async move { send_as(server, line, "application/apply-patch+yaml", body).await }
    };
    let version = |answer: &Answer| answer.text("/metadata/resourceVersion").to_owned();
    let nobody = json!({"name": "g", "finalizers": []});
    let (first, again) = (created(apply(nobody.clone()).await), apply(nobody).await);
    assert_eq!(version(&first), version(&again));
    assert_eq!(first.body["metadata"].get("finalizers"), None);
    let touched = send(&server, &format!("PATCH {GADGETS}/g"), json!({})).await;
    assert_ne!(version(&first), version(&touched));
    apply(json!({"name": "g", "labels": {"a": "b"}})).await;
    let bare = apply(json!({"name": "g", "labels": {}})).await;
    assert_eq!(bare.body["metadata"].get("labels"), None);
    let touched = send(&server, &format!("PATCH {GADGETS}/g"), json!({})).await;
    assert_ne!(version(&bare), version(&touched), "something was left of the labels");
}
