//! Server-side apply.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::{
    error::{Cause, PatchError},
    fields::{FieldSet, PathElement, path_text, same_value},
    last_applied,
    managed::{self, Entry, Operation},
    shape::Shape,
    typed,
    update::{self, Endpoint, UNOWNED},
};

/// What an apply made.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The object, with its managed fields and without defaults for what is new.
    pub object: Value,
    /// Whether anything but managed fields changed.
    pub changed: bool,
}

/// A field of another manager that would get a different value.
struct Conflict {
    /// See [`Entry::identifier`].
    identifier: String,
    manager: String,
    path: Vec<PathElement>,
}

/// Why an apply did not happen.
enum Failure {
    Refused(PatchError),
    Conflicts(Vec<Conflict>),
}

impl From<PatchError> for Failure {
    fn from(error: PatchError) -> Self {
        Self::Refused(error)
    }
}

/// Applies an object as `manager`: lays `applied` over the live object (none: creates it), removes
/// fields that the manager no longer applies, unless another manager owns them, and records the
/// owners. `time` is now, in UTC and whole seconds.
///
/// Fields of other managers that would get a different value are conflicts. They are refused unless
/// `force` takes them over.
pub fn apply(
    endpoint: &Endpoint<'_>,
    live: Option<&Value>,
    applied: &Value,
    manager: &str,
    force: bool,
    time: &str,
) -> Result<Applied, PatchError> {
    let entries = managed::decode(live.map_or(&[][..], managed::entries_of)).map_err(|error| {
        PatchError::internal(format!("failed to decode managed fields: {error}"))
    })?;
    check_type(endpoint, applied)?;
    let is_new = live.is_none();
    let mut live = match live {
        Some(live) => live.clone(),
        None => nothing(applied),
    };
    managed::take(&mut live);
    // Managed fields that are `null` are not given.
    let mut applied = Cow::Borrowed(applied);
    if applied.pointer("/metadata/managedFields").is_some() {
        managed::take(applied.to_mut());
    }
    let applied = &*applied;
    let request = Request { endpoint, live: &live, is_new, applied, manager, time };
    let result = match request.run(entries.clone(), force) {
        Err(Failure::Conflicts(conflicts)) if manager == last_applied::KUBECTL => {
            let allowed = last_applied::unchanged_since(endpoint, &live);
            let left: Vec<Conflict> = conflicts
                .into_iter()
                .filter(|conflict| !allowed.as_ref().is_some_and(|a| a.contains(&conflict.path)))
                .collect();
            if left.is_empty() { request.run(entries, true) } else { Err(Failure::Conflicts(left)) }
        }
        other => other,
    };
    let (mut object, entries, changed) = result.map_err(|failure| match failure {
        Failure::Refused(error) => error,
        Failure::Conflicts(conflicts) => conflict_error(&conflicts),
    })?;
    if manager == last_applied::KUBECTL {
        last_applied::renew(&mut object, applied);
    }
    managed::store(&mut object, entries);
    Ok(Applied { object, changed })
}

/// The object that is created: what it is, and nothing else.
fn nothing(applied: &Value) -> Value {
    let types = ["apiVersion", "kind"].into_iter();
    let known = types.filter_map(|name| Some((name.to_owned(), applied.get(name)?.clone())));
    Value::Object(known.collect::<Map<_, _>>())
}

fn check_type(endpoint: &Endpoint<'_>, applied: &Value) -> Result<(), PatchError> {
    let text = |name: &str| applied.get(name).and_then(Value::as_str).unwrap_or_default();
    if text("apiVersion") != endpoint.api_version || text("kind") != endpoint.kind {
        let what = type_text(applied);
        return Err(PatchError::bad_request(format!("invalid object type: {what}")));
    }
    let metadata = applied.get("metadata");
    if metadata.and_then(|m| m.get("managedFields")).is_some_and(|fields| !fields.is_null()) {
        return Err(PatchError::bad_request("metadata.managedFields must be nil"));
    }
    Ok(())
}

/// Group, version and kind: `apps/v1, Kind=Deployment`.
fn type_text(object: &Value) -> String {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let version = text("apiVersion");
    let slash = if version.contains('/') { "" } else { "/" };
    format!("{slash}{version}, Kind={}", text("kind"))
}

/// Namespace, name and type of an object, as errors name it.
fn object_text(object: &Value) -> String {
    let metadata = object.get("metadata");
    let text =
        |name: &str| metadata.and_then(|m| m.get(name)).and_then(Value::as_str).unwrap_or_default();
    format!("{}/{}; {}", text("namespace"), text("name"), type_text(object))
}

/// One attempt to apply.
struct Request<'a> {
    endpoint: &'a Endpoint<'a>,
    live: &'a Value,
    /// Whether there is no live object yet.
    is_new: bool,
    applied: &'a Value,
    manager: &'a str,
    time: &'a str,
}

