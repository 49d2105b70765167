//! The garbage collector.
//!
//! Owners are identified by uid: an owner with an unknown uid is absent, even if another object has
//! its name. The loop delivers all objects before a part acts, so an unseen object does not exist.

pub(super) mod pods;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use joiner_apiserver::{
    Caller, Change, ChangeKind, DeleteOptions, Key, Object, Propagation, Resource, Server, Status,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Part,
    facts::{Meta, read},
    owned::unless_gone,
    queue::Queue,
    world::{News, World},
};

/// The finalizer of an object that waits until what it owns is gone.
const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an object that waits until what it owns has been let go.
const ORPHAN: &str = "orphan";

/// The garbage collector.
pub(super) struct Garbage {
    caller: Caller,
    known: BTreeMap<Arc<str>, Known>,
    /// The uids of what each owner owns, by the owner's uid; with whether it holds the owner back.
    owned: BTreeMap<Box<str>, BTreeMap<Arc<str>, bool>>,
    /// Objects whose owners may be absent or waiting.
    items: Queue<Arc<str>>,
    /// Objects that are being deleted and have to see to what they own.
    leaving: Queue<Arc<str>>,
}

/// What is known of an object.
#[derive(Debug)]
struct Known {
    resource: Resource,
    key: Key,
    owners: Vec<Box<str>>,
    /// How it is being deleted, if it is.
    leaving: Option<Leaving>,
}

/// How an object that is being deleted deals with what it owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaving {
    /// It does not care.
    Alone,
    /// It waits until it is gone.
    AfterOwned,
    /// It lets it go first.
    WithoutOwned,
}

#[derive(Deserialize)]
struct MetaJson {
    metadata: Meta,
}

/// What an object's owners mean for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Solid,
    /// Waits for this object to go.
    Waiting,
    Absent,
}

/// What is to be done about an object with these owners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Stays,
    /// It stays, without the references to owners that are absent or leave.
    StaysWithout,
    Goes {
        /// What it owns itself has to go first.
        after_owned: bool,
    },
}

fn fate(owners: &[Owner], owns_something: bool) -> Fate {
    let any = |wanted: Owner| owners.contains(&wanted);
    match (any(Owner::Solid), any(Owner::Waiting), any(Owner::Absent)) {
        (_, false, false) => Fate::Stays,
        (true, _, _) => Fate::StaysWithout,
        (false, waiting, _) => Fate::Goes { after_owned: waiting && owns_something },
    }
}

impl Garbage {
    /// The garbage collector.
    pub(super) fn new(server: &Server) -> Self {
        Self {
            caller: server.caller("generic-garbage-collector"),
            known: BTreeMap::new(),
            owned: BTreeMap::new(),
            items: Queue::default(),
            leaving: Queue::default(),
        }
    }

    fn observe_there(&mut self, change: &Change) {
        let object = &change.object;
        let leaving = object.deleting.then(|| how_it_leaves(object));
        let before = self.known.get(&object.uid);
        let same_owners = before.is_some_and(|known| known.owners.as_slice() == &*object.owners);
        let leaves_now = before.and_then(|known| known.leaving) != leaving;
        // Most changes are heartbeats.
        if same_owners && !leaves_now {
            return;
        }
        if !same_owners {
            self.forget_owners(&object.uid);
            if !object.owners.is_empty() {
                let MetaJson { metadata } = read(object);
                for owner in metadata.owner_references.into_iter().flatten() {
                    let blocks = owner.block_owner_deletion == Some(true);
                    let owned = self.owned.entry(owner.uid.into()).or_default();
                    owned.insert(Arc::clone(&object.uid), blocks);
                }
                self.items.add(Arc::clone(&object.uid));
            }
        }
        self.known.insert(
            Arc::clone(&object.uid),
            Known {
                resource: change.resource.clone(),
                key: object.key.clone(),
                owners: object.owners.to_vec(),
                leaving,
            },
        );
        if leaves_now && leaving.is_some_and(|how| how != Leaving::Alone) {
            self.leaving.add(Arc::clone(&object.uid));
            if leaving == Some(Leaving::AfterOwned) {
                let owned = self.owned.get(&*object.uid).into_iter().flatten();
                for (uid, _) in owned {
                    self.items.add(Arc::clone(uid));
                }
            }
        }
    }

