//! Watching objects.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::stream::{self, BoxStream, StreamExt};
use jiff::Timestamp;
use joiner_clock::Clock;
use serde_json::{Value, json};
use tokio::sync::watch::Receiver;

use crate::{
    Server, Status,
    negotiate::Shape,
    object::{Change, ChangeKind, Object},
    options::ListOptions,
    read::{Filter, parse_version, version_too_large},
    registry::Rules,
    store::Compacted,
    view::View,
};

/// How often a quiet watch is told the current version, if it asked for bookmarks.
const BOOKMARK_EVERY: Duration = Duration::from_mins(1);

/// How long a watch lives that does not say. The real server chooses between 30 and 60 minutes.
const LIVES_FOR: Duration = Duration::from_mins(45);

/// How many events are written at a time.
const EVENTS_AT_ONCE: usize = 512;

/// What an event takes beside the object as it is stored: its kind, and the object's type.
const EVENT_FRAME: usize = 128;

/// A watch that is under way.
struct Watch {
    server: Server,
    clock: Clock,
    view: View,
    filter: Filter,
    /// Objects that are there already and are told first.
    initial: VecDeque<Arc<Object>>,
    /// What is told after them: that this was all of them.
    initial_bookmark: bool,
    /// The last version that was told.
    seen: u64,
    news: Receiver<u64>,
    bookmarks: bool,
    next_bookmark: Timestamp,
    ends: Timestamp,
    columns_told: bool,
    over: bool,
}

/// Opens a watch. Errors are those that the real server gives as an answer of their own; others
/// are told as an event.
pub(crate) fn open(
    server: &Server,
    view: View,
    filter: Filter,
    options: &ListOptions,
) -> Result<BoxStream<'static, io::Result<Bytes>>, Status> {
    let clock = server.clock().clone();
    let now = clock.now();
    let from = options
        .resource_version
        .as_deref()
        .map_or(Ok(0), parse_version)
        .map_err(|error| Status::plain(500, "", error.to_string()))?;
    let state = server.state();
    let store = &state.store;
    let current = store.version();
    let with_initial = options.send_initial_events.unwrap_or(from == 0);
    if options.send_initial_events == Some(true) && from > current {
        return Err(version_too_large(from, current));
    }
    let table = store.table(&view.kind.storage).ok_or_else(Status::no_such_resource)?;
    let initial: VecDeque<_> = if with_initial {
        let objects = table.range(filter.namespace.as_deref(), None);
        objects.filter(|object| filter.matches(object)).cloned().collect()
    } else {
        VecDeque::new()
    };
    let seen = if with_initial || from == 0 { current } else { from };
    let expired = table.changes_after(seen).is_err();
    let news = table.subscribe();
    drop(state);
    if expired {
        let status = Status::expired(format!("too old resource version: {from} ({current})"));
        let line = line("ERROR", status.to_json().to_string().as_bytes());
        return Ok(stream::iter([Ok(line)]).boxed());
    }
    if view.shape == Shape::MetadataList {
        // The real server finds that an object is no list, and says nothing more.
        return Ok(stream::empty().boxed());
    }
    let lives = options
        .timeout_seconds
        .and_then(|seconds| u64::try_from(seconds).ok())
        .filter(|seconds| *seconds > 0)
        .map_or(LIVES_FOR, Duration::from_secs);
    let initial_bookmark = options.send_initial_events == Some(true) && options.bookmarks;
    let watch = Watch {
        server: server.clone(),
        clock,
        view,
        filter,
        initial,
        initial_bookmark,
        seen,
        news,
        bookmarks: options.bookmarks,
        next_bookmark: now.saturating_add(BOOKMARK_EVERY).unwrap_or(Timestamp::MAX),
        ends: now.saturating_add(lives).unwrap_or(Timestamp::MAX),
        columns_told: false,
        over: false,
    };
    Ok(stream::unfold(watch, |mut watch| async move {
        watch.next().await.map(|bytes| (Ok(bytes), watch))
    })
    .boxed())
}

