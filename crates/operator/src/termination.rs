//! Termination of nodes: drain the pods, wait for volumes to detach, remove the instance, and then
//! release the Node.
//!
//! It starts when a Node is deleted, or when the claim's own controller deletes the Node. [`drain`]
//! and [`volumes`] decide, `taint` marks the node, and [`eviction`](crate::eviction) evicts the
//! pods. Conditions of the claim record the progress, so a new process continues from them.

pub mod drain;
mod taint;
pub mod volumes;

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use joiner_api::node_claim::NodeClaim;
use joiner_core::label::{NODE_POOL, ZONE};
use k8s_openapi::api::{
    core::v1::{Node, Pod},
    storage::v1::VolumeAttachment,
};

use self::{
    drain::Drain,
    volumes::{Attached, Detachment},
};
use crate::{
    claims::{self, has_finalizer, is_deleting, is_ready, provider_id},
    cloud_calls::Removal,
    cluster::Lock,
    conditions::{Conditioned, DRAINED, INSTANCE_TERMINATING, Status},
    context::Context,
    controller::{Controller, Next},
    events::{Event, Subject},
    eviction::Evictions,
    marks::{TERMINATION_FINALIZER, TERMINATION_TIMESTAMP},
    queue::Backoff,
    trouble::Trouble,
    world::{Change, Diff, Kept, Key, World},
};

/// How often a waiting node is examined: time alone may end its wait. The value is
/// Karpenter's.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The controller that terminates deleted nodes.
#[derive(Debug)]
pub struct NodeTermination {
    context: Context,
    evictions: Evictions,
}

/// The progress of a node's termination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// Only the Node object is left.
    Finished,
    /// Examine again after this long.
    Waits(Duration),
}

impl Controller for NodeTermination {
    type Key = Key;

    const NAME: &'static str = "node.termination";
    const BACKOFF: Backoff =
        Backoff { first: Duration::from_millis(100), longest: Duration::from_secs(10) };
    const AT_ONCE: usize = 100;

