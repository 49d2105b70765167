//! `NodeClass`es as providers see them.

use jiff::Timestamp;
use joiner_core::label::Labels;
use serde_json::{Map, Value, json};

/// The condition that everything is there with which instances of a class join.
pub const BOOTSTRAP_READY: &str = "BootstrapReady";

/// A kind of `NodeClass` that a provider serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClassKind {
    /// API group.
    pub group: &'static str,
    /// Version that is read and written.
    pub version: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// The resource's name in URLs.
    pub plural: &'static str,
}

impl ClassKind {
    /// The label by which instances of this kind of class are known. Its value is the class's name.
    pub fn label(&self) -> String {
        class_label(self.group, self.kind)
    }

    /// A definition of this kind for an API server. What a spec may look like is said in the words
    /// of `OpenAPI`; the status takes whatever its provider writes.
    pub fn definition(&self, spec: &Value) -> Value {
        let Self { group, version, kind, plural } = self;
        let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {
                "group": group,
                "scope": "Cluster",
                "names": {
                    "kind": kind,
                    "listKind": format!("{kind}List"),
                    "plural": plural,
                    "singular": kind.to_lowercase(),
                },
                "versions": [{
                    "name": version,
                    "served": true,
                    "storage": true,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": spec, "status": anything},
                    }},
                }],
            },
        })
    }
}

/// The label by which instances of a kind of class are known. Its value is the class's name.
pub fn class_label(group: &str, kind: &str) -> String {
    format!("{group}/{}", kind.to_lowercase())
}

/// A `NodeClass` object.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NodeClass {
    /// API group.
    pub group: String,
    /// Version of the API that it was read in.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
    /// Identity.
    pub uid: String,
    /// Grows with each change.
    pub version: u64,
    /// Grows with each change of the spec.
    pub generation: i64,
    /// Its annotations.
    pub annotations: Labels,
    /// What the user wants.
    pub spec: Value,
    /// What the provider last said.
    pub status: Value,
    /// Since when somebody wants it gone; claims may still need it.
    pub deleting: Option<Timestamp>,
    /// What has to happen before it is gone.
    pub finalizers: Vec<String>,
}

impl NodeClass {
    /// What the last status says of whether instances can be made: `None` while it says nothing.
    pub fn ready(&self) -> Option<(bool, &str, &str)> {
        let conditions = self.status["conditions"].as_array()?;
        let ready = conditions.iter().find(|condition| condition["type"] == "Ready")?;
        let holds = match ready["status"].as_str()? {
            "True" => true,
            "False" => false,
            _ => return None,
        };
        let text = |field: &str| ready[field].as_str().unwrap_or_default();
        Some((holds, text("reason"), text("message")))
    }

    /// The whole object, as the API server has it, less what nobody here needs.
    pub fn object(&self) -> Value {
        let mut metadata = json!({
            "name": self.name,
            "uid": self.uid,
            "generation": self.generation,
            "annotations": self.annotations,
        });
        if let Some(since) = self.deleting {
            metadata["deletionTimestamp"] = since.to_string().into();
        }
        json!({
            "apiVersion": format!("{}/{}", self.group, self.api_version),
            "kind": self.kind,
            "metadata": metadata,
            "spec": self.spec,
            "status": self.status,
        })
    }
}

/// What a provider found out about a class.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClassStatus {
    /// Fields of `status` besides the conditions, as they are to be written.
    pub fields: Map<String, Value>,
    /// Aspects of the class's health. `Ready` follows from them: it is true when all of them are.
    pub conditions: Vec<ClassCondition>,
}

/// What instances are made from, in a number: where that of a class or pool differs from the one that
/// an instance was made with, the instance has drifted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecHash {
    /// The annotation that it is kept in, on the class or pool and on claims.
    pub key: &'static str,
    /// The annotation that says how it was worked out.
    pub version_key: &'static str,
    /// How it is worked out now. Numbers that were worked out in different ways say nothing.
    pub version: &'static str,
    /// The number.
    pub hash: String,
}

impl SpecHash {
    /// The annotations of whoever has this hash.
    pub fn annotations(&self) -> Labels {
        let pairs = [(self.key, self.hash.as_str()), (self.version_key, self.version)];
        pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    /// Whether the annotations were made in the way of now.
    pub fn is_current(&self, annotations: &Labels) -> bool {
        annotations.get(self.version_key).is_some_and(|version| version == self.version)
    }

    /// Whether whoever has these annotations was made from something else than what the class's say.
    pub fn differs(&self, annotations: &Labels, of_class: &Labels) -> bool {
        hashes_differ(self.key, self.version_key, annotations, of_class)
    }
}

/// Whether two have hashes of different things, by the annotations that these and their versions are
/// in. Hashes that were made in different ways, or that are missing, say nothing.
pub fn hashes_differ(key: &str, version_key: &str, own: &Labels, now: &Labels) -> bool {
    let both = |key: &str| own.get(key).zip(now.get(key));
    both(version_key).is_some_and(|(own, now)| own == now)
        && both(key).is_some_and(|(own, now)| own != now)
}

/// One aspect of a class's health.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassCondition {
    /// What it is about.
    pub type_: &'static str,
    /// None while it is not known.
    pub holds: Option<bool>,
    /// Whether no instance is made while it does not hold.
    pub blocks: bool,
    /// For programs; empty for the type itself.
    pub reason: String,
    /// For people: the object, the field, the remedy.
    pub message: String,
}
