//! Everything that cares for one cluster, put together.
//!
//! An engine waits until it may act, learns what there is in the cluster, and then lets its
//! controllers work until it is told to stop or may no longer act. Nothing of it outlives it, and
//! several of them, one per cluster, run in one process.

use std::{
    collections::{BTreeMap, BTreeSet},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use joiner_clock::Clock;
use joiner_cloud::{Providers, class::class_label};
use joiner_core::label;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use tokio::task::JoinSet;

use crate::{
    buffers::Buffers,
    classes::{ClassHashing, ClassResolution, ClassTermination},
    clocks::{CLOCK, Clocks},
    cloud_calls::Removals,
    cloud_clusters,
    cluster::Cluster,
    consistency::Consistency,
    context::Context,
    controller::{Controller, Started, start},
    definitions::Definitions,
    disruption::{CommandQueue, Disruption, DisruptionLoop, pause::Pause},
    disruption_conditions::DisruptionConditions,
    events::{Recorder, Writer},
    eviction::{EvictionQueue, Evictions},
    expiration::Expiration,
    garbage::{GarbageCollection, UnconfirmedClaims},
    hydration::{ClaimHydration, NodeHydration},
    identity::{IDENTITY, Identity},
    inputs::{Inputs, TokenCollection, TokenSweep},
    lease::{Candidate, Leadership, LeaseName, Lost, Terms, Waiting},
    lifecycle::Lifecycle,
    measuring::Measuring,
    metrics::{self, Metrics, RegistrationError, Registry, gauge_set::Series},
    node_ids::NodeIds,
    notes,
    observability::{self, ClusterFigures},
    overlays::Overlays,
    pod_events::{LastPodEvents, PodEvents},
    pools::{PoolCounter, PoolHash, PoolReadiness, PoolValidation},
    probes::{Liveness, NotReady, Readiness},
    provisioning::Provisioner,
    random::Random,
    registration_health::{PoolRegistrationHealth, RegistrationHealth},
    repair::NodeRepair,
    rounds::{self, Rounds},
    settings::{
        Settings,
        published::{self, Published},
    },
    settlement::Settlement,
    static_pools::{Reservations, StaticDeprovisioning, StaticProvisioning},
    stop::{Stop, Stopper},
    termination::NodeTermination,
    updates::ClaimUpdate,
    world::{Cache, FeedState, Feeds, Wanted, feed_all},
};

/// How long what is under way may take to end when the engine is told to stop.
const GRACE: Duration = Duration::from_secs(10);
/// How long clouds may take to end what they have open there.
const CLOSE_WITHIN: Duration = Duration::from_secs(5);
/// The part of readiness that is about knowing the cluster.
pub const CACHES: &str = "caches";
/// The part that is about the definitions of our kinds.
pub const DEFINITIONS: &str = "definitions";
/// The part that is about the leases that have to be held. Who waits for another is ready.
pub const LEASES: &str = "leases";
/// The part that is about being allowed to act.
pub const PERMISSIONS: &str = "permissions";
/// Every part of an engine's readiness.
pub const PARTS: [&str; 6] = [CACHES, CLOCK, DEFINITIONS, IDENTITY, LEASES, PERMISSIONS];

/// What an engine is made of.
pub struct Setup {
    /// The cluster.
    pub client: kube::Client,
    /// The same, for leases alone: a flood of other calls must not delay a renewal.
    pub lease_client: kube::Client,
    /// The time.
    pub clock: Clock,
    /// The clouds.
    pub providers: Providers,
    /// The definitions of our kinds, those of the clouds' classes included. The cluster has to have
    /// those that are wanted.
    pub definitions: Vec<CustomResourceDefinition>,
    /// What the user chose.
    pub settings: Settings,
    /// The page for its metrics.
    pub registry: Registry,
    /// What the cluster is called on that page, where there are several.
    pub cluster: Option<String>,
    /// What this process is called in leases.
    pub identity: String,
    /// The namespace that this process is in: that of leases, where the settings name none, and of
    /// what classes refer to.
    pub namespace: String,
    /// Chance.
    pub random: Random,
    /// Where it says whether it is ready.
    pub readiness: Arc<Readiness>,
    /// Where it says what it calculates.
    pub liveness: Liveness,
}

impl std::fmt::Debug for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup").field("identity", &self.identity).finish_non_exhaustive()
    }
}