    fn observe_gone(&mut self, object: &Object) {
        for (uid, _) in self.owned.get(&*object.uid).into_iter().flatten() {
            self.items.add(Arc::clone(uid));
        }
        self.forget_owners(&object.uid);
        self.known.remove(&object.uid);
        self.items.forget(&object.uid);
        self.leaving.forget(&object.uid);
        for owner in &object.owners {
            let waiting = self.known.get(&**owner).and_then(|known| known.leaving);
            if waiting == Some(Leaving::AfterOwned) {
                self.leaving.add(Arc::from(&**owner));
            }
        }
    }

    fn forget_owners(&mut self, uid: &Arc<str>) {
        let Some(known) = self.known.get(uid) else { return };
        for owner in &known.owners {
            if let Some(owned) = self.owned.get_mut(owner) {
                owned.remove(uid);
                if owned.is_empty() {
                    self.owned.remove(owner);
                }
            }
        }
    }

    fn owner(&self, item: &Known, uid: &str) -> Owner {
        let Some(owner) = self.known.get(uid) else { return Owner::Absent };
        let elsewhere =
            !owner.key.namespace.is_empty() && owner.key.namespace != item.key.namespace;
        match owner.leaving {
            _ if elsewhere => Owner::Absent,
            Some(Leaving::AfterOwned) => Owner::Waiting,
            _ => Owner::Solid,
        }
    }

    /// Looks at an object whose owners may be absent or waiting for it.
    fn sync_item(&mut self, uid: &Arc<str>) -> Result<(), Status> {
        let Some(item) = self.known.get(uid) else { return Ok(()) };
        if item.leaving.is_some() {
            return Ok(());
        }
        let owners: Vec<_> = item.owners.iter().map(|owner| self.owner(item, owner)).collect();
        match fate(&owners, self.owned.contains_key(&**uid)) {
            Fate::Stays => Ok(()),
            Fate::StaysWithout => {
                let gone: BTreeSet<&str> = (item.owners.iter().zip(&owners))
                    .filter(|(_, owner)| **owner != Owner::Solid)
                    .map(|(owner, _)| &**owner)
                    .collect();
                self.drop_owners(item, &gone)
            }
            Fate::Goes { after_owned } => {
                let object = match self.caller.get(&item.resource, &item.key) {
                    Ok(object) => object,
                    Err(status) => return unless_gone::<()>(Err(status)),
                };
                let propagation = match (after_owned, how_it_leaves(&object)) {
                    (true, _) | (_, Leaving::AfterOwned) => Propagation::Foreground,
                    (_, Leaving::WithoutOwned) => Propagation::Orphan,
                    (_, Leaving::Alone) => Propagation::Background,
                };
                let options = DeleteOptions {
                    uid: Some((**uid).into()),
                    propagation: Some(propagation),
                    ..DeleteOptions::default()
                };
                unless_gone(self.caller.delete(&item.resource, &item.key, options))
            }
        }
    }

    fn drop_owners(&self, item: &Known, gone: &BTreeSet<&str>) -> Result<(), Status> {
        let object = match self.caller.get(&item.resource, &item.key) {
            Ok(object) => object.value(),
            Err(status) => return unless_gone::<()>(Err(status)),
        };
        let metadata = &object["metadata"];
        let references = metadata["ownerReferences"].as_array().into_iter().flatten();
        let kept: Vec<&Value> = references
            .filter(|owner| owner["uid"].as_str().is_none_or(|uid| !gone.contains(uid)))
            .collect();
        let patch = json!({"metadata": {
            "ownerReferences": kept,
            "resourceVersion": metadata["resourceVersion"],
        }});
        unless_gone(self.caller.merge(&item.resource, &item.key, None, patch))
    }

