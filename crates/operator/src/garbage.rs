//! Garbage collection: repairs after interrupted or failed work.
//!
//! - `lost`: claims without an instance.
//! - `orphans`: instances without a claim.
//! - `duplicates`: second instances of one claim.
//! - `unconfirmed`: claims that only the cache has.
//! - `adoption`: instances of a predecessor, which have no mark.
//! - `join_data`: the join data of registered instances.
//! - `lost_launches`: instances that were lost before they joined.
//!
//! Nothing is removed on doubt. A failed or partial list of a cloud proves nothing about missing
//! instances. Before a removal, the cloud or the API server is asked once more.

mod adoption;
mod duplicates;
mod join_data;
mod lost;
mod lost_launches;
mod orphans;
mod storm;
mod unclaimed;
mod unconfirmed;
mod unproven;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use joiner_cloud::{CloudProvider, instance::Instance, listing::Listing};

pub(crate) use self::lost_launches::look_at;
pub use self::unconfirmed::UnconfirmedClaims;
use self::{storm::Storms, unproven::Unproven};
use crate::{context::Context, rounds::Rounds, trouble::Trouble};

/// How often clouds list their instances. The value is Karpenter's.
const PERIOD: Duration = Duration::from_mins(2);
/// How many removals run at the same time, to spare the clouds. The value was chosen and not
/// measured separately.
const AT_ONCE: usize = 10;

/// Compares claims and instances, cloud by cloud.
#[derive(Debug)]
pub struct GarbageCollection {
    context: Context,
    /// When each instance was first seen, by cloud and provider id: some clouds do not report the
    /// age of their instances.
    seen: Mutex<BTreeMap<&'static str, BTreeMap<String, Timestamp>>>,
    storms: Storms,
    unproven: Unproven,
}

impl GarbageCollection {
    /// A collector with an empty memory.
    pub fn new(context: Context) -> Self {
        Self {
            context,
            seen: Mutex::default(),
            storms: Storms::default(),
            unproven: Unproven::default(),
        }
    }

    /// One round for one cloud. Claims are read before the instances are listed, and again after
    /// it. So an object that appears in between is missed on neither side.
    async fn collect(&self, provider: &Arc<dyn CloudProvider>) -> Result<(), Trouble> {
        let claims = self.claims_of(provider.as_ref());
        let list = provider.list();
        let listing = self.context.ask(Self::NAME, "List", provider.as_ref(), list).await?;
        log_away(provider.name(), &listing);
        let instances = &listing.instances;
        self.note(provider.name(), instances);
        let adopted = self.adopt_unmarked(provider, &claims, instances).await;
        self.empty_join_data(provider, &claims, instances).await;
        let given_up = self.give_up_lost_launches(provider, &claims, instances).await;
        let lost = self.remove_lost_claims(provider, &claims, &listing).await;
        let duplicates = self.remove_duplicates(provider, instances).await;
        let orphans = self.remove_orphans(provider, listing.instances).await;
        adopted.and(given_up).and(lost).and(duplicates).and(orphans)
    }

    fn note(&self, provider: &'static str, instances: &[Instance]) {
        let now = self.context.now();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let before = seen.remove(provider).unwrap_or_default();
        let first_seen = |id: &String| before.get(id).copied().unwrap_or(now);
        let now_seen = instances.iter().map(|instance| &instance.provider_id);
        seen.insert(provider, now_seen.map(|id| (id.clone(), first_seen(id))).collect());
    }

    fn first_seen(&self, provider: &str, id: &str) -> Option<Timestamp> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(provider)?.get(id).copied()
    }
}

/// Logs the places of a cloud that could not be listed.
fn log_away(provider: &str, listing: &Listing) {
    for away in &listing.away {
        tracing::warn!(
            provider,
            place = away.place,
            "instances in this place could not be listed, so the nodeclaims there stay: {}",
            away.why
        );
    }
}

/// Runs several operations concurrently, within a limit. A failure does not stop the others.
async fn some_at_once(work: Vec<impl Future<Output = Result<(), Trouble>>>) -> Result<(), Trouble> {
    let outcomes: Vec<Result<(), Trouble>> = stream::iter(work).buffered(AT_ONCE).collect().await;
    outcomes.into_iter().collect()
}

impl Rounds for GarbageCollection {
    const NAME: &'static str = "nodeclaim.garbagecollection";

    async fn round(&self) -> Result<Duration, Trouble> {
        let mut outcome = Ok(PERIOD);
        // A cloud that fails does not stop the collection in the others.
        for provider in self.context.providers.all() {
            if let Err(trouble) = self.collect(provider).await {
                tracing::warn!(provider = provider.name(), "garbage collection: {trouble}");
                outcome = Err(trouble);
            }
        }
        outcome
    }
}