/// Why an engine ended although nobody told it to.
#[derive(Debug, thiserror::Error)]
pub enum Ended {
    /// It may no longer act.
    #[error("{0}: another controller may act now, so this one ends")]
    LeaseLost(#[from] Lost),
    /// A part of it has ended, which none should.
    #[error("the part {0} of the engine has ended, which is a bug: the process ends to start anew")]
    Part(String),
}

/// What cares for one cluster.
#[derive(Debug)]
pub struct Engine {
    context: Context,
    controllers: Vec<Started>,
    provisioner: Provisioner,
    writer: Writer,
    candidate: Option<Candidate>,
    registry: Registry,
    readiness: Arc<Readiness>,
    definitions: Vec<CustomResourceDefinition>,
}

impl Engine {
    /// Puts an engine together. Nothing happens before it is run.
    pub fn new(setup: Setup) -> Result<Self, RegistrationError> {
        let Setup { client, clock, providers, settings, .. } = setup;
        let cache = Cache::comparing(providers.ids());
        let (events, writer) = Recorder::new(clock.clone(), client.clone());
        let clocks = Clocks::new(clock.clone());
        let client = clocks.heard_by(client);
        let shown = shown(&providers, setup.cluster);
        let own = setup.namespace;
        let namespace = settings.leader_election.namespace.as_ref().unwrap_or(&own).clone();
        let candidate = (!settings.leader_election.disabled).then(|| Candidate {
            // Leases are renewed all the time, so that the API server's clock is never long unheard.
            client: clocks.heard_by(setup.lease_client),
            clock: clock.clone(),
            annotations: annotations(&setup.identity, &settings),
            identity: setup.identity,
            terms: Terms::default(),
            leases: leases(&settings, &providers, &namespace),
        });
        let context = Context {
            cluster: Cluster::new(client, clock.clone(), cache.clone()),
            metrics: Arc::new(Metrics::register(&setup.registry, &shown, &clock)?),
            providers: Arc::new(providers),
            settings: Arc::new(settings),
            feeds: Feeds::default(),
            random: Arc::new(setup.random),
            removals: Removals::default(),
            identity: Identity::default(),
            inputs: Inputs::default(),
            namespace: own,
            liveness: setup.liveness,
            clock,
            cache,
            clocks,
            events,
        };
        let mut controllers = Vec::new();
        let health = RegistrationHealth::default();
        let mut add = Adding { context: &context, to: &mut controllers };
        add.controller(ClaimHydration);
        add.controller(NodeHydration);
        add.controller(Measuring);
        add.controller(|context| Lifecycle::new(context, health.clone()));
        add.controller(NodeIds);
        add.controller(ClaimUpdate);
        add.controller(Settlement);
        let pause = Pause::by(&namespace);
        add.controller(|context| Expiration::new(context, pause.clone()));
        add.controller(Consistency::new);
        let last_pod_events = LastPodEvents::default();
        add.controller(|context| PodEvents::new(context, last_pod_events.clone()));
        add.controller(|context| DisruptionConditions::new(context, last_pod_events));
        if repairs(&context) {
            add.controller(|context| NodeRepair::new(context, pause.clone()));
        }
        add.controller(|context| PoolRegistrationHealth::new(context, health.clone()));
        add.controller(PoolReadiness);
        add.controller(PoolValidation);
        add.controller(PoolHash);
        add.controller(ClassResolution::new);
        add.controller(ClassHashing);
        add.controller(ClassTermination);
        add.controller(TokenCollection);
        let gates = context.settings.planner.gates;
        let reservations = Reservations::default();
        let shared = reservations.clone();
        add.controller(|context| StaticProvisioning::new(context, shared));
        if gates.static_capacity {
            add.controller(StaticDeprovisioning);
        }
        if gates.node_overlay {
            add.controller(Overlays);
        }
        add.rounds(PoolCounter);
        add.rounds(GarbageCollection::new);
        add.rounds(UnconfirmedClaims::new);
        add.rounds(TokenSweep);
        let evictions = Evictions::new(&context.clock);
        add.controller(|context| EvictionQueue::new(context, evictions.clone()));
        add.controller(|context| NodeTermination::new(context, evictions));
        let disruption = Disruption::new(&context.clock, pause, reservations);
        add.controller(|context| CommandQueue::new(context, disruption.clone()));
        add.controller(|context| DisruptionLoop::new(context, disruption));
        let provisioner = Provisioner::new(context.clone());
        if gates.capacity_buffer {
            let plans = Arc::clone(provisioner.triggers());
            add.controller(|context| Buffers::new(context, plans));
        }
        let Setup { registry, readiness, definitions, .. } = setup;
        Ok(Self {
            context,
            controllers,
            provisioner,
            writer,
            candidate,
            registry,
            readiness,
            definitions,
        })
    }

