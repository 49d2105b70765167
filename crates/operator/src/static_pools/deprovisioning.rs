//! Removes the claims that a static pool has too many.

use std::{sync::Arc, time::Duration};

use futures_util::{FutureExt, StreamExt, stream};
use joiner_api::node_claim::NodeClaim;

use super::{Standings, removal, replicas, touched};
use crate::{
    claims::{is_deleting, name},
    context::Context,
    controller::{Controller, Next},
    disrupted,
    trouble::Trouble,
    world::{Change, Key, World},
};

/// Why a claim is removed, as metrics call it.
const REASON: &str = "overprovisioned";
/// How often an unchanged pool is examined. The value is Karpenter's.
const AGAIN: Duration = Duration::from_mins(1);
/// How many claims are deleted at the same time.
const AT_ONCE: usize = 20;

/// Removes claims until a static pool has its fixed number. The pool's disruption budgets do not
/// apply to surplus claims; the protection of pods does.
#[derive(Debug)]
pub struct StaticDeprovisioning(pub Context);

impl StaticDeprovisioning {
    async fn remove(&self, claim: Arc<NodeClaim>) -> Result<(), Trouble> {
        self.0.cluster.delete(&*claim).await?;
        disrupted::count_claim(&self.0, &claim, REASON);
        disrupted::count_pods(&self.0, &claim, REASON);
        tracing::info!(
            controller = Self::NAME,
            NodeClaim.name = name(&claim.metadata),
            reason = REASON,
            "deleting nodeclaim"
        );
        Ok(())
    }
}

impl Controller for StaticDeprovisioning {
    type Key = Key;

    const NAME: &'static str = "static.deprovisioning";

    fn affected(&self, world: &World, change: &Change, add: &mut dyn FnMut(Key)) {
        if let Change::NodePool(diff) = change
            && let (Some(old), Some(new)) = (&diff.old, &diff.new)
            && old.spec.replicas == new.spec.replicas
        {
            return;
        }
        touched(world, change).into_iter().for_each(add);
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Trouble> {
        let pool = self.0.cache.read(|world| world.node_pools.get(key).cloned());
        let Some(pool) = pool.filter(|pool| self.0.serves(pool) && !is_deleting(&**pool)) else {
            return Ok(Next::Done);
        };
        let Some(wanted) = replicas(&pool) else { return Ok(Next::Done) };
        if let Some(missing) = self.0.feeds.missing_of(&["pods", "nodes", "nodeclaims"]) {
            return Err(Trouble::Object(format!(
                "no claims of NodePool {key} are removed by stale facts: {missing}"
            )));
        }
        let now = self.0.now();
        let (current, going) = self.0.cache.read(|world| {
            let standings = Standings::of(world, key.name());
            let too_many = standings.active.len().saturating_sub(wanted as usize);
            (standings.active(), removal::choose(world, &standings.active, too_many, now))
        });
        if !going.is_empty() {
            tracing::info!(
                controller = Self::NAME,
                NodePool.name = key.name(),
                current,
                desired = wanted,
                "deprovision-count" = going.len(),
                "deprovisioning nodeclaims to satisfy replica count"
            );
        }
        let removing: Vec<_> = going.into_iter().map(|claim| self.remove(claim).boxed()).collect();
        let outcomes: Vec<Result<(), Trouble>> =
            stream::iter(removing).buffered(AT_ONCE).collect().await;
        outcomes.into_iter().collect::<Result<(), Trouble>>()?;
        Ok(Next::After(AGAIN))
    }
}
