//! Which resources the API has: the table behind discovery.

use std::sync::LazyLock;

/// One resource of the API, such as pods in v1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The version of the group.
    pub version: &'static str,
    /// The kind of its objects, such as `Pod`.
    pub kind: &'static str,
    /// The name in paths, such as `pods`.
    pub plural: &'static str,
    /// The name of one, such as `pod`.
    pub singular: &'static str,
    /// Abbreviations, such as `po`.
    pub short_names: Vec<&'static str>,
    /// Sets of resources it belongs to, such as `all`.
    pub categories: Vec<&'static str>,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// What can be done with it, such as `create`.
    pub verbs: Vec<&'static str>,
    /// Further endpoints of one object, such as `status`.
    pub subresources: Vec<Subresource>,
    /// What discovery says about the version in which it is stored; none if it is not stored.
    pub storage_version_hash: Option<&'static str>,
    /// Its type in the facts, such as `core.v1.Pod`.
    pub(crate) type_name: String,
}

/// A further endpoint of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subresource {
    /// The last part of its path, such as `status`.
    pub name: &'static str,
    /// The group of the objects it takes.
    pub group: &'static str,
    /// The version of the objects it takes.
    pub version: &'static str,
    /// The kind of the objects it takes.
    pub kind: &'static str,
    /// Whether discovery names its group and version, as it does where they are not the resource's.
    pub foreign: bool,
    /// What can be done with it.
    pub verbs: Vec<&'static str>,
}

impl Resource {
    /// The kind of its lists, such as `PodList`.
    pub fn list_kind(&self) -> String {
        format!("{}List", self.kind)
    }

    /// Group and version as objects write them, such as `apps/v1` or `v1`.
    pub fn api_version(&self) -> String {
        joined(self.group, self.version)
    }

    /// The resource with its group, as errors write it: `pods` or `deployments.apps`.
    pub fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.plural.to_owned()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// Whether an update must name the version it changes.
    pub fn update_needs_version(&self) -> bool {
        match self.id() {
            (
                "admissionregistration.k8s.io"
                | "apiextensions.k8s.io"
                | "apiregistration.k8s.io"
                | "coordination.k8s.io"
                | "node.k8s.io"
                | "policy",
                _,
            ) => true,
            ("storage.k8s.io", kind) => !matches!(kind, "StorageClass" | "VolumeAttributesClass"),
            _ => false,
        }
    }

    /// Whether an update of an object that is not there creates it.
    pub fn update_creates(&self) -> bool {
        match self.id() {
            ("", kind) => matches!(kind, "Endpoints" | "Event" | "LimitRange" | "Service"),
            (group, _) => matches!(
                group,
                "coordination.k8s.io"
                    | "events.k8s.io"
                    | "node.k8s.io"
                    | "rbac.authorization.k8s.io"
            ),
        }
    }

    /// Whether what belongs to a deleted object stays, unless the request says otherwise.
    pub fn orphans_by_default(&self) -> bool {
        matches!(self.id(), ("", "ReplicationController") | ("batch", "Job"))
    }

    /// One of its further endpoints.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|subresource| subresource.name == name)
    }

    /// Group and kind, which is how the rules of this crate know it.
    pub(crate) fn id(&self) -> (&'static str, &'static str) {
        (self.group, self.kind)
    }
}

/// Verbs of an ordinary resource.
const ALL_VERBS: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

static RESOURCES: LazyLock<Vec<Resource>> =
    LazyLock::new(|| parse(include_str!("../facts/resources.txt")));

/// All resources: groups in the order of their priority, their versions with the preferred one
/// first, and resources as discovery lists them.
pub fn resources() -> &'static [Resource] {
    &RESOURCES
}

/// The resource with this name in paths.
pub fn find(group: &str, version: &str, plural: &str) -> Option<&'static Resource> {
    resources().iter().find(|r| r.plural == plural && r.group == group && r.version == version)
}

/// The resource whose objects are of this kind.
pub fn find_kind(group: &str, version: &str, kind: &str) -> Option<&'static Resource> {
    resources().iter().find(|r| r.kind == kind && r.group == group && r.version == version)
}

/// The name of a kind's type in the facts: Go's packages are named by the first word of the group.
pub(crate) fn type_name(group: &str, version: &str, kind: &str) -> String {
    let package = match group.split('.').next() {
        None | Some("") => "core",
        Some(word) => word,
    };
    format!("{package}.{version}.{kind}")
}

fn joined(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

fn parse(text: &'static str) -> Vec<Resource> {
    let mut resources: Vec<Resource> = Vec::new();
    for line in text.lines() {
        if let Some(subresource) = line.strip_prefix(" /") {
            let of = resources.last_mut().expect("a subresource follows its resource");
            let subresource = parse_subresource(subresource, of);
            of.subresources.push(subresource);
        } else {
            resources.push(parse_resource(line));
        }
    }
    resources
}

fn parse_resource(line: &'static str) -> Resource {
    let mut words = line.split(' ');
    let mut next = || words.next().expect("a resource has six words at least");
    let (group, version) = split_group(next());
    let (plural, singular, kind, scope, verbs) = (next(), next(), next(), next(), next());
    let mut resource = Resource {
        group,
        version,
        kind,
        plural,
        singular,
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: scope == "namespaced",
        verbs: parse_verbs(verbs),
        subresources: Vec::new(),
        storage_version_hash: None,
        type_name: type_name(group, version, kind),
    };
    for (option, value) in words.filter_map(|word| word.split_once('=')) {
        match option {
            "short" => resource.short_names = value.split(',').collect(),
            "categories" => resource.categories = value.split(',').collect(),
            _ => resource.storage_version_hash = Some(value),
        }
    }
    resource
}

fn parse_subresource(line: &'static str, of: &Resource) -> Subresource {
    let words: Vec<&'static str> = line.split(' ').collect();
    let (name, api_version, kind, verbs) = match words[..] {
        [name, kind, verbs] => (name, None, kind, verbs),
        [name, api_version, kind, verbs] => (name, Some(api_version), kind, verbs),
        _ => unreachable!("a subresource has three or four words: {line}"),
    };
    let (group, version) = api_version.map_or((of.group, of.version), split_group);
    let foreign = api_version.is_some();
    Subresource { name, group, version, kind, foreign, verbs: parse_verbs(verbs) }
}

fn split_group(api_version: &'static str) -> (&'static str, &'static str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

fn parse_verbs(verbs: &'static str) -> Vec<&'static str> {
    if verbs == "all" { ALL_VERBS.to_vec() } else { verbs.split(',').collect() }
}
