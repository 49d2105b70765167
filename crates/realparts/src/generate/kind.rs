//! Kinds of objects: where they are served, and what may be put into them.

use std::collections::BTreeMap;

use joiner_core::testing::rng::Rng;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::exchange::set;

/// A certificate signing request that a server can read; nobody has the key.
const SIGNING_REQUEST: &str = include_str!("signing-request.txt");

/// Values that may be put at a place, by its JSON pointer.
pub type Menu = BTreeMap<String, Vec<Value>>;

/// A kind of objects.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Kind {
    /// Group and version, as objects have them.
    pub api_version: String,
    /// The kind's name.
    pub kind: String,
    /// The name in paths.
    pub resource: String,
    /// Whether objects are in namespaces.
    #[serde(default = "yes")]
    pub namespaced: bool,
    /// How often the kind is chosen, compared with others.
    #[serde(default = "one")]
    pub weight: usize,
    /// Subresources that take the whole object.
    #[serde(default)]
    pub subresources: Vec<String>,
    /// Whether there is a `scale` subresource.
    #[serde(default)]
    pub scale: bool,
    /// Field selectors that make sense here.
    #[serde(default)]
    pub selectors: Vec<String>,
    /// The least that is accepted, without metadata.
    pub base: Value,
    /// Values that are accepted on creation.
    pub good: Menu,
    /// Values that are refused, mostly.
    pub bad: Menu,
    /// Values for the status, good and bad.
    #[serde(default)]
    pub status: Menu,
    /// Whether this is defined by a custom resource definition.
    #[serde(skip)]
    pub custom: bool,
}

fn yes() -> bool {
    true
}

fn one() -> usize {
    1
}

impl Kind {
    /// The kinds that every Kubernetes API server has.
    pub fn built_in() -> Vec<Self> {
        let files = [
            include_str!("../kinds/pods.yaml"),
            include_str!("../kinds/core.yaml"),
            include_str!("../kinds/rest.yaml"),
        ];
        let read = |text| {
            let kinds: Vec<Self> = serde_saphyr::from_str(text).expect("the kinds are well-formed");
            kinds
        };
        files.into_iter().flat_map(read).collect()
    }

    /// The path of all objects, or of those in a namespace.
    pub fn collection(&self, namespace: &str) -> String {
        let root = if self.api_version.contains('/') { "/apis" } else { "/api" };
        let namespace = match namespace {
            "" => String::new(),
            name => format!("/namespaces/{name}"),
        };
        format!("{root}/{}{namespace}/{}", self.api_version, self.resource)
    }

    /// How the kind is called in reports.
    pub fn label(&self) -> String {
        match self.api_version.split_once('/') {
            Some((group, _)) => format!("{}.{group}", self.resource),
            None => self.resource.clone(),
        }
    }

    /// Whether the server itself makes objects of this kind, which differ from server to server.
    pub fn has_objects_of_the_server(&self) -> bool {
        const KINDS: [&str; 12] = [
            "namespaces",
            "clusterroles",
            "clusterrolebindings",
            "priorityclasses",
            "leases",
            "configmaps",
            "endpoints",
            "endpointslices",
            "services",
            "roles",
            "rolebindings",
            "events",
        ];
        KINDS.contains(&self.resource.as_str())
    }

    /// A random object that should be accepted, with `fields` values beyond the least.
    pub fn make(&self, rng: &mut Rng, namespace: &str, fields: usize) -> Value {
        let mut object = self.base.clone();
        fill_in(&mut object, namespace);
        for _ in 0..fields {
            let (pointer, value) = draw(rng, &self.good);
            set(&mut object, &pointer, value);
        }
        set(&mut object, "/apiVersion", json!(self.api_version));
        set(&mut object, "/kind", json!(self.kind));
        object
    }
}

/// Replaces the words that stand for something only known here.
fn fill_in(value: &mut Value, namespace: &str) {
    match value {
        Value::String(text) if text == "NAMESPACE" => namespace.clone_into(text),
        Value::String(text) if text == "CSR" => SIGNING_REQUEST.trim().clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(|item| fill_in(item, namespace)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|field| fill_in(field, namespace));
        }
        _ => {}
    }
}

