//! The loop that searches for instances to disrupt.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt;
use jiff::Timestamp;
use joiner_api::{
    capacity_buffer::CapacityBuffer, node_claim::NodeClaim, node_overlay::NodeOverlay,
    node_pool::NodePool,
};
use joiner_clock::Clock;
use joiner_core::{
    disruption::{Command, Method, Rejected},
    label::{INSTANCE_TYPE, NODE_POOL},
    plan::PlannedClaim,
};
use k8s_openapi::api::{
    apps::v1::DaemonSet,
    core::v1::{Namespace, Node, Pod},
    policy::v1::PodDisruptionBudget,
    storage::v1::CSINode,
};

use super::{
    Disruption,
    carrying_out::{going, together},
    changes::matters,
    marking::{Marked, stale},
    pass::{Found, Look, Validated},
    record, telling, wishes,
};
use crate::{
    buffers,
    claims::{instance_name, label},
    context::Context,
    controller::{Controller, Next},
    index::Live,
    offload::offload,
    provisioning::pass::Input,
    queue::{Backoff, Queue},
    static_pools::{Reserved, Standings, nodes_max},
    trouble::Trouble,
    world::{Change, World},
};

/// How long to wait after a change: related changes arrive together. The value was chosen and not
/// measured separately.
const SETTLE: Duration = Duration::from_secs(1);
/// The rest after a pass, as a multiple of its duration: a busy large cluster uses at most a tenth
/// of a core. The value was chosen and not measured separately.
const REST: u32 = 9;
/// How often an unchanged cluster is examined. The value was chosen and not measured separately.
pub(crate) const REFRESH: Duration = Duration::from_mins(5);
/// How soon to try again to remove marks after a failure. The value was chosen and not measured
/// separately.
const CLEAN_AGAIN: Duration = Duration::from_secs(10);
/// The kinds that carry marks. To continue or take back commands needs only these.
const MARKED: [&str; 2] = ["nodes", "nodeclaims"];
/// The kinds that a pass needs, as far as they are watched: pods and their protection, pools, and
/// the requirements of new instances.
const KINDS: [&str; 14] = [
    "pods",
    "nodes",
    "nodeclaims",
    "nodepools",
    "poddisruptionbudgets",
    "namespaces",
    "daemonsets",
    "nodeoverlays",
    "capacitybuffers",
    "podtemplates",
    "deployments",
    "statefulsets",
    "replicasets",
    "csinodes",
];

/// Searches for instances to disrupt.
///
/// A pass runs after a relevant change, when a proposal is due, and when time alone changes what is
/// allowed. An unchanged cluster costs nothing.
#[derive(Debug)]
pub struct DisruptionLoop {
    context: Context,
    disruption: Disruption,
    queue: Arc<Queue<Cluster>>,
    /// The duration of the last pass, in milliseconds.
    took: AtomicU64,
}

/// The key of the single queue entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cluster;

impl fmt::Display for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cluster")
    }
}

impl DisruptionLoop {
    /// A loop that proposes and begins commands.
    pub fn new(context: Context, disruption: Disruption) -> Self {
        let queue = Arc::new(Queue::new(context.clock.clone(), Self::BACKOFF));
        queue.add(Cluster);
        Self { context, disruption, queue, took: AtomicU64::new(0) }
    }
}

impl Controller for DisruptionLoop {
    type Key = Cluster;

    const NAME: &'static str = "disruption";
    const BACKOFF: Backoff =
        Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(10) };
    const AT_ONCE: usize = 1;

    fn queue(&self, _clock: &Clock) -> Arc<Queue<Cluster>> {
        Arc::clone(&self.queue)
    }

    fn affected(&self, _world: &World, change: &Change, _add: &mut dyn FnMut(Cluster)) {
        self.learn(change);
        if matters(change) {
            self.look_after(SETTLE);
        }
    }

    async fn reconcile(&self, _key: &Cluster) -> Result<Next, Trouble> {
        self.not_stale(&MARKED)?;
        // The unreadable object was reported by its feed, and its repair is a relevant change.
        if self.sure_of_marks().is_err() {
            return Ok(Next::After(REFRESH));
        }
        self.adopt();
        self.clean().await;
        self.not_stale(&KINDS)?;
        if self.sure_of_facts().is_err() {
            return Ok(Next::After(REFRESH));
        }
        self.tell_of_wishes();
        telling::shared_instances(&self.context);
        let mut look = self.gather();
        let begun = self.context.clock.running();
        if look.has_due() {
            let settings = Arc::clone(&self.context.settings);
            let validate = move || (look.validate(&settings.planner), look);
            let (validated, rest) = offload(&self.context.liveness, Self::NAME, validate).await;
            look = rest;
            // At once: the search may take so long that the validation is outdated.
            self.settle(validated);
        }
        let settings = Arc::clone(&self.context.settings);
        let search = move || look.search(&settings.planner);
        let found = offload(&self.context.liveness, Self::NAME, search).await;
        self.measure(self.context.clock.running().saturating_sub(begun));
        Ok(Next::After(self.act(found)))
    }
}

