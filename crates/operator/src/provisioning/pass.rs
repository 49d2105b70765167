//! One planning pass: a pure function of the cluster's objects, the instance types and the time.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::{SignedDuration, Timestamp};
use joiner_api::{
    condition, node_claim::NodeClaim, node_class_reference::NodeClassReference, node_pool::NodePool,
};
use joiner_cloud::{Providers, class::ClassKind, types::TypeSource};
use joiner_core::{instance_type::Catalog, pool::Readiness, snapshot::Snapshot};
use joiner_plan::{
    Planned,
    overlay::{self, Evaluated, Verdict},
    provision,
};
use k8s_openapi::api::core::v1::Pod;

use crate::{
    catalog::{self, class_of},
    conditions::READY,
    index::{self, Indexed},
    objects::Objects,
    settings::PlannerSettings,
    world::World,
};

/// A pod that ends within this time frees its room before an instance could join. The value was
/// chosen and not measured separately.
const ENDS_WITHIN: SignedDuration = SignedDuration::from_secs(60);
/// How long a pod may exist after its containers must have ended. A pod that stays longer hangs, so
/// its room does not count as free. The value was chosen and not measured separately.
const GONE_WITHIN: SignedDuration = SignedDuration::from_secs(10);

/// A plan and its input.
#[derive(Debug)]
pub struct Pass {
    /// The cluster as the planner sees it.
    pub snapshot: Snapshot,
    /// The plan, with its reasons.
    pub planned: Planned,
    /// Notes about fields that were read in another way than their author may expect.
    pub notes: Vec<String>,
}

/// The planner's input from a cluster.
#[derive(Debug)]
pub struct Input {
    objects: Objects,
    catalog: Catalog,
    /// Pools that cannot be used, each with the reason.
    closed: BTreeMap<String, String>,
    /// Whether the instance types of every pool are known.
    knows_all_types: bool,
}

impl Input {
    /// Collects the objects to plan with. Pools and claims of other programs are left out; their
    /// nodes stay, like all foreign nodes.
    pub fn gather(world: &World, providers: &Providers) -> Self {
        let mut objects = world.objects();
        let served = |class: Option<&NodeClassReference>| {
            class.is_some_and(|class| providers.serving(&class.group, &class.kind).is_some())
        };
        objects.node_pools.retain(|pool| served(class_of(pool)));
        objects
            .node_claims
            .retain(|claim: &Arc<NodeClaim>| served(claim.spec.node_class_ref.as_ref()));
        let mut closed = BTreeMap::new();
        let catalog = catalog(world, providers, &objects.node_pools, &mut closed);
        let knows_all_types = closed.is_empty();
        for pool in &objects.node_pools {
            if let Some(why) = not_ready(pool) {
                closed.entry(name(pool)).or_insert(why);
            }
        }
        Self { objects, catalog, closed, knows_all_types }
    }

    /// Whether the instance types of every pool are known.
    pub fn knows_all_types(&self) -> bool {
        self.knows_all_types
    }

    /// The verdict on each overlay, by name.
    pub fn overlay_verdicts(&self) -> BTreeMap<String, Verdict> {
        evaluated(&self.objects, &self.catalog).verdicts
    }

    /// The objects to plan with.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Counts exactly these claims as leaving, besides the claims whose objects say so.
    pub fn set_leaving(&mut self, claims: BTreeSet<String>) {
        self.objects.leaving = claims;
    }

    /// The cluster as the planner sees it.
    pub fn index(&self, settings: &PlannerSettings, now: Timestamp) -> Indexed {
        let Self { objects, catalog, closed, .. } = self;
        let catalog = if settings.gates.node_overlay {
            evaluated(objects, catalog).catalog
        } else {
            catalog.clone()
        };
        let mut indexed = index::snapshot(objects, catalog, &settings.index, now);
        for pool in &mut indexed.snapshot.pools {
            if let Some(why) = closed.get(&pool.name)
                && pool.readiness == Readiness::Ready
            {
                pool.readiness = Readiness::NotReady(why.clone());
            }
        }
        indexed
    }

    /// Plans. Pods that are about to end count as gone: a pending pod takes their place before an
    /// instance could join.
    ///
    /// COMPAT: upstream creates an instance for each pod that restarts in a full cluster, and
    /// removes it once it is empty.
    pub fn plan(self, settings: &PlannerSettings, now: Timestamp) -> Pass {
        let Indexed { mut snapshot, notes } = self.index(settings, now);
        let ending = ending(&self.objects.pods, now);
        for node in snapshot.nodes.iter_mut().filter(|_| !ending.is_empty()) {
            node.pods.retain(|pod| !ending.contains(&(&*pod.namespace, &*pod.name)));
        }
        let planned = provision(&snapshot, &settings.plan);
        Pass { snapshot, planned, notes }
    }
}

/// Namespaces and names of pods that are about to end.
fn ending(pods: &[Arc<Pod>], now: Timestamp) -> BTreeSet<(&str, &str)> {
    let is_ending = |pod: &&Arc<Pod>| {
        // The time by which the containers have ended, with or without force.
        let ends = pod.metadata.deletion_timestamp.as_ref();
        ends.is_some_and(|ends| (-GONE_WITHIN..=ENDS_WITHIN).contains(&ends.0.duration_since(now)))
    };
    let ending = pods.iter().filter(is_ending).map(|pod| {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        (namespace, pod.metadata.name.as_deref().unwrap_or_default())
    });
    ending.collect()
}

/// The instance types after overlays.
fn evaluated(objects: &Objects, catalog: &Catalog) -> Evaluated {
    let pools = index::pools::node_pools(objects, &catalog.well_known);
    overlay::evaluate(&index::overlays(&objects.node_overlays), &pools, catalog)
}

fn name(pool: &NodePool) -> String {
    pool.metadata.name.clone().unwrap_or_default()
}

/// Why a pool is not ready. In a live cluster a pool without conditions is not ready.
fn not_ready(pool: &NodePool) -> Option<String> {
    let conditions = pool.status.as_ref().map_or(&[][..], |status| &status.conditions);
    match condition::find(conditions, READY) {
        Some(ready) if ready.is_true() => None,
        Some(ready) => {
            let why = index::pools::not_ready(conditions);
            Some(why.unwrap_or_else(|| format!("{}: {}", ready.reason, ready.message)))
        }
        None => Some("nobody has looked at it yet".to_owned()),
    }
}

/// The instance types of all pools after overlays; none without overlays.
pub(crate) fn corrected(world: &World, providers: &Providers) -> Option<Catalog> {
    let overlays = index::overlays(world.node_overlays.values());
    if overlays.is_empty() {
        return None;
    }
    let pools: Vec<Arc<NodePool>> = world.node_pools.values().cloned().collect();
    let catalog = catalog(world, providers, &pools, &mut BTreeMap::new());
    let pools: Vec<_> = pools.iter().map(|pool| index::pools::node_pool(pool)).collect();
    Some(overlay::evaluate(&overlays, &pools, &catalog).catalog)
}

/// The instance types of the pools. A pool whose types are unknown is closed.
fn catalog(
    world: &World,
    providers: &Providers,
    pools: &[Arc<NodePool>],
    closed: &mut BTreeMap<String, String>,
) -> Catalog {
    let sources: Vec<&dyn TypeSource> =
        providers.all().iter().map(|provider| provider as &dyn TypeSource).collect();
    let class = |kind: &ClassKind, name: &str| world.class(kind.group, kind.kind, name);
    let found = catalog::pool_types(&sources, pools, class);
    closed.extend(found.closed.into_iter().map(|(pool, why)| (pool, why.to_string())));
    found.catalog
}
