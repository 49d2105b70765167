//! Owners and what they own.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use joiner_apiserver::{Change, ChangeKind, Key, Object};

use super::Violation;
use crate::history::{Entry, History};

/// How long the garbage collector may take.
const PATIENCE_SECONDS: i64 = 60;

/// An object by its resource and key.
type Id = (String, Key);

/// The objects of a replay and their owner references.
#[derive(Debug, Default)]
struct World {
    alive: BTreeMap<Id, Alive>,
    /// The living by their uids.
    ids: BTreeMap<Arc<str>, Id>,
    /// When others went, by their uids.
    gone: BTreeMap<Arc<str>, Timestamp>,
    /// Who names an uid as owner.
    dependents: BTreeMap<Box<str>, BTreeSet<Id>>,
}

#[derive(Debug)]
struct Alive {
    object: Arc<Object>,
    /// Since when it has the owners that it has.
    owned_since: Timestamp,
}

impl World {
    fn apply(&mut self, change: &Change) {
        let id = (change.resource.to_string(), change.object.key.clone());
        let object = &change.object;
        let before = self.alive.remove(&id);
        if let Some(before) = &before {
            self.ids.remove(&before.object.uid);
            for owner in &before.object.owners {
                if let Some(dependents) = self.dependents.get_mut(owner) {
                    dependents.remove(&id);
                }
            }
        }
        if change.kind == ChangeKind::Deleted {
            self.gone.insert(Arc::clone(&object.uid), change.at);
            return;
        }
        for owner in &object.owners {
            self.dependents.entry(owner.clone()).or_default().insert(id.clone());
        }
        self.ids.insert(Arc::clone(&object.uid), id.clone());
        let same = before.filter(|before| before.object.owners == object.owners);
        let owned_since = same.map_or(change.at, |before| before.owned_since);
        self.alive.insert(id, Alive { object: Arc::clone(object), owned_since });
    }

    /// Since when an object has had no owner left that counts; none if it has one, or never had
    /// any.
    fn orphaned(&self, alive: &Alive) -> Option<Timestamp> {
        let object = &alive.object;
        let cluster_wide = object.key.namespace.is_empty();
        let mut since = (!object.owners.is_empty()).then_some(alive.owned_since)?;
        for owner in &object.owners {
            if let Some((_, owner)) = self.ids.get(&**owner) {
                // The namespace of an owner is never named: it is the object's own. What has no
                // namespace cannot have such an owner, and is left alone by the collector.
                if cluster_wide || [&*object.key.namespace, ""].contains(&&*owner.namespace) {
                    return None;
                }
            } else if let Some(gone) = self.gone.get(&**owner) {
                since = since.max(*gone);
            }
        }
        Some(since)
    }
}

/// At the end nothing is left whose owners are all gone, never were, or are in another namespace,
/// unless it is on its way out itself or the garbage collector had no time yet.
pub fn orphans(history: &History) -> Vec<Violation> {
    let mut world = World::default();
    for entry in history.entries().iter() {
        if let Entry::Change(change) = entry {
            world.apply(change);
        }
    }
    let end = history.latest();
    let mut violations = Vec::new();
    for ((resource, key), alive) in &world.alive {
        let Some(since) = world.orphaned(alive).filter(|_| !alive.object.deleting) else {
            continue;
        };
        if end.duration_since(since).as_secs() > PATIENCE_SECONDS {
            let what = format!("{resource} {key} outlived its owners");
            violations.push(Violation { at: since, rule: "nothing outlives its owners", what });
        }
    }
    violations
}

/// What is deleted in the foreground goes only after everything that it owns and that blocks it.
pub fn owners_wait_for_dependents(history: &History) -> Vec<Violation> {
    let mut world = World::default();
    let mut violations = Vec::new();
    for entry in history.entries().iter() {
        let Entry::Change(change) = entry else { continue };
        if change.kind == ChangeKind::Deleted && was_in_foreground(change) {
            for (resource, key) in world.dependents.get(&*change.object.uid).into_iter().flatten() {
                let dependent = &world.alive[&(resource.clone(), key.clone())].object;
                if blocks(dependent, &change.object.uid) {
                    let what = format!(
                        "{} {} went before its {resource} {key}",
                        change.resource, change.object.key
                    );
                    let rule = "deletion in the foreground waits for what is owned";
                    violations.push(Violation { at: change.at, rule, what });
                }
            }
        }
        world.apply(change);
    }
    violations
}

/// Whether the object that went was waiting for what it owned.
fn was_in_foreground(change: &Change) -> bool {
    let waiting = change.previous.as_ref().filter(|previous| previous.deleting);
    waiting.is_some_and(|previous| {
        let value = previous.value();
        let finalizers = value["metadata"]["finalizers"].as_array();
        finalizers.into_iter().flatten().any(|finalizer| finalizer == "foregroundDeletion")
    })
}

/// Whether an object keeps the owner with this uid from going.
fn blocks(dependent: &Object, owner: &str) -> bool {
    let value = dependent.value();
    let references = value["metadata"]["ownerReferences"].as_array();
    references
        .into_iter()
        .flatten()
        .any(|reference| reference["uid"] == owner && reference["blockOwnerDeletion"] == true)
}
