//! The deletion of a claim: first its node, then its instance, then the claim itself.

use std::sync::Arc;

use jiff::SignedDuration;
use joiner_api::node_claim::NodeClaim;
use joiner_cloud::CloudProvider;
use joiner_core::label::{CAPACITY_TYPE, NODE_POOL, ZONE};
use k8s_openapi::api::core::v1::Node;

use super::{Lifecycle, registration};
use crate::{
    claims::{self, has_finalizer, is_deleting, provider_id},
    cloud_calls::{ASK_AGAIN, Removal},
    cluster::Lock,
    conditions::{Conditioned, INSTANCE_TERMINATING, REGISTERED},
    controller::{Controller, Next},
    events::{Event, Subject},
    hydration::of_class,
    marks::{TERMINATION_FINALIZER, TERMINATION_TIMESTAMP},
    metrics::seconds,
    trouble::Trouble,
    world::Kept,
};

impl Lifecycle {
    /// Takes the next steps of a claim's deletion.
    ///
    /// If the claim has no provider ID, the cloud is asked for the instance by its mark. An earlier
    /// process may have launched it and been killed before it recorded the result. So neither
    /// conditions nor memory prove that there is no instance; only the cloud can answer.
    ///
    /// COMPAT: upstream does not ask then, and leaves such an instance to garbage collection.
    pub(super) async fn finalize(
        &self,
        claim: Arc<NodeClaim>,
        provider: &Arc<dyn CloudProvider>,
    ) -> Result<Next, Trouble> {
        if !has_finalizer(&*claim, TERMINATION_FINALIZER) {
            return Ok(Next::Done);
        }
        let Some(claim) = self.with_deadline(claim).await? else { return Ok(Next::Done) };
        // While the instance is being removed, nodes are only looked up in the cache: the API
        // server confirmed before that there were none.
        let is_terminating = claim.holds(INSTANCE_TERMINATING);
        if let Some(wait) = self.nodes_remain(&claim, !is_terminating).await? {
            return Ok(wait);
        }
        match self.context.remove_instance(Self::NAME, provider.as_ref(), &claim).await? {
            Removal::Waits(left) => Ok(Next::After(left)),
            Removal::Requested(left) => {
                self.instance_terminating(&claim).await?;
                Ok(Next::After(left))
            }
            Removal::Gone => {
                // A kubelet that was still running may have created its Node again.
                if is_terminating && let Some(wait) = self.nodes_remain(&claim, true).await? {
                    return Ok(wait);
                }
                self.release(&claim).await
            }
        }
    }

    /// Sets the deadline by which the claim's node is drained. None if the claim is gone. A
    /// deadline that exists stays.
    async fn with_deadline(
        &self,
        claim: Arc<NodeClaim>,
    ) -> Result<Option<Arc<NodeClaim>>, Trouble> {
        let Some(deadline) = missing_deadline(&claim) else { return Ok(Some(claim)) };
        let mut annotated = NodeClaim::clone(&claim);
        let annotations = annotated.metadata.annotations.get_or_insert_default();
        annotations.insert(TERMINATION_TIMESTAMP.to_owned(), deadline.clone());
        match self.context.cluster.patch(&*claim, &annotated, Lock::Version).await {
            Ok(_) => {
                tracing::info!(
                    NodeClaim = %claim.key(), "termination-time" = deadline,
                    "annotated nodeclaim with the end of its termination grace period"
                );
                let about = Subject::of(&*claim);
                self.tell([Event::termination_grace_period_expiring(&about, &deadline)]);
                Ok(self.current(&claim))
            }
            Err(trouble) if trouble.is_not_found() => Ok(None),
            Err(trouble) => Err(trouble),
        }
    }

    /// Deletes the nodes of a registered claim; returns how to wait while there are any. Nodes of
    /// an unregistered claim are not deleted.
    ///
    /// If the cache has none and `make_sure` is set, the API server is asked: a slow watch may not
    /// have shown the node yet.
    async fn nodes_remain(
        &self,
        claim: &NodeClaim,
        make_sure: bool,
    ) -> Result<Option<Next>, Trouble> {
        if !claim.holds(REGISTERED) {
            return Ok(None);
        }
        let known = self.nodes_of(claim);
        for node in known.iter().filter(|node| !is_deleting(&***node)) {
            self.remove_node(claim, node).await?;
        }
        if !known.is_empty() {
            return Ok(Some(Next::Done));
        }
        self.context.sure_of::<Node>()?;
        let unknown = if make_sure { self.unknown_node(claim).await? } else { None };
        let Some(node) = unknown else { return Ok(None) };
        if !is_deleting(&node) {
            self.remove_node(claim, &node).await?;
        }
        Ok(Some(Next::After(ASK_AGAIN)))
    }

