//! `metadata.managedFields`: who owns which fields, and since when.

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use crate::{fields::FieldSet, go};

/// How a manager came to own fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    /// By server-side apply.
    Apply,
    /// By any other write.
    Update,
}

impl Operation {
    fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// One entry of `metadata.managedFields`.
///
/// Most writes touch the fields of one or two managers, so an entry stays as it is written, and its
/// fields are read only when they are needed.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) operation: Operation,
    /// The entry as it is written. If `set` is there, `fieldsV1` does not count.
    written: Map<String, Value>,
    set: Option<FieldSet>,
}

impl Entry {
    pub(crate) fn new(
        manager: &str,
        operation: Operation,
        api_version: &str,
        subresource: &str,
        set: FieldSet,
    ) -> Self {
        let mut entry = Self { operation, written: Map::new(), set: Some(set) };
        entry.write("manager", manager);
        entry.write("operation", operation.name());
        entry.write("apiVersion", api_version);
        entry.write("fieldsType", "FieldsV1");
        entry.write("subresource", subresource);
        entry
    }

    /// Writes one of the texts of the entry; empty ones are left out.
    fn write(&mut self, name: &str, text: &str) {
        if !text.is_empty() {
            self.written.insert(name.to_owned(), Value::String(text.to_owned()));
        }
    }