impl DisruptionLoop {
    /// Schedules a pass after this wait, and not before the rest is over.
    fn look_after(&self, wait: Duration) {
        let rest = Duration::from_millis(self.took.load(Ordering::Relaxed)) * REST;
        self.queue.add_after(Cluster, rest.max(wait));
    }

    /// Whether the cache of these kinds is up to date.
    fn not_stale(&self, kinds: &[&str]) -> Result<(), Trouble> {
        match self.context.feeds.missing_of(kinds) {
            None => Ok(()),
            Some(missing) => Err(Trouble::Object(format!(
                "no instance is removed because of stale facts: {missing}"
            ))),
        }
    }

    /// Remembers an instance that had to be created again.
    fn learn(&self, change: &Change) {
        let Change::NodeClaim(diff) = change else { return };
        let (false, Some(claim)) = (diff.initial, &diff.new) else { return };
        let kind = label(&**claim, INSTANCE_TYPE);
        let was_known =
            diff.old.as_ref().is_some_and(|old| !label(&**old, INSTANCE_TYPE).is_empty());
        if kind.is_empty() || was_known || record::id_on(claim).is_some() {
            return;
        }
        let pool = label(&**claim, NODE_POOL);
        let undone = self.disruption.memory().moves.provisioned(pool, kind, self.context.now());
        if undone {
            tracing::info!(
                controller = Self::NAME,
                NodePool.name = pool,
                "instance-type" = kind,
                "an instance of a kind that was removed a short while ago is needed again: such \
                 instances are left alone for a while"
            );
        }
    }

    /// Takes over the commands that another process began.
    fn adopt(&self) {
        let (found, unreadable) = self.context.cache.read(|world| {
            let claims = world.node_claims.values().map(|claim| &**claim);
            record::found(claims.filter(|claim| self.context.provider_of(claim).is_some()))
        });
        for problem in unreadable {
            tracing::warn!(controller = Self::NAME, "{problem}");
        }
        for id in self.disruption.commands.adopt(found) {
            tracing::info!(controller = Self::NAME, command = %id, "found a command under way");
        }
    }

    /// Removes marks from instances that are in no command and stay. A failure with one does not
    /// stop the others.
    async fn clean(&self) {
        let commands = &self.disruption.commands;
        let stale = self.context.cache.read(|world| stale(&self.context, world, commands));
        let cleaning = stale.into_iter().map(|instance| self.clean_one(instance).boxed()).collect();
        if together(cleaning).await.is_err() {
            self.look_after(CLEAN_AGAIN);
        }
    }

    async fn clean_one(&self, instance: Marked) -> Result<(), Trouble> {
        let name = instance.claim.metadata.name.clone();
        tracing::info!(
            controller = Self::NAME,
            NodeClaim.name = name,
            "instance is marked for removal by no command: the marks are taken off"
        );
        instance.unmark(&self.context).await.inspect_err(|trouble| {
            tracing::warn!(
                controller = Self::NAME,
                NodeClaim.name = name,
                "marks cannot be taken off, which is tried again: {trouble}"
            );
        })
    }

    /// Reports do-not-disrupt annotations that do not mean what their author expects, before that
    /// matters.
    fn tell_of_wishes(&self) {
        let events = self.context.cache.read(|world| wishes::unclear(&self.context, world));
        for event in events {
            self.context.events.tell(event);
        }
    }

    fn gather(&self) -> Look {
        let (now, commands) = (self.context.now(), &self.disruption.commands);
        let (held_back, drift_resumes, restless_since) = {
            let memory = &mut *self.disruption.memory();
            memory.moves.tidy(now);
            memory.drift.tidy(now);
            (memory.moves.held_back(now), memory.drift.resumes(now), memory.unrest.since())
        };
        let live = Live {
            queued: commands.going(),
            nominated: self.spoken_for(),
            held_back,
            drift_resumes,
            restless_since,
            namespace: Some(self.disruption.pause.namespace().to_owned()),
            reads_kindly: false,
        };
        self.context.cache.intend(|intended| intended.tidy(now));
        let (input, nominated) = self.context.cache.read(|world| {
            (Input::gather(world, &self.context.providers), world.intended.nominated(now))
        });
        let due = commands.take_due(self.context.clock.running());
        let waiting = commands.proposed().into_iter().map(|it| it.command).collect();
        Look { input, live, nominated, waiting, due, now }
    }

    /// Replacements of begun commands: pods are about to arrive on them.
    fn spoken_for(&self) -> BTreeSet<String> {
        let coming = self.disruption.commands.coming();
        self.context.cache.read(|world| {
            let claims = coming.iter().filter_map(|name| world.node_claims.named(name));
            claims.map(|claim| instance_name(claim).to_owned()).collect()
        })
    }

