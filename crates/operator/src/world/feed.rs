//! Watches that keep the world up to date.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    fmt::Debug,
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{StreamExt, future::BoxFuture, stream::BoxStream};
use joiner_clock::Clock;
use joiner_cloud::class::{ClassKind, NodeClass};
use kube::{
    Api, Client, Resource,
    api::DynamicObject,
    runtime::watcher::{self, Event, watcher},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::{Notify, futures::Notified};

use super::{Cache, Kept, kept};
use crate::{objects, probes::NotReady, text::chain};

/// How long a broken watch waits before it tries again, at first and at most.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(800), Duration::from_secs(30));
/// How many objects a list asks for at once; it bounds the memory that a list takes.
pub(crate) const PAGE_SIZE: u32 = 500;

/// How well one kind is known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FeedState {
    /// Whether a whole list has arrived.
    pub synced: bool,
    /// What stands in the way now, and what to do about it.
    pub missing: Option<NotReady>,
}

/// How well each kind is known. Clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Feeds(Arc<FeedStates>);

#[derive(Debug, Default)]
struct FeedStates {
    by_plural: Mutex<BTreeMap<String, FeedState>>,
    changed: Notify,
}

impl Feeds {
    /// Every feed by the plural of its kind.
    pub fn states(&self) -> BTreeMap<String, FeedState> {
        self.0.by_plural.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether every kind was listed once.
    pub fn synced(&self) -> bool {
        let states = self.0.by_plural.lock().unwrap_or_else(PoisonError::into_inner);
        states.values().all(|state| state.synced)
    }

    /// What stands in the way of knowing one of these kinds.
    pub fn missing_of(&self, plurals: &[&str]) -> Option<NotReady> {
        let states = self.0.by_plural.lock().unwrap_or_else(PoisonError::into_inner);
        plurals.iter().find_map(|plural| states.get(*plural)?.missing.clone())
    }

    /// Waits until every kind was listed once.
    pub async fn when_synced(&self) {
        loop {
            let mut changed = pin!(self.0.changed.notified());
            changed.as_mut().enable();
            if self.synced() {
                return;
            }
            changed.await;
        }
    }

    /// Waits until something about them has changed.
    pub fn changed(&self) -> Notified<'_> {
        self.0.changed.notified()
    }

    fn set(&self, plural: &str, change: impl FnOnce(&mut FeedState)) {
        let mut states = self.0.by_plural.lock().unwrap_or_else(PoisonError::into_inner);
        change(states.entry(plural.to_owned()).or_default());
        drop(states);
        self.0.changed.notify_waiters();
    }
}

/// Which kinds are needed beyond those that always are.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// The classes of the providers that are on.
    pub classes: Vec<ClassKind>,
    /// What default spreading looks at: services and what owns pods.
    pub default_spread: bool,
    /// Overlays.
    pub overlays: bool,
    /// Buffers, and what they refer to.
    pub buffers: bool,
}

impl Wanted {
    /// Whether objects of a kind are needed.
    pub(crate) fn needs(&self, kind: &str) -> bool {
        match kind {
            "NodePool"
            | "NodeClaim"
            | "Node"
            | "Pod"
            | "Namespace"
            | "PersistentVolume"
            | "PersistentVolumeClaim"
            | "DaemonSet"
            | "PodDisruptionBudget"
            | "CSINode"
            | "StorageClass"
            | "VolumeAttachment" => true,
            "Service" | "ReplicationController" => self.default_spread,
            "ReplicaSet" | "StatefulSet" => self.default_spread || self.buffers,
            "Deployment" | "PodTemplate" | "CapacityBuffer" => self.buffers,
            "NodeOverlay" => self.overlays,
            // Jobs and priority classes: whatever matters of them is in their pods.
            _ => false,
        }
    }
}

/// The feeds of all kinds that are wanted; each runs until it is dropped.
pub fn feed_all(
    client: &Client,
    cache: &Cache,
    clock: &Clock,
    feeds: &Feeds,
    wanted: &Wanted,
) -> Vec<BoxFuture<'static, Infallible>> {
    let mut feeder = Feeder {
        client: client.clone(),
        cache: cache.clone(),
        clock: clock.clone(),
        feeds: feeds.clone(),
        running: Vec::new(),
    };
    super::feed_kinds(&mut feeder, wanted);
    for class in &wanted.classes {
        feeder.add_class(class);
    }
    feeder.running
}

pub(super) struct Feeder {
    client: Client,
    cache: Cache,
    clock: Clock,
    feeds: Feeds,
    running: Vec<BoxFuture<'static, Infallible>>,
}

impl Feeder {
    pub(super) fn add<T>(&mut self)
    where
        T: Kept + Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        let api = Api::<T>::all(self.client.clone());
        self.run(T::PLURAL(), objects::Resource::of::<T>(), api, |object| object);
    }

    fn add_class(&mut self, class: &ClassKind) {
        let resource = objects::api_resource(class);
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
        let class = *class;
        let named = objects::Resource::of_class(&class);
        self.run(class.plural.to_owned(), named, api, move |object| node_class(&class, object));
    }

    fn run<W, T: Kept>(
        &mut self,
        plural: String,
        resource: objects::Resource,
        api: Api<W>,
        read: impl Fn(W) -> T + Send + 'static,
    ) where
        W: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    {
        self.feeds.set(&plural, |_| {});
        let feed = Feed {
            cache: self.cache.clone(),
            clock: self.clock.clone(),
            feeds: self.feeds.clone(),
            plural,
            resource: resource.name,
        };
        let events = move || watcher(api.clone(), config()).boxed();
        self.running.push(Box::pin(feed.run(events, read)));
    }
}

