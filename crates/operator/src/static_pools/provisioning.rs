//! Makes the claims that a static pool lacks.

use std::{sync::Arc, time::Duration};

use futures_util::{FutureExt, StreamExt, stream};
use joiner_api::node_pool::NodePool;
use joiner_plan::static_claim;

use super::{Reservations, Reserved, Standings, drift, nodes_max, replicas, touched};
use crate::{
    claim_creation::ClaimCreation,
    claims::{is_deleting, name},
    conditions::{Conditioned, READY},
    context::Context,
    controller::{Controller, Next},
    events::{Event, Subject},
    index::pools::node_pool,
    provisioning::claim,
    trouble::Trouble,
    world::{Change, Key, World},
};

/// How often an unchanged pool is examined. The value is Karpenter's.
const AGAIN: Duration = Duration::from_mins(1);
/// The same for a pool at its limit. The value is Karpenter's.
const AGAIN_AT_LIMIT: Duration = Duration::from_secs(30);
/// How many claims are created at the same time.
const AT_ONCE: usize = 20;

/// Makes claims until a static pool has as many as it is to have.
///
/// Without the feature gate it only says so on pools that would have them.
#[derive(Debug)]
pub struct StaticProvisioning {
    context: Context,
    creation: ClaimCreation,
    reservations: Reservations,
}

impl StaticProvisioning {
    /// Creates claims within the limits of their pools; all creators share the reservations.
    pub fn new(context: Context, reservations: Reservations) -> Self {
        let creation = ClaimCreation::new(context.clone());
        Self { context, creation, reservations }
    }

    /// A pool that claims can be made of now.
    fn usable(&self, key: &Key) -> Option<Arc<NodePool>> {
        let pool = self.context.cache.read(|world| world.node_pools.get(key).cloned())?;
        let is_usable = self.context.serves(&pool) && !is_deleting(&*pool) && pool.holds(READY);
        is_usable.then_some(pool)
    }

    /// Makes claims, one for each place that is reserved.
    async fn create(&self, pool: &NodePool, places: Vec<Reserved>) -> Result<(), Trouble> {
        let planned = static_claim(&node_pool(pool), &self.context.providers.well_known());
        let creating = places.into_iter().map(|place| {
            let name = claim::name(&planned.node_pool, &self.context.random.suffix());
            let claim = claim::object(&planned, pool, name);
            async move { self.creation.create(&claim, Some(place)).await }.boxed()
        });
        let creating: Vec<_> = creating.collect();
        let outcomes: Vec<_> = stream::iter(creating).buffered(AT_ONCE).collect().await;
        let mut trouble = None;
        for outcome in outcomes {
            match outcome {
                Ok(claim) => {
                    let pool = &planned.node_pool;
                    self.context.metrics.nodeclaims_created("provisioned", pool, "").inc();
                    tracing::info!(
                        controller = Self::NAME,
                        NodeClaim.name = name(&claim.metadata),
                        NodePool.name = pool,
                        "created nodeclaim"
                    );
                }
                // One that fails does not stop the others.
                Err(failed) => trouble = Some(failed),
            }
        }
        trouble.map_or(Ok(()), Err)
    }

    fn tell_of_blocked_drift(&self, pool: &NodePool, standings: &Standings) {
        if let Some(why) = drift::blocked(pool, standings) {
            self.context.events.tell(Event::static_pool_blocked(&Subject::of(pool), &why));
        }
    }
}

impl Controller for StaticProvisioning {
    type Key = Key;

    const NAME: &'static str = "static.provisioning";

    fn affected(&self, world: &World, change: &Change, add: &mut dyn FnMut(Key)) {
        if let Change::NodePool(diff) = change
            && let (Some(old), Some(new)) = (&diff.old, &diff.new)
            && !matters(old, new)
        {
            return;
        }
        touched(world, change).into_iter().for_each(add);
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Trouble> {
        let Some(pool) = self.usable(key) else { return Ok(Next::Done) };
        let Some(wanted) = replicas(&pool) else { return Ok(Next::Done) };
        if !self.context.settings.planner.gates.static_capacity {
            self.context.events.tell(Event::static_capacity_off(&Subject::of(&*pool)));
            return Ok(Next::Done);
        }
        self.creation.settle().await?;
        if let Some(missing) = self.context.feeds.missing_of(&["nodeclaims"]) {
            return Err(Trouble::Object(format!(
                "no claims of NodePool {key} are made from stale facts: {missing}"
            )));
        }
        let standings = self.context.cache.read(|world| Standings::of(world, key.name()));
        self.tell_of_blocked_drift(&pool, &standings);
        if standings.kept() >= wanted {
            return Ok(Next::After(AGAIN));
        }
        let limit = nodes_max(&pool);
        let known = || self.context.cache.read(|world| Standings::of(world, key.name()).all());
        let missing = wanted - standings.kept();
        let places = self.reservations.reserve(key.name(), missing, limit, known);
        if places.is_empty() {
            tracing::info!(
                controller = Self::NAME,
                NodePool.name = key.name(),
                current = standings.active(),
                desired = wanted,
                limit,
                "nodepool node limit reached"
            );
            return Ok(Next::After(AGAIN_AT_LIMIT));
        }
        tracing::info!(
            controller = Self::NAME,
            NodePool.name = key.name(),
            current = standings.active(),
            desired = wanted,
            "provision-count" = places.len(),
            "provisioning nodeclaims to satisfy replica count"
        );
        self.create(&pool, places).await?;
        Ok(Next::After(AGAIN))
    }
}

/// Whether a change of a pool is one of how many claims it is to have, or may have.
fn matters(old: &NodePool, new: &NodePool) -> bool {
    let facts = |pool: &NodePool| (pool.spec.replicas, pool.holds(READY), nodes_max(pool));
    facts(old) != facts(new)
}
