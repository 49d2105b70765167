//! The engine: all controllers of one cluster.
//!
//! An engine waits for its leases and permissions, fills its cache, and then runs its controllers.
//! It ends when it is told to stop or loses a lease. It leaves no tasks or state behind, so one
//! process can run several engines, one per cluster.

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

/// How long running tasks may take to end after the engine is told to stop. The value was chosen
/// and not measured separately.
const GRACE: Duration = Duration::from_secs(10);
/// How long clouds may take to close their sessions. The value was chosen and not measured
/// separately.
const CLOSE_WITHIN: Duration = Duration::from_secs(5);
/// The readiness part for the caches: every watched kind is listed.
pub const CACHES: &str = "caches";
/// The readiness part for the definitions (CRDs) of the kinds that Joiner uses.
pub const DEFINITIONS: &str = "definitions";
/// The readiness part for the leases. A replica that waits for another replica's lease is ready.
pub const LEASES: &str = "leases";
/// The readiness part for the permissions (RBAC).
pub const PERMISSIONS: &str = "permissions";
/// Every part of an engine's readiness.
pub const PARTS: [&str; 6] = [CACHES, CLOCK, DEFINITIONS, IDENTITY, LEASES, PERMISSIONS];

/// The inputs of an engine.
pub struct Setup {
    /// The client of the cluster.
    pub client: kube::Client,
    /// A client of the same cluster for leases only: other calls must not delay a renewal.
    pub lease_client: kube::Client,
    /// The clock.
    pub clock: Clock,
    /// The enabled clouds.
    pub providers: Providers,
    /// The CRDs that Joiner ships, those of the clouds' classes included. The cluster must serve
    /// those that are needed.
    pub definitions: Vec<CustomResourceDefinition>,
    /// The settings.
    pub settings: Settings,
    /// The metrics registry that the engine registers in.
    pub registry: Registry,
    /// The cluster's label in metrics, where the process serves several clusters.
    pub cluster: Option<String>,
    /// The holder identity of this process in leases.
    pub identity: String,
    /// The namespace of this process. Leases live there unless the settings name another one, and
    /// classes refer to objects in it.
    pub namespace: String,
    /// The source of random numbers.
    pub random: Random,
    /// Where the engine reports readiness.
    pub readiness: Arc<Readiness>,
    /// Where the engine reports the calculations that it runs.
    pub liveness: Liveness,
}

impl std::fmt::Debug for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup").field("identity", &self.identity).finish_non_exhaustive()
    }
}

/// Why an engine ended without being told to stop.
#[derive(Debug, thiserror::Error)]
pub enum Ended {
    /// Another process may hold the lease.
    #[error("{0}: another controller may act now, so this one ends")]
    LeaseLost(#[from] Lost),
    /// A task ended that runs for as long as the engine.
    #[error("the part {0} of the engine has ended, which is a bug: the process ends to start anew")]
    Part(String),
}

/// The engine of one cluster.
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
    /// Builds an engine. It does nothing until [`Engine::run`].
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
            // Leases are renewed regularly, so the API server's clock is compared regularly too.
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

    /// Runs until `stop` or until a lease is lost.
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
                // A replica that waits for a lease shows no metrics: two replicas would count each
                // object twice.
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
            // Tasks that exceed the grace period are dropped. The next process continues from the
            // objects.
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

/// Closes the clouds' sessions. Sessions that stay open expire in the cloud.
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

/// The tasks of an engine. They run at the same time, and each runs for as long as the engine.
#[derive(Debug, Default)]
struct Tasks {
    running: JoinSet<&'static str>,
    /// Tasks that ignore the stop and run until they are dropped.
    endless: JoinSet<&'static str>,
}

impl Tasks {
    fn spawn(&mut self, name: &'static str, part: impl Future<Output = ()> + Send + 'static) {
        self.running.spawn(async move {
            part.await;
            name
        });
    }

