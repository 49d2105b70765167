//! Instances as candidates for removal: what objects say about each, about its pods and its pool.

mod notes;
mod pods;
mod pools;
#[cfg(test)]
mod tests;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
};

use jiff::Timestamp;
use joiner_api::{condition, node_claim::NodeClaim};
use joiner_cloud::ProviderIds;
use joiner_core::{
    disruption::{ClaimFacts, Drifted, Fleet, HeldMove, Instance, PodFacts, PoolRules},
    label,
    pod::Pod as PlannedPod,
    snapshot::{self, Snapshot},
};
use k8s_openapi::{
    api::core::v1::{Node, Pod},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};

pub use self::notes::notes;
pub(crate) use self::pools::{budget, min_score, own_budgets, pause, without_reasons};
use super::{
    IndexSettings,
    disruption::Disruption,
    nodes::{provider_id, shared_provider_ids},
};
use crate::{
    claims::{is_ready, name},
    conditions::{
        CONSOLIDATABLE, Conditioned, DRIFTED, INITIALIZED, INSTANCE_TERMINATING, REBOOTING,
    },
    expiration::expiry,
    marks::{DO_NOT_DISRUPT, TERMINATION_TIMESTAMP},
    objects::Objects,
};

/// State of instances that objects do not show.
#[derive(Debug, Clone, Default)]
pub struct Live {
    /// Names of claims that are part of a command that is being carried out.
    pub queued: BTreeSet<String>,
    /// Names of Nodes, or of claims without one, on which a pod was promised a place a moment ago.
    pub nominated: BTreeSet<String>,
    /// Moves that were made and undone, and are not made again for a while.
    pub held_back: Vec<HeldMove>,
    /// Until when drifted instances of a pool are left alone, because replacing one has failed.
    pub drift_resumes: BTreeMap<String, Timestamp>,
    /// Since when a pool has been restless at every look.
    pub restless_since: BTreeMap<String, Timestamp>,
    /// The namespace of the controller's lease. If it is unknown, a pause annotation in any
    /// namespace counts.
    pub namespace: Option<String>,
    /// Whether a claim without conditions is judged by its Node, because files usually omit
    /// conditions. A running controller does not trust such a claim.
    pub reads_kindly: bool,
}

impl Live {
    /// For files and clusters that are read without a running controller.
    pub fn of_nobody() -> Self {
        Self { reads_kindly: true, ..Self::default() }
    }
}

/// The instances of a snapshot as candidates for removal, as of `now`. The snapshot has to be of the
/// same objects.
pub fn fleet(
    objects: &Objects,
    snapshot: &Snapshot,
    settings: &IndexSettings,
    live: &Live,
    now: Timestamp,
) -> Fleet {
    let pools = pools::rules(objects, settings, live);
    let reader = Reader::new(objects, &pools, live, now);
    Fleet {
        instances: snapshot.nodes.iter().map(|node| reader.instance(node)).collect(),
        pools,
        paused: pools::paused(objects, live.namespace.as_deref()),
        held_back: live.held_back.clone(),
        now,
    }
}

/// Objects by name.
struct Reader<'o> {
    claims: HashMap<&'o str, &'o NodeClaim>,
    nodes: HashMap<&'o str, &'o Node>,
    pods: HashMap<(&'o str, &'o str), &'o Pod>,
    /// Provider IDs that several Nodes have.
    shared: HashSet<Cow<'o, str>>,
    /// How provider IDs are compared.
    ids: &'o ProviderIds,
    disruption: Disruption,
    pools: &'o BTreeMap<String, PoolRules>,
    live: &'o Live,
    now: Timestamp,
}

impl<'o> Reader<'o> {
    fn new(
        objects: &'o Objects,
        pools: &'o BTreeMap<String, PoolRules>,
        live: &'o Live,
        now: Timestamp,
    ) -> Self {
        let pods = objects.pods.iter().map(|pod| {
            let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
            ((namespace, name(&pod.metadata)), &**pod)
        });
        Self {
            claims: objects.node_claims.iter().map(|it| (name(&it.metadata), &**it)).collect(),
            nodes: objects.nodes.iter().map(|node| (name(&node.metadata), &**node)).collect(),
            pods: pods.collect(),
            shared: shared_provider_ids(objects),
            ids: &objects.ids,
            disruption: Disruption::new(objects, now),
            pools,
            live,
            now,
        }
    }

