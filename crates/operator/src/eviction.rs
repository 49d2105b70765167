//! Eviction: pods that must leave their nodes are evicted, again and again, until they leave.
//!
//! [`Evictions`] is the list of these pods; drains add to it. [`EvictionQueue`] processes it: it
//! decides the next step (`decide`), calls the API server, and reads the answer. An entry exists
//! exactly as long as its pod exists and must leave.

mod answer;
pub mod decide;
mod list;
mod turns;

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use joiner_clock::Clock;
use k8s_openapi::api::core::v1::Pod;

pub use self::list::{Evictions, PodId};
use self::{
    answer::{Answer, Refusal},
    decide::{Seen, Step, decide},
    list::Wanted,
    turns::Turn,
};
use crate::{
    budgets::Budgets,
    claims::is_deleting,
    context::Context,
    controller::{Controller, Next},
    events::{Event, Subject},
    pods::DoNotDisrupt,
    queue::{Backoff, Queue},
    trouble::Trouble,
    world::{Change, Key, World},
};

/// The backoff between evictions of a pod: short at first, since most budgets soon allow another
/// disruption. The values are Karpenter's.
const BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(100), longest: Duration::from_secs(10) };

/// The controller that evicts pods.
#[derive(Debug)]
pub struct EvictionQueue {
    context: Context,
    evictions: Evictions,
}

impl EvictionQueue {
    /// A controller for the pods of a list.
    pub fn new(context: Context, evictions: Evictions) -> Self {
        Self { context, evictions }
    }
}

impl Controller for EvictionQueue {
    type Key = PodId;

    const NAME: &'static str = "eviction-queue";
    const BACKOFF: Backoff = BACKOFF;
    const AT_ONCE: usize = 100;

    fn queue(&self, _clock: &Clock) -> Arc<Queue<PodId>> {
        self.evictions.queue()
    }

    /// A change of a pod may end its entry's wait: the pod terminates, is gone, or lost its
    /// protection.
    fn affected(&self, _world: &World, change: &Change, add: &mut dyn FnMut(PodId)) {
        let Change::Pod(diff) = change else { return };
        let ids = diff.old.iter().chain(&diff.new).map(|pod| PodId::of(pod));
        ids.filter(|id| self.evictions.contains(id)).for_each(add);
    }

    async fn reconcile(&self, id: &PodId) -> Result<Next, Trouble> {
        let Some(wanted) = self.evictions.wanted(id) else { return Ok(Next::Done) };
        let Some(seen) = self.context.cache.read(|world| Seen::of(world, id)) else {
            self.evictions.remove(id);
            return Ok(Next::Done);
        };
        let now = self.context.now();
        match decide(&seen, &wanted, now) {
            Step::Forget => {
                self.evictions.remove(id);
                Ok(Next::Done)
            }
            Step::AwaitNews => Ok(Next::Done),
            Step::Wait => {
                self.tell_of_wish(&seen.pod, now);
                self.evictions.protected(id);
                Ok(self.again(id, &seen.pod, &wanted))
            }
            Step::Evict => {
                if let Some(wait) = self.wait_for_turn(&seen, &wanted) {
                    return Ok(Next::After(wait));
                }
                self.tell_of_wish(&seen.pod, now);
                let answer = self.context.cluster.evict(&id.pod, &id.uid).await;
                if let Some(code) = answer::code(&answer) {
                    self.context.metrics.pods_eviction_requests(&code.to_string()).inc();
                }
                match Answer::read(answer) {
                    Answer::Done => {
                        tracing::info!(Pod = %id.pod, Node = seen.node_name(), "evicted pod");
                        let pod = Subject::of(&*seen.pod);
                        self.leaves(id, &seen, Event::evicted(&pod, &seen.reason));
                    }
                    Answer::Gone => self.evictions.remove(id),
                    Answer::Refused(refusal) => {
                        self.evictions.protected(id);
                        self.tell_of_refusal(id, &seen, refusal);
                        return Ok(self.again(id, &seen.pod, &wanted));
                    }
                    Answer::Failed(trouble) => return Err(trouble),
                }
                Ok(Next::Done)
            }
            Step::Delete { deadline, grace_seconds } => {
                let deleted = self.context.cluster.delete_pod(&id.pod, &id.uid, grace_seconds);
                match Answer::read(deleted.await) {
                    Answer::Done => {
                        tracing::info!(
                            Pod = %id.pod, Node = seen.node_name(), "grace-seconds" = grace_seconds, "deleted pod"
                        );
                        let pod = Subject::of(&*seen.pod);
                        let own = own_grace_seconds(&seen.pod);
                        let granted = i64::from(grace_seconds);
                        self.leaves(id, &seen, Event::disrupted(&pod, deadline, granted, own));
                    }
                    Answer::Gone => self.evictions.remove(id),
                    Answer::Refused(_) => return Ok(Next::Again),
                    Answer::Failed(trouble) => return Err(trouble),
                }
                Ok(Next::Done)
            }
        }
    }
}

