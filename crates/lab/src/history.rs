//! Everything that happened: every call, every version of every object, every fault.
//!
//! A history is what the [checks](crate::checks) read, and what a person reads as a timeline. Two
//! runs of one seed give the same history to the byte.

use std::{
    fmt::Write as _,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;
use joiner_apiserver::{Call, Change, ChangeKind, Recorder};
use serde_json::Value;

/// One thing that happened.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A call to the API server.
    Call(Call),
    /// An object changed.
    Change(Change),
    /// Something happened outside the API server: a fault, an instance, a process.
    Note {
        /// When.
        at: Timestamp,
        /// The affected part, such as `network` or the name of a process.
        who: Box<str>,
        /// What.
        what: Box<str>,
    },
}

/// What is kept of what happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// All of it.
    #[default]
    Everything,
    /// All but the heartbeats of nodes, which are most of a quiet day.
    WithoutHeartbeats,
    /// Nothing: for demonstrations and measurements that run for long.
    Nothing,
}

/// The record of a laboratory; clones are the same record.
#[derive(Clone, Debug)]
pub struct History {
    start: Timestamp,
    keep: Keep,
    entries: Arc<Mutex<Vec<Entry>>>,
    /// The latest moment that is known to have come, whether or not anything happened then.
    latest: Arc<Mutex<Timestamp>>,
}

impl History {
    /// An empty record that begins at a moment.
    pub fn new(start: Timestamp, keep: Keep) -> Self {
        Self { start, keep, entries: Arc::default(), latest: Arc::new(Mutex::new(start)) }
    }

    /// Takes note that time has come this far.
    pub fn reached(&self, at: Timestamp) {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        *latest = at.max(*latest);
    }

    /// How far time has come.
    pub fn latest(&self) -> Timestamp {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of something outside the API server.
    pub fn note(&self, at: Timestamp, who: &str, what: impl Into<Box<str>>) {
        if self.keep != Keep::Nothing {
            self.reached(at);
            self.entries().push(Entry::Note { at, who: who.into(), what: what.into() });
        }
    }

    /// Everything so far. It holds a lock, so do not call the server meanwhile.
    pub fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many things were kept.
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    /// Whether nothing was kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The changes of one resource, in order.
    pub fn changes_of(&self, group: &str, plural: &str) -> Vec<Change> {
        let entries = self.entries();
        let changes = entries.iter().filter_map(|entry| match entry {
            Entry::Change(change) if change.resource.is(group, plural) => Some(change.clone()),
            _ => None,
        });
        changes.collect()
    }

    /// The history as text for people: who did what when, and what it changed.
    pub fn timeline(&self, options: &Timeline) -> String {
        let mut out = String::new();
        let mut changed = Changed::default();
        for entry in self.entries().iter() {
            options.write(entry, self.start, &mut changed, &mut out);
        }
        out
    }

    /// The whole history, one JSON value per line: what another run must repeat to the byte.
    pub fn to_json_lines(&self) -> String {
        let mut out = String::new();
        for entry in self.entries().iter() {
            let _ = writeln!(out, "{}", json_line(entry));
        }
        out
    }
}

impl Recorder for History {
    fn call(&self, call: &Call) {
        self.reached(call.at);
        let heartbeat =
            self.keep == Keep::WithoutHeartbeats && call.resource.is(LEASES.0, LEASES.1);
        if self.keep != Keep::Nothing && !heartbeat {
            self.entries().push(Entry::Call(call.clone()));
        }
    }

    fn change(&self, change: &Change) {
        let heartbeat =
            self.keep == Keep::WithoutHeartbeats && change.resource.is(LEASES.0, LEASES.1);
        if self.keep != Keep::Nothing && !heartbeat {
            self.entries().push(Entry::Change(change.clone()));
        }
    }
}

const LEASES: (&str, &str) = ("coordination.k8s.io", "leases");

/// What of a history is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// Calls that only read.
    pub reads: bool,
    /// Heartbeats of nodes.
    pub heartbeats: bool,
    /// Events, which say in other words what happened anyway.
    pub events: bool,
    /// How many changed fields are shown per write.
    pub fields_max: usize,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { reads: false, heartbeats: false, events: false, fields_max: 4 }
    }
}

/// What the calls since the last line changed.
#[derive(Debug, Default)]
struct Changed {
    /// Whether anything was written at all.
    any: bool,
    /// The fields that got other values, heartbeats aside.
    fields: Vec<String>,
    /// Whether an object came or went.
    existence: bool,
}