    fn instance(&self, instance: &snapshot::Node) -> Instance {
        let claim = instance.claim.as_deref().and_then(|name| self.claims.get(name)).copied();
        let node = instance.node.as_deref().and_then(|name| self.nodes.get(name)).copied();
        let is_queued = |claim: &String| self.live.queued.contains(claim);
        Instance {
            claim: claim.map(|claim| self.claim(claim, instance)),
            ready: node.is_some_and(|node| is_ready(node) || self.says_nothing(node)),
            queued: instance.claim.as_ref().is_some_and(is_queued),
            nominated: self.live.nominated.contains(instance.name()),
            shared: node
                .is_some_and(|node| self.shared.contains(&*self.ids.canonical(provider_id(node)))),
            do_not_disrupt: is_protected(instance, node, claim),
            pods: instance.pods.iter().map(|pod| self.pod(pod)).collect(),
        }
    }

    /// Whether a Node has no conditions, and that is acceptable.
    fn says_nothing(&self, node: &Node) -> bool {
        let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
        self.live.reads_kindly && conditions.is_none_or(Vec::is_empty)
    }

    fn claim(&self, claim: &NodeClaim, instance: &snapshot::Node) -> ClaimFacts {
        let created = claim.metadata.creation_timestamp.as_ref().map(|time| time.0);
        let is_hand_written = self.live.reads_kindly && claim.conditions().is_empty();
        let (is_initialized, since) = if is_hand_written {
            // An unknown time counts as long ago.
            (instance.initialized, created.unwrap_or(Timestamp::UNIX_EPOCH))
        } else {
            (claim.holds(INITIALIZED), claim.since(INITIALIZED).unwrap_or(self.now))
        };
        let moved = claim.status.as_ref().and_then(|status| status.last_pod_event_time.as_ref());
        let quiet_since = is_initialized.then(|| moved.map_or(since, |time| time.0));
        ClaimFacts {
            quiet_since,
            consolidatable: claim.holds(CONSOLIDATABLE)
                || (is_hand_written && is_initialized)
                || self.has_become_quiet(instance.pool.as_deref(), quiet_since),
            drifted: drifted(claim, created.unwrap_or(self.now)),
            expires: expiry(claim),
            has_grace_period: claim.spec.termination_grace_period.is_some() || has_deadline(claim),
            instance_terminating: claim.holds(INSTANCE_TERMINATING),
            rebooting: claim.holds(REBOOTING),
        }
    }

    /// Whether an instance has been quiet for as long as its pool requires, computed from times. It
    /// serves readers without a controller, whose objects may be older than the evaluated time.
    fn has_become_quiet(&self, pool: Option<&str>, since: Option<Timestamp>) -> bool {
        let rules = pool.and_then(|pool| self.pools.get(pool)).filter(|it| it.replicas.is_none());
        let after = rules.and_then(|rules| rules.consolidate_after);
        let is_over = |(since, after)| self.now.duration_since(since) >= after;
        self.live.reads_kindly && since.zip(after).is_some_and(is_over)
    }

    fn pod(&self, planned: &PlannedPod) -> PodFacts {
        let pod = self.pods.get(&(&*planned.namespace, &*planned.name));
        // A pod without an object counts as one that needs a place, as most pods do.
        pod.map(|pod| pods::facts(pod, &self.disruption)).unwrap_or_default()
    }
}

/// Whether a claim that is being deleted has a time by which its instance goes, whatever its pods say.
fn has_deadline(claim: &NodeClaim) -> bool {
    let annotations = claim.metadata.annotations.as_ref();
    claim.metadata.deletion_timestamp.is_some()
        && annotations.is_some_and(|all| all.contains_key(TERMINATION_TIMESTAMP))
}

/// Whether the annotation of the Node, or of the claim while there is no registered one, forbids the
/// removal of an instance.
fn is_protected(instance: &snapshot::Node, node: Option<&Node>, claim: Option<&NodeClaim>) -> bool {
    let is_registered = instance.labels.get(label::REGISTERED).is_some_and(|value| value == "true");
    let metadata: Option<&ObjectMeta> = match (node, claim) {
        (node, Some(claim)) if !is_registered || node.is_none() => Some(&claim.metadata),
        (node, _) => node.map(|node| &node.metadata),
    };
    let annotations = metadata.and_then(|metadata| metadata.annotations.as_ref());
    annotations.and_then(|all| all.get(DO_NOT_DISRUPT)).is_some_and(|value| value == "true")
}

fn drifted(claim: &NodeClaim, created: Timestamp) -> Option<Drifted> {
    let condition = condition::find(claim.conditions(), DRIFTED).filter(|it| it.is_true())?;
    let reason = match condition.reason.as_str() {
        "" => DRIFTED,
        reason => reason,
    };
    let since = condition.last_transition_time.as_ref().map_or(created, |time| time.0);
    Some(Drifted { reason: reason.to_owned(), since })
}
