//! Tags of objects.

use std::collections::BTreeMap;

use super::{Kind, Number};

/// How `createTags` calls kinds of objects, and whether they may have tags.
pub(crate) struct Taggable {
    pub(crate) kind: Kind,
    pub(crate) name: &'static str,
}

/// The kinds that tags can be put on.
const TAGGABLE: [Taggable; 5] = [
    Taggable { kind: Kind::Vm, name: "UserVm" },
    Taggable { kind: Kind::Volume, name: "Volume" },
    Taggable { kind: Kind::Template, name: "Template" },
    Taggable { kind: Kind::Network, name: "Network" },
    Taggable { kind: Kind::Project, name: "Project" },
];

/// Kinds that are known and have no tags.
const NOT_TAGGABLE: [&str; 4] = ["ServiceOffering", "DiskOffering", "NetworkOffering", "Zone"];

impl Taggable {
    /// The kind that a word of `resourcetype` means. The refusal says what is wrong with it.
    pub(crate) fn read(word: &str) -> Result<&'static Self, String> {
        let known = TAGGABLE.iter().find(|known| known.name.eq_ignore_ascii_case(word));
        known.ok_or_else(|| {
            match NOT_TAGGABLE.iter().find(|known| known.eq_ignore_ascii_case(word)) {
                Some(name) => format!("The resource type {name} doesn't support resource tags"),
                None => format!("Unable to find resource type {word}"),
            }
        })
    }

    pub(crate) fn of(kind: Kind) -> Option<&'static str> {
        TAGGABLE.iter().find(|known| known.kind == kind).map(|known| known.name)
    }
}

/// All tags.
#[derive(Debug, Default)]
pub(crate) struct Tags(BTreeMap<(Kind, Number), BTreeMap<String, String>>);

impl Tags {
    pub(crate) fn of(&self, kind: Kind, number: Number) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .get(&(kind, number))
            .into_iter()
            .flatten()
            .map(|(key, value)| (key.as_str(), value.as_str()))
    }

    pub(crate) fn get(&self, kind: Kind, number: Number, key: &str) -> Option<&str> {
        self.0.get(&(kind, number))?.get(key).map(String::as_str)
    }

    pub(crate) fn put(&mut self, kind: Kind, number: Number, key: &str, value: &str) {
        let tags = self.0.entry((kind, number)).or_default();
        tags.insert(key.to_owned(), value.to_owned());
    }

    pub(crate) fn remove(&mut self, kind: Kind, number: Number, key: &str) {
        if let Some(tags) = self.0.get_mut(&(kind, number)) {
            tags.remove(key);
        }
    }

    /// Forgets an object that is gone.
    pub(crate) fn forget(&mut self, kind: Kind, number: Number) {
        self.0.remove(&(kind, number));
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (Kind, Number, &str, &str)> {
        self.0.iter().flat_map(|((kind, number), tags)| {
            tags.iter().map(|(key, value)| (*kind, *number, key.as_str(), value.as_str()))
        })
    }

    /// Whether an object has any of some tags: a list's filter joins them by "or".
    pub(crate) fn matches(&self, kind: Kind, number: Number, wanted: &[(String, String)]) -> bool {
        wanted.is_empty()
            || wanted.iter().any(|(key, value)| self.get(kind, number, key) == Some(value))
    }
}