    /// Works until it is told to stop, or may no longer act.
    pub async fn run(self, stop: Stop) -> Result<(), Ended> {
        let Self {
            context,
            controllers,
            provisioner,
            writer,
            candidate,
            registry,
            readiness,
            definitions,
        } = self;
        let mut tasks = Tasks::default();
        tasks.spawn("events", writer.run());
        tasks.watch_readiness(&context, &readiness, definitions);
        let warm_up = !context.settings.disable_controller_warmup;
        if warm_up {
            tasks.feed(&context);
        }
        let leadership = match candidate {
            None => None,
            Some(candidate) => tokio::select! {
                biased;
                () = stop.asked() => return Ok(()),
                held = Leadership::acquire(candidate, |waiting| tell(waiting, &readiness)) => {
                    Some(held)
                }
            },
        };
        readiness.ready(LEASES);
        if leadership.is_some() {
            let lease = &context.settings.leader_election.name;
            context.metrics.leader_election_master_status(lease).set(1.0);
        }
        if !warm_up {
            tasks.feed(&context);
        }
        let lost = async {
            match &leadership {
                Some(leadership) => leadership.lost().await,
                None => std::future::pending().await,
            }
        };
        let (stopper, working) = Stopper::new();
        let ended = {
            let work = async {
                context.feeds.when_synced().await;
                let cluster_uid = context.identity.known().await;
                cloud_clusters::begin(&context, &cluster_uid);
                // Who waits for a lease shows nothing: it would be there twice.
                observability::count_changes(&context);
                tasks.listen_to_clouds(&context);
                registry.show(ClusterFigures::new(context.clone()));
                for started in controllers {
                    tasks.spawn(started.name, started.run(working.clone()));
                }
                tasks.spawn("provisioner", provisioner.run(working.clone()));
                tasks.ended().await
            };
            tokio::select! {
                biased;
                lost = lost => Err(lost.into()),
                () = stop.asked() => Ok(()),
                part = work => Err(Ended::Part(part)),
            }
        };
        if ended.is_ok() {
            stopper.stop();
            context.events.close();
            // What cannot end in time is dropped where it is; it can be started again from there.
            let over = tasks.all_ended();
            let grace = context.clock.instant_after(GRACE);
            if tokio::time::timeout_at(grace, over).await.is_err() {
                tracing::warn!("not everything under way has ended in time");
            }
            drop(tasks);
            if let Some(leadership) = leadership {
                leadership.release().await;
            }
        } else {
            drop(tasks);
        }
        close(&context).await;
        ended
    }
}

/// Ends what is open in clouds. What cannot be ended in time ends there by itself.
async fn close(context: &Context) {
    let closing = context.providers.all().iter().map(|provider| provider.close());
    let deadline = context.clock.instant_after(CLOSE_WITHIN);
    let all = futures_util::future::join_all(closing);
    if tokio::time::timeout_at(deadline, all).await.is_err() {
        tracing::warn!("what is open in a cloud could not be ended in time; it ends by itself");
    }
}

struct Adding<'e> {
    context: &'e Context,
    to: &'e mut Vec<Started>,
}

impl Adding<'_> {
    fn controller<C: Controller>(&mut self, new: impl FnOnce(Context) -> C) {
        let controller = new(self.context.clone());
        self.to.push(start(controller, self.context));
    }

    fn rounds<R: Rounds>(&mut self, new: impl FnOnce(Context) -> R) {
        let rounds = new(self.context.clone());
        self.to.push(rounds::start(rounds, self.context));
    }
}

