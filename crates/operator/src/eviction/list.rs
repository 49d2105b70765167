//! The list of pods that must leave.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use joiner_clock::Clock;
use joiner_core::pod::Size;
use k8s_openapi::api::core::v1::Pod;

use super::turns::{Turn, Turns};
use crate::{
    index::requests_of_pod,
    pods::forced_since,
    queue::Queue,
    world::{Kept, Key},
};

/// The identity of a pod. The UID excludes a later pod of the same name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodId {
    /// Namespace and name.
    pub pod: Key,
    /// The UID.
    pub uid: String,
}

impl PodId {
    /// The identity of a pod.
    pub fn of(pod: &Pod) -> Self {
        Self { pod: pod.key(), uid: pod.metadata.uid.clone().unwrap_or_default() }
    }
}

impl fmt::Display for PodId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.pod, self.uid)
    }
}

/// The state of a pod's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wanted {
    /// When its node must be empty; none without a limit.
    pub deadline: Option<Timestamp>,
    /// The pod's version when the API server accepted its eviction. The pod is not evicted again
    /// until a newer version is known.
    pub asked: Option<u64>,
    /// When it was added, by the running time of the clock.
    pub since: Duration,
    /// Its size.
    pub size: Size,
}

impl Wanted {
    /// Whether a pod must be deleted now, despite its protection.
    pub fn is_forced(&self, pod: &Pod, now: Timestamp) -> bool {
        self.forced_since(pod).is_some_and(|since| since <= now)
    }

    /// The time until the pod must be deleted despite its protection.
    pub fn until_forced(&self, pod: &Pod, now: Timestamp) -> Option<Duration> {
        self.forced_since(pod)?.duration_since(now).try_into().ok()
    }

    fn forced_since(&self, pod: &Pod) -> Option<Timestamp> {
        forced_since(pod, self.deadline?)
    }
}

/// The pods that must leave. Clones are the same list. Listeners lock this list while they hold the
/// cache's lock. So code that holds this list's lock must not read the cache.
#[derive(Debug, Clone)]
pub struct Evictions(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    clock: Clock,
    /// Each pod in the list waits here, is being processed, or is terminating.
    queue: Arc<Queue<PodId>>,
}

#[derive(Debug, Default)]
struct State {
    wanted: BTreeMap<PodId, Wanted>,
    turns: Turns,
}

impl Evictions {
    /// An empty list.
    pub fn new(clock: &Clock) -> Self {
        let queue = Arc::new(Queue::new(clock.clone(), super::BACKOFF));
        Self(Arc::new(Shared { state: Mutex::default(), clock: clock.clone(), queue }))
    }

    /// Adds a pod. If it is already in the list, only an earlier deadline changes its entry: a
    /// second request causes no extra eviction.
    pub fn add(&self, pod: &Pod, deadline: Option<Timestamp>) {
        let id = PodId::of(pod);
        let is_news = {
            let State { wanted, turns } = &mut *self.lock();
            match wanted.get_mut(&id) {
                None => {
                    let (since, size) = (self.0.clock.running(), Size::of(&requests_of_pod(pod)));
                    wanted.insert(id.clone(), Wanted { deadline, asked: None, since, size });
                    turns.join(&id, size);
                    true
                }
                Some(known) => {
                    let earlier = [known.deadline, deadline].into_iter().flatten().min();
                    let is_news = earlier != known.deadline;
                    known.deadline = earlier;
                    is_news
                }
            }
        };
        if is_news {
            self.0.queue.add(id);
        }
    }

    /// Whether a pod is in the list.
    pub fn contains(&self, id: &PodId) -> bool {
        self.lock().wanted.contains_key(id)
    }

    /// The entry of a pod.
    pub fn wanted(&self, id: &PodId) -> Option<Wanted> {
        self.lock().wanted.get(id).copied()
    }

    /// The number of pods.
    pub fn len(&self) -> usize {
        self.lock().wanted.len()
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn queue(&self) -> Arc<Queue<PodId>> {
        Arc::clone(&self.0.queue)
    }

    /// Schedules a pod after this wait at the latest.
    pub(super) fn look_after(&self, id: &PodId, wait: Duration) {
        self.0.queue.add_after(id.clone(), wait);
    }

    /// Records that the API server accepted the eviction of the pod at this version.
    pub(super) fn asked(&self, id: &PodId, version: u64) {
        let State { wanted, turns } = &mut *self.lock();
        if let Some(wanted) = wanted.get_mut(id) {
            wanted.asked = Some(version);
            turns.asked(id, wanted.size, self.0.clock.running());
        }
    }

    /// Records that the pod is protected for now, so smaller pods stop waiting for it.
    pub(super) fn protected(&self, id: &PodId) {
        let State { wanted, turns } = &mut *self.lock();
        if let Some(wanted) = wanted.get(id) {
            turns.leave(id, wanted.size);
        }
    }

    /// Whether it is a pod's turn to be evicted.
    pub(super) fn turn(&self, wanted: &Wanted) -> Turn {
        self.lock().turns.of(wanted, self.0.clock.running())
    }

    /// Removes a pod.
    pub(super) fn remove(&self, id: &PodId) {
        let State { wanted, turns } = &mut *self.lock();
        if let Some(wanted) = wanted.remove(id) {
            turns.leave(id, wanted.size);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