    /// One of the texts of the entry; empty if it is not there.
    fn text(&self, name: &str) -> &str {
        self.written.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn api_version(&self) -> &str {
        self.text("apiVersion")
    }

    /// When the entry changed last: RFC 3339, in UTC and without fractions; empty if that is not
    /// known.
    pub(crate) fn time(&self) -> &str {
        self.text("time")
    }

    pub(crate) fn set_time(&mut self, time: &str) {
        self.write("time", time);
    }

    /// Whether the entry is the one that a write adds to. An applier has one entry however many
    /// versions it applies in.
    pub(crate) fn is_of(
        &self,
        manager: &str,
        operation: Operation,
        api_version: &str,
        subresource: &str,
    ) -> bool {
        self.operation == operation
            && self.text("manager") == manager
            && self.text("subresource") == subresource
            && (operation == Operation::Apply || self.api_version() == api_version)
    }

    fn has_owner_of(&self, other: &Self) -> bool {
        let (manager, subresource) = (other.text("manager"), other.text("subresource"));
        self.is_of(manager, other.operation, other.api_version(), subresource)
    }

    /// What the API server knows the entry by; it sorts by this text.
    pub(crate) fn identifier(&self) -> String {
        let mut parts = Vec::new();
        let mut part = |name: &str, value: &str| {
            if !value.is_empty() {
                parts.push(format!("\"{name}\":{}", go::json(&json!(value))));
            }
        };
        part("manager", self.text("manager"));
        part("operation", self.operation.name());
        if self.operation == Operation::Update {
            part("apiVersion", self.api_version());
        }
        part("subresource", self.text("subresource"));
        format!("{{{}}}", parts.join(","))
    }

    /// The manager as conflicts name it.
    pub(crate) fn describe(&self) -> String {
        let mut text = go::quoted(self.text("manager"));
        let subresource = self.text("subresource");
        if !subresource.is_empty() {
            text.push_str(" with subresource ");
            text.push_str(&go::quoted(subresource));
        }
        if self.operation == Operation::Update {
            text.push_str(" using ");
            text.push_str(self.api_version());
        }
        text
    }

    /// `fieldsV1` as it is written.
    fn fields(&self) -> &Value {
        self.written.get("fieldsV1").unwrap_or(&Value::Null)
    }

    /// The fields, read if they are not yet.
    pub(crate) fn set(&self) -> FieldSet {
        match &self.set {
            Some(set) => set.clone(),
            None => FieldSet::from_value(self.fields()).unwrap_or_default(),
        }
    }

    /// Changes the fields.
    pub(crate) fn change(&mut self, change: impl FnOnce(FieldSet) -> FieldSet) {
        let set = match self.set.take() {
            Some(set) => set,
            None => self.set(),
        };
        self.set = Some(change(set));
    }

    /// Whether the entry owns one of these fields.
    pub(crate) fn owns_any(&self, set: &FieldSet) -> bool {
        match &self.set {
            Some(own) => !own.intersection(set).is_empty(),
            None => set.meets(self.fields()),
        }
    }

    /// Whether the entry owns all of these fields.
    pub(crate) fn owns_all(&self, set: &FieldSet) -> bool {
        match &self.set {
            Some(own) => set.clone().difference(own).is_empty(),
            None => set.within(self.fields()),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match &self.set {
            Some(set) => set.is_empty(),
            None => self.fields().as_object().is_none_or(Map::is_empty),
        }
    }

    /// Reads an entry that this crate has written.
    fn trusted(entry: Value) -> Option<Self> {
        let Value::Object(written) = entry else { return None };
        let operation = match written.get("operation").and_then(Value::as_str) {
            Some("Apply") => Operation::Apply,
            Some("Update") => Operation::Update,
            _ => return None,
        };
        Some(Self { operation, written, set: None })
    }

    /// Reads an entry from an untrusted writer.
    fn decode(index: usize, entry: &Value) -> Result<Self, String> {
        let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
        let operation = match text("operation") {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err("operation must be `Apply` or `Update`".to_owned()),
        };
        if text("apiVersion").is_empty() {
            return Err("apiVersion must not be empty".to_owned());
        }
        match text("fieldsType") {
            "FieldsV1" => {}
            "" => return Err(format!("missing fieldsType in managed fields entry {index}")),
            other => {
                let other = go::quoted(other);
                return Err(format!("invalid fieldsType {other} in managed fields entry {index}"));
            }
        }
        let set = FieldSet::from_value(entry.get("fieldsV1").unwrap_or(&Value::Null))
            .map_err(|error| format!("error decoding set: {error}"))?;
        let (manager, subresource) = (text("manager"), text("subresource"));
        let mut decoded = Self::new(manager, operation, text("apiVersion"), subresource, set);
        decoded.set_time(text("time"));
        Ok(decoded)
    }

    fn encode(mut self) -> Value {
        if let Some(set) = self.set {
            self.written.insert("fieldsV1".to_owned(), set.to_value());
        }
        Value::Object(self.written)
    }
}

/// Reads entries that this crate has written.
pub(crate) fn trusted(entries: Vec<Value>) -> Vec<Entry> {
    let mut trusted: Vec<Entry> = Vec::with_capacity(entries.len());
    for entry in entries.into_iter().filter_map(Entry::trusted) {
        // Scales leave two of the same identity behind: the last one counts.
        trusted.retain(|other| !entry.has_owner_of(other));
        trusted.push(entry);
    }
    trusted
}

/// Reads entries from an untrusted writer. Of several with the same identity, the last one counts.
pub(crate) fn decode(entries: &[Value]) -> Result<Vec<Entry>, String> {
    let mut decoded: Vec<Entry> = Vec::with_capacity(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let entry = Entry::decode(index, entry)?;
        let identifier = entry.identifier();
        decoded.retain(|other| other.identifier() != identifier);
        decoded.push(entry);
    }
    Ok(decoded)
}

/// The entries of an object.
pub(crate) fn entries_of(object: &Value) -> &[Value] {
    let entries = object.get("metadata").and_then(|metadata| metadata.get("managedFields"));
    entries.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Takes `metadata.managedFields` out of an object.
pub(crate) fn take(object: &mut Value) -> Option<Value> {
    object.get_mut("metadata")?.as_object_mut()?.remove("managedFields")
}

/// Writes entries into an object, in the API server's order; none if there are none.
pub(crate) fn store(object: &mut Value, mut entries: Vec<Entry>) {
    let Value::Object(object) = object else { return };
    if entries.is_empty() {
        return;
    }
    entries.sort_by(|left, right| {
        let texts = ["time", "manager", "apiVersion", "subresource"];
        let by_text = |name: &str| left.text(name).cmp(right.text(name));
        let by_texts = || texts.into_iter().map(by_text).find(|order| order.is_ne());
        left.operation.cmp(&right.operation).then_with(|| by_texts().unwrap_or(Ordering::Equal))
    });
    let entries: Vec<Value> = entries.into_iter().map(Entry::encode).collect();
    let metadata = object.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(metadata) = metadata {
        metadata.insert("managedFields".to_owned(), Value::Array(entries));
    }
}

/// At most this many managers that do not apply have entries of their own.
const MOST_UPDATERS: usize = 10;

/// Puts the oldest updaters' fields together under one name where there are too many of them.
pub(crate) fn cap(entries: &mut Vec<Entry>) {
    if entries.len() <= MOST_UPDATERS {
        return;
    }
    let mut updaters: Vec<(String, String)> = entries
        .iter()
        .filter(|entry| entry.operation == Operation::Update)
        .map(|entry| (entry.time().to_owned(), entry.identifier()))
        .collect();
    let mut count = updaters.len();
    if count <= MOST_UPDATERS {
        return;
    }
    updaters.sort();
    // The first updater of a version stays under its own name until a second one joins it.
    let mut firsts: Vec<(String, String)> = Vec::new();
    for (_, identifier) in updaters {
        if count <= MOST_UPDATERS {
            return;
        }
        let Some(at) = position(entries, &identifier) else { continue };
        let version = entries[at].api_version().to_owned();
        let Some((_, first)) = firsts.iter().find(|(known, _)| *known == version) else {
            firsts.push((version, identifier));
            continue;
        };
        let entry = entries.remove(at);
        let bucket =
            Entry::new("ancient-changes", Operation::Update, &version, "", FieldSet::new());
        let at = position(entries, &bucket.identifier()).unwrap_or_else(|| {
            let set = position(entries, first).map(|at| entries.remove(at).set());
            entries.push(bucket);
            let at = entries.len() - 1;
            entries[at].change(|_| set.unwrap_or_default());
            at
        });
        entries[at].change(|set| set.union(entry.set()));
        entries[at].set_time(entry.time());
        count -= 1;
    }
}

fn position(entries: &[Entry], identifier: &str) -> Option<usize> {
    entries.iter().position(|entry| entry.identifier() == identifier)
}
