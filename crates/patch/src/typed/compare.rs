//! What changed between two objects, field by field.

use std::{cmp::Ordering, sync::LazyLock};

use joiner_schema::{Schema, Type};
use serde_json::{Map, Value};

use crate::{
    fields::{FieldSet, Step, same_value, with_counterparts},
    shape::{Atom, ListKind, ListShape, MapShape, Shape},
};

/// The fields in which two objects differ.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// In the first one only.
    pub(crate) removed: FieldSet,
    /// In both, with different values; or in the second one only. Callers treat both cases alike.
    pub(crate) changed: FieldSet,
}

impl Comparison {
    /// The comparison without some fields and what is below them.
    pub(crate) fn without(self, fields: &FieldSet) -> Self {
        Self {
            removed: self.removed.recursive_difference(fields),
            changed: self.changed.recursive_difference(fields),
        }
    }

    /// Adds what was found one step down.
    fn add(&mut self, step: &Step<'_>, found: Found) {
        self.removed.add(step, found.removed, found.below.removed);
        self.changed.add(step, found.changed, found.below.changed);
    }
}

/// What was found at one place: whether it differs itself, and what differs below it.
#[derive(Default)]
struct Found {
    removed: bool,
    changed: bool,
    below: Comparison,
}

/// Where the objects come from, which decides what it means that one does not have a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Custom resources: what they do not have is not there.
    Custom,
    /// Objects of a built-in kind, which are Go structs in the API server: a struct in a struct is
    /// always there, even if it is empty; a field that is always printed is there with its zero; an
    /// empty list or map is not printed and so is not there.
    BuiltIn {
        /// Whether the old object is such a struct, rather than a written value.
        old: bool,
        /// The same about the new one.
        new: bool,
    },
}

static EMPTY: LazyLock<Value> = LazyLock::new(|| Value::Object(Map::new()));
static NULL: Value = Value::Null;

/// Compares two objects of a shape. `metadata.managedFields` is none of the objects' own fields and
/// must not be in them.
pub(crate) fn compare(
    old: &Value,
    new: &Value,
    shape: Shape<'_>,
    origin: Origin,
) -> Result<Comparison, String> {
    let mut found = Found::default();
    Walk { origin }.values(Some(old), Some(new), shape, &mut found)?;
    // The object itself has no owner.
    Ok(found.below)
}

#[derive(Clone, Copy)]
struct Walk {
    origin: Origin,
}

impl Walk {
    fn values(
        self,
        old: Option<&Value>,
        new: Option<&Value>,
        shape: Shape<'_>,
        found: &mut Found,
    ) -> Result<(), String> {
        if old.is_none() && new.is_none() {
            return Ok(());
        }
        let atom = shape.atom(new.or(old));
        // A value that turned from one sort into another is compared as both.
        if !shape.is_fixed() && old.is_some() && new.is_some() {
            let before = shape.atom(old);
            if std::mem::discriminant(&before) != std::mem::discriminant(&atom) {
                self.atoms(old, new, before, found)?;
            }
        }
        let leaf = self.atoms(old, new, atom, found)?;
        if !leaf {
            found.changed |= old.is_none();
            found.removed |= new.is_none();
        }
        Ok(())
    }

    /// Compares values as one sort; returns whether they are compared as a whole.
    fn atoms(
        self,
        old: Option<&Value>,
        new: Option<&Value>,
        atom: Atom<'_>,
        found: &mut Found,
    ) -> Result<bool, String> {
        match atom {
            Atom::Scalar(_) => {}
            Atom::Map(shape) => {
                let (left, right) = (fields_of(old), fields_of(new));
                let empty = left.is_none_or(Map::is_empty) && right.is_none_or(Map::is_empty);
                if !shape.atomic && !empty {
                    self.fields(left, right, shape, &mut found.below)?;
                    return Ok(false);
                }
            }
            Atom::List(shape) => {
                let (left, right) = (entries_of(old), entries_of(new));
                let empty = left.is_empty() && right.is_empty();
                if !matches!(shape.kind, ListKind::Atomic) && !empty {
                    self.entries(left, right, shape, &mut found.below)?;
                    return Ok(false);
                }
            }
        }
        match (old, new) {
            (Some(_), None) => found.removed = true,
            (Some(old), Some(new)) if same_value(old, new) => {}
            _ => found.changed = true,
        }
        Ok(true)
    }

    fn fields(
        self,
        old: Option<&Map<String, Value>>,
        new: Option<&Map<String, Value>>,
        shape: MapShape<'_>,
        below: &mut Comparison,
    ) -> Result<(), String> {
        let nothing = Map::new();
        let before = old.unwrap_or(&nothing);
        let mut in_both = 0;
        for (name, old_value, new_value) in with_counterparts(before, new.unwrap_or(&nothing)) {
            in_both += usize::from(new_value.is_some());
            // Most of an object stays as it is; telling so is much cheaper than walking it.
            if new_value == Some(old_value) {
                continue;
            }
            self.field(name, (old, Some(old_value)), (new, new_value), shape, below)?;
        }
        if new.is_none_or(|new| new.len() == in_both) {
            return Ok(());
        }
        for (name, new_value) in new.into_iter().flatten() {
            if !before.contains_key(name) {
                self.field(name, (old, None), (new, Some(new_value)), shape, below)?;
            }
        }
        Ok(())
    }

