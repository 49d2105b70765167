//! The time of the last pod event on each node, which consolidation waits for.
//!
//! The exact time is in memory ([`LastPodEvents`]). Claims show it with a delay of some seconds, so
//! that a busy node does not cause a write for every pod.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use joiner_api::node_claim::NodeClaim;
use k8s_openapi::{api::core::v1::Pod, apimachinery::pkg::apis::meta::v1::Time};

use crate::{
    cluster::Lock,
    conditions::seconds,
    context::Context,
    controller::{Controller, Next},
    pods::{Owner, is_owned_by, is_terminal, is_terminating, node_of},
    trouble::Trouble,
    world::{Change, Diff, Kept, Key, World},
};

/// A time on a claim is not updated while it is younger than this. It is less than the 15 s between
/// a proposal and its validation.
const KEPT_FOR: Duration = Duration::from_secs(10);

/// The time of the last pod event, by node. Clones share the same map.
#[derive(Debug, Clone, Default)]
pub struct LastPodEvents(Arc<Mutex<BTreeMap<Key, Timestamp>>>);

impl LastPodEvents {
    /// The time of the last pod event on a node, if this process knows one.
    pub fn on(&self, node: &Key) -> Option<Timestamp> {
        self.lock().get(node).copied()
    }

    fn happened(&self, node: Key, at: Timestamp) {
        let last = &mut *self.lock();
        let known = last.entry(node).or_insert(at);
        *known = at.max(*known);
    }

    fn forget(&self, node: &Key) {
        self.lock().remove(node);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Timestamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes the time of the last pod event to claims.
#[derive(Debug)]
pub struct PodEvents {
    context: Context,
    last: LastPodEvents,
}

impl PodEvents {
    /// A controller that keeps the times in `last`.
    pub fn new(context: Context, last: LastPodEvents) -> Self {
        Self { context, last }
    }
}

impl Controller for PodEvents {
    type Key = Key;

    const NAME: &'static str = "nodeclaim.podevents";
    const AT_ONCE: usize = 1;

    fn affected(&self, _world: &World, change: &Change, add: &mut dyn FnMut(Key)) {
        match change {
            Change::Pod(diff) => {
                if let Some((node, at)) = event(diff, self.context.now()) {
                    self.last.happened(node.clone(), at);
                    add(node);
                }
            }
            Change::Node(diff) if diff.new.is_none() => self.last.forget(&diff.latest().key()),
            _ => {}
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Trouble> {
        let Some(at) = self.last.on(key) else { return Ok(Next::Done) };
        let claim = self.context.cache.read(|world| {
            let Some(node) = world.nodes.get(key) else {
                // The events of its last pods came after its own.
                self.last.forget(key);
                return None;
            };
            let id = node.spec.as_ref()?.provider_id.as_deref()?;
            world.claims_of(id).next().cloned()
        });
        let Some(claim) = claim.filter(|claim| self.context.provider_of(claim).is_some()) else {
            return Ok(Next::Done);
        };
        if !is_news(&claim, at) {
            return Ok(Next::Done);
        }
        let mut next = NodeClaim::clone(&claim);
        next.status.get_or_insert_default().last_pod_event_time = Some(Time(seconds(at)));
        match self.context.cluster.patch_status(&*claim, &next, Lock::None).await {
            Err(trouble) if trouble.is_not_found() => Ok(Next::Done),
            other => other.map(|_| Next::Done),
        }
    }
}

/// Whether the time on a claim is outdated by more than the tolerance.
fn is_news(claim: &NodeClaim, at: Timestamp) -> bool {
    let shown = claim.status.as_ref().and_then(|status| status.last_pod_event_time.as_ref());
    let kept_for = SignedDuration::try_from(KEPT_FOR).unwrap_or_default();
    shown.is_none_or(|shown| at.duration_since(shown.0) >= kept_for)
}

/// The node and the time of a pod event. DaemonSet pods do not count.
///
/// COMPAT: at its start, upstream treats every pod as just arrived, so a restart resets all waiting
/// times. Joiner reads the time from the pod.
pub(crate) fn event(diff: &Diff<Pod>, now: Timestamp) -> Option<(Key, Timestamp)> {
    let pod = diff.latest();
    let node = node_of(pod)?;
    if is_owned_by(pod, Owner::DaemonSet) {
        return None;
    }
    let at = match (&diff.old, &diff.new) {
        (None, Some(pod)) if diff.initial => last_event_of(pod)?,
        (Some(old), Some(new)) => {
            let came = node_of(old).is_none();
            let ended = is_terminal(new) && !is_terminal(old);
            let leaves = is_terminating(new) && !is_terminating(old);
            (came || ended || leaves).then_some(now)?
        }
        _ => now,
    };
    Some((Key::cluster(node), at))
}

/// When a pod was last scheduled, ended or began to terminate, according to its own fields.
fn last_event_of(pod: &Pod) -> Option<Timestamp> {
    let status = pod.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_ref()).into_iter().flatten();
    let came = conditions
        .filter(|condition| condition.type_ == "PodScheduled" && condition.status == "True")
        .filter_map(|condition| Some(condition.last_transition_time.as_ref()?.0));
    let containers = status.and_then(|status| status.container_statuses.as_ref());
    let ended = containers.into_iter().flatten().filter_map(|container| {
        let terminated = container.state.as_ref()?.terminated.as_ref()?;
        Some(terminated.finished_at.as_ref()?.0)
    });
    let leaves = pod.metadata.deletion_timestamp.as_ref().map(|deleted| {
        // The deletion time minus the grace period.
        let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or_default();
        deleted.0.saturating_sub(SignedDuration::from_secs(grace)).unwrap_or(deleted.0)
    });
    came.chain(ended.filter(|_| is_terminal(pod))).chain(leaves).max()
}
