//! OpenAPI documents: what objects look like and what can be done with them, for `kubectl explain`,
//! `apply` and `diff`.
//!
//! Built-in kinds are published without descriptions.

mod document;

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use serde_json::{Map, Value, json};

use crate::{
    Status,
    body::Body,
    discovery::{hash, tagged},
    negotiate::Encoding,
    options::Query,
    registry::{Registry, Rules},
    respond::{refusal, respond},
};

/// A document as it is sent.
#[derive(Debug)]
struct Published {
    content: Bytes,
    hash: String,
}

/// The documents of the built-in groups, which are the same in every server of the process.
static BUILT_IN: LazyLock<BTreeMap<String, Arc<Published>>> = LazyLock::new(|| {
    let registry = Registry::built_in();
    let mut documents = BTreeMap::new();
    for group in registry.groups() {
        for version in registry.versions_of(group) {
            let document = Published::new(&document::of(&registry, group, version));
            documents.insert(path_of(group, version), Arc::new(document));
        }
    }
    documents
});

impl Published {
    fn new(document: &Value) -> Self {
        let content = Bytes::from(document.to_string());
        Self { hash: hash(&content), content }
    }
}

/// Answers requests for OpenAPI documents; none for requests for anything else.
pub(crate) fn answer(
    registry: &Registry,
    path: &str,
    request: &Request<Bytes>,
    accept: Option<&str>,
) -> Option<Response<Body>> {
    let path = path.trim_end_matches('/');
    let rest = path.strip_prefix("/openapi/")?;
    if !accepts_json(accept) {
        // Clients that prefer protobuf fall back to something else when they cannot have it.
        return Some(refusal(&Status::plain(
            406,
            "NotAcceptable",
            "only application/json is served",
        )));
    }
    match rest {
        "v2" => {
            let document = Published::new(&swagger(registry));
            Some(tagged(request, "application/json", document.content, &document.hash))
        }
        "v3" => Some(index(registry)),
        _ => Some(one(registry, rest.strip_prefix("v3/")?, request)),
    }
}

fn accepts_json(accept: Option<&str>) -> bool {
    accept.is_none_or(|accept| {
        accept.split(',').any(|clause| {
            let kind = clause.split(';').next().unwrap_or_default().trim();
            matches!(kind, "" | "*/*" | "application/*" | "application/json")
        })
    })
}

/// Where a version of a group is found below `/openapi/v3/`.
fn path_of(group: &str, version: &str) -> String {
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

/// The groups that definitions add.
fn custom_groups(registry: &Registry) -> impl Iterator<Item = &str> {
    let is_custom = |group: &str| {
        registry.kinds_of(group).all(|kind| matches!(kind.stored().rules, Rules::Custom(_)))
    };
    registry.groups().iter().map(AsRef::as_ref).filter(move |group| is_custom(group))
}

/// Where the documents are. Their addresses carry their hash: clients keep what they have read.
fn index(registry: &Registry) -> Response<Body> {
    let mut paths = Map::new();
    let mut insert = |path: &str, hash: &str| {
        let address = format!("/openapi/v3/{path}?hash={hash}");
        paths.insert(path.to_owned(), json!({"serverRelativeURL": address}));
    };
    for (path, document) in &*BUILT_IN {
        insert(path, &document.hash);
    }
    for group in custom_groups(registry) {
        for version in registry.versions_of(group) {
            let document = Published::new(&document::of(registry, group, version));
            insert(&path_of(group, version), &document.hash);
        }
    }
    let body = Body::whole(json!({"paths": paths}).to_string());
    let mut response = respond(StatusCode::OK, Encoding::Json, body, &[]);
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// The document of one version of a group.
fn one(registry: &Registry, path: &str, request: &Request<Bytes>) -> Response<Body> {
    let custom = || {
        let (group, version) = path.strip_prefix("apis/")?.split_once('/')?;
        if !registry.versions_of(group).contains(&version) {
            return None;
        }
        Some(Arc::new(Published::new(&document::of(registry, group, version))))
    };
    let Some(document) = BUILT_IN.get(path).cloned().or_else(custom) else {
        return empty(StatusCode::NOT_FOUND);
    };
    let query = Query::parse(request.uri().query().unwrap_or_default());
    if query.get("hash").is_some_and(|asked| asked != document.hash) {
        let mut response = empty(StatusCode::MOVED_PERMANENTLY);
        let address = format!("/openapi/v3/{path}?hash={}", document.hash);
        if let Ok(address) = HeaderValue::from_str(&address) {
            response.headers_mut().insert(header::LOCATION, address);
        }
        return response;
    }
    tagged(request, "application/json", document.content.clone(), &document.hash)
}

fn empty(code: StatusCode) -> Response<Body> {
    respond(code, Encoding::Json, Body::whole(Bytes::new()), &[])
}

/// Everything in the older form, for clients that know no other: types only, no paths.
fn swagger(registry: &Registry) -> Value {
    let mut definitions = Map::new();
    for group in registry.groups() {
        for version in registry.versions_of(group) {
            definitions.extend(document::components(registry, group, version));
        }
    }
    // The older form has no alternatives.
    for (name, definition) in [
        (document::QUANTITY, json!({"type": "string"})),
        (document::INT_OR_STRING, json!({"type": "string", "format": "int-or-string"})),
    ] {
        definitions.insert(name.to_owned(), definition);
    }
    let mut definitions = Value::Object(definitions);
    move_references(&mut definitions);
    json!({
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "v1.36.3"},
        "paths": {},
        "definitions": definitions,
    })
}

/// Lets references lead to `#/definitions`, where the older form has its types.
fn move_references(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field.as_str().and_then(|to| to.strip_prefix("#/components/schemas/")) {
                    Some(to) if name == "$ref" => *field = format!("#/definitions/{to}").into(),
                    _ => move_references(field),
                }
            }
        }
        Value::Array(entries) => entries.iter_mut().for_each(move_references),
        _ => {}
    }
}
