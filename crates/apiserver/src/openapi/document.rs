//! The document of one version of a group: its paths and its types.

use joiner_kinds as kinds;
use serde_json::{Map, Value, json};

use crate::{
    discovery::served,
    registry::{Kind, Registry, Rules, Subresource, Version},
};

pub(super) const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
pub(super) const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// Parameters of lists and of deletions of many objects.
const LIST: &[(&str, &str)] = &[
    ("allowWatchBookmarks", "boolean"),
    ("continue", "string"),
    ("fieldSelector", "string"),
    ("labelSelector", "string"),
    ("limit", "integer"),
    ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"),
    ("sendInitialEvents", "boolean"),
    ("timeoutSeconds", "integer"),
    ("watch", "boolean"),
];
/// Parameters of creations and replacements.
const WRITE: &[(&str, &str)] =
    &[("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string")];
const PATCH: &[(&str, &str)] = &[
    ("dryRun", "string"),
    ("fieldManager", "string"),
    ("fieldValidation", "string"),
    ("force", "boolean"),
];
const DELETE: &[(&str, &str)] = &[
    ("dryRun", "string"),
    ("gracePeriodSeconds", "integer"),
    ("ignoreStoreReadErrorWithClusterBreakingPotential", "boolean"),
    ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
];
const READ: &[(&str, &str)] = &[("resourceVersion", "string")];

/// The document of a version of a group.
pub(super) fn of(registry: &Registry, group: &str, version: &str) -> Value {
    let mut paths = Map::new();
    for (kind, version) in served(registry, group, version) {
        add_paths(kind, version, &mut paths);
    }
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "1.36"},
        "paths": paths,
        "components": {"schemas": components(registry, group, version)},
    })
}

