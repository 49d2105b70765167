//! What is served: the kinds that are built in and those that CustomResourceDefinitions add.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use joiner_kinds as kinds;
use joiner_schema::Schema;
use serde_json::{Value, json};

use crate::{
    custom::CustomVersion,
    object::{Resource, TypeNames},
};

/// Everything that is served at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Registry {
    kinds: BTreeMap<Resource, Arc<Kind>>,
    /// Groups in the order in which discovery lists them.
    groups: Vec<Arc<str>>,
}

/// One kind of objects, in all its versions.
#[derive(Debug)]
#[expect(clippy::struct_field_names, reason = "these are Kubernetes' own names")]
pub(crate) struct Kind {
    /// The resource under which it is served.
    pub(crate) resource: Resource,
    /// The resource under which its objects are stored; another one for events.k8s.io's events.
    pub(crate) storage: Resource,
    /// What objects say of their type in the form in which they are stored.
    pub(crate) stored_type: Arc<TypeNames>,
    pub(crate) kind: Box<str>,
    pub(crate) list_kind: Box<str>,
    pub(crate) singular: Box<str>,
    pub(crate) short_names: Vec<Box<str>>,
    pub(crate) categories: Vec<Box<str>>,
    pub(crate) namespaced: bool,
    /// The versions that are served or stored, the preferred one first.
    pub(crate) versions: Vec<Version>,
}

/// One version of a kind.
#[derive(Debug)]
#[expect(clippy::struct_field_names, reason = "these are Kubernetes' own names")]
pub(crate) struct Version {
    pub(crate) name: Box<str>,
    /// Group and version as objects carry it, such as `apps/v1`.
    pub(crate) api_version: Box<str>,
    pub(crate) served: bool,
    pub(crate) stored: bool,
    /// What the JSON of an object begins with: `{"apiVersion":"v1","kind":"Pod",`.
    pub(crate) head: Bytes,
    pub(crate) schema: Arc<Schema>,
    pub(crate) verbs: Vec<Box<str>>,
    pub(crate) subresources: Vec<Subresource>,
    pub(crate) storage_version_hash: Option<Box<str>>,
    /// An object of the kind of which nothing is given, as it is written.
    pub(crate) empty: Value,
    /// What callers of a deprecated version are told.
    pub(crate) deprecation: Vec<String>,
    pub(crate) rules: Rules,
}

/// A further endpoint of one object.
#[derive(Clone, Debug)]
pub(crate) struct Subresource {
    pub(crate) name: Box<str>,
    pub(crate) group: Box<str>,
    pub(crate) version: Box<str>,
    pub(crate) kind: Box<str>,
    /// Whether discovery names the group and version.
    pub(crate) foreign: bool,
    pub(crate) verbs: Vec<Box<str>>,
}

/// Where the rules of a kind come from.
#[derive(Debug)]
pub(crate) enum Rules {
    /// Kubernetes itself.
    BuiltIn(&'static kinds::Resource),
    /// A CustomResourceDefinition.
    Custom(Box<CustomVersion>),
}

impl Registry {
    /// The kinds that every cluster has.
    pub(crate) fn built_in() -> Self {
        let mut registry = Self { kinds: BTreeMap::new(), groups: Vec::new() };
        for resource in kinds::resources() {
            registry.note_group(resource.group);
            let name = Resource::new(resource.group, resource.plural);
            match registry.kinds.get_mut(&name).and_then(Arc::get_mut) {
                Some(kind) => kind.versions.push(Version::built_in(resource, false)),
                None => {
                    registry.kinds.insert(name.clone(), Arc::new(Kind::built_in(name, resource)));
                }
            }
        }
        registry
    }

    /// Adds or replaces a kind.
    pub(crate) fn insert(&mut self, kind: Kind) {
        self.note_group(&kind.resource.group);
        self.kinds.insert(kind.resource.clone(), Arc::new(kind));
    }

    /// Takes a kind away.
    pub(crate) fn remove(&mut self, resource: &Resource) {
        self.kinds.remove(resource);
        let group = &resource.group;
        if !self.kinds.keys().any(|other| other.group == *group) {
            self.groups.retain(|other| other != group);
        }
    }

    pub(crate) fn get(&self, resource: &Resource) -> Option<&Arc<Kind>> {
        self.kinds.get(resource)
    }

    /// The kind that is served under this name, in any version.
    pub(crate) fn find(&self, group: &str, plural: &str) -> Option<&Arc<Kind>> {
        self.kinds.get(&Resource::new(group, plural))
    }

    /// Groups in the order in which discovery lists them.
    pub(crate) fn groups(&self) -> &[Arc<str>] {
        &self.groups
    }

    /// The kinds of a group; built-in ones as Kubernetes lists them.
    pub(crate) fn kinds_of<'a>(&'a self, group: &'a str) -> impl Iterator<Item = &'a Arc<Kind>> {
        self.kinds.values().filter(move |kind| &*kind.resource.group == group)
    }

    /// All kinds.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.kinds.values()
    }