    /// Deletes a node after its drain. A second, unregistered node has no finalizer and would
    /// vanish at once with its pods, so it gets one first.
    ///
    /// COMPAT: upstream deletes such a node directly.
    async fn remove_node(&self, claim: &NodeClaim, node: &Node) -> Result<(), Trouble> {
        // An instance that is being removed has no pods to move.
        if !claim.holds(INSTANCE_TERMINATING) {
            let mut held = registration::held(node);
            held.metadata.labels.get_or_insert_default().extend(of_class(claim));
            match self.context.cluster.patch(node, &held, Lock::Version).await {
                Err(trouble) if trouble.is_not_found() => return Ok(()),
                other => other?,
            };
        }
        self.context.cluster.delete(node).await
    }

    /// The node that the claim names, if the API server has it and the cache does not.
    async fn unknown_node(&self, claim: &NodeClaim) -> Result<Option<Node>, Trouble> {
        let Some(name) = claims::node_name(claim) else { return Ok(None) };
        let node: Option<Node> = self.context.cluster.get(name).await?;
        // Another instance may have registered under the same name.
        Ok(node.filter(|node| {
            let id = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref());
            let ids = self.context.providers.ids();
            match (id, provider_id(claim)) {
                (Some(id), Some(own)) => ids.are_same(id, own),
                (id, own) => id == own,
            }
        }))
    }

    async fn instance_terminating(&self, claim: &NodeClaim) -> Result<(), Trouble> {
        let Some(claim) = self.current(claim) else { return Ok(()) };
        let mut next = NodeClaim::clone(&claim);
        next.conditions_mut(self.context.now()).set_true(INSTANCE_TERMINATING);
        self.context.cluster.patch_status(&*claim, &next, Lock::Version).await?;
        Ok(())
    }

    /// Removes the claim's finalizer.
    async fn release(&self, claim: &NodeClaim) -> Result<Next, Trouble> {
        let Some(claim) = self.current(claim) else { return Ok(Next::Done) };
        let mut released = NodeClaim::clone(&claim);
        if let Some(finalizers) = &mut released.metadata.finalizers {
            finalizers.retain(|finalizer| finalizer != TERMINATION_FINALIZER);
        }
        match self.context.cluster.patch(&*claim, &released, Lock::Version).await {
            Ok(_) => {
                tracing::info!(NodeClaim = %claim.key(), "deleted nodeclaim");
                self.count_end(&claim);
                Ok(Next::Done)
            }
            Err(trouble) if trouble.is_not_found() => Ok(Next::Done),
            Err(trouble) => Err(trouble),
        }
    }

    fn count_end(&self, claim: &NodeClaim) {
        let (metrics, now) = (&self.context.metrics, self.context.now());
        let pool = claims::label(claim, NODE_POOL);
        if let Some(deleted) = &claim.metadata.deletion_timestamp {
            metrics.nodeclaims_termination_duration(pool).observe(seconds(deleted.0, now));
        }
        if claim.holds(INSTANCE_TERMINATING)
            && let Some(since) = claim.since(INSTANCE_TERMINATING)
        {
            metrics.nodeclaims_instance_termination_duration(pool).observe(seconds(since, now));
        }
        let (capacity, zone) = (claims::label(claim, CAPACITY_TYPE), claims::label(claim, ZONE));
        metrics.nodeclaims_terminated(pool, capacity, zone).inc();
    }
}

/// The deadline of a deleted claim's drain; none if the claim has one already or needs none.
fn missing_deadline(claim: &NodeClaim) -> Option<String> {
    let annotations = claim.metadata.annotations.as_ref();
    if annotations.is_some_and(|annotations| annotations.contains_key(TERMINATION_TIMESTAMP)) {
        return None;
    }
    let grace = claim.spec.termination_grace_period.as_ref()?;
    let deleted = claim.metadata.deletion_timestamp.as_ref()?;
    let deadline = deleted.0.checked_add(SignedDuration::from_nanos(grace.nanos())).ok()?;
    Some(deadline.to_string())
}
