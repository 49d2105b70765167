//! The shared state of a cluster's controllers.

use std::sync::Arc;

use jiff::Timestamp;
use joiner_api::{
    node_claim::NodeClaim, node_class_reference::NodeClassReference, node_pool::NodePool,
};
use joiner_clock::Clock;
use joiner_cloud::{CloudProvider, Providers, class::NodeClass};
use joiner_core::instance_type::Catalog;
use k8s_openapi::api::core::v1::Node;

use crate::{
    claims,
    clocks::Clocks,
    cloud_calls::Removals,
    cluster::Cluster,
    events::Recorder,
    identity::Identity,
    inputs::Inputs,
    metrics::Metrics,
    probes::Liveness,
    provisioning::pass::corrected,
    random::Random,
    settings::Settings,
    trouble::Trouble,
    world::{Cache, Feeds, Kept},
};

/// The shared state of a cluster's controllers. The process has no other state: each cluster has
/// one context.
#[derive(Debug, Clone)]
pub struct Context {
    /// The clock.
    pub clock: Clock,
    /// Whether the wall clock agrees with the API server's clock.
    pub clocks: Clocks,
    /// The cache of the cluster's objects.
    pub cache: Cache,
    /// The client for writes to the cluster.
    pub cluster: Cluster,
    /// The enabled clouds.
    pub providers: Arc<Providers>,
    /// The state of each watch.
    pub feeds: Feeds,
    /// The source of random numbers.
    pub random: Arc<Random>,
    /// The recorder of Kubernetes events.
    pub events: Recorder,
    /// The running calculations, for the liveness probe.
    pub liveness: Liveness,
    /// The metrics.
    pub metrics: Arc<Metrics>,
    /// The settings.
    pub settings: Arc<Settings>,
    /// When each cloud may be asked again to remove an instance.
    pub removals: Removals,
    /// The identity of this cluster.
    pub identity: Identity,
    /// Secrets, objects and tokens that were fetched for providers.
    pub inputs: Inputs,
    /// The namespace of this process.
    pub namespace: String,
}

impl Context {
    /// The current wall-clock time.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Whether every object of a kind can be read. A controller checks this before it removes
    /// something because an object is absent: an unreadable object exists.
    pub fn sure_of<T: Kept>(&self) -> Result<(), Trouble> {
        self.cache.read(|world| match T::table(world).unreadable().next() {
            Some(why) => Err(Trouble::Object(why.to_owned())),
            None => Ok(()),
        })
    }

    /// The cloud that serves a class reference; none if the class is foreign.
    pub fn provider(&self, class: Option<&NodeClassReference>) -> Option<&Arc<dyn CloudProvider>> {
        let class = class?;
        self.providers.serving(&class.group, &class.kind)
    }

    /// The cloud of a claim's instance; none if the claim is foreign.
    pub fn provider_of(&self, claim: &NodeClaim) -> Option<&Arc<dyn CloudProvider>> {
        self.provider(claim.spec.node_class_ref.as_ref())
    }

    /// The pool that a claim names, if the pool exists.
    pub fn pool_of(&self, claim: &NodeClaim) -> Option<Arc<NodePool>> {
        let pool = claims::pool(claim)?;
        self.cache.read(|world| world.node_pools.named(pool).cloned())
    }

    /// The instance types of all pools, corrected by overlays; none without corrections.
    pub fn corrected_types(&self) -> Option<Catalog> {
        let serves_overlays = self.settings.planner.gates.node_overlay;
        serves_overlays.then(|| self.cache.read(|world| corrected(world, &self.providers)))?
    }

    /// The class that a claim names, if the class exists.
    pub fn class_of(&self, claim: &NodeClaim) -> Option<Arc<NodeClass>> {
        let reference = claim.spec.node_class_ref.as_ref()?;
        self.cache
            .read(|world| world.class(&reference.group, &reference.kind, &reference.name).cloned())
    }

    /// The classes of a cloud.
    pub(crate) fn classes_of(&self, provider: &str) -> Vec<Arc<NodeClass>> {
        let is_own = |class: &NodeClass| {
            let serving = self.providers.serving(&class.group, &class.kind);
            serving.is_some_and(|own| own.name() == provider)
        };
        self.cache.read(|world| {
            world.node_classes.values().filter(|class| is_own(class)).cloned().collect()
        })
    }

    /// Whether Joiner serves a pool: its class belongs to an enabled cloud.
    pub fn serves(&self, pool: &NodePool) -> bool {
        self.provider(pool.spec.template.spec.node_class_ref.as_ref()).is_some()
    }

    /// Whether Joiner manages a node: it carries the label of a served class.
    pub fn manages(&self, node: &Node) -> bool {
        self.provider_of_node(node).is_some()
    }

    /// The cloud of a node's instance; none if the node is foreign.
    pub fn provider_of_node(&self, node: &Node) -> Option<&Arc<dyn CloudProvider>> {
        let labels = node.metadata.labels.as_ref()?;
        let mut classes = self.providers.class_kinds();
        let class = classes.find(|class| labels.contains_key(&class.label()))?;
        self.providers.serving(class.group, class.kind)
    }
}
