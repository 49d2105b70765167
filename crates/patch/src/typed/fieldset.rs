//! The fields that an object has, and field sets that follow a schema.

use serde_json::{Map, Value};

use crate::{
    fields::{FieldSet, Path, PathElement, Step},
    shape::{Atom, ListKind, ListShape, MapShape, Shape},
};

/// All fields of an object: its applier owns them.
pub(crate) fn field_set(value: &Value, shape: Shape<'_>) -> FieldSet {
    let mut set = FieldSet::new();
    collect(value, shape, Path::ROOT, &mut set);
    set
}

fn collect(value: &Value, shape: Shape<'_>, path: Path<'_>, set: &mut FieldSet) {
    match shape.atom(Some(value)) {
        Atom::Map(shape) if !shape.atomic => {
            if let Value::Object(fields) = value {
                collect_fields(fields, shape, path, set);
            }
        }
        Atom::List(shape) if !matches!(shape.kind, ListKind::Atomic) => {
            if let Value::Array(entries) = value {
                collect_entries(entries, shape, path, set);
            }
        }
        Atom::Scalar(_) | Atom::Map(_) | Atom::List(_) => set.insert_path(path),
    }
}

fn collect_fields(
    fields: &Map<String, Value>,
    shape: MapShape<'_>,
    path: Path<'_>,
    set: &mut FieldSet,
) {
    for (name, value) in fields {
        let step = Step::Field(name);
        let path = path.join(&step);
        collect(value, shape.field(name), path, set);
        let empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
        if empty || shape.declared(name).is_none() {
            set.insert_path(path);
        }
    }
}

fn collect_entries(entries: &[Value], shape: ListShape<'_>, path: Path<'_>, set: &mut FieldSet) {
    let mut keyed: Vec<(Step<'_>, &Value)> =
        entries.iter().filter_map(|entry| Some((shape.step(entry).ok()?, entry))).collect();
    keyed.sort_by(|left, right| left.0.compare(&right.0));
    for alike in keyed.chunk_by(|left, right| left.0.compare(&right.0).is_eq()) {
        let path = path.join(&alike[0].0);
        // Entries that nothing tells apart are owned together, as wholes.
        if let [(_, entry)] = alike {
            collect(entry, shape.entries, path, set);
        }
        set.insert_path(path);
    }
}

/// The set together with the declared fields on the way to its paths. These are never in sets on
/// their own, but go away with what is below them.
pub(crate) fn with_named_fields(set: &FieldSet, shape: Shape<'_>) -> FieldSet {
    set.map_level(|element, member, children| {
        let (named, below) = match element {
            PathElement::Field(name) => {
                let map = shape.map();
                (map.declared(name).is_some() && !children.is_empty(), map.field(name))
            }
            _ => (false, entries_shape(shape)),
        };
        (member || named, with_named_fields(children, below))
    })
}

fn entries_shape(shape: Shape<'_>) -> Shape<'_> {
    match shape.atom(Some(&Value::Array(Vec::new()))) {
        Atom::List(list) => list.entries,
        Atom::Map(_) | Atom::Scalar(_) => Shape::Deduced,
    }
}

/// A set that was written under another schema: what is owned as a whole now is owned as a whole,
/// where it was owned part by part.
pub(crate) fn reconcile(set: FieldSet, shape: Shape<'_>) -> FieldSet {
    if is_current(&set, shape) { set } else { reconciled(&set, shape) }
}

/// Whether nothing in the set is owned part by part that must not be.
fn is_current(set: &FieldSet, shape: Shape<'_>) -> bool {
    if set.is_empty() {
        return true;
    }
    match shape.atom(None) {
        Atom::Scalar(_) => true,
        Atom::Map(map) if map.is_unknown() => true,
        Atom::Map(map) if map.atomic => false,
        Atom::List(ListShape { kind: ListKind::Atomic, .. }) => false,
        Atom::Map(map) => set.level().all(|(element, _, children)| match element {
            PathElement::Field(name) => is_current(children, map.field(name)),
            _ => true,
        }),
        Atom::List(list) => set.level().all(|(.., children)| is_current(children, list.entries)),
    }
}

fn reconciled(set: &FieldSet, shape: Shape<'_>) -> FieldSet {
    set.map_level(|element, member, children| {
        let below = match (element, shape.atom(None)) {
            (PathElement::Field(name), Atom::Map(map)) => map.field(name),
            (_, Atom::List(list)) => list.entries,
            _ => Shape::Deduced,
        };
        let whole = match below.atom(None) {
            Atom::Map(map) => map.atomic && !map.is_unknown(),
            Atom::List(list) => matches!(list.kind, ListKind::Atomic),
            Atom::Scalar(_) => false,
        };
        if whole && !children.is_empty() {
            (true, FieldSet::new())
        } else {
            (member, reconciled(children, below))
        }
    })
}