/// The types that a version of a group speaks of, by their published names.
pub(super) fn components(registry: &Registry, group: &str, version: &str) -> Map<String, Value> {
    let mut found = Map::new();
    for name in ["DeleteOptions", "ListMeta", "ObjectMeta", "Status"] {
        add_named(&format!("{META}.{name}"), &mut found);
    }
    found.insert(format!("{META}.Patch"), json!({"type": "object"}));
    for (kind, version) in served(registry, group, version) {
        add_kind(kind, version, &mut found);
    }
    for (name, definition) in [
        (QUANTITY, json!({"oneOf": [{"type": "string"}, {"type": "number"}]})),
        (
            INT_OR_STRING,
            json!({"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]}),
        ),
    ] {
        if let Some(place) = found.get_mut(name) {
            *place = definition;
        }
    }
    found
}

fn add_named(name: &str, found: &mut Map<String, Value>) {
    if let Some(schema) = kinds::schema_named(name) {
        found
            .extend(schema.components().into_iter().map(|(name, value)| (name.to_string(), value)));
    }
}

fn add_kind(kind: &Kind, version: &Version, found: &mut Map<String, Value>) {
    let name = published_name(kind, version);
    let schema = &version.schema;
    found.extend(schema.components().into_iter().map(|(name, value)| (name.to_string(), value)));
    let mut own = schema.to_json_with_references();
    own["x-kubernetes-group-version-kind"] = json!([gvk(kind, version)]);
    found.insert(name.clone(), own);
    if version.verbs.iter().any(|verb| &**verb == "list") {
        let mut list_kind = gvk(kind, version);
        list_kind["kind"] = (*kind.list_kind).into();
        let list = json!({
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": {"type": "string"},
                "items": {"type": "array", "items": reference(&name)},
                "kind": {"type": "string"},
                "metadata": reference(&format!("{META}.ListMeta")),
            },
            "x-kubernetes-group-version-kind": [list_kind],
        });
        found.insert(list_name(kind, version), list);
    }
    for part in version.subresources.iter().filter(|part| part.kind != kind.kind) {
        if let Some(name) = part_name(kind, version, part) {
            add_named(&name, found);
        }
    }
}

/// The name under which the type of a kind is published.
fn published_name(kind: &Kind, version: &Version) -> String {
    match (&version.rules, &version.schema.name) {
        (Rules::BuiltIn(_), Some(name)) => name.to_string(),
        _ => {
            let mut group: Vec<&str> = kind.resource.group.split('.').collect();
            group.reverse();
            format!("{}.{}.{}", group.join("."), version.name, kind.kind)
        }
    }
}

fn list_name(kind: &Kind, version: &Version) -> String {
    let name = published_name(kind, version);
    let package = name.strip_suffix(&*kind.kind).unwrap_or(&name);
    format!("{package}{}", kind.list_kind)
}

/// The name of what a subresource takes; none where it takes no object.
fn part_name(kind: &Kind, version: &Version, part: &Subresource) -> Option<String> {
    if part.kind == kind.kind {
        return Some(published_name(kind, version));
    }
    let package = match part.group.split('.').next() {
        None | Some("") => "core",
        Some(word) => word,
    };
    let name = format!("io.k8s.api.{package}.{}.{}", part.version, part.kind);
    kinds::schema_named(&name).map(|_| name)
}

fn gvk(kind: &Kind, version: &Version) -> Value {
    json!({"group": &*kind.resource.group, "version": &*version.name, "kind": &*kind.kind})
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn add_paths(kind: &Kind, version: &Version, paths: &mut Map<String, Value>) {
    let (group, plural) = (&*kind.resource.group, &*kind.resource.plural);
    let root = if group.is_empty() {
        format!("/api/{}", version.name)
    } else {
        format!("/apis/{group}/{}", version.name)
    };
    let writer = Writer::new(kind, version);
    let scope = if kind.namespaced { "/namespaces/{namespace}" } else { "" };
    let collection = format!("{root}{scope}/{plural}");
    let mut many = Map::new();
    let mut single = Map::new();
    for verb in &version.verbs {
        match &**verb {
            "list" | "create" | "deletecollection" => writer.add(&mut many, verb, None),
            "get" | "update" | "patch" | "delete" => writer.add(&mut single, verb, None),
            _ => {}
        }
    }
    if kind.namespaced && many.contains_key("get") {
        let mut all = Map::new();
        writer.add(&mut all, "list", None);
        if let Some(list) = all.get_mut("get") {
            let id = format!("list{}{}ForAllNamespaces", writer.prefix, kind.kind);
            list["operationId"] = id.into();
        }
        put_path(paths, format!("{root}/{plural}"), all, &[]);
    }
    let scoped: &[&str] = if kind.namespaced { &["namespace"] } else { &[] };
    let named: &[&str] = if kind.namespaced { &["name", "namespace"] } else { &["name"] };
    put_path(paths, collection.clone(), many, scoped);
    put_path(paths, format!("{collection}/{{name}}"), single, named);
    for part in &version.subresources {
        let mut operations = Map::new();
        for verb in &part.verbs {
            writer.add(&mut operations, verb, Some(part));
        }
        put_path(paths, format!("{collection}/{{name}}/{}", part.name), operations, named);
    }
}

fn put_path(
    paths: &mut Map<String, Value>,
    path: String,
    mut operations: Map<String, Value>,
    names: &[&str],
) {
    if operations.is_empty() {
        return;
    }
    let in_path = names.iter().map(
        |name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}),
    );
    let pretty = json!({"name": "pretty", "in": "query", "schema": {"type": "string"}});
    let parameters = in_path.chain([pretty]).collect();
    operations.insert("parameters".into(), parameters);
    paths.insert(path, Value::Object(operations));
}

/// Writes the operations of one kind.
struct Writer<'a> {
    kind: &'a Kind,
    version: &'a Version,
    /// Group and version in the names of operations, such as `AppsV1`.
    prefix: String,
    /// Group and version in tags, such as `apps_v1`.
    tag: String,
}