impl Watch {
    /// The next events; none when the watch is over.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.over {
                return None;
            }
            let now = self.clock.now();
            if let Some(events) = self.ready(now) {
                return Some(events);
            }
            if now >= self.ends {
                return None;
            }
            let until = if self.bookmarks { self.ends.min(self.next_bookmark) } else { self.ends };
            let clock = self.clock.clone();
            tokio::select! {
                biased;
                changed = self.news.changed() => {
                    // The resource is no longer served.
                    if changed.is_err() {
                        return None;
                    }
                }
                () = clock.sleep_until(until) => {}
            }
        }
    }

    /// Events that can be told without waiting.
    fn ready(&mut self, now: Timestamp) -> Option<Bytes> {
        let mut out = BytesMut::new();
        if !self.initial.is_empty() {
            let count = self.initial.len().min(EVENTS_AT_ONCE);
            let objects: Vec<_> = self.initial.drain(..count).collect();
            out.reserve(objects.iter().map(|object| object.json.len() + EVENT_FRAME).sum());
            for object in objects {
                self.event("ADDED", &object, now, &mut out);
            }
            return Some(out.freeze());
        }
        if std::mem::take(&mut self.initial_bookmark) {
            return Some(self.bookmark(true));
        }
        match self.changes() {
            Err(Compacted) => {
                let message = format!("too old resource version: {}", self.seen);
                let status = Status::expired(message).to_json().to_string();
                self.over = true;
                return Some(line("ERROR", status.as_bytes()));
            }
            Ok(changes) => {
                out.reserve(changes.iter().map(|one| one.object.json.len() + EVENT_FRAME).sum());
                for change in changes {
                    self.seen = change.object.version;
                    self.tell(&change, now, &mut out);
                }
            }
        }
        if !out.is_empty() {
            return Some(out.freeze());
        }
        if self.bookmarks && now >= self.next_bookmark {
            self.next_bookmark = now.saturating_add(BOOKMARK_EVERY).unwrap_or(Timestamp::MAX);
            return Some(self.bookmark(false));
        }
        None
    }

    fn changes(&mut self) -> Result<Vec<Change>, Compacted> {
        self.news.borrow_and_update();
        let state = self.server.state();
        let Some(table) = state.store.table(&self.view.kind.storage) else { return Ok(Vec::new()) };
        Ok(table.changes_after(self.seen)?.take(EVENTS_AT_ONCE).cloned().collect())
    }

    /// Tells a change as it looks through the selectors: an object that no longer matches is gone.
    fn tell(&mut self, change: &Change, now: Timestamp, out: &mut BytesMut) {
        let is = change.kind != ChangeKind::Deleted && self.filter.matches(&change.object);
        let was = change.previous.as_ref().is_some_and(|previous| self.filter.matches(previous));
        match (was, is) {
            (false, false) => {}
            (false, true) => self.event("ADDED", &change.object, now, out),
            (true, true) => self.event("MODIFIED", &change.object, now, out),
            (true, false) => match &change.previous {
                Some(previous) if change.kind == ChangeKind::Modified => {
                    let last = previous.at_version(change.object.version);
                    self.event("DELETED", &last, now, out);
                }
                _ => self.event("DELETED", &change.object, now, out),
            },
        }
    }

    fn event(&mut self, kind: &str, object: &Object, now: Timestamp, out: &mut BytesMut) {
        out.put_slice(b"{\"type\":\"");
        out.put_slice(kind.as_bytes());
        out.put_slice(b"\",\"object\":");
        self.view.write(object, now, !self.columns_told, out);
        self.columns_told = true;
        out.put_slice(b"}\n");
    }

    fn bookmark(&mut self, after_initial: bool) -> Bytes {
        // Everything up to the current version was told: there was nothing left when we looked.
        let version = self.server.version().max(self.seen);
        self.seen = version;
        let mut metadata = json!({"resourceVersion": version.to_string()});
        if after_initial {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let mut object = json!({"metadata": metadata});
        match self.view.shape {
            Shape::Table => {
                object = json!({
                    "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
                    "columnDefinitions": null, "rows": [],
                });
            }
            Shape::Metadata | Shape::MetadataList => {
                object["kind"] = "PartialObjectMetadata".into();
                object["apiVersion"] = "meta.k8s.io/v1".into();
            }
            Shape::Object | Shape::Discovery => {
                self.view.name_type(&mut object);
                // A bookmark is an empty object of the kind, as the kind's struct is written.
                if let Rules::BuiltIn(resource) = &self.view.version().rules {
                    let _ = joiner_kinds::normalize(resource, &mut object);
                    if resource.group == "apps" && resource.subresource("scale").is_some() {
                        object["spec"]["replicas"] = 0.into();
                    }
                }
            }
        }
        line("BOOKMARK", object.to_string().as_bytes())
    }
}

fn line(kind: &str, object: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(object.len() + 40);
    out.put_slice(b"{\"type\":\"");
    out.put_slice(kind.as_bytes());
    out.put_slice(b"\",\"object\":");
    out.put_slice(object);
    out.put_slice(b"}\n");
    out.freeze()
}

impl Object {
    /// The same object as if it had been written at another version.
    pub(crate) fn at_version(&self, version: u64) -> Self {
        let mut value = self.untyped();
        value["metadata"]["resourceVersion"] = Value::from(version.to_string());
        Self {
            key: self.key.clone(),
            uid: Arc::clone(&self.uid),
            version,
            labels: self.labels.clone(),
            fields: self.fields.clone(),
            owners: self.owners.clone(),
            deleting: self.deleting,
            written: self.written.clone(),
            json: serde_json::to_vec(&value).expect("a JSON value can be written").into(),
            of_type: Arc::clone(&self.of_type),
            shared: OnceLock::new(),
        }
    }
}
