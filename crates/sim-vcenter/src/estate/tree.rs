//! Who lies where in the inventory, and what it is called.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::reference::Ref;

/// The tree of everything that has a place.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    nodes: BTreeMap<Ref, Node>,
    /// For looking up only; nothing is ever listed from it.
    by_name: HashMap<(Ref, String), Ref>,
}

#[derive(Debug)]
struct Node {
    name: String,
    parent: Option<Ref>,
    children: BTreeSet<Ref>,
}

impl Tree {
    pub(crate) fn insert(&mut self, object: Ref, name: &str, parent: Option<Ref>) {
        let node = Node { name: name.to_owned(), parent, children: BTreeSet::new() };
        self.nodes.insert(object, node);
        if let Some(parent) = parent {
            self.by_name.insert((parent, name.to_owned()), object);
            if let Some(parent) = self.nodes.get_mut(&parent) {
                parent.children.insert(object);
            }
        }
    }

    pub(crate) fn remove(&mut self, object: Ref) {
        let Some(node) = self.nodes.remove(&object) else { return };
        if let Some(parent) = node.parent {
            self.by_name.remove(&(parent, node.name));
            if let Some(parent) = self.nodes.get_mut(&parent) {
                parent.children.remove(&object);
            }
        }
    }

    pub(crate) fn rename(&mut self, object: Ref, name: &str) {
        let Some(node) = self.nodes.get_mut(&object) else { return };
        let old = std::mem::replace(&mut node.name, name.to_owned());
        if let Some(parent) = node.parent {
            self.by_name.remove(&(parent, old));
            self.by_name.insert((parent, name.to_owned()), object);
        }
    }

    pub(crate) fn has(&self, object: Ref) -> bool {
        self.nodes.contains_key(&object)
    }

    pub(crate) fn name(&self, object: Ref) -> &str {
        self.nodes.get(&object).map_or("", |node| &node.name)
    }

    pub(crate) fn parent(&self, object: Ref) -> Option<Ref> {
        self.nodes.get(&object)?.parent
    }

    pub(crate) fn children(&self, object: Ref) -> impl Iterator<Item = Ref> {
        self.nodes.get(&object).into_iter().flat_map(|node| node.children.iter().copied())
    }

    pub(crate) fn child(&self, parent: Ref, name: &str) -> Option<Ref> {
        self.by_name.get(&(parent, name.to_owned())).copied()
    }

    /// The object, what it lies in, what that lies in, up to the root.
    pub(crate) fn upwards(&self, object: Ref) -> impl Iterator<Item = Ref> {
        std::iter::successors(Some(object), |at| self.parent(*at))
    }

    /// What an inventory path leads to, from an object on. Slashes at both ends do not matter.
    pub(crate) fn find(&self, from: Ref, path: &str) -> Option<Ref> {
        let mut names = path.split('/').filter(|name| !name.is_empty());
        names.try_fold(from, |at, name| self.child(at, name))
    }
}
