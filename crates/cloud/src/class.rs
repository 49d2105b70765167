//! `NodeClass`es as providers see them.

use std::time::Duration;

use jiff::Timestamp;
use joiner_core::label::Labels;
use serde_json::{Map, Value, json};

/// The condition that everything is there with which instances of a class join.
pub const BOOTSTRAP_READY: &str = "BootstrapReady";

/// What objects of a kind are to claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A `NodeClass`: pools and claims refer to it, and nodes carry its label.
    NodeClass,
    /// Something that classes are made of, such as a template. Only classes refer to it.
    Ingredient,
}

/// A kind of object that a provider serves: a `NodeClass`, or what such classes are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClassKind {
    /// What its objects are to claims.
    pub role: Role,
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
        let Self { group, version, kind, plural, role: _ } = self;
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

/// The name of a cluster-wide object of any kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct ObjectName {
    /// API group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
}

/// A `NodeClass` object, or one of what classes are made of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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
    /// Its kind and name.
    pub fn object_name(&self) -> ObjectName {
        ObjectName { group: self.group.clone(), kind: self.kind.clone(), name: self.name.clone() }
    }

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
    /// When to look again. Without it a ready class is looked at every five minutes, and one that is
    /// not ready after half a minute and longer each time.
    pub look_again: Option<Duration>,
}

/// A hash of what instances are made from, with what a difference of it means.
///
/// A provider may have several for one class: one for what only a new instance can follow, another
/// for what can be changed in place. Of several hashes with one meaning, the first decides that both
/// the claim and the class have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecHash {
    /// The annotation that it is kept in.
    pub key: &'static str,
    /// How it is calculated, where an annotation says so. Hashes of different versions are never
    /// compared.
    pub version: Option<HashVersion>,
    /// The hash.
    pub hash: String,
    /// Which objects it is kept on.
    pub kept: KeptOn,
    /// What it means that the claim's hash differs from the class's.
    pub difference: Difference,
}

/// How a hash is calculated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashVersion {
    /// The annotation that says so.
    pub key: &'static str,
    /// What it says of hashes that are calculated as now.
    pub value: &'static str,
}

/// Which objects a hash is kept on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptOn {
    /// The object that is hashed.
    Object,
    /// The claims that were made from it. They are compared with what the hash is now.
    Claims,
    /// Both.
    Both,
}

/// What it means that a claim's hash differs from its class's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// The instance has drifted: it is replaced.
    Drift,
    /// The instance is [updated](crate::CloudProvider::update) in place.
    Update,
    /// Nothing that the operator acts on.
    Nothing,
}

impl SpecHash {
    /// A hash on class and claims whose difference means drift.
    pub fn of_drift(
        key: &'static str,
        version_key: &'static str,
        version: &'static str,
        hash: impl Into<String>,
    ) -> Self {
        Self {
            key,
            version: Some(HashVersion { key: version_key, value: version }),
            hash: hash.into(),
            kept: KeptOn::Both,
            difference: Difference::Drift,
        }
    }

    /// The annotations of an object with this hash.
    pub fn annotations(&self) -> Labels {
        let version = self.version.map(|version| (version.key, version.value));
        let pairs = [(self.key, self.hash.as_str())].into_iter().chain(version);
        pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    /// Whether the hash in these annotations, if any, was calculated as now.
    pub fn is_current(&self, annotations: &Labels) -> bool {
        match self.version {
            Some(HashVersion { key, value }) => {
                annotations.get(key).is_some_and(|version| version == value)
            }
            None => annotations.contains_key(self.key),
        }
    }

    /// Whether the hashed object keeps it.
    pub fn is_on_object(&self) -> bool {
        matches!(self.kept, KeptOn::Object | KeptOn::Both)
    }

    /// Whether claims keep it.
    pub fn is_on_claims(&self) -> bool {
        matches!(self.kept, KeptOn::Claims | KeptOn::Both)
    }

    /// Whether the claim's hash differs from the class's; none where one of them has no hash of this
    /// version.
    fn differs(&self, claim: &Labels, class: &Labels) -> Option<bool> {
        let own = if self.is_on_object() { class.clone() } else { self.annotations() };
        if let Some(HashVersion { key, .. }) = self.version {
            claim.get(key).zip(own.get(key)).filter(|(claim, own)| claim == own)?;
        }
        claim.get(self.key).zip(own.get(self.key)).map(|(claim, own)| claim != own)
    }
}

/// The hash by which a claim differs from its class in a way that means this: of all such hashes the
/// first decides that both have. `claim` and `class` are the annotations of the two.
pub fn differing<'h>(
    hashes: &'h [SpecHash],
    means: Difference,
    claim: &Labels,
    class: &Labels,
) -> Option<&'h SpecHash> {
    let compared = hashes.iter().filter(|hash| hash.difference == means && hash.is_on_claims());
    let mut known = compared.filter_map(|hash| Some((hash, hash.differs(claim, class)?)));
    known.next().and_then(|(hash, differs)| differs.then_some(hash))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn hash(key: &'static str, hash: &str, kept: KeptOn, difference: Difference) -> SpecHash {
        SpecHash { key, version: None, hash: hash.to_owned(), kept, difference }
    }

    /// A class with a second way of hashing, and a hash for changes in place on claims alone.
    fn hashes() -> [SpecHash; 3] {
        [
            hash("second", "2b", KeptOn::Both, Difference::Drift),
            SpecHash::of_drift("first", "first-version", "v1", "1b"),
            hash("in-place", "b", KeptOn::Claims, Difference::Update),
        ]
    }

    fn differs(means: Difference, claim: &[(&str, &str)], class: &[(&str, &str)]) -> String {
        let hashes = hashes();
        let found = differing(&hashes, means, &labels(claim), &labels(class));
        found.map(|hash| hash.key.to_owned()).unwrap_or_default()
    }

    #[test]
    fn the_first_hash_that_claim_and_class_have_decides() {
        let class = [("second", "2b"), ("first", "1b"), ("first-version", "v1")];
        let drift = |claim: &[(&str, &str)]| differs(Difference::Drift, claim, &class);
        let old = [("first", "1a"), ("first-version", "v1")];
        assert_eq!(drift(&old), "first", "it has no second hash");
        assert_eq!(drift(&[old[0], old[1], ("second", "2b")]), "", "the second hash decides");
        assert_eq!(drift(&[old[0], old[1], ("second", "2a")]), "second");
        assert_eq!(drift(&[("first", "1a"), ("first-version", "v0")]), "", "another version");
        assert_eq!(drift(&[]), "");
    }

    #[test]
    fn a_hash_on_claims_alone_is_compared_with_what_it_is_now() {
        assert_eq!(differs(Difference::Update, &[("in-place", "a")], &[]), "in-place");
        assert_eq!(differs(Difference::Update, &[("in-place", "b")], &[]), "");
        assert_eq!(differs(Difference::Update, &[], &[]), "", "nothing is known of the claim");
        assert_eq!(differs(Difference::Drift, &[("in-place", "a")], &[]), "");
    }
}
