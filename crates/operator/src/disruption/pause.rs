//! Pauses of disruption.

use std::{fmt, sync::Arc, time::Duration};

use joiner_api::node_pool::NodePool;
use joiner_core::disruption::Paused;
use k8s_openapi::api::core::v1::Namespace;

use crate::{context::Context, index::fleet::pause, trouble::Trouble, world::World};

/// How often controllers check for the end of a pause that no watch event announces. The value was
/// chosen and not measured separately.
pub(crate) const LOOK_EVERY: Duration = Duration::from_mins(1);

/// Fails unless a pause would be visible; the error names the object that waits. A removal can
/// wait, but a deletion against a pause cannot be undone.
pub(crate) fn sure_of_pauses(context: &Context, waits: impl fmt::Display) -> Result<(), Trouble> {
    if let Some(missing) = context.feeds.missing_of(&["nodepools", "namespaces"]) {
        return Err(Trouble::Object(format!("{waits} because of stale facts: {missing}")));
    }
    context.sure_of::<NodePool>()?;
    context.sure_of::<Namespace>()
}

/// The sources of a pause: an annotation of the pool, or of one namespace for all pools.
#[derive(Debug, Clone)]
pub struct Pause {
    /// The namespace of the lease.
    namespace: Arc<str>,
}

impl Pause {
    /// Pauses come from pools and from the annotation of this namespace.
    pub fn by(namespace: &str) -> Self {
        Self { namespace: namespace.into() }
    }

    /// The namespace whose annotation pauses everything.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The pause that covers one of these pools, if there is one.
    pub(crate) fn of<'p>(
        &self,
        world: &World,
        pools: impl IntoIterator<Item = &'p str>,
    ) -> Option<Paused> {
        let namespace = world.namespaces.named(&self.namespace);
        let everywhere = namespace.and_then(|it| pause("Namespace", &it.metadata));
        let mut pools = pools.into_iter().filter_map(|pool| world.node_pools.named(pool));
        everywhere.or_else(|| pools.find_map(|pool| pause("NodePool", &pool.metadata)))
    }
}
