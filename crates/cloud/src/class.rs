//! `NodeClass`es as providers see them.

use std::time::Duration;

use jiff::Timestamp;
use joiner_core::label::Labels;
use serde_json::{Map, Value, json};

/// The condition that every input for joining instances of a class is available.
pub const BOOTSTRAP_READY: &str = "BootstrapReady";

/// The role of a kind of object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A `NodeClass`: pools and claims refer to it, and nodes carry its label.
    NodeClass,
    /// An object that classes refer to, such as a template. Only classes refer to it.
    Ingredient,
}

/// A kind of object that a provider serves: a `NodeClass`, or an ingredient of such classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClassKind {
    /// The role of its objects.
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

    /// A definition of this kind for an API server. `spec` is an `OpenAPI` schema. The status accepts
    /// all fields.
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

/// A `NodeClass` object, or an ingredient of such classes.
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
    /// The status that the provider last wrote.
    pub status: Value,
    /// When its deletion was requested. Claims may still need it.
    pub deleting: Option<Timestamp>,
    /// Its finalizers.
    pub finalizers: Vec<String>,
}

impl NodeClass {
    /// Its kind and name.
    pub fn object_name(&self) -> ObjectName {
        ObjectName { group: self.group.clone(), kind: self.kind.clone(), name: self.name.clone() }
    }

    /// The last status of the condition `Ready`; `None` while there is none.
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

    /// The object as the API server stores it, without the fields that this program does not need.
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

/// The result of a provider's judgement of a class.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClassStatus {
    /// Fields of `status` besides the conditions, as they are to be written.
    pub fields: Map<String, Value>,
    /// Aspects of the class's health. `Ready` follows from them: it is true when all of them are.
    pub conditions: Vec<ClassCondition>,
    /// When to judge the class again. By default, a ready class is judged every five minutes. The
    /// interval of a class that is not ready begins at half a minute and grows.
    pub look_again: Option<Duration>,
}

/// A hash of the inputs of instances, with the meaning of a difference.
///
/// A class may have several hashes: one for fields that need a new instance, another for fields that
/// change in place. Of several hashes with one meaning, the first that both claim and class have
/// decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecHash {
    /// The annotation that it is kept in.
    pub key: &'static str,
    /// The version of its calculation, where an annotation records it. Hashes of different versions
    /// are never compared.
    pub version: Option<HashVersion>,
    /// The hash.
    pub hash: String,
    /// Which objects it is kept on.
    pub kept: KeptOn,
    /// The meaning of a difference between the hashes of claim and class.
    pub difference: Difference,
}

/// How a hash is calculated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashVersion {
    /// The annotation that records it.
    pub key: &'static str,
    /// The value for hashes of the current calculation.
    pub value: &'static str,
}

/// Which objects a hash is kept on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptOn {
    /// The object that is hashed.
    Object,
    /// The claims that were made from it. They are compared with the current hash.
    Claims,
    /// Both.
    Both,
}

/// The meaning of a difference between the hashes of a claim and its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// The instance has drifted: it is replaced.
    Drift,
    /// The instance is [updated](crate::CloudProvider::update) in place.
    Update,
    /// The operator does nothing.
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

    /// Whether the hash in these annotations, if any, has the current version.
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

/// The hash by which a claim differs from its class with this meaning. Of all such hashes, the first
/// that both have decides. `claim` and `class` are the annotations of the two.
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
/// in. Missing hashes, and hashes of different versions, never differ.
pub fn hashes_differ(key: &str, version_key: &str, own: &Labels, now: &Labels) -> bool {
    let both = |key: &str| own.get(key).zip(now.get(key));
    both(version_key).is_some_and(|(own, now)| own == now)
        && both(key).is_some_and(|(own, now)| own != now)
}

/// One aspect of a class's health.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassCondition {
    /// The type of the condition.
    pub type_: &'static str,
    /// None while it is not known.
    pub holds: Option<bool>,
    /// Whether the condition must be true before instances are made.
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
