//! The loop that looks for machines to remove.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use joiner_api::{node_claim::NodeClaim, node_pool::NodePool};
use joiner_clock::Clock;
use joiner_core::{
    disruption::{Command, Method, Rejected},
    label::{INSTANCE_TYPE, NODE_POOL},
    plan::PlannedClaim,
};
use k8s_openapi::api::{
    core::v1::{Node, Pod},
    policy::v1::PodDisruptionBudget,
};

use super::{
    Disruption,
    carrying_out::going,
    changes::matters,
    marking::stale,
    pass::{Found, Look},
    record, telling,
};
use crate::{
    claims::label,
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

/// How long after a change it is looked: what belongs together comes together.
const SETTLE: Duration = Duration::from_secs(1);
/// How many times as long as a look took nobody looks again: a large cluster in which something
/// happens all the time keeps no core busy.
const REST: u32 = 9;
/// A cluster in which nothing happens is looked at this often all the same.
const REFRESH: SignedDuration = SignedDuration::from_mins(5);
/// What has to be known for a look, as far as it is watched: who is protected, who has a say, and what new machines need.
const KINDS: [&str; 9] = [
    "pods",
    "nodes",
    "nodeclaims",
    "nodepools",
    "poddisruptionbudgets",
    "namespaces",
    "daemonsets",
    "nodeoverlays",
    "capacitybuffers",
];

/// Looks for machines to remove.
///
/// It looks when something has changed that matters, when a proposal is due, and when time alone
/// changes what is allowed. A cluster in which nothing happens costs nothing.
#[derive(Debug)]
pub struct DisruptionLoop {
    context: Context,
    disruption: Disruption,
    queue: Arc<Queue<Cluster>>,
    /// How long the last look took, in milliseconds.
    took: AtomicU64,
}

/// The one thing to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cluster;

impl fmt::Display for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cluster")
    }
}

impl DisruptionLoop {
    /// Proposes and begins commands.
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
            let rest = Duration::from_millis(self.took.load(Ordering::Relaxed)) * REST;
            self.queue.add_after(Cluster, rest.max(SETTLE));
        }
    }

    async fn reconcile(&self, _key: &Cluster) -> Result<Next, Trouble> {
        if let Some(missing) = self.context.feeds.missing_of(&KINDS) {
            return Err(Trouble::Object(format!(
                "no machine is removed because of stale facts: {missing}"
            )));
        }
        if self.sure_of_facts().is_err() {
            // It is told where it was noticed, and its mending is a change that matters.
            return Ok(Next::After(until(self.context.now() + REFRESH, self.context.now())));
        }
        self.adopt();
        self.clean().await?;
        let look = self.gather();
        let (settings, begun) = (Arc::clone(&self.context.settings), self.context.clock.running());
        let found = offload(move || look.look(&settings.planner)).await;
        let took = self.context.clock.running().saturating_sub(begun);
        self.measure(took);
        Ok(Next::After(self.act(found)))
    }
}

impl DisruptionLoop {
    /// Takes note of a machine that had to be made again.
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
                instance_type = kind,
                "a machine of a kind that was removed a short while ago is needed again: such \
                 machines are left alone for a while"
            );
        }
    }

    /// Carries on what another process has begun.
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

    /// Takes marks from machines that are in no command and stay.
    async fn clean(&self) -> Result<(), Trouble> {
        let commands = &self.disruption.commands;
        let stale = self.context.cache.read(|world| stale(&self.context, world, commands));
        for machine in stale {
            tracing::info!(
                controller = Self::NAME,
                NodeClaim.name = machine.claim.metadata.name,
                "machine is marked for removal by no command: the marks are taken off"
            );
            machine.unmark(&self.context).await?;
        }
        Ok(())
    }

    fn gather(&self) -> Look {
        let (now, commands) = (self.context.now(), &self.disruption.commands);
        let (held_back, drift_resumes, restless_since) = {
            let memory = &mut *self.disruption.memory();
            memory.moves.tidy(now);
            (memory.moves.held_back(now), memory.drift.resumes(now), memory.unrest.since().clone())
        };
        let live = Live {
            queued: commands.going(),
            nominated: BTreeSet::new(),
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
        let due = commands.take_due(now);
        let waiting = commands.proposed().into_iter().map(|it| it.command).collect();
        Look { input, live, nominated, waiting, due, now }
    }

    /// Every method was asked, so the look is each one's.
    ///
    /// COMPAT: upstream looks anew for each method.
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

    /// Does what a look has come to; answers how long it is until the next one is due.
    fn act(&self, found: Found) -> Duration {
        let Found { validated, disruptions, fleet, look_again } = found;
        for (command, verdict) in validated {
            match verdict {
                Ok(held) => {
                    telling::left_out(&self.context, &command, &held);
                    self.begin(&held);
                }
                Err(rejected) => self.reject(&command, &rejected),
            }
        }
        telling::looked(&self.context, &disruptions, &fleet);
        let now = self.context.now();
        self.disruption.memory().unrest.seen(&disruptions.restless, now);
        for command in disruptions.commands {
            if command.method.is_validated() {
                telling::proposed(&self.context, &command, &fleet);
                self.disruption.commands.propose(command, now);
            } else {
                self.begin(&command);
            }
        }
        let due = self.disruption.commands.proposed().into_iter().map(|it| it.due);
        let next = due.chain(look_again).chain([now + REFRESH]).min();
        until(next.unwrap_or(now), now)
    }

    /// What cannot be read is not absent: a node would look empty without its unreadable pod.
    fn sure_of_facts(&self) -> Result<(), Trouble> {
        self.context.sure_of::<Pod>()?;
        self.context.sure_of::<Node>()?;
        self.context.sure_of::<NodeClaim>()?;
        self.context.sure_of::<NodePool>()?;
        self.context.sure_of::<PodDisruptionBudget>()
    }

    fn begin(&self, command: &Command) {
        let now = self.context.now();
        let machines = self.context.cache.read(|world| going(world, &command.candidates, now));
        let ready = machines.and_then(|machines| Ok((machines, self.places(command)?)));
        match ready {
            Ok((machines, places)) => {
                let (commands, random) = (&self.disruption.commands, &self.context.random);
                let record = commands.begin(command.clone(), machines, places, now, random);
                if let Some(record) = record {
                    telling::begun(&self.context, command, &record);
                }
            }
            Err(why) => tracing::info!(
                controller = Self::NAME,
                command = telling::short(command),
                "command is not carried out: {why}"
            ),
        }
    }

    /// Room within the limits of static pools for the replacements of a command. The pool itself may
    /// make machines in the same moment, and both stay within the limit together.
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
        // What is left of it is proposed at once, if it still makes sense.
        self.queue.add_after(Cluster, SETTLE);
    }
}

/// How long it is until a moment.
fn until(moment: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(moment.duration_since(now)).unwrap_or_default()
}
