//! Node repair: replaces nodes that stay unhealthy by deleting their claims. The pods' protection
//! no longer counts, since they cannot run on such a node.
//!
//! The provider defines the conditions and how long each is tolerated ([`policy`]). If too many
//! nodes are unhealthy at once ([`breaker`]), there is a common cause, and replacing nodes would
//! make it worse.

pub mod breaker;
pub mod policy;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use joiner_api::{node_claim::NodeClaim, node_pool::NodePool};
use joiner_cloud::RepairPolicy;
use joiner_core::{
    disruption::Paused,
    label::{CAPACITY_TYPE, NODE_POOL},
};
use k8s_openapi::api::core::v1::{Namespace, Node, NodeCondition};

use self::{
    breaker::{Breaker, MAX_UNHEALTHY, max_unhealthy_of},
    policy::Due,
};
use crate::{
    claims::{is_deleting, label},
    clocks,
    cluster::Lock,
    conditions::seconds,
    context::Context,
    controller::{Controller, Next},
    disrupted,
    disruption::pause::{self, Pause},
    events::{Event, Subject},
    marks::TERMINATION_TIMESTAMP,
    queue::Backoff,
    reboot,
    trouble::Trouble,
    world::{Change, Diff, Kept, Key, World},
};

/// The reason of the disruption in metrics.
const REASON: &str = "unhealthy";
/// How often a node is examined while too many others are unhealthy. The value is Karpenter's.
const BLOCKED_FOR: Duration = Duration::from_mins(5);
/// The kinds that must be current before a repair: nodes, claims, pools and pauses.
const KINDS: [&str; 4] = ["nodes", "nodeclaims", "nodepools", "namespaces"];

/// The controller that replaces unhealthy nodes.
#[derive(Debug)]
pub struct NodeRepair {
    context: Context,
    pause: Pause,
}

/// A node with a condition that its provider tolerates only for a time.
struct Patient {
    node: Arc<Node>,
    claim: Arc<NodeClaim>,
    /// The name of its pool, if it has one.
    pool_name: Option<String>,
    pool: Option<Arc<NodePool>>,
    policies: &'static [RepairPolicy],
    due: Due,
}

/// The facts that decide whether a node is repaired.
struct Circumstances {
    breaker: Breaker,
    /// The pause that covers it, if there is one.
    paused: Option<Paused>,
}

impl Controller for NodeRepair {
    type Key = Key;

    const NAME: &'static str = "node.health";
    const BACKOFF: Backoff = Backoff::REASONABLE;

