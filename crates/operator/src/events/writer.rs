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

/// The reporting component of every event.
const COMPONENT: &str = "karpenter";
/// How often a write is tried while the API server is unreachable; client-go's value.
const TRIES: u32 = 12;
/// The time between two tries; client-go's longest.
const RETRY: Duration = Duration::from_secs(10);
/// How many written events are remembered, to count repetitions; client-go's value.
const REMEMBERED: usize = 4096;

/// Writes the events of a [`Recorder`] while it runs.
pub struct Writer {
    recorder: Recorder,
    client: Client,
    written: Written,
    /// Event names contain the time; this value keeps them unique.
    last_name: i128,
    /// Whether the last call failed, so that the next failure is not logged again.
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

    /// Writes events until the recorder is closed and empty.
    pub async fn run(mut self) {
        let shared = std::sync::Arc::clone(&self.recorder.0);
        while let Some(event) = shared.next().await {
            for _ in 0..TRIES {
                match self.write(&event).await {
                    Ok(()) => self.failing = false,
                    Err(error) => {
                        self.say(&event, &error);
                        // The server would reject a retry too, and a shutdown must not wait for
                        // one.
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

    /// Logs the first failure, until a call succeeds again.
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
                // The API server deletes events after an hour.
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

    /// The answer, or a timeout. Events are written in sequence, so a missing answer must not block
    /// the others.
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

/// The identity of an event whose repetitions are counted.
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

/// An event that exists in the API server.
#[derive(Debug, Clone)]
struct Told {
    name: String,
    count: i32,
}

/// The most recently written events.
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