    fn affected(&self, world: &World, change: &Change, add: &mut dyn FnMut(Key)) {
        match change {
            Change::Node(diff) => {
                let is_news = |node: &Node| match &diff.old {
                    Some(old) => !self.is_leaving(old) || is_ready(old) != is_ready(node),
                    None => true,
                };
                let leaving = diff.new.iter().filter(|node| self.is_leaving(node));
                leaving.filter(|node| is_news(node)).for_each(|node| add(node.key()));
            }
            Change::NodeClaim(diff) if tells_more_than_conditions(diff) => {
                let id = provider_id(diff.latest());
                let nodes = id.into_iter().flat_map(|id| world.nodes_of(id));
                nodes.filter(|node| self.is_leaving(node)).for_each(|node| add(node.key()));
            }
            Change::Pod(diff) => {
                let node = diff.latest().spec.as_ref().and_then(|spec| spec.node_name.as_deref());
                self.something_left(world, node, add);
            }
            Change::VolumeAttachment(diff) => {
                self.something_left(world, Some(&diff.latest().spec.node_name), add);
            }
            _ => {}
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Trouble> {
        let node = self.context.cache.read(|world| world.nodes.get(key).cloned());
        let Some(node) = node.filter(|node| self.is_leaving(node)) else { return Ok(Next::Done) };
        let claim = self.leaving_claim(&node).await?;
        if !is_ready(&node) && self.instance_is_gone(&node).await? {
            return self.finish(&node).await;
        }
        let deadline = claim.as_deref().map(deadline).transpose()?.flatten();
        // While the clock is wrong, no pod is deleted by force, and budgets still apply.
        let deadline = deadline.filter(|_| self.context.clocks.difference().is_none());
        if let Some(deadline) = deadline {
            let (about, moment) = (Subject::of(&*node), deadline.to_string());
            self.tell(Event::termination_grace_period_expiring(&about, &moment));
        }
        let node = self.mark(node).await?;
        let mut changed = claim.as_deref().cloned();
        let progress = self.advance(&node, changed.as_mut(), deadline).await;
        if let (Some(claim), Some(changed)) = (&claim, &changed) {
            self.write_down(&node, claim, changed).await?;
        }
        match progress? {
            Progress::Finished => self.finish(&node).await,
            Progress::Waits(wait) => Ok(Next::After(wait)),
        }
    }
}

impl NodeTermination {
    /// A controller that evicts pods through `evictions`.
    pub fn new(context: Context, evictions: Evictions) -> Self {
        Self { context, evictions }
    }

    /// Examines a node after a change of one of its pods or volumes. A node whose instance is being
    /// removed is skipped: pods that end must not cause more cloud calls.
    fn something_left(&self, world: &World, node: Option<&str>, add: &mut dyn FnMut(Key)) {
        let Some(node) = node.and_then(|name| world.nodes.named(name)) else { return };
        let claim = world.claim_of(node);
        if self.is_leaving(node) && !claim.is_some_and(|claim| claim.holds(INSTANCE_TERMINATING)) {
            add(node.key());
        }
    }

    fn tell(&self, event: Event) {
        self.context.events.tell(event);
    }

    /// Whether a node is being deleted and has Joiner's finalizer.
    fn is_leaving(&self, node: &Node) -> bool {
        is_deleting(node)
            && has_finalizer(node, TERMINATION_FINALIZER)
            && self.context.manages(node)
    }

    /// The node's claim, which is deleted with its node. The pods' deadline counts from the claim's
    /// deletion. One of several nodes of an instance is deleted alone: a user may be removing the
    /// wrong one.
    ///
    /// COMPAT: upstream deletes the claim, and with it the instance and the other nodes.
    async fn leaving_claim(&self, node: &Node) -> Result<Option<Arc<NodeClaim>>, Trouble> {
        let known = || self.context.cache.read(|world| world.claim_of(node).cloned());
        let claim = known();
        match &claim {
            Some(stays) if !is_deleting(&**stays) && self.shares_instance(node) => Ok(None),
            Some(stays) if !is_deleting(&**stays) => {
                self.context.cluster.delete(&**stays).await?;
                Ok(known())
            }
            None => self.context.sure_of::<NodeClaim>().map(|()| None),
            _ => Ok(claim),
        }
    }

    /// Whether another node has the same provider ID.
    fn shares_instance(&self, node: &Node) -> bool {
        self.context.cache.read(|world| world.shares_instance(node))
    }

    /// Whether the cloud confirms that a node's instance is gone.
    async fn instance_is_gone(&self, node: &Node) -> Result<bool, Trouble> {
        let id = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref());
        match (id, self.context.provider_of_node(node)) {
            (Some(id), Some(provider)) => {
                let claim = self.context.cache.read(|world| world.claim_of(node).cloned());
                // Without a claim, any instance with the id counts as the node's.
                let named = claim.map(|claim| claims::id(&claim)).unwrap_or_default();
                let get = provider.get(&named, id);
                let found = self.context.ask(Self::NAME, "Get", provider.as_ref(), get).await?;
                Ok(found.is_none())
            }
            _ => Ok(false),
        }
    }

    /// Taints the node, which keeps new pods and load balancers away.
    async fn mark(&self, node: Arc<Node>) -> Result<Arc<Node>, Trouble> {
        let marked = taint::leaving(&node);
        match self.context.cluster.patch(&*node, &marked, Lock::Version).await? {
            Some(node) => {
                tracing::info!(Node = %node.key(), "tainted node");
                Ok(Arc::new(node))
            }
            None => Ok(node),
        }
    }

    /// Takes the next possible steps, and records the progress on the claim.
    async fn advance(
        &self,
        node: &Node,
        mut claim: Option<&mut NodeClaim>,
        deadline: Option<Timestamp>,
    ) -> Result<Progress, Trouble> {
        // After the cloud accepts the removal, pods and volumes no longer delay it. COMPAT:
        // upstream checks pods and volumes again.
        if !claim.as_ref().is_some_and(|claim| claim.holds(INSTANCE_TERMINATING)) {
            if !self.drain(node, claim.as_deref_mut(), deadline) {
                return Ok(Progress::Waits(LOOK_EVERY));
            }
            self.context.sure_of::<Pod>()?;
            self.context.sure_of::<VolumeAttachment>()?;
            if !self.detach(node, claim.as_deref_mut(), deadline)? {
                return Ok(Progress::Waits(LOOK_EVERY));
            }
        }
        match claim {
            // The other node may not be drained yet: the instance is removed with the last of them.
            Some(claim) if !self.shares_instance(node) => self.remove_instance(claim).await,
            _ => Ok(Progress::Finished),
        }
    }

    /// Evicts the pods; returns whether all have left.
    fn drain(
        &self,
        node: &Node,
        claim: Option<&mut NodeClaim>,
        deadline: Option<Timestamp>,
    ) -> bool {
        let now = self.context.now();
        let Drain { waiting, leave_now } = self
            .context
            .cache
            .read(|world| drain::decide(world.pods_on(node.identity().name), deadline, now));
        for pod in &leave_now {
            self.evictions.add(pod, deadline);
        }
        if waiting > 0 {
            let why = format!("{waiting} pods are waiting to be evicted");
            self.tell(Event::failed_draining(&Subject::of(node), "", &why));
        }
        let Some(claim) = claim else { return waiting == 0 };
        let is_drained = waiting == 0 && drain::lasted_long_enough(claim, now);
        let mut conditions = claim.conditions_mut(now);
        if is_drained {
            conditions.set_true(DRAINED);
        } else {
            conditions.set(DRAINED, Status::Unknown, "Draining", "Draining");
        }
        is_drained
    }

    /// Waits for the volumes of evicted pods; returns whether the wait is over.
    fn detach(
        &self,
        node: &Node,
        claim: Option<&mut NodeClaim>,
        deadline: Option<Timestamp>,
    ) -> Result<bool, Trouble> {
        let now = self.context.now();
        let (attached, class) = self.context.cache.read(|world| {
            let attached = Attached::of(world, node.identity().name, now);
            let reference = claim.as_ref().and_then(|claim| claim.spec.node_class_ref.as_ref());
            let class = reference.and_then(|r| world.class(&r.group, &r.kind, &r.name));
            (attached, class.cloned())
        });
        let detachment = match &claim {
            Some(claim) => volumes::decide(&attached, claim, class.as_deref(), deadline, now),
            None if attached.is_empty() => Detachment::Done,
            None => Detachment::Waits,
        };
        if matches!(detachment, Detachment::Waits | Detachment::TimeoutUnreadable(_)) {
            self.tell(Event::awaiting_volume_detachment(&Subject::of(node), &attached.0));
        }
        if let Some(claim) = claim {
            detachment.write(claim, now);
        }
        match detachment {
            Detachment::Done | Detachment::GivenUp { .. } => Ok(true),
            Detachment::Waits => Ok(false),
            Detachment::TimeoutUnreadable(why) => Err(Trouble::Object(why)),
        }
    }

    /// Removes the instance.
    async fn remove_instance(&self, claim: &mut NodeClaim) -> Result<Progress, Trouble> {
        let Some(provider) = self.context.provider_of(claim) else {
            return Err(Trouble::Object(format!(
                "NodeClaim {}: spec.nodeClassRef names a class of no provider that is on, so that \
                 its instance cannot be removed; turn the provider on",
                claim.key()
            )));
        };
        let removal = self.context.remove_instance(Self::NAME, provider.as_ref(), claim).await?;
        let progress = match removal {
            Removal::Waits(left) => return Ok(Progress::Waits(left)),
            Removal::Requested(left) => Progress::Waits(left),
            Removal::Gone => Progress::Finished,
        };
        claim.conditions_mut(self.context.now()).set_true(INSTANCE_TERMINATING);
        Ok(progress)
    }

    /// Records the progress on the claim.
    async fn write_down(
        &self,
        node: &Node,
        claim: &NodeClaim,
        changed: &NodeClaim,
    ) -> Result<(), Trouble> {
        match self.context.cluster.patch_status(claim, changed, Lock::Version).await {
            Ok(_) => {
                if changed.holds(DRAINED) && !claim.holds(DRAINED) {
                    self.context.metrics.nodes_drained(claims::label(node, NODE_POOL)).inc();
                }
                Ok(())
            }
            // The claim is gone, so there is no progress to record.
            Err(trouble) if trouble.is_not_found() => Ok(()),
            Err(trouble) => Err(trouble),
        }
    }

    /// Removes the finalizer from the Node.
    async fn finish(&self, node: &Node) -> Result<Next, Trouble> {
        self.context.cluster.remove_finalizer(node, TERMINATION_FINALIZER).await?;
        tracing::info!(Node = %node.key(), "deleted node");
        let (metrics, now) = (&self.context.metrics, self.context.now());
        let pool = claims::label(node, NODE_POOL);
        metrics.nodes_terminated(pool, claims::label(node, ZONE)).inc();
        if let Some(deleted) = &node.metadata.deletion_timestamp {
            let took = now.duration_since(deleted.0).as_secs_f64();
            metrics.nodes_termination_duration(pool).observe(took);
        }
        if let Some(created) = &node.metadata.creation_timestamp {
            let lived = now.duration_since(created.0).as_secs_f64();
            metrics.nodes_lifetime_duration(pool).observe(lived);
        }
        Ok(Next::Done)
    }
}

/// Whether a claim changed in more than the conditions that this controller writes.
fn tells_more_than_conditions(diff: &Diff<NodeClaim>) -> bool {
    let (Some(old), Some(new)) = (&diff.old, &diff.new) else { return true };
    old.metadata.deletion_timestamp != new.metadata.deletion_timestamp
        || old.metadata.annotations != new.metadata.annotations
        || provider_id(old) != provider_id(new)
}

/// When the claim's pods are deleted despite their protection; none without a limit.
fn deadline(claim: &NodeClaim) -> Result<Option<Timestamp>, Trouble> {
    let annotations = claim.metadata.annotations.as_ref();
    let Some(text) = annotations.and_then(|all| all.get(TERMINATION_TIMESTAMP)) else {
        return Ok(None);
    };
    text.parse().map(Some).map_err(|_| {
        Trouble::Object(format!(
            "NodeClaim {}: annotation {TERMINATION_TIMESTAMP} is {text:?}, which is no time; \
             write it as 2026-01-31T12:00:00Z, or remove the annotation",
            claim.key()
        ))
    })
}