impl Request<'_> {
    /// The new object without managed fields, the entries, and whether the object changed.
    fn run(
        &self,
        mut entries: Vec<Entry>,
        force: bool,
    ) -> Result<(Value, Vec<Entry>, bool), Failure> {
        let Self { endpoint, live, applied, manager, time, .. } = *self;
        if entries.is_empty() && !self.is_new {
            // No managers were tracked so far, so existing fields have no owner.
            let unknown = "before-first-apply";
            update::record(endpoint, None, live, unknown, time, &mut entries).map_err(|error| {
                PatchError::internal(format!(
                    "failed to create manager for existing fields: {error}"
                ))
            })?;
        }
        let shape = endpoint.shape();
        let problems = typed::validate(applied, shape);
        if !problems.is_empty() {
            return Err(Failure::Refused(PatchError::internal(format!(
                "failed to create typed patch object ({}): {problems}",
                object_text(applied)
            ))));
        }
        endpoint.drop_unserved(&mut entries);
        for entry in &mut entries {
            let shape = endpoint.shape_in(entry.api_version());
            entry.change(|set| typed::reconcile(set, shape));
        }
        let merged = typed::merge(live, applied, shape)
            .map_err(|error| PatchError::internal(format!("failed to merge config: {error}")))?;
        let own = |entry: &Entry| {
            let (version, subresource) = (endpoint.api_version, endpoint.subresource);
            entry.is_of(manager, Operation::Apply, version, subresource)
        };
        let last = entries.iter().position(own).map(|at| entries.remove(at));
        let set = typed::field_set(applied, shape).recursive_difference(endpoint.reset_fields);
        let (version, subresource) = (endpoint.api_version, endpoint.subresource);
        let mut entry = Entry::new(manager, Operation::Apply, version, subresource, set.clone());
        let others = entries.iter().fold(set, |all, entry| all.union(entry.set()));
        let object = match &last {
            Some(last) => prune(merged, &last.set(), &others, shape),
            None => merged,
        };
        self.take_over(&object, &mut entries, force)?;
        let changed = !same_value(live, &object);
        match (changed, &last) {
            (true, _) => entry.set_time(time),
            (false, Some(last)) => entry.set_time(last.time()),
            (false, None) => {}
        }
        entry.change(|set| set.difference(&UNOWNED));
        entries.push(entry);
        entries.retain(|entry| !entry.is_empty());
        Ok((if changed { object } else { live.clone() }, entries, changed))
    }

    /// Takes away from the other managers what changes; fails if that is not wanted.
    fn take_over(&self, object: &Value, entries: &mut [Entry], force: bool) -> Result<(), Failure> {
        let endpoint = self.endpoint;
        let comparison = endpoint
            .compare((self.live, true), (object, false))
            .map_err(|error| PatchError::internal(format!("failed to compare objects: {error}")))?;
        let here = comparison.without(endpoint.reset_fields);
        let elsewhere = endpoint.compare_elsewhere(entries, self.live, object);
        endpoint.check_versions(entries, self.live, object).map_err(PatchError::internal)?;
        let mut conflicts = Vec::new();
        for entry in &*entries {
            let comparison = elsewhere.get(entry.api_version()).unwrap_or(&here);
            let taken = entry.set().intersection(&comparison.changed);
            conflicts.extend(taken.paths().into_iter().map(|path| Conflict {
                identifier: entry.identifier(),
                manager: entry.describe(),
                path,
            }));
        }
        if !force && !conflicts.is_empty() {
            conflicts.sort_by(|left, right| left.identifier.cmp(&right.identifier));
            return Err(Failure::Conflicts(conflicts));
        }
        for entry in entries {
            let comparison = elsewhere.get(entry.api_version()).unwrap_or(&here);
            entry.change(|set| set.difference(&comparison.changed).difference(&comparison.removed));
        }
        Ok(())
    }
}

/// Removes the fields that the manager applied last time. Fields that have an owner now stay, and so
/// do fields that the manager may not remove.
fn prune(merged: Value, last: &FieldSet, owned: &FieldSet, shape: Shape<'_>) -> Value {
    if last.is_empty() {
        return merged;
    }
    let last = typed::with_named_fields(last, shape);
    let named = |value: &Value| typed::with_named_fields(&typed::field_set(value, shape), shape);
    let merged_set = named(&merged);
    let pruned = typed::remove(&merged, &last, shape);
    // Restore fields that have an owner.
    let owned = typed::with_named_fields(owned, shape);
    let kept = named(&pruned).union(owned);
    let pruned = typed::remove(&merged, &merged_set.clone().difference(&kept), shape);
    // Put back what went away with its surroundings without having been applied.
    let gone = merged_set.difference(&named(&pruned)).intersection(&last);
    typed::remove(&merged, &gone, shape)
}

fn conflict_error(conflicts: &[Conflict]) -> PatchError {
    let message = match conflicts {
        [only] => format!(
            "Apply failed with 1 conflict: conflict with {}: {}",
            only.manager,
            path_text(&only.path)
        ),
        _ => {
            let mut lines = Vec::new();
            for of_manager in conflicts.chunk_by(|one, two| one.identifier == two.identifier) {
                lines.push(format!("conflicts with {}:", of_manager[0].manager));
                lines.extend(of_manager.iter().map(|c| format!("- {}", path_text(&c.path))));
            }
            format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
        }
    };
    let causes = conflicts.iter().map(|conflict| Cause {
        reason: "FieldManagerConflict",
        message: format!("conflict with {}", conflict.manager),
        field: path_text(&conflict.path),
    });
    PatchError { causes: causes.collect(), ..PatchError::new(409, "Conflict", message) }
}
