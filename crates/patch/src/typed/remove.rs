//! Taking fields away from an object.

use serde_json::Value;

use crate::{
    fields::{FieldSet, Step},
    shape::{Atom, ListKind, Shape},
};

/// The object without the fields of a set. What is empty after that becomes `null`; so does what is
/// owned as a whole if the set reaches into it.
pub(crate) fn remove(value: &Value, fields: &FieldSet, shape: Shape<'_>) -> Value {
    match (shape.atom(Some(value)), value) {
        (Atom::Scalar(_), value) => value.clone(),
        (Atom::Map(map), Value::Object(object)) if !map.atomic => {
            let mut kept = serde_json::Map::new();
            for (name, value) in object {
                match fields.at(&Step::Field(name)) {
                    (true, _) => {}
                    (false, None) => drop(kept.insert(name.clone(), value.clone())),
                    (false, Some(below)) => {
                        kept.insert(name.clone(), remove(value, below, map.field(name)));
                    }
                }
            }
            if kept.is_empty() { Value::Null } else { Value::Object(kept) }
        }
        (Atom::List(list), Value::Array(entries)) if !matches!(list.kind, ListKind::Atomic) => {
            let mut kept = Vec::with_capacity(entries.len());
            for entry in entries {
                match list.step(entry).map_or((false, None), |step| fields.at(&step)) {
                    (true, _) => {}
                    (false, None) => kept.push(entry.clone()),
                    (false, Some(below)) => kept.push(remove(entry, below, list.entries)),
                }
            }
            if kept.is_empty() { Value::Null } else { Value::Array(kept) }
        }
        _ => Value::Null,
    }
}
