//! Merging lists, and the order of the result: what the patch names in the patch's order, the rest
//! where it was.

use joiner_schema::Schema;
use serde_json::Value;

use super::{DIRECTIVE, SET_ORDER, expected, into_object, merge_objects, unknown_directive};
use crate::{error::PatchError, go};

/// How the entries of a list are merged.
pub(super) struct ListRule<'s> {
    /// Whether they are; otherwise the list is replaced.
    pub(super) merges: bool,
    /// The field that tells entries apart; empty for lists of scalars.
    pub(super) key: &'s str,
    /// The schema of entries.
    pub(super) entries: Option<&'s Schema>,
}

pub(super) fn malformed_order() -> PatchError {
    PatchError::bad_request("invalid patch format of setElementOrder list")
}

impl ListRule<'_> {
    /// Merges the patch's list into the original one.
    pub(super) fn merge(
        &self,
        original: Vec<Value>,
        patch: Vec<Value>,
    ) -> Result<Vec<Value>, PatchError> {
        if !self.merges {
            return Ok(patch);
        }
        if original.is_empty() && patch.is_empty() {
            return Ok(original);
        }
        check_alike(&[&original, &patch])?;
        let objects = original.first().or(patch.first()).is_some_and(Value::is_object);
        if !objects {
            let server = original.clone();
            let both = original.into_iter().chain(patch.iter().cloned()).collect();
            return self.arrange(deduplicated(both), &patch, &server, &[]);
        }
        if self.key.is_empty() {
            return Err(PatchError::internal(
                "cannot merge lists without merge key for struct".to_owned(),
            ));
        }
        let (server, patch) = self.follow_directives(original, patch)?;
        let merged = self.merge_entries(server.clone(), patch.clone())?;
        self.arrange(merged, &patch, &server, &[])
    }

    /// Takes the patch's entries out of the original list.
    pub(super) fn delete(
        &self,
        original: Vec<Value>,
        patch: Vec<Value>,
    ) -> Result<Vec<Value>, PatchError> {
        if original.is_empty() && patch.is_empty() {
            return Ok(original);
        }
        check_alike(&[&original, &patch])?;
        if original.first().or(patch.first()).is_some_and(Value::is_object) {
            return Self { merges: true, ..*self }.merge(original, patch);
        }
        Ok(original.into_iter().filter(|value| !patch.contains(value)).collect())
    }

    /// Follows the directives among the patch's entries: what is left to merge into what.
    fn follow_directives(
        &self,
        mut original: Vec<Value>,
        patch: Vec<Value>,
    ) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
        let mut rest = Vec::with_capacity(patch.len());
        let mut replace = false;
        for entry in patch {
            let Some(directive) = entry.get(DIRECTIVE) else {
                rest.push(entry);
                continue;
            };
            match directive.as_str() {
                Some("delete") => {
                    let value = self.key_of(&entry)?;
                    check_objects(&original)?;
                    original.retain(|other| other.get(self.key) != Some(value));
                }
                Some("replace") => replace = true,
                Some("merge") => {
                    return Err(PatchError::internal(
                        "merging lists cannot yet be specified in the patch".to_owned(),
                    ));
                }
                _ => {
                    let directive = directive.clone();
                    return Err(unknown_directive(&directive, &into_object(entry)));
                }
            }
        }
        Ok(if replace { (rest, Vec::new()) } else { (original, rest) })
    }

    fn merge_entries(
        &self,
        mut merged: Vec<Value>,
        patch: Vec<Value>,
    ) -> Result<Vec<Value>, PatchError> {
        for entry in patch {
            let value = self.key_of(&entry)?;
            check_objects(&merged)?;
            match merged.iter_mut().find(|other| other.get(self.key) == Some(value)) {
                Some(found) => {
                    let original = into_object(found.take());
                    let fields = merge_objects(original, into_object(entry), self.entries)?;
                    *found = Value::Object(fields);
                }
                None => merged.push(entry),
            }
        }
        Ok(merged)
    }

    /// The value that tells an entry apart.
    fn key_of<'v>(&self, entry: &'v Value) -> Result<&'v Value, PatchError> {
        entry.get(self.key).ok_or_else(|| {
            PatchError::internal(format!(
                "map: {} does not contain declared merge key: {}",
                go::plain(entry),
                self.key
            ))
        })
    }

    /// Refuses an order that contradicts that of the patch's own list.
    pub(super) fn check_order(&self, patch: &[Value], order: &[Value]) -> Result<(), PatchError> {
        if patch.is_empty() || order.is_empty() {
            return Ok(());
        }
        if !self.key.is_empty()
            && let Some(odd) = patch.iter().find(|entry| !entry.is_object())
        {
            return Err(expected_object(odd));
        }
        let mut rest = patch.iter().filter(|entry| !has_directive(entry, "delete")).peekable();
        let mut places = order.iter().peekable();
        while let (Some(entry), Some(place)) = (rest.peek(), places.peek()) {
            if entry.get(DIRECTIVE).is_some() {
                rest.next();
                continue;
            }
            let alike = if self.key.is_empty() {
                entry == place
            } else {
                if !place.is_object() {
                    return Err(expected_object(place));
                }
                self.key_of(entry)? == self.key_of(place)?
            };
            if alike {
                rest.next();
            }
            places.next();
        }
        if rest.peek().is_some() {
            return Err(PatchError::internal(format!(
                "The order in patch list:\n{}\n doesn't match {SET_ORDER} list:\n{}\n",
                go::plain_list(patch),
                go::plain_list(order)
            )));
        }
        Ok(())
    }

    /// The server's list as the order of the merged one follows it: entries that the patch adds
    /// take the places at the end that deleted ones leave. (The API server merges in place and
    /// looks at the list afterwards.)
    pub(super) fn order_after(&self, server: &[Value], patch: &[Value]) -> Vec<Value> {
        let mut places = server.to_vec();
        let mut taken = places.len();
        for entry in patch.iter().filter(|entry| has_directive(entry, "delete")) {
            while let Some(at) = self.position(&places[..taken], entry) {
                places[at..taken].rotate_left(1);
                taken -= 1;
            }
        }
        if patch.iter().any(|entry| has_directive(entry, "replace")) {
            return places;
        }
        for entry in patch.iter().filter(|entry| entry.get(DIRECTIVE).is_none()) {
            if taken < places.len() && self.position(&places[..taken], entry).is_none() {
                places[taken] = entry.clone();
                taken += 1;
            }
        }
        places
    }

    /// Puts a merged list in order: the entries that `order` names in that order, the others in
    /// the order of the server's list, and both woven together so that no two entries of the
    /// server's list change places without need. `alike` are lists that must have entries of one
    /// type.
    pub(super) fn arrange(
        &self,
        merged: Vec<Value>,
        order: &[Value],
        server: &[Value],
        alike: &[&[Value]],
    ) -> Result<Vec<Value>, PatchError> {
        if !alike.is_empty() {
            check_alike(alike)?;
        }
        if !self.key.is_empty() {
            for entry in merged.iter().chain(order).chain(server) {
                if !entry.is_object() {
                    return Err(expected_object(entry));
                }
                self.key_of(entry)?;
            }
        }
        let (mut named, mut others): (Vec<Value>, Vec<Value>) =
            merged.into_iter().partition(|entry| self.position(order, entry).is_some());
        self.sort(&mut named, order);
        self.sort(&mut others, server);
        let mut arranged = Vec::with_capacity(named.len() + others.len());
        let mut named = named.into_iter().peekable();
        let mut others = others.into_iter().peekable();
        while let (Some(other), Some(name)) = (others.peek(), named.peek()) {
            let before = match (self.position(server, other), self.position(server, name)) {
                (Some(other), Some(name)) => other < name,
                _ => false,
            };
            arranged.extend(if before { others.next() } else { named.next() });
        }
        arranged.extend(named);
        arranged.extend(others);
        Ok(arranged)
    }

    /// Sorts entries by their place in a list. An entry that is not in the list goes before all
    /// that stood before it, which turns a list of such entries around, as in the API server.
    fn sort(&self, entries: &mut [Value], list: &[Value]) {
        let goes_before = |entry: &Value, other: &Value| match (
            self.position(list, entry),
            self.position(list, other),
        ) {
            (Some(entry), Some(other)) => entry < other,
            _ => true,
        };
        for end in 1..entries.len() {
            let mut at = end;
            while at > 0 && goes_before(&entries[at], &entries[at - 1]) {
                entries.swap(at, at - 1);
                at -= 1;
            }
        }
    }

    fn position(&self, list: &[Value], entry: &Value) -> Option<usize> {
        if self.key.is_empty() {
            return list.iter().position(|other| other == entry);
        }
        let value = entry.get(self.key);
        list.iter().position(|other| other.get(self.key) == value)
    }
}

