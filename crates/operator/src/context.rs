//! What every controller of a cluster shares.

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

/// What every controller of a cluster shares. There is no other state in the process: several
/// clusters have one each.
#[derive(Debug, Clone)]
pub struct Context {
    /// The time.
    pub clock: Clock,
    /// Whether its wall clock can be believed.
    pub clocks: Clocks,
    /// What is known of the cluster.
    pub cache: Cache,
    /// The cluster, to be written to.
    pub cluster: Cluster,
    /// The clouds.
    pub providers: Arc<Providers>,
    /// How well each kind is known.
    pub feeds: Feeds,
    /// Chance.
    pub random: Arc<Random>,
    /// What people read in `kubectl describe`.
    pub events: Recorder,
    /// What is calculated, for the kubelet.
    pub liveness: Liveness,
    /// What dashboards read.
    pub metrics: Arc<Metrics>,
    /// What the user chose.
    pub settings: Arc<Settings>,
    /// When clouds may be asked again to remove an instance.
    pub removals: Removals,
    /// Which cluster this is.
    pub identity: Identity,
    /// What was fetched for providers.
    pub inputs: Inputs,
    /// The namespace that this process is in.
    pub namespace: String,
}

impl Context {
    /// What time it is.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Whether all objects of a kind can be read. Who is about to remove something because objects of
    /// a kind are not there has to know: one that cannot be read is there.
    pub fn sure_of<T: Kept>(&self) -> Result<(), Trouble> {
        self.cache.read(|world| match T::table(world).unreadable().next() {
            Some(why) => Err(Trouble::Object(why.to_owned())),
            None => Ok(()),
        })
    }

    /// The cloud that a reference to a class leads to, if it is one of ours.
    pub fn provider(&self, class: Option<&NodeClassReference>) -> Option<&Arc<dyn CloudProvider>> {
        let class = class?;
        self.providers.serving(&class.group, &class.kind)
    }

    /// The cloud that a claim's instance is in, if the claim is ours to care for.
    pub fn provider_of(&self, claim: &NodeClaim) -> Option<&Arc<dyn CloudProvider>> {
        self.provider(claim.spec.node_class_ref.as_ref())
    }

    /// The pool that a claim says it belongs to, if it is there.
    pub fn pool_of(&self, claim: &NodeClaim) -> Option<Arc<NodePool>> {
        let pool = claims::pool(claim)?;
        self.cache.read(|world| world.node_pools.named(pool).cloned())
    }

    /// The types of all pools as overlays correct them; none where there is nothing to correct.
    pub fn corrected_types(&self) -> Option<Catalog> {
        let serves_overlays = self.settings.planner.gates.node_overlay;
        serves_overlays.then(|| self.cache.read(|world| corrected(world, &self.providers)))?
    }

    /// The class that a claim names, if it is there.
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

    /// Whether a pool is ours to care for.
    pub fn serves(&self, pool: &NodePool) -> bool {
        self.provider(pool.spec.template.spec.node_class_ref.as_ref()).is_some()
    }

    /// Whether a node is ours to care for: it carries the label of a class that is served.
    pub fn manages(&self, node: &Node) -> bool {
        self.provider_of_node(node).is_some()
    }

    /// The cloud that a node's instance is in, if the node is ours to care for.
    pub fn provider_of_node(&self, node: &Node) -> Option<&Arc<dyn CloudProvider>> {
        let labels = node.metadata.labels.as_ref()?;
        let mut classes = self.providers.class_kinds();
        let class = classes.find(|class| labels.contains_key(&class.label()))?;
        self.providers.serving(class.group, class.kind)
    }
}
