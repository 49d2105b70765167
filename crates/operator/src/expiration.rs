//! Deletes claims that exceed `expireAfter`, independent of their pods. The rate is limited in each
//! pool (`pace`), and no claim expires while the wall clock is in doubt.

mod pace;

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use joiner_api::node_claim::NodeClaim;

use self::pace::Pace;
use crate::{
    claims::{self, is_deleting},
    clocks,
    context::Context,
    controller::{Controller, Next},
    disrupted,
    disruption::pause::{self, Pause, sure_of_pauses},
    events::{Event, Subject},
    trouble::Trouble,
    world::{Change, Kept, Key, World},
};

/// The reason of the disruption in metrics.
const REASON: &str = "expired";

/// The controller that deletes expired claims.
#[derive(Debug)]
pub struct Expiration {
    context: Context,
    pause: Pause,
    pace: Mutex<Pace>,
}

impl Expiration {
    /// A controller that deletes expired claims, except during a pause.
    pub fn new(context: Context, pause: Pause) -> Self {
        Self { context, pause, pace: Mutex::default() }
    }
}

impl Controller for Expiration {
    type Key = Key;

    const NAME: &'static str = "nodeclaim.expiration";
    const AT_ONCE: usize = 1;

    fn affected(&self, _world: &World, change: &Change, add: &mut dyn FnMut(Key)) {
        if let Change::NodeClaim(diff) = change
            && let Some(claim) = &diff.new
            && expiry(claim).is_some()
        {
            add(claim.key());
        }
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Trouble> {
        let context = &self.context;
        let claim = context.cache.read(|world| world.node_claims.get(key).cloned());
        let Some(claim) = claim.filter(|claim| context.provider_of(claim).is_some()) else {
            return Ok(Next::Done);
        };
        let Some(expiry) = expiry(&claim) else { return Ok(Next::Done) };
        if let Some(left) = left_until(expiry, context.now()) {
            return Ok(Next::After(left));
        }
        if let Some(difference) = context.clocks.difference() {
            let message = format!("expired at {expiry}, and goes once clocks agree: {difference}");
            context.events.tell(Event::disruption_blocked(&Subject::of(&*claim), &message));
            return Ok(Next::After(clocks::LOOK_EVERY));
        }
        sure_of_pauses(context, format_args!("NodeClaim {key} has expired and is not deleted"))?;
        let paused = context.cache.read(|world| self.pause.of(world, claims::pool(&claim)));
        if let Some(paused) = paused {
            let message = format!("expired at {expiry}, and goes once the pause is over: {paused}");
            context.events.tell(Event::disruption_blocked(&Subject::of(&*claim), &message));
            return Ok(Next::After(pause::LOOK_EVERY));
        }
        let pool = claims::pool(&claim);
        if let Some(left) = self.wait_for_others(pool) {
            return Ok(Next::After(left));
        }
        context.cluster.delete(&*claim).await?;
        self.pace().expired(pool, context.clock.running());
        let why = format!("expired at {expiry}, as its expireAfter says");
        context.events.tell(Event::disruption_terminating(&Subject::of(&*claim), &why));
        disrupted::count_claim(context, &claim, REASON);
        disrupted::count_pods(context, &claim, REASON);
        tracing::info!(NodeClaim = %key, "deleted nodeclaim that has expired");
        Ok(Next::Done)
    }
}

impl Expiration {
    /// How long a claim waits because others of its pool have just expired.
    fn wait_for_others(&self, pool: Option<&str>) -> Option<Duration> {
        let instances = || {
            self.context.cache.read(|world| {
                world.node_claims.values().filter(|claim| claims::pool(claim) == pool).count()
            })
        };
        self.pace().wait(pool, self.context.clock.running(), instances)
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When a claim expires; none if never, or if it is leaving already.
pub(crate) fn expiry(claim: &NodeClaim) -> Option<Timestamp> {
    if is_deleting(claim) {
        return None;
    }
    let age = claim.spec.expire_after.as_ref()?.nanos()?;
    let created = claim.metadata.creation_timestamp.as_ref()?;
    // A time that overflows never comes.
    created.0.checked_add(SignedDuration::from_nanos(age)).ok()
}

/// The time until a moment; none if it has passed.
fn left_until(moment: Timestamp, now: Timestamp) -> Option<Duration> {
    Duration::try_from(moment.duration_since(now)).ok().filter(|left| !left.is_zero())
}
