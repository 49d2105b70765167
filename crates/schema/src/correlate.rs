//! Which old value belongs to which new one, and whether it changed.

use std::collections::HashMap;

use serde_json::Value;

use crate::schema::{ListType, Schema};

/// A new value, the old value that it replaces, and the schema of both.
#[derive(Clone, Copy)]
pub(crate) struct Pair<'v> {
    pub(crate) new: &'v Value,
    pub(crate) old: &'v Value,
    pub(crate) schema: &'v Schema,
}

impl<'v> Pair<'v> {
    /// The pair of a field that both have, if the schema knows it.
    pub(crate) fn field(&self, key: &str) -> Option<Self> {
        let new = self.new.as_object()?.get(key)?;
        let old = self.old.as_object()?.get(key)?;
        let schema = self.schema.properties.get(key).or(self.schema.additional_schema())?;
        Some(Self { new, old, schema })
    }

    /// The pairs of the entries of two lists, in the order of the new one. Only entries that keys
    /// tell apart have an old value.
    pub(crate) fn entries(&self) -> Entries<'v> {
        let old = self.old.as_array().map_or(&[][..], Vec::as_slice);
        Entries { old: OldEntries::new(self.schema, old), items: self.schema.items.as_deref() }
    }

    /// Whether nothing changed. What the schema does not know counts as changed, as it does for
    /// the API server.
    pub(crate) fn is_unchanged(&self) -> bool {
        match (self.new, self.old) {
            (Value::Array(new), Value::Array(old)) => {
                if new.len() != old.len() {
                    return false;
                }
                let entries = self.entries();
                if entries.old.is_keyed() {
                    new.iter()
                        .all(|item| entries.pair(item).is_some_and(|pair| pair.is_unchanged()))
                } else {
                    new == old
                }
            }
            (Value::Object(new), Value::Object(old)) => {
                new.len() == old.len()
                    && new
                        .keys()
                        .all(|key| self.field(key).is_some_and(|field| field.is_unchanged()))
            }
            (new, old) => new == old,
        }
    }
}

/// The old entries of a list, to be found by the new ones.
pub(crate) struct Entries<'v> {
    old: OldEntries<'v>,
    items: Option<&'v Schema>,
}

impl<'v> Entries<'v> {
    /// The pair of a new entry.
    pub(crate) fn pair(&self, new: &'v Value) -> Option<Pair<'v>> {
        let old = self.old.get(new)?;
        Some(Pair { new, old, schema: self.items? })
    }
}

/// The entries of an old list by their keys; empty for lists whose entries have none.
pub(crate) struct OldEntries<'v> {
    keys: &'v [String],
    entries: HashMap<String, &'v Value>,
}

impl<'v> OldEntries<'v> {
    pub(crate) fn new(schema: &'v Schema, old: &'v [Value]) -> Self {
        let keyed = schema.list_type == Some(ListType::Map) && !old.is_empty();
        let keys = if keyed { schema.list_map_keys.as_slice() } else { &[] };
        let mut entries = HashMap::new();
        if !keys.is_empty() {
            for entry in old {
                if let Some(key) = key_of(entry, keys) {
                    entries.entry(key).or_insert(entry);
                }
            }
        }
        Self { keys, entries }
    }

    fn is_keyed(&self) -> bool {
        !self.keys.is_empty()
    }

    /// The old entry with the keys of the new one.
    pub(crate) fn get(&self, new: &Value) -> Option<&'v Value> {
        if self.keys.is_empty() {
            return None;
        }
        self.entries.get(&key_of(new, self.keys)?).copied()
    }
}

/// The values of the key fields as one text; none when one is missing or no scalar.
fn key_of(entry: &Value, keys: &[String]) -> Option<String> {
    let fields = entry.as_object()?;
    let mut text = String::new();
    for key in keys {
        match fields.get(key)? {
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
            scalar => {
                text.push_str(&scalar.to_string());
                text.push('\0');
            }
        }
    }
    Some(text)
}
