//! The marks of a candidate: the command on its claim, the taint on its node, and the condition.

use std::sync::Arc;

use joiner_api::node_claim::NodeClaim;
use k8s_openapi::api::core::v1::Node;

use super::{
    commands::Commands,
    record::{self, Going, Record},
};
use crate::{
    claims::{is_deleting, name, node_name, provider_id, uid},
    cluster::Lock,
    conditions::{Conditioned, DISRUPTION_REASON, INSTANCE_TERMINATING, REBOOTING, Status},
    context::Context,
    events::Subject,
    marks::{DISRUPTION_COMMAND, disrupt, is_disrupted, undisrupt},
    trouble::Trouble,
    world::World,
};

/// A claim and its node, as far as they exist.
#[derive(Debug, Clone)]
pub(super) struct Marked {
    pub(super) claim: Arc<NodeClaim>,
    pub(super) node: Option<Arc<Node>>,
}

/// The current state of a candidate; none if it is gone.
pub(super) fn find(world: &World, candidate: &Going) -> Option<Marked> {
    let claim = world.node_claims.named(&candidate.node_claim)?;
    (uid(&claim.metadata) == candidate.uid).then(|| with_node(world, claim))
}

fn with_node(world: &World, claim: &Arc<NodeClaim>) -> Marked {
    let nodes = provider_id(claim).into_iter().flat_map(|id| world.nodes_of(id));
    // Of several nodes, the registered one.
    let node = nodes.min_by_key(|node| Some(name(&node.metadata)) != node_name(claim));
    Marked { claim: Arc::clone(claim), node: node.cloned() }
}

impl Marked {
    pub(super) fn leaves(&self) -> bool {
        is_deleting(&*self.claim)
    }

    /// The claim and the node, so that events appear on both.
    pub(super) fn subjects(&self) -> impl Iterator<Item = Subject> {
        let node = self.node.as_ref().map(|node| Subject::of(&**node));
        node.into_iter().chain([Subject::of(&*self.claim)])
    }

    /// Whether it has every mark of a command.
    pub(super) fn is_marked_by(&self, command: &Record) -> bool {
        record::id_on(&self.claim).is_some_and(|id| id == command.id)
            && self.node.as_ref().is_none_or(|node| is_disrupted(node))
            && self.claim.holds(DISRUPTION_REASON)
    }

    /// Marks it as part of a command. The command is written first, so that every other mark can be
    /// traced to it.
    pub(super) async fn mark(
        self,
        context: &Context,
        command: &Record,
        candidate: &Going,
    ) -> Result<(), Trouble> {
        let text = command.text_for(candidate);
        let mut claim = NodeClaim::clone(&self.claim);
        claim
            .metadata
            .annotations
            .get_or_insert_default()
            .insert(DISRUPTION_COMMAND.to_owned(), text);
        // The write requires the version that was read, so it fails if the claim is being deleted
        // meanwhile.
        let written = context.cluster.patch(&*self.claim, &claim, Lock::Version).await?;
        let claim = written.unwrap_or(claim);
        if let Some(node) = &self.node {
            let mut tainted = Node::clone(node);
            disrupt(&mut tainted);
            context.cluster.patch(&**node, &tainted, Lock::Version).await?;
        }
        let mut said = claim.clone();
        let reason = command.reason.as_str();
        let mut conditions = said.conditions_mut(context.now());
        // COMPAT: Karpenter repeats the reason here, and writes the cause only to its log.
        conditions.set(DISRUPTION_REASON, Status::True, reason, command.told());
        context.cluster.patch_status(&claim, &said, Lock::Version).await?;
        Ok(())
    }

    /// Removes every mark. The command is removed last, so that an interrupted removal starts
    /// again. Objects that are gone or being deleted keep their marks.
    pub(super) async fn unmark(self, context: &Context) -> Result<(), Trouble> {
        let unmarked = self.take_marks(context).await;
        match unmarked {
            Err(trouble) if trouble.is_not_found() => Ok(()),
            other => other,
        }
    }

    async fn take_marks(self, context: &Context) -> Result<(), Trouble> {
        if self.leaves() {
            return Ok(());
        }
        if let Some(node) = self.node.as_ref().filter(|node| !is_deleting(&***node)) {
            let mut clean = Node::clone(node);
            undisrupt(&mut clean);
            context.cluster.patch(&**node, &clean, Lock::Version).await?;
        }
        let mut claim = NodeClaim::clone(&self.claim);
        if claim.holds(DISRUPTION_REASON) {
            claim.conditions_mut(context.now()).clear(DISRUPTION_REASON);
            let said = context.cluster.patch_status(&*self.claim, &claim, Lock::Version).await?;
            claim = said.unwrap_or(claim);
        }
        take_command(context, &claim).await
    }
}

/// Removes the command from a claim that is no longer part of it.
pub(super) async fn take_command(context: &Context, claim: &NodeClaim) -> Result<(), Trouble> {
    let mut without = claim.clone();
    if let Some(annotations) = &mut without.metadata.annotations {
        annotations.remove(DISRUPTION_COMMAND);
    }
    match context.cluster.patch(claim, &without, Lock::None).await {
        Err(trouble) if trouble.is_not_found() => Ok(()),
        other => other.map(|_| ()),
    }
}

/// Joiner's claims that have marks without a command and that stay, with their nodes. A node
/// without a claim is left out: it is unknown whether it leaves.
pub(super) fn stale(context: &Context, world: &World, commands: &Commands) -> Vec<Marked> {
    let ours = world.node_claims.values().filter(|claim| context.provider_of(claim).is_some());
    let leaves = |claim: &NodeClaim| is_deleting(claim) || claim.holds(INSTANCE_TERMINATING);
    // During a reboot the reason on the claim belongs to the reboot.
    let staying = ours.filter(|claim| !leaves(claim) && !claim.holds(REBOOTING));
    let instances = staying.map(|claim| with_node(world, claim));
    let carries_marks = |instance: &Marked| {
        let annotations = instance.claim.metadata.annotations.as_ref();
        annotations.is_some_and(|all| all.contains_key(DISRUPTION_COMMAND))
            || instance.claim.holds(DISRUPTION_REASON)
            || instance.node.as_ref().is_some_and(|it| is_disrupted(it) && !is_deleting(&**it))
    };
    instances
        .filter(carries_marks)
        .filter(|instance| commands.of_claim(name(&instance.claim.metadata)).is_none())
        .collect()
}
