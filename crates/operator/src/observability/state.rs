//! How well the cluster is known.

use std::{borrow::Cow, collections::BTreeSet, time::Duration};

use joiner_cloud::ProviderIds;

use super::Shown;
use crate::{claims::provider_id, context::Context};

/// Since when, in running time, not everything is known that is needed.
#[derive(Debug, Default)]
pub(super) struct Synced {
    not_since: Option<Duration>,
}

impl Synced {
    pub(super) fn work_out(&mut self, context: &Context, shown: &Shown) {
        let missing = context.feeds.missing_of(&["nodes", "nodeclaims"]);
        let now = context.clock.running();
        self.not_since = missing.map(|_| self.not_since.unwrap_or(now));
        let unsynced = self.not_since.map_or(Duration::ZERO, |since| now.saturating_sub(since));
        let metrics = &context.metrics;
        metrics.cluster_state_synced().set(if self.not_since.is_none() { 1.0 } else { 0.0 });
        metrics.cluster_state_unsynced_time().set(unsynced.as_secs_f64());
        let ids = context.providers.ids();
        metrics.cluster_state_node_count().set(instances(shown, &ids) as f64);
    }
}

/// Nodes, and claims whose nodes have not joined.
fn instances(shown: &Shown, ids: &ProviderIds) -> usize {
    let joined: BTreeSet<Cow<'_, str>> = shown
        .nodes
        .iter()
        .filter_map(|shown| shown.node.spec.as_ref()?.provider_id.as_deref())
        .map(|id| ids.canonical(id))
        .collect();
    let alone = shown
        .claims
        .iter()
        .filter(|claim| provider_id(claim).is_none_or(|id| !joined.contains(&ids.canonical(id))));
    shown.nodes.len() + alone.count()
}