    /// Reports the duration for every method, because one pass covers all methods.
    ///
    /// COMPAT: upstream runs one pass for each method.
    fn measure(&self, took: Duration) {
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        self.took.store(millis, Ordering::Relaxed);
        for method in Method::ALL {
            let reason = method.budget().as_str().to_lowercase();
            let kind = method.consolidation_type();
            let metrics = &self.context.metrics;
            let duration = metrics.voluntary_disruption_decision_evaluation_duration(&reason, kind);
            duration.observe(took.as_secs_f64());
        }
    }

    /// Begins the proposals that are still valid, and reports why others are not.
    fn settle(&self, validated: Vec<Validated>) {
        for (command, verdict) in validated {
            match verdict {
                Ok(held) => {
                    telling::left_out(&self.context, &command, &held);
                    self.begin(&held);
                }
                Err(rejected) => self.reject(&command, &rejected),
            }
        }
    }

    /// Applies the result of a pass; returns how long it is until the next one.
    fn act(&self, found: Found) -> Duration {
        let Found { disruptions, fleet, look_again } = found;
        telling::looked(&self.context, &disruptions, &fleet);
        let (now, running) = (self.context.now(), self.context.clock.running());
        self.disruption.memory().unrest.seen(&disruptions.restless, now);
        for command in disruptions.commands {
            if command.method.is_validated() {
                telling::proposed(&self.context, &command, &fleet);
                self.disruption.commands.propose(command, running);
            } else {
                self.begin(&command);
            }
        }
        let proposed = self.disruption.commands.proposed().into_iter();
        let due = proposed.map(|it| it.due.saturating_sub(running));
        let look_again = look_again.map(|moment| until(moment, now));
        due.chain(look_again).fold(REFRESH, Duration::min)
    }

    /// Unreadable is not absent: the marks of an unreadable object would stay.
    fn sure_of_marks(&self) -> Result<(), Trouble> {
        self.context.sure_of::<Node>()?;
        self.context.sure_of::<NodeClaim>()
    }

    /// Unreadable is not absent: a node would look empty without its unreadable pod.
    fn sure_of_facts(&self) -> Result<(), Trouble> {
        self.context.sure_of::<Pod>()?;
        self.context.sure_of::<NodePool>()?;
        self.context.sure_of::<PodDisruptionBudget>()?;
        self.context.sure_of::<Namespace>()?;
        self.context.sure_of::<DaemonSet>()?;
        self.context.sure_of::<NodeOverlay>()?;
        self.context.sure_of::<CapacityBuffer>()?;
        self.context.sure_of::<CSINode>()?;
        self.context.cache.read(|world| match buffers::first_unreadable(world) {
            Some(why) => Err(Trouble::Object(why.to_owned())),
            None => Ok(()),
        })
    }

    fn begin(&self, command: &Command) {
        if let Err(why) = self.try_to_begin(command) {
            tracing::info!(
                controller = Self::NAME,
                command = telling::short(command),
                "command is not carried out: {why}"
            );
            self.propose_the_rest();
        }
    }

    fn try_to_begin(&self, command: &Command) -> Result<(), String> {
        let now = self.context.now();
        let (commands, random) = (&self.disruption.commands, &self.context.random);
        let (part, instances) =
            self.context.cache.read(|world| going(world, commands, command, now))?;
        let places = self.places(&part)?;
        let record = commands.begin(part.clone(), instances, places, now, random);
        let record = record.ok_or("an instance of it is part of another command")?;
        telling::begun(&self.context, &part, &record);
        Ok(())
    }

    /// Reserves room within the limits of static pools for the replacements of a command. The
    /// static pool may create instances at the same time, and both must stay within the limit.
    fn places(&self, command: &Command) -> Result<Vec<Reserved>, String> {
        if command.method != Method::StaticDrift {
            return Ok(Vec::new());
        }
        let mut places = Vec::new();
        for PlannedClaim { node_pool, .. } in &command.replacements {
            let cache = &self.context.cache;
            let limit =
                cache.read(|world| world.node_pools.named(node_pool).map(|it| nodes_max(it)));
            let known = || cache.read(|world| Standings::of(world, node_pool).all());
            let place = self.disruption.reservations.reserve(node_pool, 1, limit.flatten(), known);
            if place.is_empty() {
                return Err(format!(
                    "limits.nodes of NodePool {node_pool:?} leaves no room for a replacement: \
                     others are being made"
                ));
            }
            places.extend(place);
        }
        Ok(places)
    }

    fn reject(&self, command: &Command, rejected: &Rejected) {
        telling::rejected(&self.context, command, rejected);
        self.propose_the_rest();
    }

    /// Soon proposes the rest of a dropped command, if that is still useful.
    fn propose_the_rest(&self) {
        self.queue.add_after(Cluster, SETTLE);
    }
}

/// The time until a moment.
fn until(moment: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(moment.duration_since(now)).unwrap_or_default()
}