fn config() -> watcher::Config {
    watcher::Config::default().page_size(PAGE_SIZE)
}

/// How long to wait after failures.
#[derive(Debug)]
struct Patience {
    next: Duration,
    /// When the last failure was, by the running time of the clock.
    last: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { next: BACKOFF.0, last: Duration::ZERO }
    }
}

impl Patience {
    /// How long to wait after a failure now. One that comes long after the others is the first of
    /// its own trouble.
    fn after_failure(&mut self, now: Duration) -> Duration {
        if now.saturating_sub(self.last) > 2 * BACKOFF.1 {
            self.next = BACKOFF.0;
        }
        let wait = self.next;
        self.next = (wait * 2).min(BACKOFF.1);
        self.last = now;
        wait
    }
}

struct Feed {
    cache: Cache,
    clock: Clock,
    feeds: Feeds,
    plural: String,
    /// What roles call the kind.
    resource: String,
}

impl Feed {
    async fn run<W, T: Kept>(
        self,
        begin: impl Fn() -> BoxStream<'static, watcher::Result<Event<W>>> + Send,
        read: impl Fn(W) -> T + Send,
    ) -> Infallible {
        let mut events = begin();
        let mut backoff = Patience::default();
        let mut first_list = true;
        loop {
            match events.next().await {
                Some(Ok(event)) => self.take(event, &read, &mut first_list),
                Some(Err(error)) => {
                    self.complain(&error);
                    self.clock.sleep(backoff.after_failure(self.clock.running())).await;
                    // A watch that begins at last says nothing until something changes. That it has
                    // begun is only known after a list, which also tells what was missed.
                    if matches!(error, watcher::Error::WatchStartFailed(_)) {
                        events = begin();
                    }
                }
                // A watcher has no end; if it had one, there would be nothing more to learn.
                None => std::future::pending().await,
            }
        }
    }

    fn take<W, T: Kept>(&self, event: Event<W>, read: &impl Fn(W) -> T, first_list: &mut bool) {
        match event {
            Event::Init => self.cache.begin_list::<T>(),
            Event::InitApply(object) => self.cache.put(read(object), *first_list),
            Event::Apply(object) => self.cache.put(read(object), false),
            Event::InitDone => {
                self.cache.end_list::<T>();
                *first_list = false;
                self.feeds.set(&self.plural, |state| {
                    *state = FeedState { synced: true, missing: None };
                });
                return;
            }
            Event::Delete(object) => {
                let object = read(object);
                self.cache.removed::<T>(&object.key(), object.identity().version);
            }
        }
        self.recovered();
    }

    fn recovered(&self) {
        if self.feeds.states().get(&self.plural).is_some_and(|state| state.missing.is_some()) {
            self.feeds.set(&self.plural, |state| state.missing = None);
        }
    }

    fn complain(&self, error: &watcher::Error) {
        let missing = missing(&self.resource, error);
        let known = self.feeds.states().remove(&self.plural).and_then(|state| state.missing);
        if known.as_ref() == Some(&missing) {
            tracing::debug!(resource = self.plural, "{missing}");
        } else {
            tracing::warn!(resource = self.plural, "{missing}");
        }
        self.feeds.set(&self.plural, |state| state.missing = Some(missing));
    }
}

/// What stands in the way of a watch, and what to do about it.
fn missing(resource: &str, error: &watcher::Error) -> NotReady {
    let (verb, status) = match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status)) => ("list", status),
        watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status))
        | watcher::Error::WatchError(status) => ("watch", status),
        watcher::Error::InitialListFailed(kube::Error::SerdeError(problem))
        | watcher::Error::WatchFailed(kube::Error::SerdeError(problem)) => {
            return NotReady::Other {
                problem: format!("one of {resource} cannot be read ({problem})"),
                remedy: format!(
                    "look for that value with kubectl get {resource} -A -o yaml and correct it, \
                     then let joiner crds | kubectl apply -f - keep such values out"
                ),
            };
        }
        other => return NotReady::Unreachable { problem: chain(other) },
    };
    match status.code {
        403 => NotReady::Forbidden { verb: verb.to_owned(), resource: resource.to_owned() },
        404 => NotReady::CrdMissing { name: resource.to_owned() },
        _ => NotReady::Unreachable { problem: format!("{verb} {resource}: {}", status.message) },
    }
}

fn node_class(class: &ClassKind, object: DynamicObject) -> NodeClass {
    let DynamicObject { metadata, mut data, .. } = object;
    NodeClass {
        group: class.group.to_owned(),
        api_version: class.version.to_owned(),
        kind: class.kind.to_owned(),
        name: metadata.name.unwrap_or_default(),
        uid: metadata.uid.unwrap_or_default(),
        version: kept::version(metadata.resource_version.as_deref()),
        generation: metadata.generation.unwrap_or_default(),
        annotations: metadata.annotations.unwrap_or_default(),
        spec: data.get_mut("spec").map(Value::take).unwrap_or_default(),
        status: data.get_mut("status").map(Value::take).unwrap_or_default(),
        deleting: metadata.deletion_timestamp.map(|time| time.0),
        finalizers: metadata.finalizers.unwrap_or_default(),
    }
}
