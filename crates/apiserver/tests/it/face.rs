//! What clients look at first: discovery, OpenAPI documents, tables, reviews, and the way in.

use bytes::Bytes;
use futures_util::StreamExt;
use http::Request;
use http_body_util::{BodyExt, Full};
use joiner_apiserver::{Protection, Server, Service, Serving, kubeconfig};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tower_service::Service as _;

use crate::support::{send, server};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

async fn get(server: &Server, path: &str) -> Value {
    send(server, &format!("GET {path}"), Value::Null).await.body
}

/// The answer to a request that accepts one form only, and its `ETag`.
async fn get_as(server: &Server, path: &str, accept: &str) -> (Value, String) {
    let request = Request::builder().uri(path).header("accept", accept).body(Bytes::new()).unwrap();
    let response = server.answer(&request);
    let tag = response.headers().get("etag").map(|tag| tag.to_str().unwrap().to_owned());
    let mut text = Vec::new();
    let mut pieces = response.into_body().into_stream();
    while let Some(piece) = pieces.next().await {
        text.extend(piece.unwrap());
    }
    (serde_json::from_slice(&text).unwrap(), tag.unwrap_or_default())
}

async fn add_definition(server: &Server, group: &str, kind: &str, version: &str) {
    let plural = format!("{}s", kind.to_lowercase());
    let definition = json!({
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "shortNames": ["wd"]},
            "versions": [{
                "name": version,
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "additionalPrinterColumns":
                    [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {
                        "spec": {"type": "object", "properties": {"size": {"type": "integer"}}},
                    },
                }},
            }],
        },
    });
    let created = send(server, &format!("POST {DEFINITIONS}"), definition).await;
    assert_eq!(created.code, 201, "{created:?}");
}

