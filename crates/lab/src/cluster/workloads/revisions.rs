//! Which version of a template is it: hashes, and the revisions that StatefulSets and DaemonSets
//! keep of theirs.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use joiner_apiserver::{Caller, DeleteOptions, Key, Resource, Server, Status};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    events::About,
    facts::{Meta, read},
    owned::unless_gone,
    world::News,
};

/// The label by which a pod says of which revision it is.
pub(super) const REVISION_LABEL: &str = "controller-revision-hash";

/// The letters and digits of hashes in names: no vowels, so that no word comes out.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// A number that is equal for equal values (FNV-1a), independent of the order of their fields.
pub(super) fn fingerprint(value: &Value) -> u64 {
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    hash.value(value);
    hash.0
}

struct Fnv(u64);

impl Fnv {
    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Array(items) => {
                self.bytes(b"[");
                for item in items {
                    self.value(item);
                    self.bytes(b",");
                }
                self.bytes(b"]");
            }
            Value::Object(fields) => {
                self.bytes(b"{");
                for (key, field) in fields.iter().collect::<BTreeMap<_, _>>() {
                    self.bytes(key.as_bytes());
                    self.bytes(b":");
                    self.value(field);
                    self.bytes(b",");
                }
                self.bytes(b"}");
            }
            Value::String(text) => {
                self.bytes(b"\"");
                self.bytes(text.as_bytes());
                self.bytes(b"\"");
            }
            other => self.bytes(other.to_string().as_bytes()),
        }
    }
}

/// The hash of a template as it appears in names and labels. The count of collisions is part of
/// it, so that a name that is taken by another template can be avoided.
pub(super) fn template_hash(template: &Value, collisions: i64) -> String {
    let mut hash = Fnv(fingerprint(template));
    if collisions > 0 {
        hash.bytes(&collisions.to_le_bytes());
    }
    let folded = (hash.0 ^ (hash.0 >> 32)) as u32;
    let digits = folded.to_string();
    digits.bytes().map(|digit| char::from(ALPHABET[usize::from(digit) % 27])).collect()
}

/// One version of a template that an owner had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Revision {
    pub(super) name: Arc<str>,
    /// The hash that its name ends with.
    pub(super) hash: String,
    number: i64,
    fingerprint: u64,
}

/// The `ControllerRevision` objects of all owners.
#[derive(Debug)]
pub(super) struct Revisions {
    caller: Caller,
    resource: Resource,
    by_owner: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Revision>>,
}

#[derive(Deserialize)]
struct RevisionJson {
    metadata: Meta,
    revision: i64,
    data: Option<Value>,
}

impl Revisions {
    /// None yet; they are written under this name.
    pub(super) fn new(server: &Server, name: &str) -> Self {
        Self {
            caller: server.caller(name),
            resource: Resource::new("apps", "controllerrevisions"),
            by_owner: BTreeMap::new(),
        }
    }

    /// Takes note of a change of a revision.
    pub(super) fn observe(&mut self, news: &News<'_>) {
        let Some((object, gone)) = news.of("apps", "controllerrevisions") else { return };
        let RevisionJson { metadata, revision, data } = read(object);
        let Some(owner) = metadata.controller() else { return };
        let of_owner = self.by_owner.entry(owner.uid.as_str().into()).or_default();
        if gone {
            of_owner.remove(&object.key.name);
            if of_owner.is_empty() {
                self.by_owner.remove(owner.uid.as_str());
            }
            return;
        }
        let name = Arc::clone(&object.key.name);
        let hash = name.rsplit('-').next().unwrap_or_default().to_owned();
        let template = data.as_ref().map_or(&Value::Null, |data| &data["spec"]["template"]);
        let fingerprint = fingerprint(template);
        let revision = Revision { name: Arc::clone(&name), hash, number: revision, fingerprint };
        of_owner.insert(name, revision);
    }

