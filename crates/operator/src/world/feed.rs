//! The feeds: one watch for each kind, which keeps the cache up to date.

use std::{convert::Infallible, time::Duration};

use futures_util::future::BoxFuture;
use joiner_clock::Clock;
use joiner_cloud::class::{ClassKind, NodeClass};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Client, Resource};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};

use super::{
    Cache, FeedState, Feeds, Kept, Key, class_key, kept,
    table::Part,
    text::{Head, Text},
    watch::{Failure, Told, Watch},
};
use crate::{
    objects::{self, Body},
    probes::NotReady,
    text::chain,
    validate::Invalid,
};

/// How long a broken watch waits before the next try, at first and at most. These are the values of
/// client-go's reflector.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(800), Duration::from_secs(30));

/// The optional kinds that are needed.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// The class kinds of the enabled clouds.
    pub classes: Vec<ClassKind>,
    /// The kinds of default topology spreading: services and the owners of pods.
    pub default_spread: bool,
    /// `NodeOverlay` objects.
    pub overlays: bool,
    /// Capacity buffers, and the objects that they refer to.
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
            // Jobs and priority classes: the fields that matter are already in their pods.
            _ => false,
        }
    }
}

/// The feeds of all needed kinds; each runs until it is dropped.
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
        T: Kept + Resource<DynamicType = ()> + DeserializeOwned,
    {
        let key = |head: &Head| Key::new(head.namespace.as_deref(), &head.name);
        let resource = objects::Resource::of::<T>();
        self.run(T::PLURAL(), resource, Part::Whole, key, Body::decode::<T>);
    }

    fn add_class(&mut self, class: &ClassKind) {
        let class = *class;
        let key = move |head: &Head| class_key(class.group, class.kind, &head.name);
        let read = move |text: &RawValue| Ok(node_class(&class, text.decode()?));
        // All class kinds share one table.
        let part = Part::of(&class_key(class.group, class.kind, ""));
        self.run(class.plural.to_owned(), objects::Resource::of_class(&class), part, key, read);
    }

    fn run<T: Kept>(
        &mut self,
        plural: String,
        resource: objects::Resource,
        part: Part,
        key: impl Fn(&Head) -> Key + Send + 'static,
        read: impl Fn(&RawValue) -> Result<T, Invalid> + Send + 'static,
    ) {
        self.feeds.set(&plural, |_| {});
        let watch = Watch::new(self.client.clone(), resource.path.clone());
        let keeper = Keeper {
            cache: self.cache.clone(),
            feeds: self.feeds.clone(),
            plural: plural.clone(),
            resource: resource.clone(),
            part,
            key,
            read,
            lists: 0,
        };
        let feed = Feed {
            clock: self.clock.clone(),
            feeds: self.feeds.clone(),
            plural,
            resource: resource.name,
        };
        self.running.push(Box::pin(feed.run(watch, keeper)));
    }
}

/// The backoff of one watch.
#[derive(Debug)]
struct Patience {
    next: Duration,
    /// The running time of the clock at the last failure.
    last: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { next: BACKOFF.0, last: Duration::ZERO }
    }
}

