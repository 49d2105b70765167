//! Events: what the parts of a cluster tell people.
//!
//! The same news about the same object is one Event that is counted, not a new one each time.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::{Caller, Key, Resource};
use serde_json::json;

use super::times::seconds;

/// How many different events are remembered, and for how long once there are more: the numbers of
/// Kubernetes' own recorder.
const REMEMBERED: usize = 4096;
const REMEMBERED_FOR: SignedDuration = SignedDuration::from_mins(10);

/// How many names are tried for a new event.
const NAMES_TRIED: usize = 16;

/// The object that an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct About<'a> {
    /// Its API version and kind.
    pub(crate) kind: (&'static str, &'static str),
    /// Its namespace and name.
    pub(crate) key: &'a Key,
    /// Its uid; a node's is its name, as kubelets have it.
    pub(crate) uid: &'a str,
}

impl<'a> About<'a> {
    /// An event about a pod.
    pub(crate) fn pod(key: &'a Key, uid: &'a str) -> Self {
        Self { kind: ("v1", "Pod"), key, uid }
    }

    /// An event about a node.
    pub(crate) fn node(key: &'a Key) -> Self {
        Self { kind: ("v1", "Node"), key, uid: &key.name }
    }
}

/// Whether an event is business as usual.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Normal,
    Warning,
}

#[derive(Debug)]
struct Told {
    event: Key,
    count: u64,
    last: Timestamp,
}

/// Writes the events of one component.
#[derive(Debug)]
pub(crate) struct Recorder {
    caller: Caller,
    events: Resource,
    component: &'static str,
    told: BTreeMap<(String, String, String), Told>,
    sequence: u64,
}

impl Recorder {
    pub(crate) fn new(caller: Caller, component: &'static str) -> Self {
        let events = Resource::new("", "events");
        Self { caller, events, component, told: BTreeMap::new(), sequence: 0 }
    }

    /// Tells something about an object. A host is where a kubelet tells it from.
    ///
    /// Events are best effort, as everywhere: one that the server refuses (the namespace is going
    /// away) is not tried again.
    pub(crate) fn tell(
        &mut self,
        now: Timestamp,
        about: &About<'_>,
        tone: Tone,
        reason: &str,
        message: &str,
        host: &str,
    ) {
        let same = (about.uid.to_owned(), reason.to_owned(), message.to_owned());
        if let Some(told) = self.told.get_mut(&same) {
            told.count += 1;
            told.last = now;
            let patch = json!({"count": told.count, "lastTimestamp": seconds(now)});
            if self.caller.merge(&self.events, &told.event, None, patch).is_ok() {
                return;
            }
        }
        self.make_room(now);
        // Another component may have taken the name for the same object in the same instant.
        for _ in 0..NAMES_TRIED {
            let event = self.name_of_next(now, about);
            let object = self.event(now, about, tone, (reason, message), &event, host);
            match self.caller.create(&self.events, object) {
                Ok(_) => {
                    self.told.insert(same, Told { event, count: 1, last: now });
                    return;
                }
                Err(status) if status.reason == "AlreadyExists" => {}
                Err(_) => return,
            }
        }
    }

    fn make_room(&mut self, now: Timestamp) {
        if self.told.len() >= REMEMBERED {
            self.told.retain(|_, told| now.duration_since(told.last) < REMEMBERED_FOR);
        }
        if self.told.len() >= REMEMBERED {
            self.told.clear();
        }
    }

    fn name_of_next(&mut self, now: Timestamp, about: &About<'_>) -> Key {
        self.sequence += 1;
        // The real name ends in the nanosecond. In virtual time many things happen in the same one.
        let unique = now.as_nanosecond() + i128::from(self.sequence % 1_000_000);
        let namespace = match &*about.key.namespace {
            "" => "default",
            namespace => namespace,
        };
        Key::new(namespace, &format!("{}.{unique:x}", about.key.name))
    }

    fn event(
        &self,
        now: Timestamp,
        about: &About<'_>,
        tone: Tone,
        (reason, message): (&str, &str),
        event: &Key,
        host: &str,
    ) -> serde_json::Value {
        let (version, kind) = about.kind;
        let mut involved = json!({
            "apiVersion": version, "kind": kind, "name": &*about.key.name, "uid": about.uid,
        });
        if !about.key.namespace.is_empty() {
            involved["namespace"] = json!(&*about.key.namespace);
        }
        let mut source = json!({"component": self.component});
        if !host.is_empty() {
            source["host"] = json!(host);
        }
        json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"namespace": &*event.namespace, "name": &*event.name},
            "involvedObject": involved,
            "type": match tone { Tone::Normal => "Normal", Tone::Warning => "Warning" },
            "reason": reason,
            "message": message,
            "count": 1,
            "firstTimestamp": seconds(now),
            "lastTimestamp": seconds(now),
            "source": source,
            "reportingComponent": self.component,
            "reportingInstance": host,
        })
    }
}