/// A place and a value for it.
pub fn draw(rng: &mut Rng, menu: &Menu) -> (String, Value) {
    let entries: Vec<(&String, &Vec<Value>)> =
        menu.iter().filter(|(_, values)| !values.is_empty()).collect();
    if entries.is_empty() {
        return ("/metadata/labels/drawn".to_owned(), json!("x"));
    }
    let (pointer, values) = *rng.pick(&entries);
    (pointer.clone(), rng.pick(values).clone())
}

/// Metadata that every kind accepts.
pub fn good_metadata() -> Menu {
    menu(json!({
        "/metadata/labels": [{"app": "web"}, {"app": "other", "tier": "a"}, {}],
        "/metadata/labels/app": ["web", "other", ""],
        "/metadata/labels/example.com~1long": ["a.b_c-D"],
        "/metadata/annotations": [{"note": "x"}, {"a/b": "any text: {}\n"}, {}],
        "/metadata/annotations/note": ["y", ""],
        "/metadata/finalizers": [["example.com/hold"], ["example.com/hold", "example.com/more"], []],
        "/metadata/ownerReferences": [
            [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a",
              "uid": "11111111-2222-3333-4444-555555555555"}],
            [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "a", "controller": true,
              "blockOwnerDeletion": true, "uid": "11111111-2222-3333-4444-555555555555"}],
        ],
        "/metadata/generation": [7],
        "/metadata/uid": ["11111111-2222-3333-4444-555555555555"],
        "/metadata/creationTimestamp": [null, "2020-01-01T00:00:00Z"],
        "/metadata/selfLink": ["/somewhere"],
        "/metadata/managedFields": [[]],
    }))
}

/// Metadata that no kind accepts.
pub fn bad_metadata() -> Menu {
    menu(json!({
        "/metadata/labels": [{"bad key": "a"}, {"a": "bad value!"}, {"a": 1}, ["a"], {"/a": "b"},
            {"a": "0123456789012345678901234567890123456789012345678901234567890123"}],
        "/metadata/annotations": [{"bad key": "a"}, {"a": true}, "text"],
        "/metadata/finalizers": [["nodomain"], ["bad finalizer!"], [""], "text", ["foregroundDeletion", "orphan"]],
        "/metadata/ownerReferences": [
            [{"kind": "ConfigMap", "name": "a"}],
            [{"apiVersion": "v1", "kind": "Event", "name": "a", "uid": "1"}],
            [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "1", "controller": true},
             {"apiVersion": "v1", "kind": "Pod", "name": "b", "uid": "2", "controller": true}],
        ],
        "/metadata/name": ["Bad_Name", "", "-a", "a/b", "..", "a b", 5,
            "a23456789012345678901234567890123456789012345678901234567890123456789"],
        "/metadata/namespace": ["elsewhere", 5],
        "/metadata/resourceVersion": ["5", "abc"],
        "/metadata/deletionTimestamp": ["2020-01-01T00:00:00Z", "yesterday"],
        "/metadata/deletionGracePeriodSeconds": [5],
        "/metadata/managedFields": [
            [{"manager": "m", "operation": "Bogus", "apiVersion": "v1"}],
            [{"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV2"}],
        ],
        "/metadata": [null, "text", []],
        "/apiVersion": ["v2", "", "apps/v1beta1", 1],
        "/kind": ["Bogus", "", "ConfigMapList", "pod"],
    }))
}

fn menu(value: Value) -> Menu {
    serde_json::from_value(value).expect("menus map pointers to lists")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_can_be_read_and_make_objects() {
        let mut rng = Rng::new(1);
        for kind in Kind::built_in() {
            let object = kind.make(&mut rng, "space", 3);
            assert_eq!(object["kind"], json!(kind.kind));
            let pointers = kind.good.keys().chain(kind.bad.keys()).chain(kind.status.keys());
            for pointer in pointers {
                assert!(pointer.starts_with('/'), "{}: {pointer} is no pointer", kind.kind);
            }
        }
    }

    #[test]
    fn paths_have_group_and_namespace_where_there_are_such() {
        let kinds = Kind::built_in();
        let path = |name: &str, namespace: &str| {
            let kind = kinds.iter().find(|kind| kind.resource == name).unwrap();
            (kind.collection(namespace), kind.label())
        };
        assert_eq!(path("pods", "a"), ("/api/v1/namespaces/a/pods".into(), "pods".into()));
        assert_eq!(path("nodes", ""), ("/api/v1/nodes".into(), "nodes".into()));
        assert_eq!(path("jobs", ""), ("/apis/batch/v1/jobs".into(), "jobs.batch".into()));
    }
}