/// The parts of an engine that run beside each other. None of them should end by itself.
#[derive(Debug, Default)]
struct Tasks {
    running: JoinSet<&'static str>,
    /// Those that run until they are dropped, whatever they are told.
    endless: JoinSet<&'static str>,
}

impl Tasks {
    fn spawn(&mut self, name: &'static str, part: impl Future<Output = ()> + Send + 'static) {
        self.running.spawn(async move {
            part.await;
            name
        });
    }

    /// Starts to learn what there is in the cluster.
    fn feed(&mut self, context: &Context) {
        let Context { cluster, cache, clock, feeds, .. } = context;
        for feed in feed_all(cluster.client(), cache, clock, feeds, &wanted(context)) {
            self.endless.spawn(async move { match feed.await {} });
        }
    }

    /// Keeps what is open in clouds, and tells what they have to say. Only who acts has something open
    /// there.
    fn listen_to_clouds(&mut self, context: &Context) {
        for provider in context.providers.all() {
            let kept = Arc::clone(provider);
            self.endless.spawn(async move {
                kept.keep_alive().await;
                "keep alive"
            });
            if let Some(notes) = provider.notes() {
                let telling = notes::tell(context.clone(), provider.name(), notes.clone());
                self.endless.spawn(async move {
                    telling.await;
                    "notes"
                });
            }
        }
    }

    /// Keeps what is said of readiness up to date.
    fn watch_readiness(
        &mut self,
        context: &Context,
        readiness: &Arc<Readiness>,
        definitions: Vec<CustomResourceDefinition>,
    ) {
        let (feeds, refusals) = (context.feeds.clone(), context.cluster.refusals().clone());
        let (told, metrics) = (Arc::clone(readiness), Arc::clone(&context.metrics));
        self.endless.spawn(async move {
            loop {
                let (mut learnt, mut refused) = (pin!(feeds.changed()), pin!(refusals.changed()));
                // What changes from here on is not missed.
                learnt.as_mut().enable();
                refused.as_mut().enable();
                let states = feeds.states();
                told.set(CACHES, not_ready(&states));
                told.note(states.values().flat_map(|state| state.unreadable.clone()).collect());
                metrics.unreadable_objects().replace_all(unreadable(&states));
                told.set(PERMISSIONS, refusals.missing());
                tokio::select! {
                    biased;
                    () = learnt => {}
                    () = refused => {}
                }
            }
        });
        let definitions =
            Definitions::new(&context.cluster, &context.clock, &wanted(context), definitions);
        let (clocks, told) = (context.clocks.clone(), Arc::clone(readiness));
        self.endless.spawn(async move {
            clocks.watch(&told).await;
            "clocks"
        });
        let (learning, told) = (context.clone(), Arc::clone(readiness));
        self.endless.spawn(async move {
            learning.identity.learn(&learning.cluster, &learning.clock, &told).await;
            std::future::pending().await
        });
        let told = Arc::clone(readiness);
        self.endless.spawn(async move {
            definitions.look_until_good(|missing| told.set(DEFINITIONS, missing)).await;
            std::future::pending().await
        });
    }

    /// Waits until a part has ended, and says which.
    async fn ended(&mut self) -> String {
        tokio::select! {
            biased;
            Some(ended) = self.running.join_next() => name_of(ended),
            Some(ended) = self.endless.join_next() => name_of(ended),
            else => std::future::pending().await,
        }
    }

    /// Waits until all parts have ended that can.
    async fn all_ended(&mut self) {
        while self.running.join_next().await.is_some() {}
    }
}

/// Whether nodes that stay unhealthy are replaced.
fn repairs(context: &Context) -> bool {
    let mut providers = context.providers.all().iter();
    context.settings.planner.gates.node_repair
        && providers.any(|provider| !provider.repair_policies().is_empty())
}

/// Which kinds are needed.
fn wanted(context: &Context) -> Wanted {
    let planner = &context.settings.planner;
    Wanted {
        classes: context.providers.kinds().copied().collect(),
        default_spread: !planner.index.scheduler_config.is_empty(),
        overlays: planner.gates.node_overlay,
        buffers: planner.gates.capacity_buffer,
    }
}

/// Says whom or what the engine waits for.
fn tell(waiting: &Waiting, readiness: &Readiness) {
    let missing = waiting.missing();
    if missing.is_some() {
        tracing::warn!("{waiting}");
    } else {
        tracing::info!("{waiting}");
    }
    readiness.set(LEASES, missing.into_iter().collect());
}

