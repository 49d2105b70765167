//! Who owns what after a create, an update or a patch.

use std::{collections::BTreeMap, sync::LazyLock};

use joiner_schema::Schema;
use serde_json::Value;

use crate::{
    fields::FieldSet,
    managed::{self, Entry, Operation},
    shape::Shape,
    typed::{self, Comparison, Origin},
};

/// The endpoint through which an object is written: what the API server knows about it.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint<'a> {
    /// The schema of the kind, with that of `metadata`.
    pub schema: &'a Schema,
    /// The kind, such as `Deployment`.
    pub kind: &'a str,
    /// The group and version of the endpoint, such as `apps/v1`.
    pub api_version: &'a str,
    /// The groups and versions in which the kind is served, with their schemas. Managers that own
    /// fields in any other are forgotten. Empty if that is not known.
    pub versions: &'a [(&'a str, &'a Schema)],
    /// The subresource, such as `status`; empty for the object itself.
    pub subresource: &'a str,
    /// The fields that the endpoint resets, such as `status` on that of the object itself. They get
    /// no owner there.
    pub reset_fields: &'a FieldSet,
    /// Whether a CustomResourceDefinition defines the kind.
    pub custom: bool,
    /// An object of the kind of which nothing is given, as it is written: what a new object is
    /// compared with. Structs that are always written have no owner. None for `{}`.
    pub empty: Option<&'a Value>,
}

impl<'a> Endpoint<'a> {
    pub(crate) fn shape(&self) -> Shape<'a> {
        Shape::of(self.schema)
    }

    /// Compares two objects, each with whether it is as the API server keeps it, rather than as it
    /// was written in a request.
    pub(crate) fn compare(
        &self,
        old: (&Value, bool),
        new: (&Value, bool),
    ) -> Result<Comparison, String> {
        let origin =
            if self.custom { Origin::Custom } else { Origin::BuiltIn { old: old.1, new: new.1 } };
        typed::compare(old.0, new.0, self.shape(), origin)
    }

    /// The shape of objects in the version in which a manager owns fields.
    pub(crate) fn shape_in(&self, version: &str) -> Shape<'a> {
        match self.schema_of(version) {
            Some(schema) if self.custom && version != self.api_version => Shape::of(schema),
            _ => self.shape(),
        }
    }

    /// What changes between two objects in the eyes of managers who own fields in other versions,
    /// where one field may be what is several here. Managers without a difference are left out.
    pub(crate) fn compare_elsewhere(
        &self,
        entries: &[Entry],
        old: &Value,
        new: &Value,
    ) -> BTreeMap<String, Comparison> {
        let mut found = BTreeMap::new();
        let versions = entries.iter().map(Entry::api_version);
        for version in versions.filter(|version| self.custom && *version != self.api_version) {
            let Some(schema) = self.schema_of(version) else { continue };
            if found.contains_key(version) {
                continue;
            }
            if let Ok(seen) = typed::compare(old, new, Shape::of(schema), Origin::Custom) {
                found.insert(version.to_owned(), seen.without(self.reset_fields));
            }
        }
        found
    }

    /// Forgets managers whose version is not served any more.
    pub(crate) fn drop_unserved(&self, entries: &mut Vec<Entry>) {
        if !self.versions.is_empty() {
            entries.retain(|entry| {
                let version = entry.api_version();
                version == self.api_version || self.schema_of(version).is_some()
            });
        }
    }

    fn schema_of(&self, version: &str) -> Option<&'a Schema> {
        self.versions.iter().find(|(served, _)| *served == version).map(|(_, schema)| *schema)
    }

    /// Objects are compared in the versions in which managers own fields. Nothing converts custom
    /// resources, so that they may have fields there which the version does not know.
    pub(crate) fn check_versions(
        &self,
        entries: &[Entry],
        old: &Value,
        new: &Value,
    ) -> Result<(), String> {
        if !self.custom {
            return Ok(());
        }
        let versions = entries.iter().map(Entry::api_version);
        for version in versions.filter(|version| *version != self.api_version) {
            let Some(schema) = self.schema_of(version) else { continue };
            for (object, which) in [(old, "old"), (new, "new")] {
                let problems = typed::validate_written(object, Shape::of(schema));
                if !problems.is_empty() {
                    return Err(format!("failed to convert {which} object: {problems}"));
                }
            }
        }
        Ok(())
    }

    /// The part of an object that its endpoint does not store is not validated, so that it may not
    /// fit the schema.
    fn check_fit(&self, new: &Value) -> Result<(), String> {
        if !self.custom {
            return Ok(());
        }
        let problems = typed::validate_written(new, self.shape());
        if problems.is_empty() { Ok(()) } else { Err(problems.to_string()) }
    }
}