impl Timeline {
    fn write(&self, entry: &Entry, start: Timestamp, changed: &mut Changed, out: &mut String) {
        match entry {
            Entry::Note { at, who, what } => {
                let _ = writeln!(out, "{} {who:<24} {what}", since(*at, start));
            }
            Entry::Call(call) => {
                let changed = std::mem::take(changed);
                let heartbeat = changed.any && !changed.existence && changed.fields.is_empty();
                if !self.shows(call) || (heartbeat && !self.heartbeats) {
                    return;
                }
                let _ = write!(
                    out,
                    "{} {:<24} {} {} {}",
                    since(call.at, start),
                    call.caller,
                    call.verb,
                    call.resource,
                    call.key,
                );
                if let Some(subresource) = &call.subresource {
                    let _ = write!(out, "/{subresource}");
                }
                match (&call.refusal, call.version) {
                    (Some(why), _) => {
                        let _ = writeln!(out, " refused with {}: {why}", call.code);
                    }
                    (None, Some(version)) => {
                        let _ = writeln!(out, " v{version}");
                    }
                    (None, None) => out.push('\n'),
                }
                self.write_fields(&changed.fields, out);
            }
            Entry::Change(change) => self.note_fields(change, changed),
        }
    }

    fn shows(&self, call: &Call) -> bool {
        (self.reads || !matches!(call.verb, "get" | "list" | "watch"))
            && self.shows_resource(&call.resource.group, &call.resource.plural)
    }

    fn shows_resource(&self, group: &str, plural: &str) -> bool {
        (self.heartbeats || (group, plural) != LEASES) && (self.events || plural != "events")
    }

    /// Remembers what a change did until the call comes that made it.
    fn note_fields(&self, change: &Change, changed: &mut Changed) {
        changed.any = true;
        match &change.previous {
            Some(previous) if change.kind == ChangeKind::Modified => {
                if self.shows_resource(&change.resource.group, &change.resource.plural) {
                    let fields = &mut changed.fields;
                    differences(&previous.value(), &change.object.value(), "", fields);
                }
            }
            _ => changed.existence = true,
        }
    }

    /// The fields that a call changed.
    fn write_fields(&self, fields: &[String], out: &mut String) {
        let more = fields.len().saturating_sub(self.fields_max);
        for field in fields.iter().take(self.fields_max) {
            let _ = writeln!(out, "{:16}| {field}", "");
        }
        if more > 0 && self.fields_max > 0 {
            let _ = writeln!(out, "{:16}| and {more} more", "");
        }
    }
}

/// The time since the start, such as `+01:02:03.004`.
fn since(at: Timestamp, start: Timestamp) -> String {
    let millis = at.duration_since(start).as_millis();
    let (sign, millis) = if millis < 0 { ('-', -millis) } else { ('+', millis) };
    let (seconds, millis) = (millis / 1000, millis % 1000);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{sign}{hours:02}:{minutes:02}:{seconds:02}.{millis:03} ")
}

/// The leaves in which two objects differ, without what every write changes.
fn differences(old: &Value, new: &Value, path: &str, fields: &mut Vec<String>) {
    let said_anyway = matches!(path, "metadata.resourceVersion" | "metadata.managedFields")
        || path.ends_with(".lastHeartbeatTime");
    if old == new || said_anyway {
        return;
    }
    let inside = |name: &str| {
        if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
    };
    match (old, new) {
        (Value::Object(before), Value::Object(after)) => {
            let removed = before.keys().filter(|name| !after.contains_key(*name));
            for name in after.keys().chain(removed) {
                let side = |fields: &serde_json::Map<String, Value>| {
                    fields.get(name).cloned().unwrap_or_default()
                };
                differences(&side(before), &side(after), &inside(name), fields);
            }
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            for (at, (old, new)) in before.iter().zip(after).enumerate() {
                differences(old, new, &format!("{path}[{at}]"), fields);
            }
        }
        (_, Value::Null) => fields.push(format!("{path} removed")),
        _ => fields.push(format!("{path} = {}", shortened(new))),
    }
}

/// A value in at most eighty characters.
fn shortened(value: &Value) -> String {
    const SHOWN_MAX: usize = 80;
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_MAX) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

fn json_line(entry: &Entry) -> Value {
    match entry {
        Entry::Note { at, who, what } => {
            serde_json::json!({"at": at.to_string(), "who": who, "note": what})
        }
        Entry::Call(call) => serde_json::json!({
            "at": call.at.to_string(),
            "who": call.caller,
            "call": call.verb,
            "resource": call.resource.to_string(),
            "object": call.key.to_string(),
            "subresource": call.subresource,
            "dryRun": call.dry_run,
            "code": call.code,
            "refusal": call.refusal,
            "version": call.version,
        }),
        Entry::Change(change) => serde_json::json!({
            "at": change.at.to_string(),
            "change": match change.kind {
                ChangeKind::Added => "added",
                ChangeKind::Modified => "modified",
                ChangeKind::Deleted => "deleted",
            },
            "resource": change.resource.to_string(),
            "object": change.object.value(),
        }),
    }
}
