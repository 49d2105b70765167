//! Evaluating the rules of an object, everywhere in it.

use serde_json::Value;

use super::node::Node;
use crate::{
    correlate::{OldEntries, Pair},
    error::FieldError,
    path::Path,
};

/// Which old value decides whether a broken rule is let be: that of the value itself, or, when the
/// value is new in something that was there, that of what it is in.
#[derive(Clone, Copy, Default)]
struct Ratchet<'v> {
    own: Option<Pair<'v>>,
    parent: Option<Pair<'v>>,
}

impl Ratchet<'_> {
    fn lets_be(&self) -> bool {
        self.own.or(self.parent).is_some_and(|pair| pair.is_unchanged())
    }

    fn field(self, key: &str) -> Self {
        match self.own {
            None => self,
            Some(_) if self.parent.is_none() && (key == "apiVersion" || key == "kind") => {
                Self::default()
            }
            Some(own) => Self { own: own.field(key), parent: Some(own) },
        }
    }
}

/// Evaluates the rules on an object; `pair` has the old one on updates.
pub(super) fn validate(
    node: &Node,
    value: &Value,
    old: Option<&Value>,
    pair: Option<Pair<'_>>,
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    let ratchet = Ratchet { own: pair, parent: None };
    walk(node, value, old, ratchet, path, errors);
}

fn walk(
    node: &Node,
    value: &Value,
    old: Option<&Value>,
    ratchet: Ratchet<'_>,
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    let old = old.filter(|old| !old.is_null());
    if !node.has_rules || value.is_null() {
        return;
    }
    for rule in &node.rules {
        if let Some(error) = rule.evaluate(value, old, &node.rule_schema, || path.show())
            && (rule.uses_old_self || !ratchet.lets_be())
        {
            errors.push(error);
        }
    }
    match value {
        Value::Object(fields) => {
            if let Some(values) = &node.additional {
                for (key, field) in fields {
                    let before = old.and_then(|old| old.get(key));
                    walk(values, field, before, ratchet.field(key), &path.key(key), errors);
                }
            }
            for (key, field) in fields {
                if let Some(property) = node.properties.get(key) {
                    let before = old.and_then(|old| old.get(key));
                    walk(property, field, before, ratchet.field(key), &path.field(key), errors);
                }
            }
        }
        Value::Array(items) => {
            let Some(inner) = node.items.as_ref().filter(|inner| inner.has_rules) else { return };
            let before = old.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let before = OldEntries::new(&node.schema, before);
            let entries = ratchet.own.map(|own| own.entries());
            for (i, item) in items.iter().enumerate() {
                let ratchet = match ratchet.own {
                    None => ratchet,
                    Some(own) => {
                        let entry = own.new.get(i);
                        let pair = entries.as_ref().zip(entry).and_then(|(all, new)| all.pair(new));
                        Ratchet { own: pair, parent: Some(own) }
                    }
                };
                walk(inner, item, before.get(item), ratchet, &path.index(i), errors);
            }
        }
        _ => {}
    }
}