impl EvictionQueue {
    /// Records that the API server accepted the removal of a pod.
    fn leaves(&self, id: &PodId, seen: &Seen, event: Event) {
        self.context.events.tell(event);
        self.context.metrics.pods_drained(&seen.reason).inc();
        self.evictions.asked(id, seen.version);
    }

    /// How long a pod waits for larger ones to go first; none if it is its turn.
    fn wait_for_turn(&self, seen: &Seen, wanted: &Wanted) -> Option<Duration> {
        let wait = match self.evictions.turn(wanted) {
            Turn::After(wait) => wait,
            Turn::AfterOthers(wait) if self.others_go(seen) => wait,
            Turn::AfterOthers(_) | Turn::Now => return None,
        };
        let forced = wanted.until_forced(&seen.pod, self.context.now());
        Some(forced.map_or(wait, |forced| wait.min(forced)))
    }

    /// Whether other nodes are leaving too.
    fn others_go(&self, seen: &Seen) -> bool {
        self.context.cache.read(|world| {
            let leaving = world.node_claims.values().filter(|claim| is_deleting(&***claim));
            let mut nodes = leaving.filter_map(|claim| claim.status.as_ref()?.node_name.as_deref());
            nodes.any(|node| node != seen.node_name())
        })
    }

    /// Reports what blocks a pod on a node that leaves.
    fn tell_of_refusal(&self, id: &PodId, seen: &Seen, refusal: Refusal) {
        let Some(node) = &seen.node else { return };
        let budgets: Vec<Key> = self.context.cache.read(|world| {
            let all = world.pod_disruption_budgets.values();
            let beside = all.filter(|it| it.metadata.namespace == seen.pod.metadata.namespace);
            Budgets::new(beside).of(&seen.pod).into_iter().cloned().collect()
        });
        let (node, why) = (Subject::of(&**node), refusal.text(&id.pod, &budgets));
        self.context.events.tell(Event::failed_draining(&node, &id.pod.to_string(), &why));
    }

    /// Reports the effect of a pod's do-not-disrupt annotation.
    fn tell_of_wish(&self, pod: &Pod, now: Timestamp) {
        if let Some(event) = DoNotDisrupt::of(pod).event(&Subject::of(pod), now) {
            self.context.events.tell(event);
        }
    }

    /// Tries again after the backoff, and at the latest when the pod must be deleted.
    ///
    /// COMPAT: upstream waits for the full backoff, which shortens the pod's grace period.
    fn again(&self, id: &PodId, pod: &Pod, wanted: &Wanted) -> Next {
        if let Some(wait) = wanted.until_forced(pod, self.context.now()) {
            self.evictions.look_after(id, wait);
        }
        Next::Again
    }
}

/// The pod's own grace period.
fn own_grace_seconds(pod: &Pod) -> i64 {
    pod.spec.as_ref().and_then(|spec| spec.termination_grace_period_seconds).unwrap_or_default()
}