/// Fields without owners, because the API server or the request's path sets them.
pub(crate) static UNOWNED: LazyLock<FieldSet> = LazyLock::new(|| {
    FieldSet::of_fields([
        &["apiVersion"][..],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
});

/// Updates `metadata.managedFields` of `new`, which `manager` makes out of `old` (none: creates) by
/// anything but an apply. `time` is now, in UTC and whole seconds.
///
/// What changed belongs to the manager from now on, together with what it owned before; all others
/// lose it. An object whose managed fields were cleared is not tracked any more until it is
/// applied. A change that cannot be tracked, because an entry of a list does not have what tells it
/// apart or the object does not fit a schema, clears the managed fields.
///
/// Objects of built-in kinds have to be as the API server prints them: fields that are always there
/// are, and what goes without saying (`replicas: 0` in a status) does.
///
/// Entries that `new` brings along unchanged from `old` are taken to be what this crate wrote.
pub fn track_update(
    endpoint: &Endpoint<'_>,
    old: Option<&Value>,
    new: &mut Value,
    manager: &str,
    time: &str,
) {
    let given = managed::take(new);
    let mut entries = known_entries(endpoint, old, given);
    if entries.is_empty() && old.is_some() {
        return;
    }
    if record(endpoint, old, new, manager, time, &mut entries).is_ok() {
        managed::store(new, entries);
    }
}

/// The entries before the write: those that the writer sends if they make sense, else the old ones.
fn known_entries(endpoint: &Endpoint<'_>, old: Option<&Value>, given: Option<Value>) -> Vec<Entry> {
    let old_entries = old.map_or(&[][..], managed::entries_of);
    let given = match given {
        Some(Value::Array(given)) => Some(given),
        _ => None,
    };
    if let Some(given) = given {
        if given == old_entries {
            return managed::trusted(given);
        }
        if endpoint.subresource.is_empty() {
            let cleared = match given.as_slice() {
                [] => true,
                [only] => only.as_object().is_some_and(serde_json::Map::is_empty),
                _ => false,
            };
            if cleared {
                return Vec::new();
            }
            if let Ok(entries) = managed::decode(&given) {
                return entries;
            }
        }
    }
    managed::trusted(old_entries.to_vec())
}

/// Writes a change down in entries that were those of `old`.
pub(crate) fn record(
    endpoint: &Endpoint<'_>,
    old: Option<&Value>,
    new: &Value,
    manager: &str,
    time: &str,
    entries: &mut Vec<Entry>,
) -> Result<(), String> {
    let nothing = Value::Object(serde_json::Map::new());
    let before = old.or(endpoint.empty).unwrap_or(&nothing);
    endpoint.check_fit(new)?;
    // `old` may have managed fields while `new` has none: removed without a loss for a manager.
    let comparison = endpoint.compare((before, true), (new, true))?;
    let here = comparison.without(endpoint.reset_fields);
    endpoint.drop_unserved(entries);
    let elsewhere = endpoint.compare_elsewhere(entries, before, new);
    endpoint.check_versions(entries, before, new)?;
    let owned = here.changed.clone().difference(&UNOWNED);
    let manager = if manager.is_empty() { "unknown" } else { manager };
    let (version, subresource) = (endpoint.api_version, endpoint.subresource);
    let mut found = false;
    for entry in &mut *entries {
        let own = entry.is_of(manager, Operation::Update, version, subresource);
        found |= own;
        let Comparison { removed, changed } = elsewhere.get(entry.api_version()).unwrap_or(&here);
        if own && !owned.is_empty() {
            entry.set_time(time);
            if entry.owns_all(&owned) && !entry.owns_any(removed) {
                continue;
            }
        }
        let lost = entry.owns_any(changed) || entry.owns_any(removed);
        if lost || (own && !owned.is_empty()) {
            let shape = endpoint.shape_in(entry.api_version());
            entry.change(|set| {
                let set = typed::reconcile(set, shape);
                let kept = set.difference(changed).difference(removed);
                if own { kept.union(owned.clone()) } else { kept }
            });
        }
    }
    if !found && !owned.is_empty() {
        let mut entry = Entry::new(manager, Operation::Update, version, subresource, owned);
        entry.set_time(time);
        entries.push(entry);
    }
    entries.retain(|entry| !entry.is_empty());
    managed::cap(entries);
    Ok(())
}
