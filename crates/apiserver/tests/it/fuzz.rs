//! Whatever is sent, there is an answer of the usual form.

use bytes::Bytes;
use http::{Method, Request};
use joiner_apiserver::Server;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{send, server};

/// Parts of paths: what leads somewhere, what nearly does, and what does not at all.
const PARTS: [&str; 24] = [
    "api",
    "apis",
    "v1",
    "apps",
    "batch",
    "policy",
    "namespaces",
    "default",
    "pods",
    "nodes",
    "configmaps",
    "deployments",
    "jobs",
    "events",
    "events.k8s.io",
    "a",
    "status",
    "scale",
    "eviction",
    "binding",
    "watch",
    "",
    "%2e%2e",
    "%zz",
];
const QUERIES: [&str; 14] = [
    "watch=1&timeoutSeconds=0",
    "limit=1",
    "limit=-5&continue=%00",
    "resourceVersion=0",
    "resourceVersion=x",
    "resourceVersionMatch=Exact",
    "labelSelector=a%20in%20(b,c),d",
    "labelSelector=((",
    "fieldSelector=metadata.name%3Da,,",
    "dryRun=All",
    "fieldValidation=Strict",
    "fieldManager=m&force=true",
    "propagationPolicy=Orphan&gracePeriodSeconds=-1",
    "pretty=1&includeObject=Object",
];
const TYPES: [&str; 8] = [
    "application/json",
    "application/yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/vnd.kubernetes.protobuf",
    "text/plain; charset=x",
];
const ACCEPTED: [&str; 6] = [
    "*/*",
    "application/yaml",
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "text/html;q=x,;",
];

/// Objects that are valid as they are.
fn objects() -> Vec<Value> {
    let template = json!({
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]},
    });
    vec![
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "labels": {"a": "b"}},
            "spec": template["spec"]}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},
            "data": {"k": "v"}}),
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"},
            "status": {"capacity": {"cpu": "4"}}}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}}),
        json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"},
            "spec": {"replicas": 3}}),
        json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"},
            "deleteOptions": {"preconditions": {"uid": "x"}}}),
        json!({"kind": "DeleteOptions", "propagationPolicy": "Foreground"}),
        json!([{"op": "add", "path": "/metadata/labels/x", "value": "y"}]),
    ]
}

fn odd_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!(true)),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!([null, {"a": [1.5]}])),
        Just(json!({"$patch": "delete", "name": "c"})),
    ]
}

/// A body: random bytes, or an object of which one part was replaced, perhaps cut short.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let spoiled = (0..objects().len(), any::<prop::sample::Index>(), odd_value(), 0..40usize);
    prop_oneof![
        1 => prop::collection::vec(any::<u8>(), 0..60),
        1 => "[ a:\\[\\]{}\"'&*!|>#%@,\\-\n\t]{0,30}".prop_map(String::into_bytes),
        6 => spoiled.prop_map(|(which, place, value, cut)| {
            let mut object = objects().swap_remove(which);
            let mut places = Vec::new();
            pointers(&object, String::new(), &mut places);
            if let Some(part) = object.pointer_mut(&places[place.index(places.len())]) {
                *part = value;
            }
            let mut text = object.to_string().into_bytes();
            if cut == 0 {
                text.truncate(text.len() / 2);
            }
            text
        }),
    ]
}

fn pointers(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                pointers(value, format!("{at}/{key}"), found);
            }
        }
        Value::Array(entries) => {
            for (index, value) in entries.iter().enumerate() {
                pointers(value, format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
    found.push(at);
}

/// A path to an object of the server, or any other.
fn path() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "/api/v1/namespaces/default/pods",
        "/api/v1/namespaces/default/pods/a",
        "/api/v1/namespaces/default/pods/a/status",
        "/api/v1/namespaces/default/pods/a/eviction",
        "/api/v1/namespaces/default/configmaps",
        "/api/v1/namespaces/default/configmaps/a",
        "/api/v1/nodes",
        "/api/v1/nodes/a",
        "/apis/apps/v1/namespaces/default/deployments",
        "/apis/apps/v1/namespaces/default/deployments/a",
        "/apis/apps/v1/namespaces/default/deployments/a/scale",
        "/openapi/v2",
        "/",
    ]);
    let any_path = prop::collection::vec(prop::sample::select(PARTS.to_vec()), 0..8)
        .prop_map(|parts| format!("/{}", parts.join("/")));
    prop_oneof![3 => known.prop_map(str::to_owned), 1 => any_path]
}

fn request() -> impl Strategy<Value = Request<Bytes>> {
    let methods = prop::sample::select(vec![
        Method::GET,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::HEAD,
        Method::OPTIONS,
    ]);
    let queries = prop::collection::vec(prop::sample::select(QUERIES.to_vec()), 0..3);
    let headers = (prop::sample::select(TYPES.to_vec()), prop::sample::select(ACCEPTED.to_vec()));
    (methods, path(), queries, headers, body()).prop_map(
        |(method, path, queries, (kind, accept), body)| {
            Request::builder()
                .method(method)
                .uri(format!("{path}?{}", queries.join("&")))
                .header("content-type", kind)
                .header("accept", accept)
                .body(Bytes::from(body))
                .expect("all parts can stand in a request")
        },
    )
}

/// The server that all requests go to: what they do to it is part of the test.
async fn furnished() -> Server {
    let server = server();
    for (path, object) in [
        ("/api/v1/namespaces/default/pods", 0),
        ("/api/v1/namespaces/default/configmaps", 1),
        ("/api/v1/nodes", 2),
        ("/apis/apps/v1/namespaces/default/deployments", 3),
    ] {
        let object = objects().swap_remove(object);
        let answer = send(&server, &format!("POST {path}"), object).await;
        assert_eq!(answer.code, 201, "{answer:?}");
    }
    server
}

#[test]
fn every_request_is_answered() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime of one thread");
    let server = runtime.block_on(furnished());
    proptest!(ProptestConfig::with_cases(1500), |(request in request())| {
        let _inside = runtime.enter();
        let response = server.answer(&request);
        let code = response.status().as_u16();
        prop_assert!((200..=504).contains(&code), "{code}");
        let watch = response.into_body();
        if watch.is_watch() {
            return Ok(());
        }
        let text = runtime.block_on(async {
            use futures_util::StreamExt;
            let mut text = Vec::new();
            let mut pieces = watch.into_stream();
            while let Some(piece) = pieces.next().await {
                text.extend(piece.expect("bodies in memory do not fail"));
            }
            text
        });
        let text = String::from_utf8(text);
        prop_assert!(text.is_ok(), "answers are text");
        if code >= 400 && code != 404 {
            let said: Result<Value, _> = read_refusal(&text.unwrap_or_default());
            prop_assert!(said.is_ok_and(|said| said["kind"] == "Status"), "a refusal is a Status");
        }
    });
}

/// Reads a refusal, which is in the notation that the caller asked for.
fn read_refusal(text: &str) -> Result<Value, String> {
    serde_json::from_str(text)
        .or_else(|_| serde_saphyr::from_str(text).map_err(|error| error.to_string()))
}