    /// Compares a field of two objects, each given with the object around it.
    fn field<'v>(
        self,
        name: &str,
        old: (Option<&Map<String, Value>>, Option<&'v Value>),
        new: (Option<&Map<String, Value>>, Option<&'v Value>),
        shape: MapShape<'v>,
        below: &mut Comparison,
    ) -> Result<(), String> {
        let mut found = Found::default();
        if let Some((schema, part)) = shape.declared(name) {
            let zero = || zero_of(schema, shape.requires(name));
            let (before, after) = self.as_structs(schema, zero, old, new);
            self.values(before, after, part, &mut found)?;
        } else {
            self.values(old.1, new.1, shape.undeclared(), &mut found)?;
        }
        below.add(&Step::Field(name), found);
        Ok(())
    }

    /// The values of a declared field as Go structs have them, if the objects are such: see
    /// [`Origin`].
    fn as_structs<'v>(
        self,
        schema: &Schema,
        zero: impl Fn() -> Option<&'v Value>,
        old: (Option<&Map<String, Value>>, Option<&'v Value>),
        new: (Option<&Map<String, Value>>, Option<&'v Value>),
    ) -> (Option<&'v Value>, Option<&'v Value>) {
        let Origin::BuiltIn { old: old_struct, new: new_struct } = self.origin else {
            return (old.1, new.1);
        };
        let printed = |value: Option<&'v Value>, is_struct: bool| {
            value.filter(|value| !is_struct || is_printed(value, schema))
        };
        let zero = |around: Option<&Map<String, Value>>| around.and_then(|_| zero());
        let before = printed(old.1, old_struct).or_else(|| zero(old.0));
        let after = printed(new.1, new_struct).or_else(|| zero(new.0));
        // A `null` is what Go prints for some fields that are not set.
        match (before, after) {
            (None, Some(Value::Null)) if new_struct && old.0.is_some() => (None, None),
            (Some(Value::Null), None) if old_struct && new.0.is_some() => (None, None),
            both => both,
        }
    }

    fn entries(
        self,
        old: &[Value],
        new: &[Value],
        shape: ListShape<'_>,
        below: &mut Comparison,
    ) -> Result<(), String> {
        if old == new {
            return Ok(());
        }
        let (old, new) = (keyed(old, shape)?, keyed(new, shape)?);
        let (mut left, mut right) = (old.as_slice(), new.as_slice());
        loop {
            let order = match (left.first(), right.first()) {
                (None, None) => return Ok(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((one, _)), Some((two, _))) => one.compare(two),
            };
            let before = if order.is_le() { take_alike(&mut left) } else { &[] };
            let after = if order.is_ge() { take_alike(&mut right) } else { &[] };
            self.entry(before, after, shape, below)?;
        }
    }

    /// Compares the entries that have the same key; more than one on a side if keys are not unique.
    fn entry(
        self,
        old: &[(Step<'_>, &Value)],
        new: &[(Step<'_>, &Value)],
        shape: ListShape<'_>,
        below: &mut Comparison,
    ) -> Result<(), String> {
        let Some((step, _)) = old.first().or(new.first()) else { return Ok(()) };
        let mut found = Found::default();
        let (first_old, first_new) = (old.first().map(|e| e.1), new.first().map(|e| e.1));
        match (old.len(), new.len()) {
            (0 | 1, 0 | 1) => self.values(first_old, first_new, shape.entries, &mut found)?,
            (0 | 1, _) => {
                found.changed = true;
                self.values(first_old, None, shape.entries, &mut found)?;
            }
            (_, 0 | 1) => {
                found.removed = true;
                self.values(None, first_new, shape.entries, &mut found)?;
            }
            _ => {
                let alike = old.len() == new.len()
                    && old.iter().zip(new).all(|(one, two)| same_value(one.1, two.1));
                found.changed = !alike;
            }
        }
        below.add(step, found);
        Ok(())
    }
}

fn fields_of(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

fn entries_of(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The entries of a list with what tells them apart, in that order.
fn keyed<'v>(
    entries: &'v [Value],
    shape: ListShape<'v>,
) -> Result<Vec<(Step<'v>, &'v Value)>, String> {
    let mut keyed = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let step = shape.step(entry).map_err(|problem| format!("element {index}: {problem}"))?;
        keyed.push((step, entry));
    }
    keyed.sort_by(|left, right| left.0.compare(&right.0));
    Ok(keyed)
}

/// Takes the first entry off a list with all that have the same key.
fn take_alike<'e, 'v>(entries: &mut &'e [(Step<'v>, &'v Value)]) -> &'e [(Step<'v>, &'v Value)] {
    let count = match entries.split_first() {
        Some((first, rest)) => {
            1 + rest.iter().take_while(|entry| entry.0.compare(&first.0).is_eq()).count()
        }
        None => 0,
    };
    let (alike, rest) = entries.split_at(count);
    *entries = rest;
    alike
}

/// The default value of a field of a Go struct, if the default is printed. The schema gives it away:
/// a struct has an empty default, a scalar that is always printed has its zero.
fn zero_of(schema: &Schema, required: bool) -> Option<&Value> {
    match &schema.default {
        Some(Value::Object(fields)) if fields.is_empty() && schema.kind == Some(Type::Object) => {
            Some(&*EMPTY)
        }
        Some(zero) if *zero == "" || *zero == 0 || *zero == false => Some(zero),
        _ if required => Some(&NULL),
        _ => None,
    }
}

/// Whether Go prints a field that has this value, unless it prints the field in any case.
fn is_printed(value: &Value, schema: &Schema) -> bool {
    match value {
        Value::Object(fields) => !fields.is_empty() || !schema.properties.is_empty(),
        _ => true,
    }
}
