//! What the server says about itself: groups, versions and resources of its API, in the old form
//! (a request for each) and in one document, and beside them its version and its health.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use ring::digest::{SHA256, SHA512, digest};
use serde_json::{Map, Value, json};

use crate::{
    Status,
    body::Body,
    negotiate::{self, Encoding, Shape},
    registry::{Kind, Registry, Rules, Subresource, Version},
    respond::{refusal, respond},
    route::Route,
};

/// The content type of discovery in one document.
const ONE_DOCUMENT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Paths that answer `ok` as long as the server lives.
const HEALTH: [&str; 3] = ["/healthz", "/livez", "/readyz"];

/// Answers requests about the server itself; none for requests about anything else.
pub(crate) fn answer(
    registry: &Registry,
    route: &Route<'_>,
    request: &Request<Bytes>,
    accept: Option<&str>,
) -> Option<Response<Body>> {
    let document = match route {
        Route::Resource(_) => return None,
        Route::Other(path) => {
            if is_health(path) {
                return Some(plain_text("ok"));
            }
            match path.trim_end_matches('/') {
                "" => root_paths(registry),
                "/version" => version_info(),
                _ => return None,
            }
        }
        Route::CoreVersions | Route::Groups => {
            let core = matches!(route, Route::CoreVersions);
            let shape = negotiate::negotiate_discovery(accept).map(|format| format.shape);
            if shape == Ok(Shape::Discovery) {
                return Some(one_document(registry, core, request));
            }
            if core { core_versions(request) } else { groups(registry) }
        }
        Route::Group(name) => group(registry, name)?,
        Route::Version { group, version } => match resources(registry, group, version) {
            Some(list) => list,
            // Groups from definitions have no handler that reports missing resources.
            None if is_built_in(registry, group) => {
                return Some(refusal(&Status::no_such_resource()));
            }
            None => return None,
        },
    };
    // The oldest of these answer every method.
    let any_method = matches!(route, Route::Group(_) | Route::Other(_));
    if request.method() != Method::GET && !any_method {
        return Some(refusal(&Status::method_not_allowed()));
    }
    Some(match negotiate::negotiate_discovery(accept) {
        Ok(format) => {
            respond(StatusCode::OK, format.encoding, Body::whole(document.to_string()), &[])
        }
        Err(status) => refusal(&status),
    })
}

/// A hash of content, as `ETag` headers and the addresses of OpenAPI documents carry it.
pub(crate) fn hash(content: &[u8]) -> String {
    use std::fmt::Write;
    let mut text = String::with_capacity(128);
    for byte in digest(&SHA512, content).as_ref() {
        write!(text, "{byte:02X}").expect("a string takes everything");
    }
    text
}

/// Whether the caller has the content of this hash already.
pub(crate) fn is_known(request: &Request<Bytes>, hash: &str) -> bool {
    let known = request.headers().get(header::IF_NONE_MATCH);
    known.and_then(|value| value.to_str().ok()).is_some_and(|known| {
        known.split(',').any(|tag| tag.trim().trim_start_matches("W/").trim_matches('"') == hash)
    })
}

/// An answer that need not be sent again as long as its hash stays the same.
pub(crate) fn tagged(
    request: &Request<Bytes>,
    content_type: &'static str,
    content: Bytes,
    hash: &str,
) -> Response<Body> {
    let known = is_known(request, hash);
    let body = if known { Body::whole(Bytes::new()) } else { Body::whole(content) };
    let mut response = respond(StatusCode::OK, Encoding::Json, body, &[]);
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{hash}\"")) {
        headers.insert(header::ETAG, tag);
    }
    response
}

