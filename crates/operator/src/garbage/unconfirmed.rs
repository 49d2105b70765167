//! Unconfirmed claims: only the cache has them.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use joiner_api::node_claim::NodeClaim;

use crate::{context::Context, rounds::Rounds, trouble::Trouble, world::Key};

/// How long a watch may take to show a claim that this process wrote. The value is Karpenter's.
const PATIENCE: Duration = Duration::from_secs(15);

/// Removes cached claims that came from a write and no longer exist.
///
/// The answer to a write can arrive after the watch reported the claim's deletion. No later event
/// would remove this claim from the cache, and plans would count it forever.
#[derive(Debug)]
pub struct UnconfirmedClaims {
    context: Context,
    /// Since when each claim waits for the watch.
    since: Mutex<BTreeMap<Key, Timestamp>>,
}

impl UnconfirmedClaims {
    /// A collector with an empty memory.
    pub fn new(context: Context) -> Self {
        Self { context, since: Mutex::default() }
    }

    /// Claims that have waited too long.
    fn overdue(&self) -> Vec<Key> {
        let now = self.context.now();
        let patience = SignedDuration::try_from(PATIENCE).unwrap_or_default();
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = self.context.cache.unconfirmed::<NodeClaim>().into_iter();
        *since =
            waiting.map(|key| (key.clone(), since.get(&key).copied().unwrap_or(now))).collect();
        let overdue = since.iter().filter(|(_, since)| now.duration_since(**since) >= patience);
        overdue.map(|(key, _)| key.clone()).collect()
    }
}

impl Rounds for UnconfirmedClaims {
    const NAME: &'static str = "state.nodeclaimgc";

    async fn round(&self) -> Result<Duration, Trouble> {
        for key in self.overdue() {
            // The watch may be slow, so the API server is asked.
            if self.context.cluster.get::<NodeClaim>(key.name()).await?.is_none() {
                self.context.cache.gone::<NodeClaim>(&key);
                tracing::debug!(NodeClaim = %key, "forgot nodeclaim that does not exist any more");
            }
        }
        Ok(PATIENCE)
    }
}
