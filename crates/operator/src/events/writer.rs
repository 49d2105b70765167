//! Writes events to the API server, as client-go's recorder does.

use std::{
    borrow::Cow,
    collections::{HashMap, VecDeque},
    time::Duration,
};

use jiff::Timestamp;
use k8s_openapi::{
    api::core::v1::{Event as Object, EventSource},
    apimachinery::pkg::apis::meta::v1::Time,
};
use kube::{
    Api, Client,
    api::{ObjectMeta, Patch, PatchParams, PostParams},
};
use serde_json::json;

use super::{Event, Recorder, Subject};
use crate::{cluster::DEADLINE, trouble::Trouble};

/// Who tells, in every event.
const COMPONENT: &str = "karpenter";
/// How often an event is tried when the API server cannot be reached, as client-go does.
const TRIES: u32 = 12;
/// How long between two tries.
const RETRY: Duration = Duration::from_secs(10);
/// How many written events are remembered, to count the next one of the same text; client-go's.
const REMEMBERED: usize = 4096;

/// Writes what a [`Recorder`] took. Nothing is written unless it runs.
pub struct Writer {
    recorder: Recorder,
    client: Client,
    written: Written,
    /// Events have names made from the time; two of them must not have the same.
    last_name: i128,
    /// Whether the last call failed, so that the next failure is not said again.
    failing: bool,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("failing", &self.failing).finish_non_exhaustive()
    }
}

impl Writer {
    pub(super) fn new(recorder: Recorder, client: Client) -> Self {
        Self { recorder, client, written: Written::default(), last_name: 0, failing: false }
    }

    /// Writes events until the recorder is closed and all are written.
    pub async fn run(mut self) {
        let shared = std::sync::Arc::clone(&self.recorder.0);
        while let Some(event) = shared.next().await {
            for _ in 0..TRIES {
                match self.write(&event).await {
                    Ok(()) => self.failing = false,
                    Err(error) => {
                        self.say(&event, &error);
                        // What the server refuses it will refuse again; and who shuts down does
                        // not wait.
                        let refused = error.code().is_some_and(|code| code < 500);
                        if !refused && !shared.is_closed() {
                            shared.clock.sleep(RETRY).await;
                            continue;
                        }
                    }
                }
                break;
            }
        }
    }

    /// Failures are said once, until a call succeeds again.
    fn say(&mut self, event: &Event, error: &Trouble) {
        if !std::mem::replace(&mut self.failing, true) {
            let Event { reason, about: Subject { kind, name, .. }, .. } = event;
            tracing::warn!(
                error = error.told(), reason = %reason, object.kind = kind, object.name = name,
                "events cannot be written; the service account needs create and patch on events"
            );
        }
    }

    async fn write(&mut self, event: &Event) -> Result<(), Trouble> {
        let now = self.recorder.0.clock.now();
        let namespace = event.about.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let events: Api<Object> = Api::namespaced(self.client.clone(), &namespace);
        let key = Key::of(event);
        if let Some(Told { name, count }) = self.written.get(&key) {
            let again = json!({"count": count + 1, "lastTimestamp": Time(now)});
            let (params, again) = (PatchParams::default(), Patch::Merge(again));
            match self.in_time("patch", &name, events.patch(&name, &params, &again)).await {
                Ok(_) => {
                    self.written.keep(key, Told { name, count: count + 1 });
                    return Ok(());
                }
                // Events are deleted after an hour.
                Err(trouble) if trouble.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        let object = self.object(event, namespace, now);
        let name = object.metadata.name.clone().unwrap_or_default();
        let params = PostParams::default();
        self.in_time("create", &name, events.create(&params, &object)).await?;
        self.written.keep(key, Told { name, count: 1 });
        Ok(())
    }

    /// The answer to a call. Events are written one after another: one answer that never comes must
    /// not keep all others from being written.
    async fn in_time<T>(
        &self,
        verb: &str,
        name: &str,
        call: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, Trouble> {
        let what = || format!("{verb} Event {name}");
        match self.recorder.0.clock.within(DEADLINE, call).await {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(error)) => Err(Trouble::Api { what: what(), error: Box::new(error) }),
            None => Err(Trouble::Deadline(what())),
        }
    }

    fn object(&mut self, event: &Event, namespace: String, now: Timestamp) -> Object {
        self.last_name = now.as_nanosecond().max(self.last_name + 1);
        let name = format!("{}.{:x}", event.about.name, self.last_name);
        Object {
            metadata: ObjectMeta {
                name: Some(name),
                namespace: Some(namespace),
                ..ObjectMeta::default()
            },
            involved_object: event.about.reference(),
            type_: Some(event.kind.as_str().to_owned()),
            reason: Some(event.reason.clone().into_owned()),
            message: Some(event.message.clone()),
            source: Some(EventSource { component: Some(COMPONENT.to_owned()), host: None }),
            reporting_component: Some(COMPONENT.to_owned()),
            reporting_instance: Some(String::new()),
            first_timestamp: Some(Time(now)),
            last_timestamp: Some(Time(now)),
            count: Some(1),
            ..Object::default()
        }
    }
}

/// What makes two events one that happened twice.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    uid: String,
    reason: Cow<'static, str>,
    message: String,
}

impl Key {
    fn of(event: &Event) -> Self {
        let Event { about, reason, message, .. } = event;
        Self { uid: about.uid.clone(), reason: reason.clone(), message: message.clone() }
    }
}

/// An event that is there.
#[derive(Debug, Clone)]
struct Told {
    name: String,
    count: i32,
}

/// The events that were written last.
#[derive(Debug, Default)]
struct Written {
    told: HashMap<Key, Told>,
    /// Oldest first.
    order: VecDeque<Key>,
}

impl Written {
    fn get(&self, key: &Key) -> Option<Told> {
        self.told.get(key).cloned()
    }

    fn keep(&mut self, key: Key, told: Told) {
        if self.told.insert(key.clone(), told).is_some() {
            return;
        }
        self.order.push_back(key);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.told.remove(&oldest);
        }
    }
}
