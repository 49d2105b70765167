//! Events: what controllers tell people, counted rather than repeated.
//!
//! The rules are those of client-go's recorder. An event that was told before raises a count.
//! More than ten different ones of the same reason about the same object within ten minutes
//! become one. And every object has an allowance, so that a loop of failures does not flood.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::{Caller, Key, Resource, Server};
use serde_json::{Value, json};

use super::facts::stamp;

/// How many different events of one reason about one object stand beside each other.
const DIFFERENT_EVENTS: usize = 10;

/// For how long an event is remembered as told.
const REMEMBERED_FOR: SignedDuration = SignedDuration::from_mins(10);

/// How many events about one object may follow each other closely.
const ALLOWANCE: f64 = 25.0;

/// How long it takes until one more event is allowed.
const ALLOWANCE_REFILL: SignedDuration = SignedDuration::from_mins(5);

/// How many objects and events are remembered, at most.
const REMEMBERED: usize = 4096;

/// Whether somebody should look at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    Normal,
    Warning,
}

/// What an event is about.
#[derive(Clone, Debug)]
pub(super) struct About {
    pub(super) api_version: &'static str,
    pub(super) kind: &'static str,
    pub(super) key: Key,
    pub(super) uid: Arc<str>,
}

impl About {
    /// A pod.
    pub(super) fn pod(key: &Key, uid: &Arc<str>) -> Self {
        Self { api_version: "v1", kind: "Pod", key: key.clone(), uid: Arc::clone(uid) }
    }

    /// A node.
    pub(super) fn node(name: &Arc<str>, uid: &Arc<str>) -> Self {
        let key = Key { namespace: "".into(), name: Arc::clone(name) };
        Self { api_version: "v1", kind: "Node", key, uid: Arc::clone(uid) }
    }

    /// The reference by which an object says that this one controls it.
    pub(super) fn controller_reference(&self) -> Value {
        json!({
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": &*self.key.name,
            "uid": &*self.uid,
            "controller": true,
            "blockOwnerDeletion": true,
        })
    }
}

/// Somebody who tells events.
#[derive(Debug)]
pub(super) struct Recorder {
    caller: Caller,
    component: &'static str,
    events: Resource,
    told: BTreeMap<(Arc<str>, &'static str, String), Told>,
    kinds: BTreeMap<(Arc<str>, &'static str), VecDeque<(Timestamp, String)>>,
    allowances: BTreeMap<Arc<str>, (f64, Timestamp)>,
    sequence: u64,
}

/// An event that was told.
#[derive(Debug)]
struct Told {
    key: Key,
    count: u64,
    last: Timestamp,
}

impl Recorder {
    /// One who tells under this component's name.
    pub(super) fn new(server: &Server, component: &'static str) -> Self {
        Self {
            caller: server.caller(component),
            component,
            events: Resource::new("", "events"),
            told: BTreeMap::new(),
            kinds: BTreeMap::new(),
            allowances: BTreeMap::new(),
            sequence: 0,
        }
    }

    /// Tells that something went as it should.
    pub(super) fn normal(
        &mut self,
        about: &About,
        reason: &'static str,
        message: &str,
        now: Timestamp,
    ) {
        self.tell(about, Weight::Normal, reason, message, now);
    }

    /// Tells that somebody should look.
    pub(super) fn warning(
        &mut self,
        about: &About,
        reason: &'static str,
        message: &str,
        now: Timestamp,
    ) {
        self.tell(about, Weight::Warning, reason, message, now);
    }

    /// Tells, as far as the allowance goes. An event that the server refuses is lost, as it is in
    /// a real cluster: nothing may depend on one.
    fn tell(
        &mut self,
        about: &About,
        weight: Weight,
        reason: &'static str,
        message: &str,
        now: Timestamp,
    ) {
        self.forget_old(now);
        let message = self.combined(about, reason, message, now);
        if !self.allowed(&about.uid, now) {
            return;
        }
        let identity = (Arc::clone(&about.uid), reason, message);
        if let Some(told) = self.told.get_mut(&identity) {
            told.count += 1;
            told.last = now;
            let patch = json!({"count": told.count, "lastTimestamp": stamp(now)});
            if self.caller.merge(&self.events, &told.key, None, patch).is_ok() {
                return;
            }
        }
        self.sequence += 1;
        let event = self.event(about, weight, reason, &identity.2, now);
        if let Ok(object) = self.caller.create(&self.events, event) {
            let told = Told { key: object.key.clone(), count: 1, last: now };
            self.told.insert(identity, told);
        }
    }

    /// The message, or one for all when there are too many different ones.
    fn combined(
        &mut self,
        about: &About,
        reason: &'static str,
        message: &str,
        now: Timestamp,
    ) -> String {
        let recent = self.kinds.entry((Arc::clone(&about.uid), reason)).or_default();
        while recent.front().is_some_and(|(at, _)| now.duration_since(*at) > REMEMBERED_FOR) {
            recent.pop_front();
        }
        if recent.iter().any(|(_, told)| told == message) {
            return message.to_owned();
        }
        if recent.len() < DIFFERENT_EVENTS {
            recent.push_back((now, message.to_owned()));
            return message.to_owned();
        }
        // One text for all of them, so that they share one count.
        format!("(combined from similar events): {}", recent[0].1)
    }

    fn allowed(&mut self, uid: &Arc<str>, now: Timestamp) -> bool {
        let (left, since) = self.allowances.entry(Arc::clone(uid)).or_insert((ALLOWANCE, now));
        let passed = now.duration_since(*since).as_secs_f64();
        *left = (*left + passed / ALLOWANCE_REFILL.as_secs_f64()).min(ALLOWANCE);
        *since = now;
        let allowed = *left >= 1.0;
        if allowed {
            *left -= 1.0;
        }
        allowed
    }

    fn forget_old(&mut self, now: Timestamp) {
        let recent = |last: Timestamp| now.duration_since(last) <= REMEMBERED_FOR;
        if self.told.len() > REMEMBERED {
            self.told.retain(|_, told| recent(told.last));
            if self.told.len() > REMEMBERED {
                self.told.clear();
            }
        }
        if self.kinds.len() > REMEMBERED {
            self.kinds.retain(|_, told| told.back().is_some_and(|(last, _)| recent(*last)));
            if self.kinds.len() > REMEMBERED {
                self.kinds.clear();
            }
        }
        if self.allowances.len() > REMEMBERED {
            self.allowances.retain(|_, (_, last)| recent(*last));
            if self.allowances.len() > REMEMBERED {
                self.allowances.clear();
            }
        }
    }

    fn event(
        &self,
        about: &About,
        weight: Weight,
        reason: &str,
        message: &str,
        now: Timestamp,
    ) -> Value {
        let namespace =
            if about.key.namespace.is_empty() { "default" } else { &about.key.namespace };
        // Two events about one object may fall on one moment of virtual time.
        let unique = now.as_nanosecond().unsigned_abs().wrapping_add(u128::from(self.sequence));
        json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": format!("{}.{unique:x}", about.key.name),
                "namespace": namespace,
            },
            "involvedObject": {
                "apiVersion": about.api_version,
                "kind": about.kind,
                "namespace": &*about.key.namespace,
                "name": &*about.key.name,
                "uid": &*about.uid,
            },
            "type": match weight {
                Weight::Normal => "Normal",
                Weight::Warning => "Warning",
            },
            "reason": reason,
            "message": message,
            "source": {"component": self.component},
            "reportingComponent": self.component,
            "reportingInstance": "",
            "firstTimestamp": stamp(now),
            "lastTimestamp": stamp(now),
            "count": 1,
        })
    }
}
