//! Times of managed fields that changed for nothing.

use serde_json::{Map, Value};

use crate::{fields::with_counterparts, managed};

/// Gives managed fields the times back that they had in `old`, if nothing else changed; a write
/// that changes nothing then stores nothing. To be called when `new` is about to be stored.
///
/// For a built-in kind, what is `null` or empty is the same as what is not there.
pub fn keep_timestamps(old: &Value, new: &mut Value, custom: bool) {
    let (old_entries, new_entries) = (managed::entries_of(old), managed::entries_of(new));
    if old_entries == new_entries {
        return;
    }
    let alike = !new_entries.is_empty()
        && old_entries.len() == new_entries.len()
        && old_entries
            .iter()
            .zip(new_entries)
            .all(|(old, new)| same_but(old, new, &["time"], false))
        && same_but(old, new, &["metadata", "managedFields"], !custom);
    if !alike {
        return;
    }
    let old_entries = old_entries.to_vec();
    if let Some(entries) = new.get_mut("metadata").and_then(|m| m.get_mut("managedFields")) {
        *entries = Value::Array(old_entries);
    }
}

/// Whether two values are the same apart from what is at a path.
fn same_but(old: &Value, new: &Value, path: &[&str], lenient: bool) -> bool {
    let (Value::Object(old_fields), Value::Object(new_fields)) = (old, new) else {
        return same(old, new, lenient);
    };
    let leads_here = |name: &str| path.first().is_some_and(|first| name == *first);
    let mut in_both = 0;
    for (name, old, new) in with_counterparts(old_fields, new_fields) {
        in_both += usize::from(new.is_some());
        let alike = match new {
            _ if path.len() == 1 && leads_here(name) => true,
            Some(new) if leads_here(name) => same_but(old, new, &path[1..], lenient),
            Some(new) => same(old, new, lenient),
            None => lenient && is_empty(old),
        };
        if !alike {
            return false;
        }
    }
    in_both == new_fields.len()
        || new_fields.iter().filter(|(name, _)| !old_fields.contains_key(*name)).all(
            |(name, value)| (path.len() == 1 && leads_here(name)) || (lenient && is_empty(value)),
        )
}

fn same(old: &Value, new: &Value, lenient: bool) -> bool {
    match (old, new) {
        (Value::Object(_), Value::Object(_)) => same_but(old, new, &[], lenient),
        (Value::Array(old), Value::Array(new)) => {
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same(old, new, lenient))
        }
        (old, new) => old == new || (lenient && is_empty(old) && is_empty(new)),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(entries) => entries.is_empty(),
        Value::Object(fields) => Map::is_empty(fields),
        _ => false,
    }
}