fn name_of(ended: Result<&'static str, tokio::task::JoinError>) -> String {
    match ended {
        Ok(name) => name.to_owned(),
        Err(error) => error.to_string(),
    }
}

/// What is missing to know the cluster.
fn not_ready(states: &BTreeMap<String, FeedState>) -> Vec<NotReady> {
    let missing = |(plural, state): (&String, &FeedState)| match &state.missing {
        Some(missing) => Some(missing.clone()),
        None => (!state.synced).then(|| NotReady::NotSynced { what: plural.clone() }),
    };
    states.iter().filter_map(missing).collect()
}

/// How many objects cannot be read, of every kind of which there are any.
fn unreadable(states: &BTreeMap<String, FeedState>) -> BTreeMap<String, Vec<Series>> {
    let some = states.iter().filter(|(_, state)| !state.unreadable.is_empty());
    let series = |(plural, state): (&String, &FeedState)| {
        (plural.clone(), vec![Series::new(&[plural], state.unreadable.len() as f64)])
    };
    some.map(series).collect()
}

/// Every lease that must be held: our own, and those of the controllers that ours take over from.
pub fn leases(settings: &Settings, providers: &Providers, namespace: &str) -> BTreeSet<LeaseName> {
    let election = &settings.leader_election;
    let lease =
        |namespace: &str, name: &str| LeaseName { namespace: namespace.into(), name: name.into() };
    let predecessors = providers.all().iter().filter_map(|provider| provider.predecessor_lease());
    let theirs = election.predecessor_namespace.as_deref().unwrap_or(namespace);
    let own = lease(namespace, &election.name);
    predecessors.map(|name| lease(theirs, name)).chain([own]).collect()
}

/// What leases say about who holds them.
fn annotations(identity: &str, settings: &Settings) -> BTreeMap<String, String> {
    let published = Published::by(identity, &settings.published);
    [(published::ANNOTATION.to_owned(), published.text())].into()
}

/// What the metrics page shows of a cluster with these clouds; its name where there are several.
pub fn shown(providers: &Providers, cluster: Option<String>) -> metrics::Engine {
    metrics::Engine {
        cluster,
        providers: providers.all().iter().map(|provider| provider.name()).collect(),
        node_labels: providers.well_known().iter().map(str::to_owned).collect(),
        conditions: shown_conditions(providers),
    }
}

/// Kinds whose conditions are shown on the metrics page, with the labels of their objects that are
/// shown.
fn shown_conditions(providers: &Providers) -> BTreeMap<&'static str, Vec<String>> {
    let classes: Vec<String> =
        providers.class_kinds().map(|class| class_label(class.group, class.kind)).collect();
    let of_claims: Vec<String> = [label::NODE_POOL.to_owned()].into_iter().chain(classes).collect();
    let mut of_nodes = of_claims.clone();
    of_nodes.push(label::INITIALIZED.to_owned());
    let own = [
        ("NodeClaim", of_claims),
        ("Node", of_nodes),
        ("NodePool", Vec::new()),
        ("CapacityBuffer", Vec::new()),
    ];
    let of_clouds = providers.kinds().map(|class| (class.kind, Vec::new()));
    own.into_iter().chain(of_clouds).collect()
}

#[cfg(test)]
mod tests {
    use joiner_cloud::testing::TestCloud;
    use joiner_settings::Values;

    use super::*;

    #[test]
    fn the_lease_of_a_predecessor_may_be_in_another_namespace_than_ours() {
        let cloud = TestCloud::new();
        cloud.state().predecessor_lease = Some("karpenter-leader-election");
        let providers = Providers::new(vec![Arc::new(cloud)], Vec::new());
        let mut settings = Settings::read(&Values::default()).unwrap().settings;
        let held = |settings: &Settings| {
            let leases = leases(settings, &providers, "joiner");
            leases.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(held(&settings), "joiner/karpenter-leader-election");
        settings.leader_election.predecessor_namespace = Some("karpenter".to_owned());
        let both = "joiner/karpenter-leader-election karpenter/karpenter-leader-election";
        assert_eq!(held(&settings), both);
    }
}