fn names(list: &Value, pointer: &str) -> Vec<String> {
    let entries = list.as_array().into_iter().flatten();
    entries.map(|entry| entry.pointer(pointer).unwrap().as_str().unwrap().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn groups_are_listed_in_the_real_servers_order() {
    let server = server();
    add_definition(&server, "b.example.com", "Widget", "v1").await;
    add_definition(&server, "a.example.com", "Gadget", "v1alpha1").await;
    let groups = names(&get(&server, "/apis").await["groups"], "/name");
    assert_eq!(groups[..3], ["apiregistration.k8s.io", "apps", "events.k8s.io"]);
    // By version and group here, by group alone in the one document.
    assert_eq!(groups[groups.len() - 2..], ["b.example.com", "a.example.com"]);
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let (document, tag) = get_as(&server, "/apis", accept).await;
    let groups = names(&document["items"], "/metadata/name");
    assert_eq!(groups[groups.len() - 2..], ["a.example.com", "b.example.com"]);
    let (_, same) = get_as(&server, "/apis", accept).await;
    assert_eq!((tag.len(), &tag), (130, &same));
}

#[tokio::test(start_paused = true)]
async fn resources_name_what_is_foreign_about_their_parts() {
    let server = server();
    let list = get(&server, "/apis/apps/v1").await;
    let scale =
        list["resources"].as_array().unwrap().iter().find(|r| r["name"] == "deployments/scale");
    assert_eq!(
        scale,
        Some(&json!({
            "name": "deployments/scale", "singularName": "", "namespaced": true,
            "group": "autoscaling", "version": "v1", "kind": "Scale",
            "verbs": ["get", "patch", "update"],
        }))
    );
    add_definition(&server, "example.com", "Widget", "v1").await;
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let (document, _) = get_as(&server, "/apis", accept).await;
    let widgets = &document["items"].as_array().unwrap().last().unwrap()["versions"][0];
    assert_eq!(
        widgets["resources"][0]["responseKind"],
        json!({"group": "example.com", "version": "v1", "kind": "Widget"})
    );
    let missing = send(&server, "GET /apis/apps/v9", Value::Null).await;
    assert_eq!((missing.code, missing.text("/reason")), (404, "NotFound"));
    let missing = send(&server, "GET /apis/nobody.example.com/v1", Value::Null).await;
    assert_eq!((missing.code, missing.body.as_str()), (404, Some("404 page not found\n")));
}

#[tokio::test(start_paused = true)]
async fn every_reference_of_every_document_leads_somewhere() {
    let server = server();
    add_definition(&server, "example.com", "Widget", "v1").await;
    let index = get(&server, "/openapi/v3").await;
    let paths = index["paths"].as_object().unwrap();
    assert!(paths.contains_key("api/v1") && paths.contains_key("apis/example.com/v1"));
    for (path, place) in paths {
        let document = get(&server, place["serverRelativeURL"].as_str().unwrap()).await;
        let schemas = &document["components"]["schemas"];
        for reference in references(&document) {
            let name = reference.strip_prefix("#/components/schemas/").unwrap();
            assert!(schemas.get(name).is_some(), "{path}: {reference}");
        }
    }
    let old = get(&server, "/openapi/v2").await;
    for reference in references(&old) {
        let name = reference.strip_prefix("#/definitions/").unwrap();
        assert!(old["definitions"].get(name).is_some(), "{reference}");
    }
}

fn references(value: &Value) -> Vec<&str> {
    match value {
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(name, value)| match value.as_str() {
                Some(to) if name == "$ref" => vec![to],
                _ => references(value),
            })
            .collect(),
        Value::Array(entries) => entries.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_document_says_what_dry_runs_and_patches_need_to_know() {
    let server = server();
    let apps = get(&server, "/openapi/v3/apis/apps/v1").await;
    let patch = &apps["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
    assert_eq!(
        patch["x-kubernetes-group-version-kind"],
        json!({"group": "apps", "version": "v1", "kind": "Deployment"})
    );
    assert_eq!(patch["operationId"], "patchAppsV1NamespacedDeployment");
    let parameters = names(&patch["parameters"], "/name");
    assert_eq!(parameters, ["dryRun", "fieldManager", "fieldValidation", "force"]);
    let containers =
        &apps["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"];
    assert_eq!(containers["x-kubernetes-patch-merge-key"], "name");
    assert_eq!(containers["x-kubernetes-list-map-keys"], json!(["name"]));
    add_definition(&server, "face.example.com", "Widget", "v1").await;
    let widgets = get(&server, "/openapi/v3/apis/face.example.com/v1").await;
    let widget = &widgets["components"]["schemas"]["com.example.face.v1.Widget"];
    assert_eq!(widget["properties"]["spec"]["properties"]["size"], json!({"type": "integer"}));
}

#[tokio::test(start_paused = true)]
async fn tables_have_the_columns_that_a_definition_asks_for() {
    let server = server();
    add_definition(&server, "example.com", "Widget", "v1").await;
    let path = "/apis/example.com/v1/namespaces/default/widgets";
    let widget = json!({
        "apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": "w"}, "spec": {"size": 7},
    });
    assert_eq!(send(&server, &format!("POST {path}"), widget).await.code, 201);
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let (table, _) = get_as(&server, path, accept).await;
    assert_eq!(names(&table["columnDefinitions"], "/name"), ["Name", "Size"]);
    assert_eq!(table["rows"][0]["cells"], json!(["w", 7]));
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    let (table, _) = get_as(&server, &format!("{path}?includeObject=None"), accept).await;
    assert_eq!(table["rows"][0]["object"], Value::Null);
    let (refused, _) = get_as(&server, &format!("{path}?includeObject=Some"), accept).await;
    assert_eq!(
        refused["message"],
        "Unable to convert to Table as requested: includeObject: Invalid value: \"Some\": must be \
         'Metadata', 'Object', 'None', or empty"
    );
}

#[tokio::test(start_paused = true)]
async fn everybody_may_do_everything() {
    let server = server();
    let ask = async |plural: &str, spec: Value| {
        let path = if plural == "selfsubjectreviews" || plural == "tokenreviews" {
            format!("POST /apis/authentication.k8s.io/v1/{plural}")
        } else {
            format!("POST /apis/authorization.k8s.io/v1/{plural}")
        };
        send(&server, &path, json!({"spec": spec})).await
    };
    let may = ask("selfsubjectaccessreviews", json!({"resourceAttributes": {"verb": "get"}})).await;
    assert_eq!((may.code, &may.body["status"]["allowed"]), (201, &json!(true)));
    let nothing = ask("selfsubjectaccessreviews", json!({})).await;
    assert_eq!(
        nothing.refusal(),
        "422 Invalid .authorization.k8s.io \"\" is invalid: spec.resourceAttributes: Invalid \
         value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified"
    );
    let rules = ask("selfsubjectrulesreviews", json!({"namespace": "default"})).await;
    assert_eq!(rules.body["status"]["resourceRules"][0]["verbs"], json!(["*"]));
    let me = ask("selfsubjectreviews", Value::Null).await;
    assert_eq!(me.text("/status/userInfo/username"), "admin");
    let token = ask("tokenreviews", json!({})).await;
    assert_eq!(
        token.refusal(),
        "400 BadRequest token is required for TokenReview in authentication"
    );
}

#[tokio::test(start_paused = true)]
async fn a_service_calls_under_its_own_name_and_refuses_what_is_too_large() {
    let server = server();
    let mut service = Service::new(server, "operator/1");
    let mut post = async |body: String| {
        let request = Request::post("/api/v1/namespaces/default/configmaps")
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body)))
            .unwrap();
        let response = service.call(request).await.unwrap();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        serde_json::from_slice::<Value>(&bytes).unwrap()
    };
    let created = post(json!({"metadata": {"name": "a"}, "data": {"k": "v"}}).to_string()).await;
    assert_eq!(created["metadata"]["managedFields"][0]["manager"], "operator");
    let refused = post(" ".repeat(3 * 1024 * 1024 + 1)).await;
    assert_eq!(refused["code"], 413);
    assert_eq!(refused["message"], "Request entity too large: limit is 3145728");
}

#[tokio::test]
async fn only_those_with_the_token_are_let_in() {
    let protection = Protection { tls: false, token: Some("secret".to_owned()) };
    let address = "127.0.0.1:0".parse().unwrap();
    let serving = Serving::bind(server(), address, protection).await.unwrap();
    let first_line = async |path: &str, headers: &str| {
        let mut stream = TcpStream::connect(serving.address()).await.unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer.lines().next().unwrap().to_owned()
    };
    assert_eq!(first_line("/api", "").await, "HTTP/1.1 401 Unauthorized");
    assert_eq!(first_line("/readyz", "").await, "HTTP/1.1 200 OK");
    assert_eq!(first_line("/api", "authorization: Bearer secret\r\n").await, "HTTP/1.1 200 OK");
    let config = kubeconfig(&serving);
    assert!(config.contains("token: secret") && config.contains(&serving.url()), "{config}");
    serving.stop().await;
}