    fn affected(&self, world: &World, change: &Change, add: &mut dyn FnMut(Key)) {
        let Change::Node(diff) = change else { return };
        match &diff.new {
            Some(node) if conditions_have_changed(diff) || labels_have_changed(diff) => {
                add(node.key());
            }
            Some(_) => {}
            // Another node with the same provider ID is no longer ambiguous.
            None => {
                let spec = diff.latest().spec.as_ref();
                let id = spec.and_then(|spec| spec.provider_id.as_deref());
                id.into_iter().flat_map(|id| world.nodes_of(id)).for_each(|node| add(node.key()));
            }
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Trouble> {
        let Some(patient) = self.patient(key) else { return Ok(Next::Done) };
        let now = self.context.now();
        if let Ok(left) = Duration::try_from(patient.due.at.duration_since(now))
            && !left.is_zero()
        {
            return Ok(Next::After(left));
        }
        if self.context.clocks.difference().is_some() {
            return Ok(Next::After(clocks::LOOK_EVERY));
        }
        self.sure_of_facts(key)?;
        let Circumstances { breaker, paused } = self.circumstances(&patient);
        if let Some(paused) = &paused {
            self.tell_blocked(&patient, &format!("is not repaired meanwhile: {paused}"));
            return Ok(Next::After(pause::LOOK_EVERY));
        }
        if let Some(why) = breaker.blocks() {
            self.tell_blocked(&patient, &why);
            return Ok(Next::After(BLOCKED_FOR));
        }
        let Patient { claim, due, .. } = &patient;
        if !is_deleting(&**claim) {
            self.context.cluster.delete(&**claim).await?;
            self.count(claim, due.condition);
            self.tell_removal(claim, key, due.condition);
            tracing::info!(
                Node = %key, NodeClaim = %claim.key(), condition = due.condition,
                "deleting unhealthy node"
            );
        }
        // Only after the deletion: on a claim that stays, the deadline would end the pods of a
        // later drain.
        self.end_now(claim, now).await?;
        Ok(Next::Done)
    }
}

impl NodeRepair {
    /// A controller that replaces nodes, except during a pause.
    pub fn new(context: Context, pause: Pause) -> Self {
        Self { context, pause }
    }

    /// A managed node with a condition that its provider tolerates only for a time. A node with
    /// several claims, or none, is skipped: its instance is unclear. Nodes that share an instance
    /// are skipped too: the instance may be healthy under the other name.
    fn patient(&self, key: &Key) -> Option<Patient> {
        self.context.cache.read(|world| {
            let node = world.nodes.get(key).filter(|node| self.context.manages(node))?;
            let claim = world.claim_of(node).filter(|_| !world.shares_instance(node))?;
            let policies = self.context.provider_of(claim)?.repair_policies();
            let due = policy::due(node, policies)?;
            // Conditions that a reboot causes are no reason for a replacement.
            let due = due.not_before(reboot::end(claim));
            let pool_name = Some(label(&**node, NODE_POOL)).filter(|name| !name.is_empty());
            let pool = pool_name.and_then(|name| world.node_pools.named(name));
            Some(Patient {
                node: Arc::clone(node),
                claim: Arc::clone(claim),
                pool_name: pool_name.map(str::to_owned),
                pool: pool.cloned(),
                policies,
                due,
            })
        })
    }

    /// Whether the cache is current: the node may have recovered, others may have failed, and a
    /// pause may have begun.
    fn sure_of_facts(&self, node: &Key) -> Result<(), Trouble> {
        if let Some(missing) = self.context.feeds.missing_of(&KINDS) {
            return Err(Trouble::Object(format!(
                "Node {node} is not repaired because of stale facts: {missing}"
            )));
        }
        self.context.sure_of::<Node>()?;
        self.context.sure_of::<NodeClaim>()?;
        self.context.sure_of::<NodePool>()?;
        self.context.sure_of::<Namespace>()
    }

    fn circumstances(&self, patient: &Patient) -> Circumstances {
        let Patient { pool_name, pool, policies, .. } = patient;
        let pool_name = pool_name.as_deref();
        self.context.cache.read(|world| Circumstances {
            breaker: breaker(world, pool_name, pool.as_deref(), policies),
            paused: self.pause.of(world, pool_name),
        })
    }

    /// Sets the deadline of a claim's pods to now, so that no protection delays them. An earlier
    /// deadline stays.
    async fn end_now(&self, claim: &NodeClaim, now: Timestamp) -> Result<(), Trouble> {
        let annotations = claim.metadata.annotations.as_ref();
        let written = annotations.and_then(|all| all.get(TERMINATION_TIMESTAMP));
        let has_come = |text: &String| text.parse::<Timestamp>().is_ok_and(|end| end <= now);
        if written.is_some_and(has_come) {
            return Ok(());
        }
        let mut ending = claim.clone();
        let annotations = ending.metadata.annotations.get_or_insert_default();
        annotations.insert(TERMINATION_TIMESTAMP.to_owned(), seconds(now).to_string());
        match self.context.cluster.patch(claim, &ending, Lock::None).await {
            Err(trouble) if !trouble.is_not_found() => Err(trouble),
            _ => Ok(()),
        }
    }

    fn count(&self, claim: &NodeClaim, condition: &str) {
        disrupted::count_claim(&self.context, claim, REASON);
        disrupted::count_pods(&self.context, claim, REASON);
        let (pool, capacity_type) = (label(claim, NODE_POOL), label(claim, CAPACITY_TYPE));
        let image = claim.status.as_ref().and_then(|status| status.image_id.as_deref());
        let condition = policy::snake_case(condition);
        let metrics = &self.context.metrics;
        let repaired = metrics.nodeclaims_unhealthy_disrupted(
            &condition,
            pool,
            capacity_type,
            image.unwrap_or_default(),
        );
        repaired.inc();
    }

    /// Reports the removal in the same way as commands do.
    fn tell_removal(&self, claim: &NodeClaim, node: &Key, condition: &str) {
        let why = format!(
            "condition {condition} of node {node} was not healthy for longer than its provider \
             tolerates"
        );
        let event = Event::disruption_terminating(&Subject::of(claim), &why);
        self.context.events.tell(event);
    }

    /// Records the event on every object that is concerned.
    fn tell_blocked(&self, patient: &Patient, why: &str) {
        let Patient { node, claim, pool, .. } = patient;
        let pool = pool.as_ref().map(|pool| Subject::of(&**pool));
        for about in [Subject::of(&**node), Subject::of(&**claim)].into_iter().chain(pool) {
            self.context.events.tell(Event::node_repair_blocked(&about, why));
        }
    }
}

/// Whether a node's conditions changed, except their heartbeat times.
fn conditions_have_changed(diff: &Diff<Node>) -> bool {
    fn of(node: &Node) -> BTreeMap<&str, (&str, Option<Timestamp>)> {
        let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let since = |known: &NodeCondition| known.last_transition_time.as_ref().map(|time| time.0);
        conditions
            .map(|known| (known.type_.as_str(), (known.status.as_str(), since(known))))
            .collect()
    }
    match (&diff.old, &diff.new) {
        (Some(old), Some(new)) => of(old) != of(new),
        _ => true,
    }
}

/// Whether a node's labels changed: they decide whether it is managed.
fn labels_have_changed(diff: &Diff<Node>) -> bool {
    match (&diff.old, &diff.new) {
        (Some(old), Some(new)) => old.metadata.labels != new.metadata.labels,
        _ => true,
    }
}

/// The breaker of a node's pool, or of the whole cluster for a node without a pool.
fn breaker(
    world: &World,
    pool_name: Option<&str>,
    pool: Option<&NodePool>,
    policies: &[RepairPolicy],
) -> Breaker {
    let counted = world
        .nodes
        .values()
        .filter(|node| pool_name.is_none_or(|name| label(&***node, NODE_POOL) == name));
    let (mut nodes, mut unhealthy) = (0, 0);
    for node in counted {
        nodes += 1;
        unhealthy += usize::from(policy::is_unhealthy(node, policies));
    }
    let of_pool = pool.and_then(|pool| max_unhealthy_of(pool).ok().flatten());
    Breaker {
        of_pool: pool_name.is_some(),
        nodes,
        unhealthy,
        max: of_pool.unwrap_or(MAX_UNHEALTHY),
    }
}
