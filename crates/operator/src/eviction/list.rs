//! The pods that have to leave.

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

/// A pod: this very one, not another of its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodId {
    /// Namespace and name.
    pub pod: Key,
    /// Identity.
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

/// What is wanted of a pod that has to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wanted {
    /// When its node has to be empty; none if that may take for ever.
    pub deadline: Option<Timestamp>,
    /// The version of the pod as it was when the API server agreed to remove it. Nothing is asked
    /// of it again until something newer is known.
    pub asked: Option<u64>,
    /// Since when it has to leave, by the running time of the clock.
    pub since: Duration,
    /// How large it is.
    pub size: Size,
}

impl Wanted {
    /// Whether a pod has to be deleted now, whatever protects it.
    pub fn is_forced(&self, pod: &Pod, now: Timestamp) -> bool {
        self.forced_since(pod).is_some_and(|since| since <= now)
    }

    /// How long it is until the pod has to be deleted, whatever protects it.
    pub fn until_forced(&self, pod: &Pod, now: Timestamp) -> Option<Duration> {
        self.forced_since(pod)?.duration_since(now).try_into().ok()
    }

    fn forced_since(&self, pod: &Pod) -> Option<Timestamp> {
        forced_since(pod, self.deadline?)
    }
}

/// The pods that have to leave. Clones are the same list. Who tells of the cluster's changes asks it while the cluster
/// cannot be looked at, so nobody who holds the list looks at the cluster.
#[derive(Debug, Clone)]
pub struct Evictions(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    clock: Clock,
    /// Every pod that is wanted to leave waits here, is being looked at, or is on its way out.
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

    /// A pod has to leave. If that is known, only an earlier deadline is news: the pod is not
    /// asked more often because somebody else wants it gone too.
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

    /// Whether a pod has to leave.
    pub fn contains(&self, id: &PodId) -> bool {
        self.lock().wanted.contains_key(id)
    }

    /// What is wanted of a pod, if it has to leave.
    pub fn wanted(&self, id: &PodId) -> Option<Wanted> {
        self.lock().wanted.get(id).copied()
    }

    /// How many pods have to leave.
    pub fn len(&self) -> usize {
        self.lock().wanted.len()
    }

    /// Whether no pod has to leave.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn queue(&self) -> Arc<Queue<PodId>> {
        Arc::clone(&self.0.queue)
    }

    /// Has a pod looked at after a while at the latest.
    pub(super) fn look_after(&self, id: &PodId, wait: Duration) {
        self.0.queue.add_after(id.clone(), wait);
    }

    /// The API server has agreed to remove the pod, which was at this version.
    pub(super) fn asked(&self, id: &PodId, version: u64) {
        let State { wanted, turns } = &mut *self.lock();
        if let Some(wanted) = wanted.get_mut(id) {
            wanted.asked = Some(version);
            turns.asked(id, wanted.size, self.0.clock.running());
        }
    }

    /// The pod is protected for now, so that nobody waits for it.
    pub(super) fn protected(&self, id: &PodId) {
        let State { wanted, turns } = &mut *self.lock();
        if let Some(wanted) = wanted.get(id) {
            turns.leave(id, wanted.size);
        }
    }

    /// Whether it is a pod's turn to leave.
    pub(super) fn turn(&self, wanted: &Wanted) -> Turn {
        self.lock().turns.of(wanted, self.0.clock.running())
    }

    /// Nothing is wanted of the pod any more.
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
