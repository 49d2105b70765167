//! The condition of a pool that says whether its instances join.

use jiff::{SignedDuration, Timestamp};
use joiner_api::{condition::find, node_pool::NodePool};

use super::{Failure, Health, Outcome, Outcomes, RegistrationHealth};
use crate::{
    claims,
    cluster::Lock,
    conditions::{Conditioned, NODE_REGISTRATION_HEALTHY, Status},
    context::Context,
    controller::{Controller, Next},
    trouble::Trouble,
    world::{Change, Kept, Key, World},
};

/// How long a pool whose instances do not join is tried after all others.
const LAST_FOR: SignedDuration = SignedDuration::from_hours(1);

/// Keeps the condition of each pool as what is remembered of its instances says.
#[derive(Debug)]
pub struct PoolRegistrationHealth {
    context: Context,
    health: RegistrationHealth,
}

impl PoolRegistrationHealth {
    /// A controller that goes by this memory.
    pub fn new(context: Context, health: RegistrationHealth) -> Self {
        Self { context, health }
    }
}

impl Controller for PoolRegistrationHealth {
    type Key = Key;

    const NAME: &'static str = "nodepool.registrationhealth";

    fn affected(&self, world: &World, change: &Change, add: &mut dyn FnMut(Key)) {
        match change {
            Change::NodePool(diff) => match &diff.new {
                Some(pool) => add(pool.key()),
                None => self.health.forget(diff.latest()),
            },
            Change::NodeClass(diff) => {
                let class = diff.latest();
                let pools = world.node_pools.values().filter(|pool| {
                    claims::refers_to(pool.spec.template.spec.node_class_ref.as_ref(), class)
                });
                pools.for_each(|pool| add(pool.key()));
            }
            // Whoever tells of a claim's outcome changes the claim next.
            Change::NodeClaim(diff) => {
                if let Some(owner) = claims::owning_pool(diff.latest()) {
                    add(Key::cluster(&owner.name));
                }
            }
            _ => {}
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Trouble> {
        let found = self.context.cache.read(|world| {
            let pool = world.node_pools.get(key)?;
            let class = pool.spec.template.spec.node_class_ref.as_ref()?;
            let class = world.class(&class.group, &class.kind, &class.name)?;
            Some((pool.clone(), class.generation))
        });
        let Some((pool, class_generation)) = found else { return Ok(Next::Done) };
        if !self.context.serves(&pool) {
            return Ok(Next::Done);
        }
        let now = self.context.now();
        let begins_anew = is_outdated(&pool, class_generation)
            || another_chance(&pool).is_some_and(|at| at <= now);
        if begins_anew {
            self.health.reset(&pool);
        }
        let anew = begins_anew.then_some(class_generation);
        let said = said(&pool, anew, &self.health.of(&pool), now);
        self.context.cluster.patch_status(&*pool, &said, Lock::Version).await?;
        let left = another_chance(&said).map(|at| at.duration_since(now).unsigned_abs());
        Ok(left.map_or(Next::Done, Next::After))
    }
}

/// Whether what the pool says of its instances is about another pool or class than there is now.
fn is_outdated(pool: &NodePool, class_generation: i64) -> bool {
    let Some(condition) = find(pool.conditions(), NODE_REGISTRATION_HEALTHY) else { return true };
    let observed = pool.status.as_ref().and_then(|status| status.node_class_observed_generation);
    condition.observed_generation != pool.metadata.generation
        || observed.unwrap_or_default() != class_generation
}

/// When a pool whose instances do not join is treated like any other again. It is tried last until then and may get no
/// instance at all, so that nothing would ever show that whatever was wrong is mended.
///
/// COMPAT: upstream says of such a pool that it is unhealthy until an instance has joined, and tries it as before.
fn another_chance(pool: &NodePool) -> Option<Timestamp> {
    let condition = find(pool.conditions(), NODE_REGISTRATION_HEALTHY)?;
    let since = (condition.status == "False").then_some(condition.last_transition_time.as_ref()?.0);
    since?.checked_add(LAST_FOR).ok()
}

/// The pool with what its instances' health says of it. Where that begins anew, it is about the class of this generation.
fn said(pool: &NodePool, anew: Option<i64>, health: &Health, now: Timestamp) -> NodePool {
    let mut said = pool.clone();
    if let Some(class_generation) = anew {
        said.status.get_or_insert_default().node_class_observed_generation = Some(class_generation);
        said.conditions_mut(now).set(
            NODE_REGISTRATION_HEALTHY,
            Status::Unknown,
            "AwaitingReconciliation",
            "object is awaiting reconciliation",
        );
    }
    match health {
        Health::Unknown => {}
        Health::Healthy => said.conditions_mut(now).set_true(NODE_REGISTRATION_HEALTHY),
        // What was said first stays: it is how the trouble began.
        Health::Unhealthy(_) if said.status(NODE_REGISTRATION_HEALTHY) == Status::False => {}
        Health::Unhealthy(Failure { reason, message }) => {
            said.conditions_mut(now).set(NODE_REGISTRATION_HEALTHY, Status::False, reason, message);
        }
    }
    said
}

/// What a process before this one knew, as far as the pool's condition tells.
pub(super) fn remembered(pool: &NodePool) -> Outcomes {
    let mut outcomes = Outcomes::default();
    let Some(condition) = find(pool.conditions(), NODE_REGISTRATION_HEALTHY) else {
        return outcomes;
    };
    let failure = || {
        let (reason, message) = (condition.reason.clone(), condition.message.clone());
        Outcome::Failed(Failure { reason, message })
    };
    match condition.status.as_str() {
        "True" => outcomes.insert("", Outcome::Joined),
        "False" => {
            outcomes.insert("", failure());
            outcomes.insert("", failure());
        }
        _ => {}
    }
    outcomes
}