    /// Looks at an object that is being deleted and waits for what it owns.
    fn sync_leaving(&mut self, uid: &Arc<str>) -> Result<(), Status> {
        let Some(known) = self.known.get(uid) else { return Ok(()) };
        let owned = self.owned.get(&**uid);
        match known.leaving {
            None | Some(Leaving::Alone) => Ok(()),
            Some(Leaving::AfterOwned) => {
                if owned.is_some_and(|owned| owned.values().any(|blocks| *blocks)) {
                    return Ok(());
                }
                self.remove_finalizer(known, FOREGROUND)
            }
            Some(Leaving::WithoutOwned) => {
                for item in owned.into_iter().flatten().filter_map(|(uid, _)| self.known.get(uid)) {
                    self.drop_owners(item, &BTreeSet::from([&**uid]))?;
                }
                self.remove_finalizer(known, ORPHAN)
            }
        }
    }

    fn remove_finalizer(&self, known: &Known, finalizer: &str) -> Result<(), Status> {
        let object = match self.caller.get(&known.resource, &known.key) {
            Ok(object) => object.value(),
            Err(status) => return unless_gone::<()>(Err(status)),
        };
        let metadata = &object["metadata"];
        let finalizers = metadata["finalizers"].as_array().into_iter().flatten();
        let kept: Vec<&Value> = finalizers.filter(|one| **one != finalizer).collect();
        let patch = json!({"metadata": {
            "finalizers": kept,
            "resourceVersion": metadata["resourceVersion"],
        }});
        unless_gone(self.caller.merge(&known.resource, &known.key, None, patch))
    }
}

/// How an object deals with what it owns, by its finalizers.
fn how_it_leaves(object: &Object) -> Leaving {
    let MetaJson { metadata } = read(object);
    let has = |finalizer: &str| metadata.finalizers.iter().flatten().any(|one| one == finalizer);
    if has(ORPHAN) {
        Leaving::WithoutOwned
    } else if has(FOREGROUND) {
        Leaving::AfterOwned
    } else {
        Leaving::Alone
    }
}

impl Part for Garbage {
    fn observe(&mut self, _: &World, news: &News<'_>) {
        // Events neither own nor are owned, and there are many.
        if &*news.change.resource.plural == "events" {
            return;
        }
        match news.change.kind {
            ChangeKind::Added | ChangeKind::Modified => self.observe_there(news.change),
            ChangeKind::Deleted => self.observe_gone(&news.change.object),
        }
    }

    fn act(&mut self, _: &World, now: Timestamp) -> Option<Timestamp> {
        for uid in self.items.take(now) {
            let result = self.sync_item(&uid);
            self.items.settle(uid, now, &result.map(|()| None));
        }
        for uid in self.leaving.take(now) {
            let result = self.sync_leaving(&uid);
            self.leaving.settle(uid, now, &result.map(|()| None));
        }
        [self.items.next(), self.leaving.next()].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_becomes_of_an_object_with_such_owners() {
        use Owner::{Absent, Solid, Waiting};
        for (owners, owns, expected) in [
            (&[][..], false, Fate::Stays),
            (&[Solid], false, Fate::Stays),
            (&[Solid, Absent], false, Fate::StaysWithout),
            (&[Solid, Waiting], true, Fate::StaysWithout),
            (&[Absent], true, Fate::Goes { after_owned: false }),
            (&[Absent, Absent], false, Fate::Goes { after_owned: false }),
            (&[Waiting], false, Fate::Goes { after_owned: false }),
            (&[Waiting, Absent], true, Fate::Goes { after_owned: true }),
        ] {
            assert_eq!(fate(owners, owns), expected, "{owners:?} {owns}");
        }
    }
}