impl Patience {
    /// How long to wait after a failure now. A failure long after the previous one starts again
    /// with the shortest wait.
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

/// Writes the events of one kind into the cache.
struct Keeper<K, R> {
    cache: Cache,
    feeds: Feeds,
    plural: String,
    resource: objects::Resource,
    /// The part of the kind's table that its lists cover.
    part: Part,
    /// The function that returns an object's key.
    key: K,
    read: R,
    /// The number of complete lists.
    lists: u64,
}

impl<T: Kept, K, R> Keeper<K, R>
where
    K: Fn(&Head) -> Key,
    R: Fn(&RawValue) -> Result<T, Invalid>,
{
    fn take(&mut self, told: Told<'_>) {
        match told {
            Told::ListBegins => self.cache.begin_list::<T>(&self.part),
            Told::Listed(text) => self.put(&text, self.lists == 0),
            Told::Changed(text) => self.put(&text, false),
            Told::Gone(head) => {
                if self.cache.removed::<T>(&(self.key)(&head), head.version()) {
                    self.tell_of_unreadable();
                }
            }
            Told::ListEnds => {
                self.cache.end_list::<T>(&self.part);
                self.lists += 1;
                let unreadable = self.cache.unreadable::<T>();
                self.feeds.set(&self.plural, |state| {
                    *state = FeedState { synced: true, missing: None, unreadable };
                });
            }
        }
    }

    fn put(&self, text: &Text<'_>, initial: bool) {
        match (self.read)(&text.body) {
            Ok(object) => {
                if self.cache.put(object, initial) {
                    self.tell_of_unreadable();
                }
            }
            Err(invalid) => {
                let key = (self.key)(&text.head);
                let why = unreadable(&self.resource, &text.head, &invalid);
                tracing::error!(resource = self.plural, "{why}");
                self.cache.put_unreadable::<T>(key, text.head.version(), why);
                self.tell_of_unreadable();
            }
        }
    }

    fn tell_of_unreadable(&self) {
        let unreadable = self.cache.unreadable::<T>();
        self.feeds.set(&self.plural, |state| state.unreadable = unreadable);
    }
}

/// Why an object cannot be read: the field, and the remedy.
fn unreadable(resource: &objects::Resource, head: &Head, invalid: &Invalid) -> String {
    let objects::Resource { kind, name: resource, .. } = resource;
    let Head { namespace, name, .. } = head;
    let (whose, edit) = match namespace {
        Some(namespace) => (format!("{namespace}/{name}"), format!("-n {namespace} {name}")),
        None => (name.clone(), name.clone()),
    };
    let Invalid { field, problem } = invalid;
    let at = if field.is_empty() { String::new() } else { format!("{field}: ") };
    format!(
        "{kind} {whose} cannot be read ({at}{problem}): correct it with kubectl edit {resource} \
         {edit}; until then nothing that depends on it is removed"
    )
}

struct Feed {
    clock: Clock,
    feeds: Feeds,
    plural: String,
    /// The resource name of the kind in RBAC rules.
    resource: String,
}

impl Feed {
    async fn run<T: Kept, K, R>(self, mut watch: Watch, mut keeper: Keeper<K, R>) -> Infallible
    where
        K: Fn(&Head) -> Key + Send,
        R: Fn(&RawValue) -> Result<T, Invalid> + Send,
    {
        let mut backoff = Patience::default();
        let mut missing = None;
        loop {
            let failure = watch
                .follow(&mut |told| {
                    // A list may be interrupted: objects that it has not reached yet keep their old
                    // state.
                    let is_up_to_date = !matches!(told, Told::ListBegins | Told::Listed(_));
                    keeper.take(told);
                    if is_up_to_date && missing.take().is_some() {
                        self.feeds.set(&self.plural, |state| state.missing = None);
                    }
                })
                .await;
            self.complain(&failure, &mut missing);
            self.clock.sleep(backoff.after_failure(self.clock.running())).await;
        }
    }

    fn complain(&self, failure: &Failure, known: &mut Option<NotReady>) {
        if let Failure::Cut(error) = failure {
            // A broken watch alone is not a failure: readiness changes only if the next one cannot
            // start.
            tracing::debug!(resource = self.plural, %error, "a watch broke and is begun again");
            return;
        }
        let why = why(&self.resource, failure);
        if known.as_ref() == Some(&why) {
            tracing::debug!(resource = self.plural, "{why}");
        } else {
            tracing::warn!(resource = self.plural, "{why}");
        }
        *known = Some(why.clone());
        self.feeds.set(&self.plural, |state| state.missing = Some(why));
    }
}

/// Why a watch fails, and the remedy.
fn why(resource: &str, failure: &Failure) -> NotReady {
    let refused = |verb: &str, status: &kube::core::Status| match status.code {
        403 => NotReady::Forbidden { verb: verb.to_owned(), resource: resource.to_owned() },
        404 => NotReady::CrdMissing { name: resource.to_owned() },
        _ => NotReady::Unreachable { problem: format!("{verb} {resource}: {}", status.message) },
    };
    match failure {
        Failure::List(kube::Error::Api(status)) => refused("list", status),
        Failure::Watch(kube::Error::Api(status)) | Failure::Ended(status) => {
            refused("watch", status)
        }
        Failure::List(error) | Failure::Watch(error) => {
            NotReady::Unreachable { problem: chain(error) }
        }
        Failure::Nonsense { verb, problem } => NotReady::Other {
            problem: format!("what was answered to {verb} {resource} makes no sense ({problem})"),
            remedy: "check that the server of the kubeconfig is a Kubernetes API server".to_owned(),
        },
        Failure::Cut(error) => NotReady::Unreachable { problem: chain(error) },
    }
}

/// The part of a class object that every class kind has.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct ClassText {
    metadata: ObjectMeta,
    #[serde(default)]
    spec: Value,
    #[serde(default)]
    status: Value,
}

/// The class object of a class kind.
pub(crate) fn node_class(class: &ClassKind, text: ClassText) -> NodeClass {
    let ClassText { metadata, spec, status } = text;
    NodeClass {
        group: class.group.to_owned(),
        api_version: class.version.to_owned(),
        kind: class.kind.to_owned(),
        name: metadata.name.unwrap_or_default(),
        uid: metadata.uid.unwrap_or_default(),
        version: kept::version(metadata.resource_version.as_deref()),
        generation: metadata.generation.unwrap_or_default(),
        annotations: metadata.annotations.unwrap_or_default(),
        spec,
        status,
        deleting: metadata.deletion_timestamp.map(|time| time.0),
        finalizers: metadata.finalizers.unwrap_or_default(),
    }
}
