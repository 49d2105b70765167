//! The properties of an object.

use std::{collections::BTreeMap, str::FromStr, sync::Arc};

use crate::{Element, Fault, MoRef};

/// The properties of an object, by the requested paths.
///
/// A path that is in neither map was not set at the server: absent, not unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Which object.
    pub reference: MoRef,
    /// Properties that were read.
    pub values: BTreeMap<Arc<str>, Element>,
    /// Properties that could not be read, and why: unknown, not absent.
    pub missing: BTreeMap<Arc<str>, Fault>,
}

impl Object {
    /// An object of which nothing is known.
    pub fn new(reference: MoRef) -> Self {
        Self { reference, values: BTreeMap::new(), missing: BTreeMap::new() }
    }

    /// Takes note of a [change](crate::watch::Change::Modified).
    pub fn change(
        &mut self,
        values: BTreeMap<Arc<str>, Option<Element>>,
        missing: BTreeMap<Arc<str>, Fault>,
    ) {
        for (path, value) in values {
            self.missing.remove(&path);
            match value {
                Some(value) => drop(self.values.insert(path, value)),
                None => drop(self.values.remove(&path)),
            }
        }
        for (path, fault) in missing {
            self.values.remove(&path);
            self.missing.insert(path, fault);
        }
    }

    /// A property.
    pub fn value(&self, path: &str) -> Option<&Element> {
        self.values.get(path)
    }

    /// A property's text.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.value(path).map(|value| &*value.text)
    }

    /// A property as a number or a boolean.
    pub fn parse<T: FromStr>(&self, path: &str) -> Option<T> {
        self.value(path)?.parse()
    }

    /// A property that is a reference.
    pub fn reference(&self, path: &str) -> Option<MoRef> {
        self.value(path)?.reference()
    }

    /// A property that is a list of references.
    pub fn references(&self, path: &str) -> Vec<MoRef> {
        self.value(path).map(Element::references).unwrap_or_default()
    }
}