fn has_directive(entry: &Value, directive: &str) -> bool {
    entry.get(DIRECTIVE).is_some_and(|found| found == directive)
}

fn expected_object(found: &Value) -> PatchError {
    expected("map[string]interface {}", found)
}

fn check_objects(entries: &[Value]) -> Result<(), PatchError> {
    match entries.iter().position(|entry| !entry.is_object()) {
        Some(at) => Err(PatchError::internal(format!("value for key {at} is not a map"))),
        None => Ok(()),
    }
}

/// Refuses lists whose entries are of several types, or lists themselves.
fn check_alike(lists: &[&[Value]]) -> Result<(), PatchError> {
    let mut entries = lists.iter().copied().flatten();
    let Some(first) = entries.next() else {
        return Err(PatchError::internal("no elements in any of the given slices"));
    };
    if first.is_array() {
        return Err(PatchError::unprocessable("lists of lists are not supported"));
    }
    let kind = go::type_name(first);
    if first.is_null() || entries.any(|entry| go::type_name(entry) != kind) {
        let lists: Vec<String> = lists.iter().map(|list| go::plain_list(list)).collect();
        return Err(PatchError::internal(format!(
            "list element types are not identical: [{}]",
            lists.join(" ")
        )));
    }
    Ok(())
}

/// The list without repeated scalars. A repeated one gives its place to the last of the list, as in
/// the API server.
fn deduplicated(mut list: Vec<Value>) -> Vec<Value> {
    let mut at = 0;
    while at < list.len() {
        let mut other = at + 1;
        while other < list.len() {
            if list[at] == list[other] {
                list.swap_remove(other);
            } else {
                other += 1;
            }
        }
        at += 1;
    }
    list
}
