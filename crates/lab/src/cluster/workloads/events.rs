//! Events of controllers: told as every part of the cluster tells them, but not without limits.
//!
//! The limits are those of client-go's recorder. More than ten different events of the same
//! reason about the same object within ten minutes become one. And every object has an allowance,
//! so that a loop of failures does not flood.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::{Key, Server};
use serde_json::{Value, json};

use super::super::events::{self, Tone};

/// How many different events of one reason about one object stand beside each other.
const DIFFERENT_EVENTS: usize = 10;

/// For how long an event is remembered as told.
const REMEMBERED_FOR: SignedDuration = SignedDuration::from_mins(10);

/// How many events about one object may follow each other closely.
const ALLOWANCE: f64 = 25.0;

/// How long it takes until one more event is allowed.
const ALLOWANCE_REFILL: SignedDuration = SignedDuration::from_mins(5);

/// How many objects are remembered, at most.
const REMEMBERED: usize = 4096;

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

/// Messages and when they were told, the oldest first.
type Recent = VecDeque<(Timestamp, String)>;

/// A source of events.
#[derive(Debug)]
pub(super) struct Recorder {
    inner: events::Recorder,
    /// What was told lately, by object and reason.
    recent: BTreeMap<(Arc<str>, &'static str), Recent>,
    allowances: BTreeMap<Arc<str>, (f64, Timestamp)>,
}

impl Recorder {
    /// One who tells under this component's name.
    pub(super) fn new(server: &Server, component: &'static str) -> Self {
        Self {
            inner: events::Recorder::new(server.caller(component), component),
            recent: BTreeMap::new(),
            allowances: BTreeMap::new(),
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
        self.tell(about, Tone::Normal, reason, message, now);
    }

    /// Writes a warning event.
    pub(super) fn warning(
        &mut self,
        about: &About,
        reason: &'static str,
        message: &str,
        now: Timestamp,
    ) {
        self.tell(about, Tone::Warning, reason, message, now);
    }

    fn tell(
        &mut self,
        about: &About,
        tone: Tone,
        reason: &'static str,
        message: &str,
        now: Timestamp,
    ) {
        self.forget_old(now);
        let message = self.combined(about, reason, message, now);
        if self.allowed(&about.uid, now) {
            let kind = (about.api_version, about.kind);
            let about = events::About { kind, key: &about.key, uid: &about.uid };
            self.inner.tell(now, &about, tone, reason, &message, "");
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
        let recent = self.recent.entry((Arc::clone(&about.uid), reason)).or_default();
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
        let is_recent = |last: Timestamp| now.duration_since(last) <= REMEMBERED_FOR;
        if self.recent.len() > REMEMBERED {
            self.recent.retain(|_, told| told.back().is_some_and(|(last, _)| is_recent(*last)));
            if self.recent.len() > REMEMBERED {
                self.recent.clear();
            }
        }
        if self.allowances.len() > REMEMBERED {
            self.allowances.retain(|_, (_, last)| is_recent(*last));
            if self.allowances.len() > REMEMBERED {
                self.allowances.clear();
            }
        }
    }
}