fn is_health(path: &str) -> bool {
    HEALTH.iter().any(|health| {
        path.strip_prefix(health).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

fn plain_text(text: &'static str) -> Response<Body> {
    let mut response = respond(StatusCode::OK, Encoding::Json, Body::whole(text), &[]);
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// The version whose behaviour the server has.
fn version_info() -> Value {
    json!({
        "major": "1",
        "minor": "36",
        "emulationMajor": "1",
        "emulationMinor": "36",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35",
        "gitVersion": "v1.36.3",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": "linux/amd64",
    })
}

fn root_paths(registry: &Registry) -> Value {
    let mut paths: Vec<String> =
        ["/api", "/api/v1", "/apis", "/apis/", "/openapi/v2", "/openapi/v3"]
            .into_iter()
            .chain(["/openapi/v3/", "/version"])
            .chain(HEALTH)
            .map(str::to_owned)
            .collect();
    for group in registry.groups().iter().filter(|group| !group.is_empty()) {
        paths.push(format!("/apis/{group}"));
        for version in registry.versions_of(group) {
            paths.push(format!("/apis/{group}/{version}"));
        }
    }
    paths.sort();
    json!({"paths": paths})
}

fn core_versions(request: &Request<Bytes>) -> Value {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let address = host.or_else(|| request.uri().authority().map(http::uri::Authority::as_str));
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [
            {"clientCIDR": "0.0.0.0/0", "serverAddress": address.unwrap_or_default()},
        ],
    })
}

fn groups(registry: &Registry) -> Value {
    // The real server sorts custom groups by the names under which their versions are registered
    // with it, such as `v1.example.com`.
    let by_registered_name = |group: &str| {
        let names = registry.versions_of(group).into_iter();
        names.map(|version| format!("{version}.{group}")).min().unwrap_or_default()
    };
    let groups: Vec<Value> = ordered_groups(registry, by_registered_name)
        .into_iter()
        .map(|name| group_document(registry, name))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// All groups but the core group: built-in ones by priority, then custom ones by a key.
fn ordered_groups(registry: &Registry, key: impl Fn(&str) -> String) -> Vec<&str> {
    let named = registry.groups().iter().map(AsRef::as_ref).filter(|group| !group.is_empty());
    let (mut groups, mut custom): (Vec<&str>, Vec<&str>) =
        named.partition(|group| is_built_in(registry, group));
    custom.sort_by_cached_key(|group| key(group));
    groups.extend(custom);
    groups.retain(|group| !registry.versions_of(group).is_empty());
    groups
}

fn is_built_in(registry: &Registry, group: &str) -> bool {
    registry.kinds_of(group).any(|kind| matches!(kind.stored().rules, Rules::BuiltIn(_)))
}

fn group(registry: &Registry, name: &str) -> Option<Value> {
    if registry.versions_of(name).is_empty() {
        return None;
    }
    let mut document = group_document(registry, name);
    document["kind"] = "APIGroup".into();
    document["apiVersion"] = "v1".into();
    Some(document)
}

fn group_document(registry: &Registry, name: &str) -> Value {
    let versions: Vec<Value> = registry
        .versions_of(name)
        .into_iter()
        .map(|version| json!({"groupVersion": format!("{name}/{version}"), "version": version}))
        .collect();
    let preferred = versions.first().cloned().unwrap_or_default();
    json!({"name": name, "versions": versions, "preferredVersion": preferred})
}

/// The kinds of a group that are served in a version.
pub(crate) fn served<'a>(
    registry: &'a Registry,
    group: &'a str,
    version: &'a str,
) -> impl Iterator<Item = (&'a Kind, &'a Version)> {
    registry.kinds_of(group).filter_map(move |kind| Some((&**kind, kind.served(version)?)))
}

fn resources(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let mut list = Vec::new();
    for (kind, version) in served(registry, group, version) {
        list.push(resource(kind, version));
        list.extend(version.subresources.iter().map(|part| subresource(kind, part)));
    }
    if list.is_empty() {
        return None;
    }
    let mut document = json!({"kind": "APIResourceList", "resources": list});
    if group.is_empty() {
        document["groupVersion"] = version.into();
    } else {
        document["apiVersion"] = "v1".into();
        document["groupVersion"] = format!("{group}/{version}").into();
    }
    Some(document)
}

fn resource(kind: &Kind, version: &Version) -> Value {
    let mut document = json!({
        "name": &*kind.resource.plural,
        "singularName": &*kind.singular,
        "namespaced": kind.namespaced,
        "kind": &*kind.kind,
        "verbs": words(&version.verbs),
    });
    name_sets(kind, &mut document);
    let hash = match (&version.storage_version_hash, &version.rules) {
        (Some(hash), _) => Some(hash.to_string()),
        (None, Rules::Custom(_)) => Some(storage_version_hash(kind)),
        (None, Rules::BuiltIn(_)) => None,
    };
    if let Some(hash) = hash {
        document["storageVersionHash"] = hash.into();
    }
    document
}

/// Tells clients whether the stored form of a kind has changed.
fn storage_version_hash(kind: &Kind) -> String {
    const BYTES_SHOWN: usize = 8;
    let stored = format!("{}/{}", kind.stored().api_version, kind.kind);
    STANDARD.encode(&digest(&SHA256, stored.as_bytes()).as_ref()[..BYTES_SHOWN])
}

fn name_sets(kind: &Kind, document: &mut Value) {
    for (field, set) in [("shortNames", &kind.short_names), ("categories", &kind.categories)] {
        if !set.is_empty() {
            document[field] = words(set);
        }
    }
}

fn words(words: &[Box<str>]) -> Value {
    words.iter().map(|word| Value::from(&**word)).collect()
}

fn subresource(kind: &Kind, part: &Subresource) -> Value {
    let mut document = json!({
        "name": format!("{}/{}", kind.resource.plural, part.name),
        "singularName": "",
        "namespaced": kind.namespaced,
        "kind": &*part.kind,
        "verbs": words(&part.verbs),
    });
    if part.foreign {
        document["group"] = (*part.group).into();
        document["version"] = (*part.version).into();
    }
    document
}

/// The core group or all others, with all they have.
fn one_document(registry: &Registry, core: bool, request: &Request<Bytes>) -> Response<Body> {
    let groups = if core { vec![""] } else { ordered_groups(registry, str::to_owned) };
    let items: Vec<Value> = groups.into_iter().map(|name| whole_group(registry, name)).collect();
    let document = json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    });
    let content = Bytes::from(document.to_string());
    let hash = hash(&content);
    let mut response = tagged(request, ONE_DOCUMENT, content, &hash);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("public"));
    response
}