    /// The versions of a group that are served, the preferred one first.
    pub(crate) fn versions_of<'a>(&'a self, group: &'a str) -> Vec<&'a str> {
        let mut versions: Vec<&str> = Vec::new();
        for kind in self.kinds_of(group) {
            for version in kind.versions.iter().filter(|version| version.served) {
                if !versions.contains(&&*version.name) {
                    versions.push(&version.name);
                }
            }
        }
        versions.sort_by_key(|version| std::cmp::Reverse(version_priority(version)));
        versions
    }

    fn note_group(&mut self, group: &str) {
        if !self.groups.iter().any(|known| &**known == group) {
            self.groups.push(group.into());
        }
    }
}

impl Kind {
    fn built_in(name: Resource, resource: &'static kinds::Resource) -> Self {
        let boxed = |words: &[&'static str]| words.iter().map(|word| Box::from(*word)).collect();
        // Events of both groups are the same objects.
        let (storage, api_version) = if name.is("events.k8s.io", "events") {
            (Resource::new("", "events"), "v1".to_owned())
        } else {
            (name.clone(), resource.api_version())
        };
        let stored_type = TypeNames { api_version: api_version.into(), kind: resource.kind.into() };
        Self {
            resource: name,
            storage,
            stored_type: Arc::new(stored_type),
            kind: resource.kind.into(),
            list_kind: resource.list_kind().into(),
            singular: resource.singular.into(),
            short_names: boxed(&resource.short_names),
            categories: boxed(&resource.categories),
            namespaced: resource.namespaced,
            versions: vec![Version::built_in(resource, true)],
        }
    }

    /// A version by its name, if it is served.
    pub(crate) fn served(&self, version: &str) -> Option<&Version> {
        self.versions.iter().find(|candidate| candidate.served && &*candidate.name == version)
    }

    /// The version in which objects are stored.
    pub(crate) fn stored(&self) -> &Version {
        self.versions
            .iter()
            .find(|version| version.stored)
            .unwrap_or_else(|| self.versions.first().expect("a kind has a version"))
    }

    /// Whether this is the built-in kind of that group and name.
    pub(crate) fn is(&self, group: &str, kind: &str) -> bool {
        &*self.resource.group == group
            && &*self.kind == kind
            && matches!(self.stored().rules, Rules::BuiltIn(_))
    }
}

impl Version {
    fn built_in(resource: &'static kinds::Resource, stored: bool) -> Self {
        let boxed = |words: &[&'static str]| -> Vec<Box<str>> {
            words.iter().map(|word| Box::from(*word)).collect()
        };
        let api_version = resource.api_version();
        Self {
            name: resource.version.into(),
            head: head(&api_version, resource.kind),
            api_version: api_version.into(),
            served: true,
            stored,
            schema: kinds::schema(resource),
            verbs: boxed(&resource.verbs),
            subresources: resource
                .subresources
                .iter()
                .map(|subresource| Subresource {
                    name: subresource.name.into(),
                    group: subresource.group.into(),
                    version: subresource.version.into(),
                    kind: subresource.kind.into(),
                    foreign: subresource.foreign,
                    verbs: boxed(&subresource.verbs),
                })
                .collect(),
            storage_version_hash: resource.storage_version_hash.map(Into::into),
            empty: empty(resource),
            deprecation: deprecation(resource),
            rules: Rules::BuiltIn(resource),
        }
    }

    pub(crate) fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|subresource| &*subresource.name == name)
    }

    /// Whether the kind's status can only be written through its own endpoint.
    pub(crate) fn has_status(&self) -> bool {
        self.subresource("status").is_some()
    }
}

/// What the structs of a built-in kind are written as when nothing is given.
fn empty(resource: &kinds::Resource) -> Value {
    let mut object = json!({});
    // Nothing is of the wrong type where nothing is.
    let _ = kinds::normalize(resource, &mut object);
    // The generated annotations of daemon sets belong to their creator.
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("annotations");
    }
    object
}

fn deprecation(resource: &kinds::Resource) -> Vec<String> {
    match (resource.group, resource.kind) {
        ("", "Endpoints") => {
            let instead = "discovery.k8s.io/v1 EndpointSlice";
            vec![format!("v1 Endpoints is deprecated in v1.33+; use {instead}")]
        }
        ("", "ComponentStatus") => vec!["v1 ComponentStatus is deprecated in v1.19+".to_owned()],
        _ => Vec::new(),
    }
}

/// What the JSON of an object begins with.
pub(crate) fn head(api_version: &str, kind: &str) -> Bytes {
    Bytes::from(format!("{{\"apiVersion\":{api_version:?},\"kind\":{kind:?},"))
}

/// Orders versions as Kubernetes does: `v2`, `v1`, `v1beta2`, `v1alpha1`, then everything else.
pub(crate) fn version_priority(version: &str) -> (u8, u64, u64) {
    let parsed = || {
        let rest = version.strip_prefix('v')?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let major: u64 = rest[..digits].parse().ok()?;
        let (stage, minor) = match &rest[digits..] {
            "" => (3u8, 0),
            stage if stage.starts_with("beta") => (2, stage[4..].parse().ok()?),
            stage if stage.starts_with("alpha") => (1, stage[5..].parse().ok()?),
            _ => return None,
        };
        Some((stage, major, minor))
    };
    parsed().unwrap_or_default()
}