    /// The revision of an owner's present template; made or moved to the front where needed.
    pub(super) fn ensure(
        &mut self,
        about: &About,
        template: &Value,
        collisions: i64,
    ) -> Result<Revision, Status> {
        let wanted = fingerprint(template);
        let of_owner = self.by_owner.get(&about.uid);
        let newest = of_owner.into_iter().flatten().map(|(_, one)| one.number).max().unwrap_or(0);
        let present = of_owner
            .into_iter()
            .flat_map(BTreeMap::values)
            .filter(|one| one.fingerprint == wanted)
            .max_by_key(|one| one.number);
        if let Some(present) = present {
            let mut present = present.clone();
            if present.number < newest {
                present.number = newest + 1;
                let key = Key { namespace: Arc::clone(&about.key.namespace), name: present.name };
                let patch = json!({"revision": present.number});
                self.caller.merge(&self.resource, &key, None, patch)?;
                present.name = key.name;
            }
            return Ok(present);
        }
        let hash = template_hash(template, collisions);
        let name = format!("{}-{hash}", about.key.name);
        let mut labels = template["metadata"]["labels"].clone();
        if !labels.is_object() {
            labels = json!({});
        }
        labels["controller.kubernetes.io/hash"] = hash.as_str().into();
        self.caller.create(
            &self.resource,
            json!({
                "apiVersion": "apps/v1",
                "kind": "ControllerRevision",
                "metadata": {
                    "name": name,
                    "namespace": &*about.key.namespace,
                    "labels": labels,
                    "ownerReferences": [about.controller_reference()],
                },
                "revision": newest + 1,
                "data": {"spec": {"template": template}},
            }),
        )?;
        Ok(Revision { name: name.into(), hash, number: newest + 1, fingerprint: wanted })
    }

    /// The template of a revision that an owner keeps.
    pub(super) fn template(&self, about: &About, name: &str) -> Option<Value> {
        let key = Key::new(&about.key.namespace, name);
        let object = self.caller.get(&self.resource, &key).ok()?;
        Some(object.value()["data"]["spec"]["template"].take()).filter(Value::is_object)
    }

    /// Deletes an owner's oldest revisions beyond those in use and as many as it keeps besides.
    pub(super) fn trim(
        &self,
        about: &About,
        in_use: &BTreeSet<&str>,
        kept: usize,
    ) -> Result<(), Status> {
        let of_owner = self.by_owner.get(&about.uid).into_iter().flat_map(BTreeMap::values);
        let mut unused: Vec<_> = of_owner.filter(|one| !in_use.contains(&*one.name)).collect();
        unused.sort_by_key(|one| one.number);
        let surplus = unused.len().saturating_sub(kept);
        for revision in &unused[..surplus] {
            let key = Key::new(&about.key.namespace, &revision.name);
            let options = DeleteOptions::default();
            unless_gone(self.caller.delete(&self.resource, &key, options))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_templates_have_equal_hashes_and_others_not() {
        let one = json!({"spec": {"image": "a", "args": ["x"]}});
        let same: Value = serde_json::from_str(r#"{"spec":{"args":["x"],"image":"a"}}"#).unwrap();
        let other = json!({"spec": {"image": "b", "args": ["x"]}});
        assert_eq!(template_hash(&one, 0), template_hash(&same, 0));
        assert_ne!(template_hash(&one, 0), template_hash(&other, 0));
        assert_ne!(template_hash(&one, 0), template_hash(&one, 1));
        let hash = template_hash(&one, 0);
        assert!(hash.len() <= 10 && hash.bytes().all(|letter| ALPHABET.contains(&letter)));
    }

    #[test]
    fn structure_counts() {
        assert_ne!(fingerprint(&json!(["a", "b"])), fingerprint(&json!(["ab"])));
        assert_ne!(fingerprint(&json!("1")), fingerprint(&json!(1)));
        assert_ne!(fingerprint(&json!({"a": {}})), fingerprint(&json!({"a": []})));
    }
}