fn whole_group(registry: &Registry, name: &str) -> Value {
    let mut metadata = Map::new();
    if !name.is_empty() {
        metadata.insert("name".into(), name.into());
    }
    let versions: Vec<Value> = registry
        .versions_of(name)
        .into_iter()
        .map(|version| {
            let resources: Vec<Value> = served(registry, name, version)
                .map(|(kind, version)| whole(kind, version))
                .collect();
            json!({"version": version, "resources": resources, "freshness": "Current"})
        })
        .collect();
    json!({"metadata": metadata, "versions": versions})
}

fn whole(kind: &Kind, version: &Version) -> Value {
    // Built-in resources leave out what is the same as on the way to them.
    let custom = matches!(version.rules, Rules::Custom(_));
    let own = if custom { (&*kind.resource.group, &*version.name) } else { ("", "") };
    let response_kind = |(group, version): (&str, &str), kind: &str| json!({"group": group, "version": version, "kind": kind});
    let mut document = json!({
        "resource": &*kind.resource.plural,
        "responseKind": response_kind(own, &kind.kind),
        "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": &*kind.singular,
        "verbs": words(&version.verbs),
    });
    name_sets(kind, &mut document);
    if !version.subresources.is_empty() {
        let parts = version.subresources.iter().map(|part| {
            let of = if part.foreign { (&*part.group, &*part.version) } else { own };
            json!({
                "subresource": &*part.name,
                "responseKind": response_kind(of, &part.kind),
                "verbs": words(&part.verbs),
            })
        });
        document["subresources"] = parts.collect();
    }
    document
}