impl<'a> Writer<'a> {
    fn new(kind: &'a Kind, version: &'a Version) -> Self {
        let group = &*kind.resource.group;
        let group = if group.is_empty() { "core" } else { group.trim_end_matches(".k8s.io") };
        let camel: String = group.split(['.', '-']).map(capitalized).collect();
        let prefix = format!("{camel}{}", capitalized(&version.name));
        let tag = format!("{}{}_{}", camel[..1].to_lowercase(), &camel[1..], version.name);
        Self { kind, version, prefix, tag }
    }

    /// Adds the operation of a verb under its HTTP method.
    fn add(&self, operations: &mut Map<String, Value>, verb: &str, part: Option<&Subresource>) {
        let (method, action, word, parameters) = match verb {
            "list" => ("get", "list", "list", LIST),
            "get" => ("get", "get", "read", READ),
            "create" => ("post", "post", "create", WRITE),
            "update" => ("put", "put", "replace", WRITE),
            "patch" => ("patch", "patch", "patch", PATCH),
            "delete" => ("delete", "delete", "delete", DELETE),
            _ => ("delete", "deletecollection", "delete", LIST),
        };
        let parameters: Vec<Value> = parameters
            .iter()
            .map(|(name, kind)| json!({"name": name, "in": "query", "schema": {"type": kind}}))
            .collect();
        let namespaced = if self.kind.namespaced { "Namespaced" } else { "" };
        let collection = if verb == "deletecollection" { "Collection" } else { "" };
        let suffix = part.map(|part| capitalized(&part.name)).unwrap_or_default();
        let kind = &self.kind.kind;
        let mut operation = json!({
            "tags": [self.tag],
            "operationId": format!("{word}{}{collection}{namespaced}{kind}{suffix}", self.prefix),
            "parameters": parameters,
            "responses": self.responses(verb, part),
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": self.operand(part),
        });
        if let Some(body) = self.body(verb, part) {
            operation["requestBody"] = body;
        }
        operations.insert(method.to_owned(), operation);
    }

    /// The kind that an operation is about.
    fn operand(&self, part: Option<&Subresource>) -> Value {
        match (part, &self.version.rules) {
            (Some(part), Rules::BuiltIn(_)) => {
                json!({"group": &*part.group, "version": &*part.version, "kind": &*part.kind})
            }
            _ => gvk(self.kind, self.version),
        }
    }

    fn type_name(&self, part: Option<&Subresource>) -> Option<String> {
        match part {
            None => Some(published_name(self.kind, self.version)),
            Some(part) => part_name(self.kind, self.version, part),
        }
    }

    fn responses(&self, verb: &str, part: Option<&Subresource>) -> Value {
        let schema = match verb {
            "list" => reference(&list_name(self.kind, self.version)),
            "delete" | "deletecollection" => reference(&format!("{META}.Status")),
            _ => match self.type_name(part) {
                Some(name) => reference(&name),
                None => json!({"type": "string"}),
            },
        };
        let code = if verb == "create" { "201" } else { "200" };
        let content = json!({"application/json": {"schema": schema}});
        json!({code: {"description": "Done", "content": content}})
    }

    fn body(&self, verb: &str, part: Option<&Subresource>) -> Option<Value> {
        let content = match verb {
            "create" | "update" => {
                let schema = reference(&self.type_name(part)?);
                json!({"application/json": {"schema": schema}})
            }
            "patch" => {
                let mut kinds = vec!["apply-patch+yaml", "json-patch+json", "merge-patch+json"];
                if matches!(self.version.rules, Rules::BuiltIn(_)) {
                    kinds.push("strategic-merge-patch+json");
                }
                let schema = json!({"schema": reference(&format!("{META}.Patch"))});
                kinds
                    .into_iter()
                    .map(|kind| (format!("application/{kind}"), schema.clone()))
                    .collect()
            }
            "delete" | "deletecollection" => {
                let schema = reference(&format!("{META}.DeleteOptions"));
                json!({"application/json": {"schema": schema}})
            }
            _ => return None,
        };
        Some(json!({"content": content, "required": verb != "delete"}))
    }
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
