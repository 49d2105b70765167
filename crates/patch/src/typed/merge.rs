//! Laying one object over another.

use serde_json::{Map, Value};

use crate::{
    fields::Step,
    shape::{Atom, ListKind, ListShape, MapShape, Shape},
};

/// The live object with what is applied laid over it.
pub(crate) fn merge(live: &Value, applied: &Value, shape: Shape<'_>) -> Result<Value, String> {
    Ok(values(Some(live), Some(applied), shape)?.unwrap_or(Value::Null))
}

/// None where nothing is left, which drops the field.
fn values(
    live: Option<&Value>,
    applied: Option<&Value>,
    shape: Shape<'_>,
) -> Result<Option<Value>, String> {
    match shape.atom(applied.or(live)) {
        Atom::Scalar(_) => {}
        Atom::Map(map) => {
            let left = live.and_then(Value::as_object);
            let right = applied.and_then(Value::as_object);
            let empty = left.is_none_or(Map::is_empty) && right.is_none_or(Map::is_empty);
            if !map.atomic && !empty {
                return fields(left, right, map);
            }
        }
        Atom::List(list) => {
            let left = live.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let right = applied.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let empty = left.is_empty() && right.is_empty();
            if !matches!(list.kind, ListKind::Atomic) && !empty {
                return entries(left, right, list);
            }
        }
    }
    Ok(applied.or(live).cloned())
}

fn fields(
    live: Option<&Map<String, Value>>,
    applied: Option<&Map<String, Value>>,
    shape: MapShape<'_>,
) -> Result<Option<Value>, String> {
    let Some(applied) = applied else { return Ok(live.cloned().map(Value::Object)) };
    let mut merged = Map::new();
    for (name, value) in live.into_iter().flatten() {
        let merged_value = match applied.get(name) {
            Some(over) => values(Some(value), Some(over), shape.field(name))?,
            None => Some(value.clone()),
        };
        merged.extend(merged_value.map(|value| (name.clone(), value)));
    }
    for (name, value) in applied {
        if !live.is_some_and(|live| live.contains_key(name)) {
            let value = values(None, Some(value), shape.field(name))?;
            merged.extend(value.map(|value| (name.clone(), value)));
        }
    }
    Ok((!merged.is_empty()).then_some(Value::Object(merged)))
}

/// The entries of a list under what tells them apart, in two orders.
struct Index<'v> {
    /// In the order of the list.
    steps: Vec<Step<'v>>,
    /// Positions in `steps` in the order of the keys.
    sorted: Vec<usize>,
}

impl<'v> Index<'v> {
    fn new(entries: &'v [Value], shape: ListShape<'v>) -> Result<Self, String> {
        let mut steps = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            let step = shape.step(entry).map_err(|why| format!("element {index}: {why}"))?;
            steps.push(step);
        }
        let mut sorted: Vec<usize> = (0..steps.len()).collect();
        sorted.sort_by(|left, right| steps[*left].compare(&steps[*right]));
        Ok(Self { steps, sorted })
    }

    /// The positions of all entries with a key.
    fn find(&self, step: &Step<'_>) -> &[usize] {
        let start = self.sorted.partition_point(|at| self.steps[*at].compare(step).is_lt());
        let rest = &self.sorted[start..];
        let end = rest.partition_point(|at| self.steps[*at].compare(step).is_eq());
        &rest[..end]
    }

    fn has(&self, step: &Step<'_>) -> bool {
        !self.find(step).is_empty()
    }
}

/// Merges lists. Entries that both have keep the order of what is applied; the others of the live
/// list stay where they are relative to their neighbours.
fn entries(
    live: &[Value],
    applied: &[Value],
    shape: ListShape<'_>,
) -> Result<Option<Value>, String> {
    if applied.is_empty() {
        // Nothing to lay over: the list stays as it is, repeated entries included.
        return Ok(Some(Value::Array(live.to_vec())));
    }
    let left = Index::new(live, shape)?;
    let right = Index::new(applied, shape)?;
    let mut shared = right.steps.iter().filter(|step| left.has(step)).peekable();
    let same = |one: &Step<'_>, two: &Step<'_>| one.compare(two).is_eq();
    let both = |step: &Step<'_>, over: &Value| {
        // Of repeated entries in the live list, none is the one to merge with.
        let base = match left.find(step) {
            [at] => Some(&live[*at]),
            [] => None,
            _ => Some(&Value::Null),
        };
        values(base, Some(over), shape.entries)
    };
    let mut merged = Vec::with_capacity(live.len().max(applied.len()));
    let (mut at, mut over) = (0, 0);
    while at < live.len() || over < applied.len() {
        if at < live.len() && over < applied.len() {
            let step = &left.steps[at];
            if same(step, &right.steps[over]) {
                merged.extend(both(step, &applied[over])?);
                at += 1;
                over += 1;
                shared.next();
                continue;
            }
            if right.has(step) && shared.peek().is_some_and(|next| !same(next, step)) {
                at += 1;
                continue;
            }
        }
        if at < live.len() {
            let step = &left.steps[at];
            let places = right.find(step);
            if places.is_empty() {
                merged.extend(values(Some(&live[at]), None, shape.entries)?);
                at += 1;
                continue;
            }
            if places.iter().any(|place| *place < over) {
                at += 1;
            }
        }
        if over < applied.len() {
            let step = &right.steps[over];
            merged.extend(both(step, &applied[over])?);
            if shared.peek().is_some_and(|next| same(next, step)) {
                shared.next();
            }
            over += 1;
        }
    }
    Ok((!merged.is_empty()).then_some(Value::Array(merged)))
}