    /// Starts the watches that fill the cache.
    fn feed(&mut self, context: &Context) {
        let Context { cluster, cache, clock, feeds, .. } = context;
        for feed in feed_all(cluster.client(), cache, clock, feeds, &wanted(context)) {
            self.endless.spawn(async move { match feed.await {} });
        }
    }

    /// Keeps the clouds' sessions open and forwards their notes. Only the process that holds the
    /// leases does this.
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

    /// Keeps the reported readiness up to date.
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
                // Subscribed before the first read, so that every later change is seen.
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

    /// Waits until a task ends, and returns its name.
    async fn ended(&mut self) -> String {
        tokio::select! {
            biased;
            Some(ended) = self.running.join_next() => name_of(ended),
            Some(ended) = self.endless.join_next() => name_of(ended),
            else => std::future::pending().await,
        }
    }

    /// Waits until all tasks that can end have ended.
    async fn all_ended(&mut self) {
        while self.running.join_next().await.is_some() {}
    }
}

/// Whether node repair is enabled.
fn repairs(context: &Context) -> bool {
    let mut providers = context.providers.all().iter();
    context.settings.planner.gates.node_repair
        && providers.any(|provider| !provider.repair_policies().is_empty())
}

/// The kinds that the engine needs.
fn wanted(context: &Context) -> Wanted {
    let planner = &context.settings.planner;
    Wanted {
        classes: context.providers.kinds().copied().collect(),
        default_spread: !planner.index.scheduler_config.is_empty(),
        overlays: planner.gates.node_overlay,
        buffers: planner.gates.capacity_buffer,
    }
}

/// Reports the lease or permission that the engine waits for.
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

/// The kinds that are not listed yet, with the reason.
fn not_ready(states: &BTreeMap<String, FeedState>) -> Vec<NotReady> {
    let missing = |(plural, state): (&String, &FeedState)| match &state.missing {
        Some(missing) => Some(missing.clone()),
        None => (!state.synced).then(|| NotReady::NotSynced { what: plural.clone() }),
    };
    states.iter().filter_map(missing).collect()
}

/// The number of unreadable objects of each kind that has some.
fn unreadable(states: &BTreeMap<String, FeedState>) -> BTreeMap<String, Vec<Series>> {
    let some = states.iter().filter(|(_, state)| !state.unreadable.is_empty());
    let series = |(plural, state): (&String, &FeedState)| {
        (plural.clone(), vec![Series::new(&[plural], state.unreadable.len() as f64)])
    };
    some.map(series).collect()
}

/// Every lease to hold: Joiner's own and those of its predecessors.
pub fn leases(settings: &Settings, providers: &Providers, namespace: &str) -> BTreeSet<LeaseName> {
    let election = &settings.leader_election;
    let lease =
        |namespace: &str, name: &str| LeaseName { namespace: namespace.into(), name: name.into() };
    let predecessors = providers.all().iter().filter_map(|provider| provider.predecessor_lease());
    let theirs = election.predecessor_namespace.as_deref().unwrap_or(namespace);
    let own = lease(namespace, &election.name);
    predecessors.map(|name| lease(theirs, name)).chain([own]).collect()
}

/// The annotations of the leases: the settings that their holder publishes.
fn annotations(identity: &str, settings: &Settings) -> BTreeMap<String, String> {
    let published = Published::by(identity, &settings.published);
    [(published::ANNOTATION.to_owned(), published.text())].into()
}

/// The labels of the metrics: these clouds, and the cluster's name where there are several.
pub fn shown(providers: &Providers, cluster: Option<String>) -> metrics::Engine {
    metrics::Engine {
        cluster,
        providers: providers.all().iter().map(|provider| provider.name()).collect(),
        node_labels: providers.well_known().iter().map(str::to_owned).collect(),
        conditions: shown_conditions(providers),
    }
}

/// The kinds whose conditions appear in metrics, with the object labels that appear with them.
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
